"""Ordering of one pool: seconds of every optimiser and what they reach, beside a literal Algorithm 2.

    python benchmarks/ordering.py [--quick] [--only PART ...] [--json FILE]

    time       k = 32 and k = 128, M = 100, MMD and CORAL, Gram given: the fastest of the repeats, taken in turn
    literal    k = 8, M = 50: greedy beside Algorithm 2 in the paper's loops, from the same Gram matrix; both orders
               must be the same. Once with the whole objective of every candidate, as it is printed, in NumPy; once with
               only the two minibatches that a swap changes
    quality    five data sets, MMD and CORAL: objective over that of the pool as drawn, and seconds, of all optimisers

Pools of ``time`` and ``literal`` are drawn from the features of ``clusters``; n of ``quality`` is 6,000 a domain. One
thread. All ratios are of one run, the two sides in turn.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import orda
from orda.ordering import OPTIMISERS, Optimiser, Ordering, OrderingTask, initial_arrangement, ordering_task
from orda.ordering.problem import QuadraticProblem
from orda.records import Features, Strata
from orda.stratification import draw, stratify

HORIZON = 100
Domains = tuple[np.ndarray, np.ndarray]


def normal(rng: np.random.Generator, n: int, d: int) -> Domains:
    return rng.normal(size=(n, d)), rng.normal(size=(n, d))


def clusters(rng: np.random.Generator, n: int, d: int) -> Domains:
    """40 clusters of unequal size, the target's moved and of other sizes."""
    centres = 0.7 * rng.normal(size=(40, d))

    def domain(moved: np.ndarray) -> np.ndarray:
        return moved[rng.choice(40, n, p=rng.dirichlet(np.full(40, 2.0)))] + rng.normal(size=(n, d))

    return domain(centres), domain(centres + 0.3 * rng.normal(size=centres.shape))


def rectified(rng: np.random.Generator, n: int, d: int) -> Domains:
    """As a network's last layer has them after a ReLU."""
    source, target = clusters(rng, n, d)
    return np.maximum(source, 0), np.maximum(target, 0)


def heavy(rng: np.random.Generator, n: int, d: int) -> Domains:
    """Heavy tails: Student's t with three degrees of freedom, the target wider."""
    return rng.standard_t(3, size=(n, d)), 1.2 * rng.standard_t(3, size=(n, d)) + 0.1


SETS: dict[str, tuple[Callable[[np.random.Generator, int, int], Domains], int]] = {
    "normal, 2-d": (normal, 2),
    "normal, 64-d": (normal, 64),
    "clusters, 512-d": (clusters, 512),
    "rectified, 512-d": (rectified, 512),
    "heavy tails, 16-d": (heavy, 16),
}


def discrepancies() -> dict[str, orda.Discrepancy]:
    return {"MMD": orda.MMD(gammas="median"), "CORAL": orda.CORAL()}


def pool_task(name: str, loss: orda.Discrepancy, n: int, k: int, horizon: int, cut: bool = True) -> OrderingTask:
    """The ordering problem of one pool of a data set; ``cut`` by Algorithm 1, or into strata of random members."""
    make, d = SETS[name]
    rng = np.random.default_rng(0)
    features = Features(*(torch.from_numpy(z.astype(np.float32)) for z in make(rng, n, d)))
    discrepancy = loss.resolved(features)
    embedding, pools = discrepancy.embedding(features), []
    for z in (embedding.source, embedding.target):
        if cut:
            strata = stratify(z, embedding.kernel, k, min_size=horizon, rng=rng).strata
        else:
            labels = rng.permutation(np.arange(n) % k)
            strata = Strata(labels, np.bincount(labels, minlength=k))
        pools.append(draw(strata, horizon, rng))
    return ordering_task(discrepancy, features, *pools, embedding=embedding, memory_budget=2**34)


def order(optimiser: Optimiser, task: OrderingTask, horizon: int) -> Ordering:
    return optimiser(task.problem, initial_arrangement(task.problem.signed.size, horizon), np.random.default_rng(0))


def warm(horizon: int = 4) -> None:
    """Compiled code is loaded, or made, here."""
    for loss in discrepancies().values():
        task = pool_task("normal, 2-d", loss, 60, 2, horizon)
        for kind in OPTIMISERS.values():
            order(kind(), task, horizon)


