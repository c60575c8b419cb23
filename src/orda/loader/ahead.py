"""Planning while training goes on: the next plan from features one block old.

On a GPU it is made in a thread of its own, on a stream of its own: the CPU orders while the GPU trains. On a CPU both
would want the same cores, and the libraries' number of threads is one for the whole process, so that the bits of a
training step would depend on when it meets a plan. There the plan is made at once and kept: the same plan to the bit,
and nothing gained.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

import torch

from orda.records import Plan


class Ahead:
    """A plan in the making. Compiled loops and tensor operations release the interpreter for training."""

    def __init__(self, make: Callable[[], Plan], device: torch.device) -> None:
        self._plan: Future[Plan] = Future()
        if device.type != "cuda":
            self._work(make)
            return
        ready = torch.cuda.current_stream(device).record_event()
        # a daemon: a loader that nobody asks any more must not keep the process alive
        Thread(target=self._work_on, args=(make, device, ready), name="orda plan", daemon=True).start()

    def plan(self) -> Plan:
        """The plan, waited for if need be; what went wrong in making it is raised here."""
        return self._plan.result()

    def _work_on(self, make: Callable[[], Plan], device: torch.device, ready: torch.cuda.Event) -> None:
        try:
            stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            stream.wait_event(ready)  # the features are there
            with torch.cuda.device(device), torch.cuda.stream(stream):
                self._work(make)
        except BaseException as error:
            self._plan.set_exception(error)

    def _work(self, make: Callable[[], Plan]) -> None:
        try:
            self._plan.set_result(make())
        except Exception as error:
            self._plan.set_exception(error)
