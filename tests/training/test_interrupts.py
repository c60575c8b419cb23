from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from orda.training.interrupts import SIGNALS, Interrupts, Stop


@pytest.fixture(autouse=True)
def _handlers_are_put_back() -> Iterator[None]:
    before = [signal.getsignal(signum) for signum in SIGNALS]
    yield
    assert [signal.getsignal(signum) for signum in SIGNALS] == before


def send(signum: int) -> None:
    os.kill(os.getpid(), signum)


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_waits_until_it_is_asked_for(signum: int) -> None:
    with Interrupts() as interrupts:
        interrupts.check()
        send(signum)
        assert interrupts.signum == signum
        with pytest.raises(Stop):
            interrupts.check()


def test_a_second_signal_does_not_wait() -> None:
    with Interrupts():
        send(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt) as stopped:
            send(signal.SIGINT)
    assert type(stopped.value) is KeyboardInterrupt


def test_where_nothing_changes_a_signal_acts_at_once() -> None:
    reached = []

    def send_and_go_on() -> None:
        send(signal.SIGINT)
        reached.append("after the signal")

    with Interrupts() as interrupts:
        with pytest.raises(Stop), interrupts.at_once():
            send_and_go_on()
        with pytest.raises(Stop), interrupts.at_once():
            reached.append("although a signal had come before")
    assert reached == []


def test_after_such_a_place_signals_wait_again() -> None:
    with Interrupts() as interrupts:
        with interrupts.at_once():
            pass
        send(signal.SIGINT)
        assert interrupts.signum == signal.SIGINT


def test_other_threads_leave_signals_alone() -> None:
    seen: list[object] = []

    def work() -> None:
        with Interrupts() as interrupts:
            seen.append(signal.getsignal(signal.SIGINT))
            interrupts.check()

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
