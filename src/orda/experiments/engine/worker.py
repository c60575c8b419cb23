"""What a worker of ``LocalProcesses`` does: one run after another, until there are no more or its sweep is gone."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

from orda.experiments.engine.output import output_to
from orda.experiments.jobs import Job
from orda.experiments.run import End, Train, execute
from orda.experiments.store import Store

ORPHAN_CHECK = 1.0  # seconds between two looks at whether the sweep still lives
ORPHAN_GRACE = 60.0  # seconds that an orphan has for its checkpoint


def work(pipe: Connection, store: Store, train: Train, threads: int, sweep: int) -> None:
    """Take a job, do it, say how it ended."""
    _leave_the_terminal()
    threading.Thread(target=_end_with, args=(sweep,), daemon=True).start()
    _use_threads(threads)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # outside of training; inside, it has its own
        while True:
            job: Job = pipe.recv()
            with output_to(store.folder(job.digest)):
                outcome = execute(job, store, train, on_loss=lambda: os._exit(1))
            pipe.send(outcome)
            if outcome.end in (End.FAILED, End.STOPPED):
                return
            _tidy()


def _leave_the_terminal() -> None:
    """Ctrl-C is for the sweep, which then asks us to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _use_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _tidy() -> None:
    """Give memory back that the next run, or a neighbour on the same GPU, may need."""
    import torch

    gc.collect()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()


def _end_with(parent: int) -> None:
    """When the sweep is gone, stop as if asked to; and if that takes too long, at once."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_CHECK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_GRACE)
    os._exit(1)
