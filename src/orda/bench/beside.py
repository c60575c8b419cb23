"""Beside literal code, and beside other libraries where they are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import orda
from orda.bench import literal
from orda.bench.clock import timed
from orda.bench.data import clustered
from orda.bench.plans import plan
from orda.kernels import Linear
from orda.records import Features
from orda.samplers.kdpp import sample, spectrum_of_features
from orda.stratification import stratify

Row = dict[str, Any]
CPU = torch.device("cpu")


def beside_literal(n: int, d: int, k: int, horizon: int, device: torch.device) -> Row:
    """One plan of ORDERED, greedy, for MMD: literal NumPy on the CPU against orda on the device."""
    features, rng = clustered(n, d, CPU), np.random.default_rng(0)
    arrays = [z.double().numpy() for z in (features.source, features.target)]
    slow, _ = timed(lambda: literal.plan(arrays[0], arrays[1], k, horizon, 10, rng), CPU)
    sampler = orda.Ordered(orda.MMD(gammas="median"), optimiser="greedy")
    there = Features(features.source.to(device), features.target.to(device))
    plan(there, sampler, k, horizon)  # compiled code is loaded here
    fast, _ = timed(lambda: plan(there, sampler, k, horizon), device)
    what = f"plan, ordered greedy, mmd: n = {n:,}, d = {d}, k = {k}, M = {horizon}"
    return {"what": what, "beside": "literal NumPy", "its": slow, "orda": fast, "ratio": slow / fast}


def beside_peers(n: int, d: int, k: int) -> Iterator[Row]:
    """A row for each library that is there, a line in the place of each that is not."""
    peers: dict[str, tuple[str, Callable[[int, int, int], Row]]] = {
        "k_means_constrained": ("k-means-constrained", beside_constrained),
        "dppy": ("dppy", beside_dppy),
    }
    for module, (package, compare) in peers.items():
        if importlib.util.find_spec(module) is None:
            yield {"what": "", "beside": package, "skipped": f"{package} is not installed"}
        else:
            yield compare(n, d, k)


def beside_constrained(n: int, d: int, k: int) -> Row:
    """Clusters of a minimum size, linear kernel: one start of 30 iterations each, one domain."""
    from k_means_constrained import KMeansConstrained  # type: ignore[import-not-found, unused-ignore]

    z, least = clustered(n, d, CPU).source, n // (2 * k)
    peer = KMeansConstrained(k, size_min=least, n_init=1, max_iter=30, random_state=0)
    its, _ = timed(lambda: peer.fit(z.double().numpy()), CPU)
    fast, _ = timed(lambda: stratify(z, Linear(), k, min_size=least, rng=np.random.default_rng(0)), CPU)
    what = f"clusters of ≥ {least}, linear: n = {n:,}, d = {d}, k = {k}"
    return {"what": what, "beside": "k-means-constrained", "its": its, "orda": fast, "ratio": its / fast}


def beside_dppy(n: int, d: int, k: int) -> Row:
    """Ten k-DPP draws from a linear kernel."""
    from dppy.finite_dpps import FiniteDPP  # type: ignore[import-not-found, unused-ignore]

    n, draws, rng = min(n, 2000), 10, np.random.default_rng(0)
    phi = clustered(n, d, CPU).source.double()
    phi -= phi.mean(0)

    def theirs() -> None:
        dpp = FiniteDPP("likelihood", L=(phi @ phi.mT).numpy())
        for _ in range(draws):
            dpp.sample_exact_k_dpp(size=k, random_state=np.random.RandomState(0))

    its, _ = timed(theirs, CPU)
    fast, _ = timed(lambda: sample(spectrum_of_features(phi), k, draws, rng), CPU)
    what = f"{draws} k-DPP draws: n = {n:,}, d = {d}, k = {k}"
    return {"what": what, "beside": "dppy", "its": its, "orda": fast, "ratio": its / fast}
