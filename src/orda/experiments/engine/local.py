"""Processes on this machine, each doing one run after another; several may share a GPU.

A worker ends with a run that failed (its CUDA context may be spoiled) and another takes its place. A worker whose sweep
is gone writes its checkpoint and ends; killed, it leaves a claim that is seen to be of a dead process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from orda.experiments.engine.base import Ended, Engine
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome, Train, execute, train_run
from orda.experiments.store import Store

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ORPHAN_CHECK = 1.0  # seconds between two looks at whether the sweep still lives
ORPHAN_GRACE = 60.0  # seconds that an orphan has for its checkpoint


@dataclass
class Worker:
    """A process, the pipe to it, and what it is doing."""

    process: BaseProcess
    pipe: Connection
    gpu: str | None
    job: Job | None = None


class LocalProcesses(Engine):
    """``jobs`` processes; with ``gpus``, they are dealt out over these."""

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
        self.threads = max(1, (os.cpu_count() or 1) // jobs) if threads is None else threads
        self._workers: list[Worker] = []
        self._stopping = False

    @property
    def slots(self) -> int:
        return self.jobs

    def submit(self, job: Job) -> None:
        worker = next((worker for worker in self._workers if worker.job is None and worker.process.is_alive()), None)
        if worker is None:
            worker = self._start()
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
            outcome = Outcome(end, f"the process {_cause(worker.process.exitcode)}")
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
        changes = dict.fromkeys(THREADS, str(self.threads)) | ({} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu})
        process = multiprocessing.get_context("spawn").Process(
            target=work,
            args=(theirs, self.store, self.train, self.threads, os.getpid()),
            name="orda worker",
            daemon=False,  # it may need processes of its own
        )
        with _environment(changes):
            process.start()
        theirs.close()
        worker = Worker(process, ours, gpu)
        self._workers.append(worker)
        return worker

    def _least_used_gpu(self) -> str | None:
        used = [worker.gpu for worker in self._workers]
        return min(self.gpus, key=used.count) if self.gpus else None


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
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)


def work(pipe: Connection, store: Store, train: Train, threads: int, sweep: int) -> None:
    """What a worker does: take a job, do it, say how it ended; until there are no more."""
    os.setpgid(0, 0)  # Ctrl-C is for the sweep, which then asks us to stop
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # outside of training; inside, it has its own
    threading.Thread(target=_end_with, args=(sweep,), daemon=True).start()
    _use_threads(threads)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            job: Job = pipe.recv()
            outcome = execute(job, store, train, on_loss=lambda: os._exit(1))
            pipe.send(outcome)
            if outcome.end in (End.FAILED, End.STOPPED):
                return


def _use_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _end_with(parent: int) -> None:
    """When the sweep is gone, stop as if asked to; and if that takes too long, at once."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_CHECK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_GRACE)
    os._exit(1)


def _cause(exitcode: int | None) -> str:
    if exitcode is None:
        return "went silent"
    if exitcode >= 0:
        return f"ended with exit code {exitcode}"
    name = signal.Signals(-exitcode).name if -exitcode in list(signal.Signals) else f"signal {-exitcode}"
    return f"was killed by {name}" + (": out of memory?" if name == "SIGKILL" else "")


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
