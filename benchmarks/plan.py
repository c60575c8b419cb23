"""A whole plan, features given: seconds by part and peak memory, one process a case.

    python benchmarks/plan.py [--quick] [--json FILE]

Features: 40 Gaussian clusters in 512 dimensions, 18,664 examples a domain; the target's clusters moved, of other sizes.
Cold is a first plan, warm the next one, which starts from its strata on features that have drifted by 5 %.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

import orda

CASES = {
    "mmd, assignment": lambda: orda.Ordered(orda.MMD(gammas="median")),
    "mmd, greedy": lambda: orda.Ordered(orda.MMD(gammas="median"), optimiser="greedy"),
    "coral, assignment": lambda: orda.Ordered(orda.CORAL()),
    "linear mmd, assignment": lambda: orda.Ordered(orda.MMD("linear")),
    "mmd, stratified": lambda: orda.Stratified(orda.MMD(gammas="median")),
    "k-means++": orda.KMeansPlusPlus,
    "k-DPP": orda.DPP,
    "anticlustering": orda.Anticlustering,
    "uniform": orda.Uniform,
}


def clustered(n: int, d: int, rng: np.random.Generator, centres: np.ndarray, shift: float) -> np.ndarray:
    shares = rng.dirichlet(np.full(len(centres), 2.0))
    moved = centres + shift * rng.normal(size=centres.shape)
    return (moved[rng.choice(len(centres), n, p=shares)] + rng.normal(size=(n, d))).astype(np.float32)


def measure(case: str, n: int, d: int, k: int, horizon: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    centres = 0.7 * rng.normal(size=(40, d))
    zs, zt = clustered(n, d, rng, centres, 0.0), clustered(n, d, rng, centres, 0.3)
    sampler = CASES[case]()
    small = rng.normal(size=(300, 8)).astype(np.float32), rng.normal(size=(300, 8)).astype(np.float32)
    orda.plan(*small, sampler=sampler, batch_size=4, horizon=5)  # compiled code is loaded here
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    plan = orda.plan(zs, zt, sampler=sampler, batch_size=k, horizon=horizon)
    cold = time.perf_counter() - began
    zs, zt = (z + 0.05 * rng.normal(size=z.shape).astype(np.float32) for z in (zs, zt))
    began = time.perf_counter()
    orda.plan(zs, zt, sampler=sampler, batch_size=k, horizon=horizon, seed=1, previous=plan)
    warm = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = plan.diagnostics.get("seconds")
    parts = seconds if isinstance(seconds, dict) else {"total": seconds}
    return {
        "case": case,
        "k": k,
        "cold": cold,
        "warm": warm,
        "peak_gb": peak / 2**20,
        "start_gb": before / 2**20,
        **parts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="n = 3,000, d = 64: seconds instead of minutes")
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("-k", type=int, default=32)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    n, d = (3000, 64) if options.quick else (18_664, 512)
    rows = []
    print(f"n = {n} a domain, d = {d}, k = {options.k}, M = 100")
    print(f"{'case':24}{'cold s':>9}{'warm s':>9}{'stratify':>10}{'prepare':>9}{'order':>8}{'peak GB':>9}")
    for case in options.only:
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # a process of its own, so that peaks do not add up
            row = pool.apply(measure, (case, n, d, options.k, 100))
        rows.append(row)
        parts = "".join(
            f"{row[p]:{w}.2f}" if p in row else " " * w for p, w in (("stratify", 10), ("prepare", 9), ("order", 8))
        )
        print(f"{case:24}{row['cold']:9.2f}{row['warm']:9.2f}{parts}{row['peak_gb']:9.2f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