def times(n: int, sizes: tuple[int, int], repeats: int) -> list[dict[str, Any]]:
    rows = []
    for k in sizes:
        tasks = {
            loss: pool_task("clusters, 512-d", made, n, k, HORIZON, False) for loss, made in discrepancies().items()
        }
        found: dict[tuple[str, str], list[Ordering]] = {}
        for _ in range(repeats if k == sizes[0] else max(1, repeats // 3)):
            for loss, task in tasks.items():
                for name in ("greedy", "assignment"):
                    found.setdefault((loss, name), []).append(order(OPTIMISERS[name](), task, HORIZON))
        for (loss, name), runs in found.items():
            seconds, passes = min(run.seconds for run in runs), runs[0].passes
            rows.append({"part": "time", "k": k, "loss": loss, "optimiser": name, "seconds": seconds, "passes": passes})
        del tasks
    return rows


def literal(k: int, horizon: int, whole: bool) -> dict[str, Any]:
    """Greedy beside the loops of the paper, which find the same order."""
    task = pool_task("clusters, 512-d", discrepancies()["MMD"], 40 * k * horizon // 8, k, horizon, False)
    problem = task.problem
    assert isinstance(problem, QuadraticProblem)
    ours = [order(OPTIMISERS["greedy"](), task, horizon) for _ in range(5)]
    began = time.perf_counter()
    theirs = algorithm_2(problem, initial_arrangement(2 * k, horizon), whole)
    seconds, fast = time.perf_counter() - began, min(run.seconds for run in ours)
    return {
        "part": "literal",
        "way": "whole objective" if whole else "two minibatches",
        "k": k,
        "M": horizon,
        "literal": seconds,
        "seconds": fast,
        "ratio": seconds / fast,
        "same": bool(np.array_equal(theirs, ours[0].arranged)),
    }


def algorithm_2(problem: QuadraticProblem, arranged: np.ndarray, whole: bool) -> np.ndarray:
    """The paper's loops; D̂ of a minibatch by the paper's kernel evaluations, from the Gram matrix."""
    gram, u, (rows, horizon) = problem.gram.astype(np.float64), problem.signed, arranged.shape
    k = rows // 2

    def cost(m: int) -> float:
        members = arranged[:, m]
        return (float(u @ gram[np.ix_(members, members)] @ u) - problem.reference) ** 2

    def swap(row: np.ndarray, m: int, other: int) -> None:
        row[m], row[other] = row[other], row[m]

    for m in range(horizon):
        for h in range(k):
            for r in (h, k + h):
                objectives = []
                for partner in range(m, horizon):
                    before = 0.0 if whole else cost(m) + cost(partner)
                    swap(arranged[r], m, partner)
                    now = sum(cost(j) for j in range(horizon)) if whole else cost(m) + cost(partner)
                    objectives.append(now - before)
                    swap(arranged[r], m, partner)
                swap(arranged[r], m, m + int(np.argmin(objectives)))
    return arranged


def quality(n: int, k: int) -> list[dict[str, Any]]:
    rows = []
    for name in SETS:
        for loss, made in discrepancies().items():
            task = pool_task(name, made, n, k, HORIZON)
            for optimiser, kind in OPTIMISERS.items():
                runs = [order(kind(), task, HORIZON) for _ in range(3 if optimiser in ("greedy", "assignment") else 1)]
                rows.append({
                    "part": "quality",
                    "set": name,
                    "loss": loss,
                    "optimiser": optimiser,
                    "objective": min(runs[0].objectives) / runs[0].objectives[0],
                    "seconds": min(run.seconds for run in runs),
                })  # fmt: skip
    return rows


def show_times(rows: list[dict[str, Any]]) -> None:
    small, large = sorted({row["k"] for row in rows})
    seconds = {(row["k"], row["loss"], row["optimiser"]): row["seconds"] for row in rows}
    print(f"\nGram given, M = {HORIZON}; seconds")
    print(f"{'':24}{f'k = {small}':>10}{f'k = {large}':>10}{'ratio':>8}")
    for loss in ("MMD", "CORAL"):
        for name in ("greedy", "assignment"):
            one, two = seconds[small, loss, name], seconds[large, loss, name]
            print(f"{loss + ', ' + name:24}{one:10.3f}{two:10.2f}{two / one:8.1f}")
    for name in ("greedy", "assignment"):
        print(f"CORAL over MMD, {name}, k = {small}: {seconds[small, 'CORAL', name] / seconds[small, 'MMD', name]:.2f}")
    for loss in ("MMD", "CORAL"):
        ratio = seconds[small, loss, "assignment"] / seconds[small, loss, "greedy"]
        print(f"assignment over greedy, {loss}, k = {small}: {ratio:.2f}")


def show_literal(rows: list[dict[str, Any]]) -> None:
    print("\nAlgorithm 2 in the paper's loops beside greedy")
    for row in rows:
        same = "the same order" if row["same"] else "ANOTHER ORDER"
        size = f"k = {row['k']}, M = {row['M']}, {row['way']:16}"
        print(f"{size} {row['literal']:8.2f} s   greedy {row['seconds']:.5f} s   {row['ratio']:8.0f}×   {same}")


def show_quality(rows: list[dict[str, Any]], k: int) -> None:
    print(f"\nobjective over that of the pool as drawn (seconds), k = {k}, M = {HORIZON}")
    print(f"{'':28}" + "".join(f"{name:>20}" for name in OPTIMISERS))
    for name in SETS:
        for loss in discrepancies():
            found = {row["optimiser"]: row for row in rows if (row["set"], row["loss"]) == (name, loss)}
            cells = "".join(f"{found[o]['objective']:12.3g} ({found[o]['seconds']:5.2f})" for o in OPTIMISERS)
            print(f"{name + ', ' + loss:28}{cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes: to see that it runs")
    parser.add_argument("--only", nargs="*", choices=["time", "literal", "quality"])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    parts = options.only or ["time", "literal", "quality"]
    torch.set_num_threads(1)
    warm()
    rows: list[dict[str, Any]] = []
    if "time" in parts:
        rows += (
            found := times(4000 if options.quick else 18_664, (8, 16) if options.quick else (32, 128), options.repeats)
        )
        show_times(found)
    if "literal" in parts:
        k, horizon = (3, 12) if options.quick else (8, 50)
        rows += (found := [literal(k, horizon, whole) for whole in (True, False)])
        show_literal(found)
    if "quality" in parts:
        k = 6 if options.quick else 32
        rows += (found := quality(1200 if options.quick else 6000, k))
        show_quality(found, k)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
