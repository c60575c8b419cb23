"""Plans of many examples, and of many strata: seconds by part, peak memory and the errors of the feature map.

    python benchmarks/large.py n [SIZES …] [--discrepancy mmd|coral|mmd-linear] [-k 128] [--json FILE]
    python benchmarks/large.py k [--json FILE]           k = 1,024 of M = 100, without the pool's Gram matrix
    python benchmarks/large.py errors                    Nyström, Fourier and sketch: errors by rank
    python benchmarks/large.py strata                    strata and orders by the map, judged by the exact kernel
    python benchmarks/large.py others                    the other samplers at n = 100,000

Features: those of ``stratify.py`` (65 classes of unequal size, 32 common directions, noise, a ReLU; d = 512, float32),
made some rows at a time. Every size is a process of its own; "start" is its memory with the features there, CPU
seconds are those of all threads together: of what the neighbours on a machine do, they tell less.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

import orda
from orda.approximations import fourier_map, nystroem_map, sketch_map
from orda.approximations.quality import doubly_centred, relative
from orda.kernels import RBFMixture, SquaredInner

D, M, ROWS = 512, 100, 20_000
SIZES = (100_000, 200_000, 500_000, 1_000_000)
DISCREPANCIES = {
    "mmd": lambda: orda.MMD(gammas="median"),
    "coral": orda.CORAL,
    "mmd-linear": lambda: orda.MMD("linear"),
}


def features(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Source and target features (n, 512)."""
    rng = np.random.default_rng(0)
    centres, directions = rng.normal(size=(65, D)), (rng.normal(size=(32, D)) / np.sqrt(32)).astype(np.float32)

    def domain(centres: np.ndarray) -> torch.Tensor:
        shares, z = rng.dirichlet(np.full(65, 2.0)), np.empty((n, D), np.float32)
        for start in range(0, n, ROWS):
            rows = z[start : start + ROWS]
            rng.standard_normal(out=rows, dtype=np.float32)
            rows *= 0.5
            rows += rng.standard_normal((len(rows), 32), dtype=np.float32) @ directions
            rows += centres[rng.choice(65, len(rows), p=shares)]
            np.maximum(rows, 0, out=rows)
        return torch.from_numpy(z)

    return domain(centres), domain(centres + 0.3 * rng.normal(size=centres.shape))


def peak() -> float:
    """GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(n: int, k: int, sampler: orda.Sampler) -> dict[str, Any]:
    small = [torch.randn(300, 8, generator=torch.Generator().manual_seed(i)) for i in (0, 1)]
    orda.plan(*small, sampler=sampler, batch_size=4, horizon=5)  # compiled code is loaded here
    source, target = features(n)
    start, cpu, began = peak(), time.process_time(), time.perf_counter()
    plan = orda.plan(source, target, sampler=sampler, batch_size=k, horizon=M)
    row = {"n": n, "k": k, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    return row | {"start_gib": start, "peak_gib": peak(), "diagnostics": dict(plan.diagnostics)}


def alone(function: Any, *arguments: Any) -> Any:
    """In a process of its own, so that peaks do not add up."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def large_n(sizes: list[int], name: str, k: int) -> list[dict[str, Any]]:
    print(f"Ordered({name}), d = {D}, k = {k}, M = {M}, {torch.get_num_threads()} threads")
    print(f"{'n':>10}{'seconds':>9}{'CPU s':>9}{'stratify':>10}{'prepare':>9}{'order':>7}{'start':>7}{'peak GiB':>10}")
    rows = []
    for n in sizes:
        row = alone(measure, n, k, orda.Ordered(DISCREPANCIES[name]()))
        rows.append(row)
        parts = row["diagnostics"]["seconds"]
        print(
            f"{n:10,}{row['seconds']:9.1f}{row['cpu']:9.1f}{parts['stratify']:10.1f}{parts['prepare']:9.1f}"
            f"{parts['order']:7.1f}{row['start_gib']:7.1f}{row['peak_gib']:10.1f}",
            flush=True,
        )
        print(f"{'':10} {row['diagnostics']['approximation']}", flush=True)
    if len(rows) > 1:
        logs = [np.log([row[key] for row in rows]) for key in ("n", "cpu")]
        print(f"slope of log CPU seconds against log n: {np.polyfit(*logs, 1)[0]:.2f}")
    return rows


def large_k() -> list[dict[str, Any]]:
    n, k = 120_000, 1024
    gram = (2 * k * M) ** 2 / 2**28
    print(f"k = {k:,}, M = {M}, n = {n:,}, d = {D}; the Gram matrix of the pool would take {gram:.0f} GiB")
    rows = []
    both = ("assignment", "greedy")
    for name, optimiser in (*product(("mmd", "mmd-linear"), both), ("coral", "assignment")):
        row = alone(measure, n, k, orda.Ordered(DISCREPANCIES[name](), optimiser=optimiser))
        row |= {"discrepancy": name, "optimiser": optimiser}
        rows.append(row)
        said, parts = row["diagnostics"]["ordering"], row["diagnostics"]["seconds"]
        print(
            f"{name:12}{optimiser:12}{row['seconds']:8.1f} s ({row['cpu']:.1f} CPU), order {parts['order']:.1f} s, "
            f"start {row['start_gib']:.1f}, peak {row['peak_gib']:.1f} GiB; {said['problem']}, "
            f"variance of D̂ {said['variance']:.2e}, bias {said['bias']:.2e}",
            flush=True,
        )
    return rows


