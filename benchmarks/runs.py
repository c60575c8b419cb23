"""Whole runs for ``gpu.py``: one by the code of ``orda train``, and several at once on one device."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from orda.bench.clock import wait
from orda.bench.workshop import Course, Training, Workshop, at_speed

PATIENCE = 240.0  # seconds for all processes to be ready


def whole_run(shop: Workshop, k: int, steps: int, every: int) -> dict[str, Any]:
    """Seconds of an ordered, greedy run with its evaluations, from images in memory to the result on disk."""
    try:
        import orda.training  # noqa: F401
    except ImportError as error:
        return {"by": f"the bench's own loop, for want of {error.name}", **own_loop(shop, k, steps, every)}
    return {"by": "orda.training.train", **by_train(shop, k, steps, every)}


def by_train(shop: Workshop, k: int, steps: int, every: int) -> dict[str, Any]:
    """As ``orda train`` does it, with made images in the place of a folder's."""
    from orda.data import DataSet, pair
    from orda.training import TrainConfig, train

    what = shop.what
    domains = {part.name: replace(part, images=np.asarray(part.images.cpu())) for part in (shop.source, shop.target)}
    made = DataSet(
        "made", domains, shop.source.classes, what.augmentation, "imagenet", image_size=what.size, split_by="example"
    )
    parts = {"open_task": lambda *_: made, "find_task": lambda *_: pair(*domains)}
    with tempfile.TemporaryDirectory() as folder:
        config = TrainConfig().updated(
            {
                "data.name": "folder",
                "data.root": folder,
                "data.sources": ["source"],
                "data.target": "target",
                "model.name": what.model,
                "model.weights": "random",
                "algorithm.name": what.algorithm,
                "algorithm.settings": {"gammas": "median"} if what.algorithm == "mmd" else {},
                "sampler.name": "ordered",
                "sampler.settings": {"optimiser": "greedy"},
                "batch_size": k,
                "horizon": what.horizon,
                "steps": steps,
                "eval_every": every,
                "machine.device": str(shop.device),
                "machine.deterministic": False,
                "machine.compile": what.compile,
            }
        )
        began = time.perf_counter()
        with patch.multiple("orda.training.assemble", **parts), at_speed(shop.device):
            result = train(config, Path(folder) / "run", progress=False)
        return {"seconds": time.perf_counter() - began, "parts": result.seconds}


def own_loop(shop: Workshop, k: int, steps: int, every: int) -> dict[str, Any]:
    """The bench's training, with all images evaluated every so often."""
    began, evaluations = time.perf_counter(), 0
    with at_speed(shop.device):
        course = Course(shop, k, "ordered, greedy")
        for done in range(0, steps, every):
            course.go(min(every, steps - done))
            shop.accuracy(course.learner)
            evaluations += 1
    wait(shop.device)
    return {"seconds": time.perf_counter() - began, "evaluations": evaluations}


# ---- several at once -------------------------------------------------------------------------------------------------


def at_once(count: int, device: str, what: Training, k: int, name: str) -> float:
    """Steps a second of ``count`` trainings together, each in a process of its own; they set off together, after a
    block that is not counted."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(count)
    threads = max(1, (os.cpu_count() or 1) // count)
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(ready, threads)) as pool:
        runs = [pool.submit(_one, device, what, k, name) for _ in range(count)]
        faults = [fault for fault in (run.exception() for run in runs) if fault is not None]
        for fault in sorted(faults, key=lambda fault: isinstance(fault, BrokenBarrierError)):
            raise fault  # the first that was not waiting for another
        seconds = [run.result() for run in runs]
    return count * what.horizon * what.blocks / max(seconds)


_ready: Any = None


def _begin(ready: Any, threads: int) -> None:
    global _ready
    _ready = ready
    torch.set_num_threads(threads)


def _one(device: str, what: Training, k: int, name: str) -> float:
    """Seconds from when all were ready."""
    try:
        place = torch.device(device)
        with at_speed(place):
            course = Course(Workshop(place, what), k, name)
            course.go(what.horizon)
            wait(place)
            _ready.wait(PATIENCE)
            began = time.perf_counter()
            course.go(what.horizon * what.blocks)
            wait(place)
            return time.perf_counter() - began
    except BaseException:
        _ready.abort()  # the others must not wait for this one
        raise
