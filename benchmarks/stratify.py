"""Stratification of two domains: seconds by part, cold and warm, peak memory, and k-means-constrained beside it.

    python benchmarks/stratify.py [--quick] [--repeats R] [--json FILE]

Features: 65 classes of unequal size (Dirichlet(2) shares), each a Gaussian about its centre with 32 common directions
of variation and some noise in all d, then a ReLU, as a network's last layer has it; float32. The target's centres are
moved by 0.3 of their spread. Warm starts from the strata of a cold run, on features that have all drifted smoothly by
a tenth. RBF kernels have the paper's γ over the median squared distance of both domains.

A time is that of both domains, one after another in one workspace that is fresh each time (so its page faults count);
of the repeats the fastest counts, with its parts. Peak memory is of a process of its own, and includes Python,
torch and the features ("at the start").

k-means-constrained is not a dependency of orda. To compare with it, install it somewhere and put that on PYTHONPATH
(``pip install --target DIR k-means-constrained``); without it that part is skipped. It has its own objective,
Σ_h SSE_h, orda Σ_h n_h SSE_h: both are printed for both. It gets one start and as many iterations as orda has sweeps
at most (its defaults are ten starts of 300), the same minimum size, and both threads where it can use them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from orda.kernels import Kernel, Linear, RBFMixture, SquaredInner
from orda.stratification import Stratification, Workspace, stratify

PARTS = ("gram", "start", "sweeps", "moves")
CASES = {  # name: kernel, d, k
    "rbf mixture": ("rbf-mixture", 512, 32),
    "rbf mixture, k = 128": ("rbf-mixture", 512, 128),
    "squared inner": ("squared-inner", 512, 32),
    "linear": ("linear", 512, 32),
    "rbf mixture, blocks": ("rbf-mixture", 512, 32),
}
MIN_SIZE = 100


def features(n: int, d: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Source and target features (n, d)."""
    rng = np.random.default_rng(seed)
    centres, directions = rng.normal(size=(65, d)), rng.normal(size=(32, d)) / np.sqrt(32)

    def domain(centres: np.ndarray) -> torch.Tensor:
        classes = rng.choice(65, n, p=rng.dirichlet(np.full(65, 2.0)))
        z = centres[classes] + rng.normal(size=(n, 32)) @ directions + 0.5 * rng.normal(size=(n, d))
        return torch.from_numpy(np.maximum(z, 0).astype(np.float32))

    return domain(centres), domain(centres + 0.3 * rng.normal(size=centres.shape))


def drifted(z: torch.Tensor) -> torch.Tensor:
    """The same features a tenth of their spread further on, by a smooth map."""
    d = z.shape[1]
    mix = torch.from_numpy(np.random.default_rng(1).normal(size=(d, d)).astype(np.float32)) / d**0.5
    step = torch.tanh((z - z.mean(0)) @ mix)
    return z + 0.1 * step * (z.std(0).norm() / step.std(0).norm())


def kernel_and_points(name: str, domains: tuple[torch.Tensor, ...]) -> tuple[Kernel, list[torch.Tensor]]:
    if name == "rbf-mixture":
        return RBFMixture("median").resolved(torch.cat(domains)), list(domains)
    return (Linear() if name == "linear" else SquaredInner()), [z - z.mean(0) for z in domains]


def both(
    kernel: Kernel, points: list[torch.Tensor], k: int, min_size: int, starts: list[Any], budget: int
) -> tuple[float, list[Stratification]]:
    workspace, began = Workspace(), time.perf_counter()
    found = [
        stratify(
            z,
            kernel,
            k,
            min_size=min_size,
            rng=np.random.default_rng(i),
            start=start,
            memory_budget=budget,
            workspace=workspace,
        )
        for i, (z, start) in enumerate(zip(points, starts, strict=True))
    ]
    return time.perf_counter() - began, found


