"""The assignment problem against n_min: the paper's Figure 2. Algorithm 1, an interior point solver, a linear program.

    minimise  f(U) = Σ_ih U_ih P_ih (Σ_i U_ih)    subject to    0 ≤ U_ih ≤ 1,  Σ_h U_ih = 1,  Σ_i U_ih ≥ n_min

P holds the Euclidean distances of n points to k others, all standard normal. With N_h = Σ_i U_ih and
C_h = Σ_i U_ih P_ih,

    f = Σ_h N_h C_h,      ∂f/∂U_ih = P_ih N_h + C_h,      (∇²f V)_ih = P_ih Σ_j V_jh + Σ_j P_jh V_jh.

The interior point solver finds a local minimum of the relaxed problem, from several starts. What it finds is rounded
to the assignment X that agrees with it most, Σ_ih U_ih X_ih, among those that respect n_min: a transport problem, whose
vertices are whole numbers. The linear program minimises Σ_ih U_ih P_ih, without the sizes, and is judged by f.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, minimize
from scipy.sparse.linalg import LinearOperator

from orda.experiments.simulate.statistics import band, column, mean_of, summarise, where
from orda.experiments.simulate.study import Cell, Row, Scalar, Study, Table, repeated
from orda.plots import curve, finish, letter, new_figure
from orda.records import FloatArray, IntArray
from orda.seeds import generator
from orda.stratification import assign

SERIES = ("algorithm 1", "interior point", "interior point rounded", "linear program")
SOLVER = {  # trust-constr: a large first barrier keeps it from settling at the first local minimum it meets
    "initial_barrier_parameter": 10.0,
    "initial_barrier_tolerance": 1.0,
    "initial_tr_radius": 10.0,
    "barrier_tol": 1e-4,
    "gtol": 1e-6,
    "xtol": 1e-9,
    "maxiter": 2000,
}


@dataclass(frozen=True, kw_only=True)
class MinSize(Study):
    """n points and k centres in the plane. ``orders`` of the points for Algorithm 1, ``starts`` for the solver."""

    n: int = 200
    k: int = 5
    min_sizes: tuple[int, ...] = (1, 5, 10, 15, 20, 25, 30, 35, 38, 40)
    orders: int = 20
    starts: int = 4
    repeats: int = 20

    name: ClassVar[str] = "min-size"
    summary: ClassVar[str] = "Figure 2: the assignment objective against n_min, Algorithm 1 beside two solvers."

    @classmethod
    def quick(cls) -> Self:
        return cls(n=100, min_sizes=(1, 10, 20), starts=2, repeats=3)

    def cells(self) -> list[Cell]:
        return repeated(self.repeats, min_size=self.min_sizes)

    def compute(self, config: Mapping[str, Any], seed: int) -> list[Row]:
        min_size, data = int(config["min_size"]), generator(seed, "data")
        points, centres = data.normal(size=(self.n, 2)), data.normal(size=(self.k, 2))
        distances = np.linalg.norm(points[:, None] - centres, axis=2)
        orders, starts = generator(seed, "orders"), generator(seed, "starts")
        greedy = [
            objective(distances, one_hot(assign(distances, min_size, orders.permutation(self.n)), self.k))
            for _ in range(self.orders)
        ]
        relaxed = [interior_point(distances, min_size, start(starts, self.n, self.k)) for _ in range(self.starts)]
        rounded = [objective(distances, nearest_assignment(u, min_size)) for u in relaxed]
        found = {
            "algorithm 1": greedy,
            "interior point": [objective(distances, u) for u in relaxed],
            "interior point rounded": rounded,
            "linear program": [objective(distances, transport(distances, min_size))],
        }
        return [
            {**config, "series": name, "objective": float(np.mean(values)), "best": float(np.min(values))}
            for name, values in found.items()
        ]

    def table(self, rows: list[Row], rng: np.random.Generator) -> Table:
        best = best_known(rows)
        compared = [
            {
                **row,
                "excess": 100 * (float(row["objective"]) / best[row["repeat"], row["min_size"]] - 1),
                "excess of the best": 100 * (float(row["best"]) / best[row["repeat"], row["min_size"]] - 1),
            }
            for row in rows
        ]
        statistics = {name: mean_of(name) for name in ("objective", "best", "excess", "excess of the best")}
        return summarise(compared, ("min_size", "series"), statistics, rng)

    def figure(self, table: Table) -> Any:
        figure, axes = new_figure(1, 2, height=2.9)
        for number, (statistic, title) in enumerate(
            (("objective", "objective"), ("excess", "above the best assignment known"))
        ):
            panel = axes[0, number]
            for name in SERIES:
                found = where(table, statistic=statistic, series=name)
                values = column(found, "value") if statistic == "objective" else band(found)
                curve(panel, column(found, "min_size"), values, name)
            if statistic == "excess":
                for name in ("algorithm 1", "interior point rounded"):
                    found = where(table, statistic="excess of the best", series=name)
                    curve(panel, column(found, "min_size"), column(found, "value"), f"{name} best")
            panel.set(xlabel=r"smallest stratum allowed, $n_{\min}$ (points)")
            panel.set_xticks([size for size in self.min_sizes if size != 38 or self.n != 200])
            letter(panel, title, number)
        axes[0, 0].set_ylabel(r"$\sum_{ih} U_{ih} P_{ih} \sum_i U_{ih}$   (distance × points)")
        axes[0, 1].set_ylabel("excess (%)")
        axes[0, 1].set_yscale("symlog", linthresh=1.0)
        axes[0, 1].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes[0, 1].set_ylim(bottom=-0.5)
        finish(
            figure,
            "The assignment problem against the smallest stratum allowed",
            f"n = {self.n} points, k = {self.k} centres, all 2-D standard normal, P the Euclidean distances; means "
            f"over {self.repeats} random problems, {self.orders} orders of the points (Algorithm 1) and {self.starts} "
            "starts (interior point: trust-constr on the relaxed problem, then rounded to the nearest assignment that "
            "respects the minimum); dashed: the best order or start of each problem. The best assignment known for a "
            "minimum is the lowest that any method found for it or for a larger one. Bands: 95 % bootstrap intervals "
            "over the problems.",
        )
        return figure


def best_known(rows: list[Row]) -> dict[tuple[Scalar, Scalar], float]:
    """Of each problem and n_min the lowest f of an allowed assignment: one found for it or for a larger n_min."""
    best: dict[tuple[Scalar, Scalar], float] = {}
    whole = [row for row in rows if row["series"] != "interior point"]
    for repeat, min_size in {(row["repeat"], row["min_size"]) for row in rows}:
        allowed = [row for row in whole if row["repeat"] == repeat and float(row["min_size"]) >= float(min_size)]
        best[repeat, min_size] = min(float(row["best"]) for row in allowed)
    return best


def objective(distances: FloatArray, u: FloatArray) -> float:
    """f(U) = Σ_h N_h C_h."""
    return float(u.sum(0) @ (u * distances).sum(0))


def one_hot(labels: IntArray, k: int) -> FloatArray:
    return np.eye(k)[labels]


def start(rng: np.random.Generator, n: int, k: int) -> FloatArray:
    """A random point well inside: rows of a Dirichlet distribution, drawn towards 1/k."""
    inside: FloatArray = 1 / k + 0.3 * (rng.dirichlet(np.ones(k), size=n) - 1 / k)
    return inside


def interior_point(distances: FloatArray, min_size: int, first: FloatArray) -> FloatArray:
    """A local minimum U (n, k) of the relaxed problem, from ``first``."""
    n, k = distances.shape

    def gradient(x: FloatArray) -> FloatArray:
        u = x.reshape(n, k)
        slope: FloatArray = (distances * u.sum(0) + (u * distances).sum(0)).ravel()
        return slope

    def curvature(x: FloatArray) -> LinearOperator:
        del x  # f is quadratic
        return LinearOperator((n * k, n * k), matvec=gradient, rmatvec=gradient)  # and ∇f linear: ∇²f V = ∇f(V)

    rows, columns = sums_of_rows(n, k), sums_of_columns(n, k)
    found = minimize(
        lambda x: objective(distances, x.reshape(n, k)),
        first.ravel(),
        jac=gradient,
        hess=curvature,
        method="trust-constr",
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(rows, 1, 1), LinearConstraint(columns, min_size, np.inf)],
        options=SOLVER,
    )
    u: FloatArray = found.x.reshape(n, k)
    return u


def nearest_assignment(u: FloatArray, min_size: int) -> FloatArray:
    """The assignment X that respects ``min_size`` and maximises Σ_ih U_ih X_ih."""
    return transport(-u, min_size)


def transport(costs: FloatArray, min_size: int) -> FloatArray:
    """The assignment X that respects ``min_size`` and minimises Σ_ih X_ih costs_ih."""
    n, k = costs.shape
    found = linprog(
        costs.ravel(),
        A_ub=-sums_of_columns(n, k),
        b_ub=np.full(k, -min_size),
        A_eq=sums_of_rows(n, k),
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs-ds",  # ends at a vertex
    )
    whole: FloatArray = np.round(found.x).reshape(n, k)
    return whole


def sums_of_rows(n: int, k: int) -> Any:
    """(n, nk): the map from U, row after row, to Σ_h U_ih."""
    return sparse.kron(sparse.eye(n), np.ones((1, k)), format="csr")


def sums_of_columns(n: int, k: int) -> Any:
    """(k, nk): the map to Σ_i U_ih."""
    return sparse.kron(np.ones((1, n)), sparse.eye(k), format="csr")
