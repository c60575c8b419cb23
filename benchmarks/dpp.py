"""k-DPP minibatches: orda against DPPy on the same kernel, in one run.

    python benchmarks/dpp.py [--json FILE] [--quick]

DPPy is not a dependency of orda. To compare with it: ``pip install --no-deps --target DIR dppy`` and run with
``PYTHONPATH=DIR``; without it, orda's own times are printed.

The kernel is L = ΦΦᵀ of n centred features of dimension d, given to both as Φ, scaled so that DPPy's elementary
symmetric polynomials, which are not kept as logarithms, do not overflow. A time includes the eigendecomposition and
100 samples of k examples; the smallest of the repetitions counts. Both run on one thread.
That both draw from the same law is checked roughly: the mean log det(L_B) must agree.
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
from threadpoolctl import threadpool_limits

from orda.records import Features
from orda.samplers.dpp import DPP
from orda.samplers.kdpp import sample, spectrum_of_features

BATCHES = 100

try:
    from dppy.finite_dpps import FiniteDPP
except ImportError:
    FiniteDPP = None


def features(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Ten clusters of unequal size, non-negative as after a ReLU, with a decaying spectrum."""
    rng = np.random.default_rng(seed)
    sizes = rng.dirichlet(np.full(10, 0.7))
    centres = rng.normal(size=(10, d))
    z = centres[rng.choice(10, size=n, p=sizes)] + rng.normal(size=(n, d))
    return np.maximum(z * np.arange(1, d + 1) ** -0.3, 0)


def with_orda(phi: np.ndarray, k: int) -> np.ndarray:
    torch.set_num_threads(1)
    return sample(spectrum_of_features(torch.from_numpy(phi)), k, BATCHES, np.random.default_rng(0))


def with_dppy(phi: np.ndarray, k: int) -> np.ndarray:
    dpp = FiniteDPP("likelihood", L_gram_factor=phi.T)
    rng = np.random.RandomState(0)
    return np.array([dpp.sample_exact_k_dpp(size=k, random_state=rng) for _ in range(BATCHES)])


def timed(function: Callable[[], Any], repetitions: int) -> tuple[float, Any]:
    """The smallest time, and the last result."""
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - began)
    return min(times), result


def mean_log_det(phi: np.ndarray, index: np.ndarray) -> float:
    return float(np.mean([np.linalg.slogdet(phi[batch] @ phi[batch].T)[1] for batch in index]))


def compare(n: int, d: int, k: int, repetitions: int) -> dict[str, Any]:
    phi = features(n, d)
    phi -= phi.mean(0)
    phi *= np.sqrt(k / np.e / np.square(phi).sum())
    with threadpool_limits(1):
        ours, index = timed(lambda: with_orda(phi, k), repetitions)
    row = {"n": n, "d": d, "k": k, "orda_s": ours, "orda_log_det": mean_log_det(phi, index)}
    if FiniteDPP is not None:
        with threadpool_limits(1):
            theirs, index = timed(lambda: with_dppy(phi, k), repetitions)
        row |= {"dppy_s": theirs, "dppy_log_det": mean_log_det(phi, index), "times_faster": theirs / ours}
    return row


def plan_time(n: int, d: int, k: int, repetitions: int) -> dict[str, Any]:
    """A whole plan: both domains, float32 features given."""
    torch.set_num_threads(2)
    source, target = (torch.from_numpy(features(n, d, seed)).float() for seed in (0, 1))
    best, plan = timed(lambda: DPP().plan(Features(source, target), k, BATCHES, np.random.default_rng(0)), repetitions)
    return {"n": n, "d": d, "k": k, "plan_s": best, "rank": plan.diagnostics["rank"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="a small n, to see that it runs")
    arguments = parser.parse_args()
    n, d, repetitions = (1_000, 128, 2) if arguments.quick else (18_664, 512, 3)
    if FiniteDPP is None:
        print("DPPy is not installed: comparison skipped (see the top of this file).")
    with_orda(features(200, 64), 4)  # compile

    rows = [compare(n, d, 32, repetitions)]
    print(f"{BATCHES} minibatches, one kernel, eigendecomposition included:")
    for row in rows:
        text = f"  n={row['n']} d={row['d']} k={row['k']}: orda {row['orda_s']:.2f} s"
        if "dppy_s" in row:
            text += f", DPPy {row['dppy_s']:.2f} s ({row['times_faster']:.1f} times faster)"
            text += f"; mean log det {row['orda_log_det']:.2f} and {row['dppy_log_det']:.2f}"
        print(text)
    plans = [plan_time(n, d, k, repetitions) for k in (32, 128)]
    print("A plan of both domains, float32 features given:")
    for row in plans:
        print(f"  n={row['n']} d={row['d']} k={row['k']}: {row['plan_s']:.2f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps({"compare": rows, "plan": plans}, indent=2))


if __name__ == "__main__":
    main()
