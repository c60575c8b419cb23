"""One runner for all studies: cells in processes, each kept as it finishes; then table, figure and manifest."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from importlib import metadata
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch

import orda
from orda import plots
from orda.data.progress import progress_bar
from orda.errors import RunError, SettingError
from orda.experiments.simulate.folder import Finished, StudyFolder, plain
from orda.experiments.simulate.study import Cell, Row, Study
from orda.seeds import generator

LIBRARIES = ("numpy", "scipy", "numba", "torch", "matplotlib")


def run(
    study: Study,
    out: Path,
    *,
    seed: int = 0,
    jobs: int = 1,
    force: bool = False,
    command: str | None = None,
    show: bool | None = None,
) -> StudyFolder:
    """Compute a study into ``out`` / its name, unless it is there already; an interrupted one goes on where it was.

    jobs     processes; the numbers do not depend on it. A study that measures seconds uses one whatever is asked.
    force    forget what is there, finished or not, of this config or another
    command  what to write into the manifest as the way to get this again
    show     a progress bar: where standard error is a terminal, unless told
    """
    check_jobs(jobs)
    began = time.perf_counter()
    folder, config = StudyFolder(Path(out) / study.name), config_of(study, seed)
    if not force and folder.is_finished(config):
        return folder  # untouched, so that it may lie where nothing can be written
    with folder.in_use():
        if force:
            folder.clear()
        done = folder.open(config)
        if folder.is_finished(config):
            return folder
        cells = study.cells()
        left = [cell for cell in cells if cell.name not in done]
        with (
            progress_bar(study.name, len(cells), show, done=len(cells) - len(left)) as advance,
            closing(computed(study, left, seed, 1 if study.timed else jobs)) as coming,
        ):
            for finished in coming:
                folder.append(finished)
                done[finished["cell"]] = finished
                advance(1)
        records = [done[cell.name] for cell in cells]  # in the study's order, whatever order they finished in
        rows: list[Row] = [row for record in records for row in record["rows"]]
        table = study.table(rows, generator(seed, study.name, "bootstrap"))
        with plots.look():
            figure = study.figure(table)
        manifest = {
            "command": command,
            "config": plain(config),
            "seeds": {"root": seed} | {" ".join(map(str, cell.stream)): done[cell.name]["seed"] for cell in cells},
            "versions": versions(),
            "machine": {"system": platform.platform(), "cores": os.cpu_count()},
            "seconds": {
                "cells": round(sum(record["seconds"] for record in records), 3),
                "this_run": round(time.perf_counter() - began, 3),
            },
            "cells": {"all": len(cells), "from_earlier_runs": len(cells) - len(left)},
            "warnings": warned(records),
        }
        folder.finish(table, figure, manifest)
    return folder


def config_of(study: Study, seed: int) -> dict[str, Any]:
    """What the numbers of a study depend on."""
    return {"study": study.name, "orda": orda.__version__, "seed": seed, **study.settings()}


def check_jobs(jobs: object) -> None:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise SettingError("jobs must be an integer of at least 1", repr(jobs))


def computed(study: Study, cells: list[Cell], seed: int, jobs: int) -> Generator[Finished]:
    """The cells' records, as they finish."""
    if jobs == 1 or len(cells) < 2:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            for cell in cells:
                yield compute(study, cell, seed)
        finally:
            torch.set_num_threads(threads)
        return
    context = multiprocessing.get_context("spawn")  # threads of torch and numba do not survive a fork
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(jobs, len(cells)), context, prepare_worker) as pool:
        try:
            with interrupts_ignored():  # by the processes that start here, from their first moment on
                futures = [pool.submit(compute, study, cell, seed) for cell in cells]
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise RunError(
                "a worker process was ended from outside", str(error),
                "Most often memory ran out: use fewer --jobs. Finished cells are kept; the same command goes on",
            ) from error  # fmt: skip
        except BaseException:  # an interrupt among them: do not wait for the cells that are under way
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


def prepare_worker() -> None:
    """One thread; and an end together with the parent, however that ends."""
    torch.set_num_threads(1)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
    os._exit(1)


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ctrl-C in a terminal reaches all processes; those that start in here leave it to their parent."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def compute(study: Study, cell: Cell, seed: int) -> Finished:
    """One cell: its rows, the seed it had, what it took, and what was warned of."""
    stream = study.seed_of(cell, seed)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = study.compute(cell.config, stream)
    seconds = time.perf_counter() - began
    texts = sorted({f"{warning.category.__name__}: {warning.message}" for warning in caught})
    return {"cell": cell.name, "seed": stream, "seconds": round(seconds, 4), "warnings": texts, "rows": rows}


def warned(records: list[Finished]) -> dict[str, Any]:
    """Every kind of warning: how many cells it came in, and one of its texts."""
    kinds: dict[str, dict[str, Any]] = {}
    for record in records:
        for text in record["warnings"]:
            kind, _, rest = text.partition(": ")
            kinds.setdefault(kind, {"cells": 0, "one_of_them": rest})["cells"] += 1
    return kinds


def versions() -> dict[str, Any]:
    return {"orda": orda.__version__, "python": platform.python_version()} | {
        name: metadata.version(name) for name in LIBRARIES
    }
