"""Folders to report on: sweeps with made-up results and curves, and a real one on images of 8 × 8 pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from experiments import fake
from experiments.report.recorded import record
from experiments.small import changed
from references.datasets import SHADE_SIZE, write_shades

from orda.experiments.jobs import expand
from orda.experiments.protocol import Protocol
from orda.experiments.report import Chapter, gather
from orda.experiments.run import End, execute, train_run
from orda.experiments.store import Store

NAME = "a <b>folder</b> & \"runs\" of 'mine'"
AWKWARD = "<bee> & 'b'"
TITLE = 'Digits <script>alert(1)</script> & "more"'


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 runs with curves: two of ERM failed, one result of CORAL is damaged, one run of ORDERED diverged."""
    store = Store(tmp_path_factory.mktemp("made") / NAME)
    protocol = Protocol.from_dict(changed(title=TITLE))
    jobs = expand(protocol)
    store.save_sweep(protocol, jobs)
    for job in jobs:
        ordered = job.row == "CORAL + ORDERED"
        diverges = ordered and (job.repeat, job.draw) == (0, 1)
        fake.behave(store.root, erm="fail" if job.repeat else "", coral="diverge" if diverges else "")
        if execute(job, store, fake.train).end is End.DONE and not diverges:
            record(store.folder(job.digest), job.digest, job.base.algorithm.name, ordered)
    broken = next(job for job in jobs if job.row == "CORAL")
    (store.folder(broken.digest) / "result.json").write_text("{")
    return store.root


@pytest.fixture(scope="session")
def chapter(made: Path) -> Chapter:
    return gather(made)[0]


@pytest.fixture(scope="session")
def shades(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of two domains, in classes of which one has an awkward name."""
    folder = write_shades(tmp_path_factory.mktemp("data") / "shades", ("ink", "paper"))
    for domain in folder.iterdir():
        (domain / "bee").rename(domain / AWKWARD)
    return folder


def real_protocol(shades: Path) -> dict[str, Any]:
    return {
        "name": "shades",
        "train": {
            "data": {
                "name": "folder",
                "root": str(shades),
                "size": SHADE_SIZE,
                "cache_dir": f"{shades}-cache",
            },
            "model": {"name": "small-cnn"},
            "machine": {"device": "cpu", "assess": True},
            "batch_size": 5,
            "horizon": 4,
            "steps": 8,
            "eval_every": 4,
        },
        "tasks": ["ink->paper"],
        "groups": {
            "Baselines": {"ERM": {"algorithm": "erm"}},
            "CORAL": {
                "CORAL": {"algorithm": "coral", "sampler": "uniform"},
                "+ ORDERED": {"algorithm": "coral", "sampler": "ordered"},
            },
        },
        "search": {"draws": 1},
        "repeats": 2,
    }


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory, shades: Path) -> Path:
    """Six runs that were trained."""
    store = Store(tmp_path_factory.mktemp("real") / "runs")
    protocol = Protocol.from_dict(real_protocol(shades))
    jobs = expand(protocol)
    store.save_sweep(protocol, jobs)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of such small tensors one thread is done before two have met
    for job in jobs:
        assert execute(job, store, train_run).end is End.DONE
    torch.set_num_threads(threads)
    return store.root
