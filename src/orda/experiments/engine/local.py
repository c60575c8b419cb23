"""Processes on this machine, each doing one run after another; several may share a GPU.

A worker ends with a run that failed (its CUDA context may be spoiled) and another takes its place. A worker whose sweep
is gone writes its checkpoint and ends; killed, it leaves a claim that is seen to be of a dead process. What workers
print goes to ``log.txt`` of the run that they are at.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from orda.experiments.engine.base import Ended, Engine
from orda.experiments.engine.machine import threads_each
from orda.experiments.engine.output import LOG
from orda.experiments.engine.worker import work
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome, Train, train_run
from orda.experiments.store import Store

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class Worker:
    """A process, the pipe to it, and what it is doing."""

    process: BaseProcess
    pipe: Connection
    gpu: str  # for CUDA_VISIBLE_DEVICES
    job: Job | None = None


class LocalProcesses(Engine):
    """``jobs`` processes of ``threads`` threads, dealt out over ``gpus``: with none, they see no GPU."""

    def __init__(
        self,
        store: Store,
        train: Train = train_run,
        *,
        jobs: int = 1,
        gpus: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        self.store, self.train, self.jobs, self.gpus = store, train, jobs, tuple(gpus)
        self.threads = threads_each(jobs, threads)
        self._workers: list[Worker] = []
        self._stopping = False

    @property
    def slots(self) -> int:
        return self.jobs

    def submit(self, job: Job) -> None:
        for worker in [worker for worker in self._workers if worker.job is None and not worker.process.is_alive()]:
            self._retire(worker)
        worker = next((worker for worker in self._workers if worker.job is None), None) or self._start()
        worker.job = job
        with suppress(OSError):  # it died meanwhile: wait() tells
            worker.pipe.send(job)

    def wait(self, seconds: float) -> list[Ended]:
        busy = [worker for worker in self._workers if worker.job is not None]
        if not busy:
            return []
        ready = wait([worker.pipe for worker in busy] + [worker.process.sentinel for worker in busy], seconds)
        ended = [self._ended(worker) for worker in busy if worker.pipe in ready or worker.process.sentinel in ready]
        return [found for found in ended if found is not None]

    def stop(self) -> None:
        self._stopping = True
        for worker in self._workers:
            if worker.job is not None:
                worker.process.terminate()
            else:
                worker.pipe.close()

    def close(self) -> None:
        for worker in self._workers:
            worker.pipe.close()  # an idle one ends by itself
            if worker.job is not None:
                _kill(worker.process)
        for worker in self._workers:
            _bury(worker.process)
        self._workers.clear()

    def _ended(self, worker: Worker) -> Ended | None:
        """What the worker says of its job, or that it died over it."""
        job = worker.job
        assert job is not None
        try:
            outcome = worker.pipe.recv() if worker.pipe.poll() else None
        except (EOFError, OSError):
            outcome = None
        if outcome is None:
            if worker.process.is_alive():
                worker.process.join(5)  # its pipe broke, so it is about to end
            end = End.STOPPED if self._stopping else End.LOST
            log = self.store.folder(job.digest) / LOG
            outcome = Outcome(end, f"the process {_cause(worker.process.exitcode)}; its last words: {log}")
        worker.job = None
        if outcome.end in (End.LOST, End.FAILED, End.STOPPED):
            self._retire(worker)
        return Ended(job, outcome)

    def _retire(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.pipe.close()
        _bury(worker.process)

    def _start(self) -> Worker:
        ours, theirs = multiprocessing.Pipe()
        gpu = self._least_used_gpu()
        changes = dict.fromkeys(THREADS, str(self.threads)) | {"CUDA_VISIBLE_DEVICES": gpu}
        process = multiprocessing.get_context("spawn").Process(
            target=work,
            args=(theirs, self.store, self.train, self.threads, os.getpid()),
            name="orda worker",
            daemon=False,  # it may need processes of its own
        )
        with _environment(changes), _deaf():
            process.start()
        theirs.close()
        worker = Worker(process, ours, gpu)
        self._workers.append(worker)
        return worker

    def _least_used_gpu(self) -> str:
        used = [worker.gpu for worker in self._workers]
        return min(self.gpus, key=used.count) if self.gpus else ""


def _bury(process: BaseProcess) -> None:
    """Wait for the end of a process that should end by itself, and help if it does not."""
    process.join(5)
    if process.is_alive():
        _kill(process)
        process.join()


def _kill(process: BaseProcess) -> None:
    """End the process, and those that it has started, at once."""
    process.kill()
    if process.pid is not None:
        with suppress(OSError, AttributeError):
            os.killpg(process.pid, signal.SIGKILL)


def _cause(exitcode: int | None) -> str:
    if exitcode is None:
        return "went silent"
    if exitcode >= 0:
        return f"ended with exit code {exitcode}"
    name = signal.Signals(-exitcode).name if -exitcode in list(signal.Signals) else f"signal {-exitcode}"
    return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that start inside do not hear Ctrl-C until they choose to; one that comes meanwhile is heard after."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Inside, child processes start with these variables."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