def errors() -> list[dict[str, Any]]:
    """Relative Frobenius errors over pairs of 1,500 points that no landmark was chosen from."""
    both = torch.cat(features(4000))
    both = both[torch.from_numpy(np.random.default_rng(1).permutation(len(both)))]
    points, candidates = both[:1500] - both.mean(0), both[1500:] - both.mean(0)
    rows = []
    print(f"{'kernel':15}{'map':20}{'rank':>6}{'error':>9}{'centred':>9}")
    for kernel in (RBFMixture("median").resolved(both), SquaredInner()):
        exact = kernel.gram(points, points).double().numpy()
        other = ("sketch", sketch_map) if isinstance(kernel, SquaredInner) else ("fourier", fourier_map)
        for name, make, more in (
            ("nystroem", nystroem_map, {}),
            ("nystroem, kmeans++", nystroem_map, {"landmarks": "kmeans++"}),
            (*other, {}),
        ):
            for rank in (128, 256, 512, 1024):
                psi = make(kernel, candidates, rank, np.random.default_rng(0), **more)(points).double()
                mapped = (psi @ psi.mT).numpy()
                found = relative(mapped, exact), relative(doubly_centred(mapped), doubly_centred(exact))
                rows.append({"kernel": kernel.name, "map": name, "rank": rank, "error": found[0], "centred": found[1]})
                print(f"{kernel.name:15}{name:20}{rank:6}{found[0]:9.4f}{found[1]:9.3f}", flush=True)
    return rows


def strata() -> list[dict[str, Any]]:
    """n = 20,000, k = 32, where everything can be had exactly."""
    source, target = features(20_000)
    rows = []
    print(f"{'discrepancy':12}{'map':10}{'rank':>6}{'objective':>12}{'variance':>11}{'bias':>11}{'D0':>12}{'CPU s':>8}")
    for name in ("mmd", "coral"):
        loss = DISCREPANCIES[name]()
        for method, rank, budget in (
            ("none", 0, None),
            *(("nystroem", rank, None) for rank in (128, 512, 1024)),
            ("fourier" if name == "mmd" else "sketch", 512, None),
            ("nystroem, order too", 512, 2**20),
        ):
            more = {} if budget is None else {"memory_budget": budget}
            sampler = orda.Ordered(loss, approximation=method.partition(",")[0], rank=max(1, rank), **more)
            cpu = time.process_time()
            plan = orda.plan(source, target, sampler=sampler, batch_size=32, horizon=M)
            cpu = time.process_time() - cpu
            checked = orda.assess(plan, source, target, loss)
            objective = exact_objective(source, target, loss, plan)
            d0 = plan.diagnostics["ordering"]["d0"]
            rows.append({"discrepancy": name, "map": method, "rank": rank, "objective": objective, "d0": d0})
            print(
                f"{name:12}{method[:9]:10}{rank:6}{objective:12.4e}{checked.variance:11.2e}{checked.bias:11.2e}"
                f"{d0:12.4e}{cpu:8.1f}" + ("   order too" if budget is not None else ""),
                flush=True,
            )
    return rows


def exact_objective(source: torch.Tensor, target: torch.Tensor, loss: orda.Discrepancy, plan: orda.Plan) -> float:
    """Σ_h n_h SSE_h of the source's strata under the exact kernel, over n²: the variance of the mean embedding."""
    from orda.records import Features
    from orda.stratification.kernel_kmeans import Centroids, stratum_sums

    embedding = loss.embedding(Features(source, target))
    strata = plan.source.strata
    assert strata is not None
    sums = stratum_sums(embedding.source, embedding.kernel, strata.k, 0)
    return Centroids.of(sums, strata.labels).objective / strata.n**2


def others() -> list[dict[str, Any]]:
    n, k = 100_000, 32
    rows = []
    print(f"n = {n:,}, d = {D}, k = {k}, M = {M}")
    for name, sampler in (
        ("uniform", orda.Uniform()),
        ("k-means++", orda.KMeansPlusPlus()),
        ("k-DPP, linear", orda.DPP()),
        ("k-DPP, rbf", orda.DPP("rbf-mixture")),
        ("anticlustering", orda.Anticlustering()),
        ("stratified", orda.Stratified(orda.MMD(gammas="median"))),
    ):
        row = alone(measure, n, k, sampler)
        rows.append(row | {"sampler": name})
        print(
            f"{name:16}{row['seconds']:8.1f} s{row['cpu']:8.1f} CPU s, "
            f"start {row['start_gib']:.1f}, peak {row['peak_gib']:.1f} GiB",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("n", "k", "errors", "strata", "others"))
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--discrepancy", choices=list(DISCREPANCIES), default="mmd")
    parser.add_argument("-k", type=int, default=128)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = {
        "n": lambda: large_n(options.sizes or list(SIZES), options.discrepancy, options.k),
        "k": large_k,
        "errors": errors,
        "strata": strata,
        "others": others,
    }[options.what]()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