def measure(case: str, n: int, repeats: int) -> list[dict[str, Any]]:
    """Cold and warm rows of one case."""
    name, d, k = CASES[case]
    min_size, budget = min(MIN_SIZE, n // k), 0 if "blocks" in case else 2 * 2**30
    domains = features(n, d, 0)
    cold_kernel, cold = kernel_and_points(name, domains)
    warm_kernel, warm = kernel_and_points(name, tuple(drifted(z) for z in domains))
    for start in (None, np.arange(600) % 4):  # compiled code is loaded here, for each of its uses
        stratify(cold[0][:600], cold_kernel, 4, rng=np.random.default_rng(0), start=start, memory_budget=budget)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    runs = {"cold": [both(cold_kernel, cold, k, min_size, [None, None], budget) for _ in range(repeats)]}
    starts = [found.strata.labels for found in runs["cold"][0][1]]
    runs["warm"] = [both(warm_kernel, warm, k, min_size, starts, budget) for _ in range(repeats)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = []
    for temperature, done in runs.items():
        seconds, found = min(done, key=lambda run: run[0])
        rows.append(
            {
                "case": case,
                "run": temperature,
                "seconds": seconds,
                **{part: sum(f.seconds[part] for f in found) for part in PARTS},
                "sweep_counts": [f.sweeps for f in found],
                "move_counts": [f.moves for f in found],
                "objective": [f.objective for f in found],
                "smallest": [int(f.strata.sizes.min()) for f in found],
                "method": found[0].method,
                "start_gb": before / 2**20,
                "peak_gb": peak / 2**20,
            }
        )
    return rows


def versus_constrained(n: int, repeats: int) -> list[dict[str, Any]]:
    """Linear kernel, d = 64, one domain, the same n, k and minimum size."""
    from k_means_constrained import KMeansConstrained  # type: ignore[import-not-found]

    d, k = 64, 32
    min_size = min(MIN_SIZE, n // k)
    x = features(n, d, 0)[0]
    x -= x.mean(0)
    stratify(x[:600], Linear(), 4, rng=np.random.default_rng(0))
    times, rows = [], []
    for _ in range(max(3, repeats)):
        began = time.perf_counter()
        found = stratify(x, Linear(), k, min_size=min_size, rng=np.random.default_rng(0))
        times.append(time.perf_counter() - began)
    rows.append({"case": "orda", "seconds": min(times), "rounds": found.sweeps, **judged(x, found.strata.labels)})
    began = time.perf_counter()
    theirs = KMeansConstrained(k, size_min=min_size, n_init=1, max_iter=30, random_state=0, n_jobs=2)
    theirs.fit(x.double().numpy())
    seconds = time.perf_counter() - began
    rows.append(
        {"case": "k-means-constrained", "seconds": seconds, "rounds": int(theirs.n_iter_), **judged(x, theirs.labels_)}
    )
    return rows


def judged(x: torch.Tensor, labels: np.ndarray) -> dict[str, Any]:
    """Both objectives, and the smallest stratum."""
    z = x.double().numpy()
    sizes = np.bincount(labels)
    errors = np.array([((z[labels == h] - z[labels == h].mean(0)) ** 2).sum() for h in range(len(sizes))])
    return {"weighted": float(sizes @ errors), "unweighted": float(errors.sum()), "smallest": int(sizes.min())}


WAYS: dict[str, dict[str, Any]] = {
    "30 sweeps": {"patience": 31, "moves": False},
    "30 sweeps, moves": {"patience": 31},
    "patience 1, moves": {"patience": 1},
    "patience 2, moves": {},
    "patience 2": {"moves": False},
}
SETS = {  # name: kernel, d (2: a standard normal; otherwise the features above), n, k, n_min
    "rbf mixture": ("rbf-mixture", 512, 6000, 32, 100),
    "rbf mixture, tight": ("rbf-mixture", 512, 6000, 32, 187),
    "linear": ("linear", 512, 6000, 32, 100),
    "linear, tight": ("linear", 512, 6000, 32, 187),
    "squared inner": ("squared-inner", 512, 6000, 32, 100),
    "2-d normal, linear": ("linear", 2, 4000, 20, 100),
    "2-d normal, rbf": ("rbf-mixture", 2, 4000, 20, 1),
}


def quality(starts: int) -> list[dict[str, Any]]:
    """The objective that ways to end the sweeps lead to, over that of 30 sweeps, and the time of sweeps and moves."""
    rows = []
    for case, (name, d, n, k, min_size) in SETS.items():
        normal = torch.from_numpy(np.random.default_rng(0).standard_normal((n, 2)).astype(np.float32))
        kernel, (points,) = kernel_and_points(name, (normal if d == 2 else features(n, d, 0)[0],))
        found = {
            way: [
                stratify(points, kernel, k, min_size=min_size, rng=np.random.default_rng(i), **settings)
                for i in range(starts)
            ]
            for way, settings in WAYS.items()
        }
        base = np.mean([f.objective for f in found["30 sweeps"]])
        for way, results in found.items():
            ratio = float(np.mean([f.objective for f in results]) / base)
            seconds = min(f.seconds["sweeps"] + f.seconds["moves"] for f in results)
            sweeps = float(np.mean([f.sweeps for f in results]))
            rows.append({"case": case, "way": way, "ratio": ratio, "seconds": seconds, "sweeps": sweeps})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="n = 3,000 instead of 18,664")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=[*CASES, "versus", "quality"], default=[*CASES, "versus"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    n = 3000 if options.quick else 18_664
    rows: list[dict[str, Any]] = []
    print(f"two domains of n = {n}, n_min = {MIN_SIZE} or n/k, {torch.get_num_threads()} threads; seconds of both")
    print(
        f"{'case':22}{'':6}{'total':>8}" + "".join(f"{p:>8}" for p in PARTS) + f"{'sweeps':>9}{'peak GB':>9}  (start)"
    )
    context = multiprocessing.get_context("spawn")
    for case in (case for case in CASES if case in options.only):
        with context.Pool(1) as pool:  # a process of its own, so that peaks do not add up
            for row in pool.apply(measure, (case, n, options.repeats)):
                rows.append(row)
                parts = "".join(f"{row[part]:8.2f}" for part in PARTS)
                sweeps = "+".join(map(str, row["sweep_counts"]))
                memory = f"{row['peak_gb']:9.2f}  ({row['start_gb']:.2f})"
                print(f"{row['case']:22}{row['run']:6}{row['seconds']:8.2f}{parts}{sweeps:>9}{memory}", flush=True)
    if "versus" in options.only:
        rows += compare(context, n, options.repeats)
    if "quality" in options.only:
        print("\nhow sweeps end: objective over that of 30 sweeps, mean of four starts; fastest seconds")
        for row in quality(4):
            rows.append(row)
            print(
                f"{row['case']:22}{row['way']:22}{row['ratio']:8.4f}{row['seconds']:8.2f} s{row['sweeps']:6.1f} sweeps"
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def compare(context: Any, n: int, repeats: int) -> list[dict[str, Any]]:
    print(f"\none domain of n = {n}, d = 64, k = 32, linear kernel")
    if importlib.util.find_spec("k_means_constrained") is None:
        print("k-means-constrained is not installed: skipped (see the head of this file)")
        return []
    with context.Pool(1) as pool:
        rows: list[dict[str, Any]] = pool.apply(versus_constrained, (n, repeats))
    for row in rows:
        print(
            f"{row['case']:22}{row['seconds']:8.2f} s{row['rounds']:5} rounds   Σ n_h SSE_h {row['weighted']:.6g}   "
            f"Σ SSE_h {row['unweighted']:.6g}   smallest {row['smallest']}"
        )
    print(f"ratio {rows[1]['seconds'] / rows[0]['seconds']:.0f}×")
    return rows


if __name__ == "__main__":
    main()
