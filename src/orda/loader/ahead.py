"""Planning while training goes on: the next plan in a thread of its own, from features one block old."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

import torch

from orda.records import Features, Plan


class Ahead:
    """A plan in the making. Compiled loops and tensor operations release the interpreter for training."""

    def __init__(self, make: Callable[[], Plan], features: Features) -> None:
        self._plan: Future[Plan] = Future()
        device = features.source.device
        ready = torch.cuda.current_stream(device).record_event() if device.type == "cuda" else None
        # a daemon: a loader that nobody asks any more must not keep the process alive
        Thread(target=self._work, args=(make, device, ready), name="orda plan", daemon=True).start()

    def plan(self) -> Plan:
        """The plan, waited for if need be; what went wrong in making it is raised here."""
        return self._plan.result()

    def _work(self, make: Callable[[], Plan], device: torch.device, ready: torch.cuda.Event | None) -> None:
        try:
            if ready is None:
                self._plan.set_result(make())
                return
            stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            stream.wait_event(ready)  # the features are there
            with torch.cuda.device(device), torch.cuda.stream(stream):
                self._plan.set_result(make())
        except BaseException as error:
            self._plan.set_exception(error)
