"""One run, wherever it is done: every way that it can end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from experiments import fake

from orda.experiments.jobs import Job
from orda.experiments.run import End, execute, is_full
from orda.experiments.store import State, Store
from orda.training import RunResult, TrainConfig


def test_done_and_then_not_done_again(store: Store, jobs: list[Job]) -> None:
    outcome = execute(jobs[0], store, fake.train)
    assert (outcome.end, outcome.seconds) == (End.DONE, 1.5)
    assert execute(jobs[0], store, fake.train).end is End.DONE
    assert (store.folder(jobs[0].digest) / "begun.txt").read_text() == "begun\n"


def test_divergence_is_a_result(store: Store, jobs: list[Job]) -> None:
    fake.behave(store.root, erm="diverge")
    outcome = execute(jobs[0], store, fake.train)
    assert (outcome.end, outcome.message) == (End.DONE, "diverged")
    score = store.read(jobs[0].digest).score
    assert score is not None
    assert score.diverged


def test_a_run_that_another_process_has(store: Store, jobs: list[Job]) -> None:
    claim = store.claim(jobs[0].digest)
    assert claim is not None
    assert execute(jobs[0], store, fake.train).end is End.TAKEN
    claim.release()
    assert execute(jobs[0], store, fake.train).end is End.DONE


def test_an_interrupt_is_no_failure(store: Store, jobs: list[Job]) -> None:
    def interrupted(config: TrainConfig, folder: Path) -> RunResult:
        raise KeyboardInterrupt("stopped after step 3")

    outcome = execute(jobs[0], store, interrupted)
    assert (outcome.end, outcome.message) == (End.STOPPED, "stopped after step 3")
    assert store.state(jobs[0].digest) is State.QUEUED


def test_a_full_disk_is_no_failure_of_the_run(store: Store, jobs: list[Job]) -> None:
    fake.behave(store.root, erm="full")
    outcome = execute(jobs[0], store, fake.train)
    assert outcome.end is End.FULL
    assert store.state(jobs[0].digest) is State.QUEUED


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_seen_behind_other_errors() -> None:
    with pytest.raises(RuntimeError) as caught:
        _write_to_a_full_disk()
    assert is_full(caught.value)
    assert not is_full(ValueError("no"))


def _write_to_a_full_disk() -> None:
    try:
        with open("/dev/full", "w") as file:
            file.write("x")
    except OSError as error:
        raise RuntimeError("could not save") from error


def test_training_that_leaves_no_result_has_failed(store: Store, jobs: list[Job]) -> None:
    def forgetful(config: TrainConfig, folder: Path) -> RunResult:
        return fake.make_result(config)

    assert execute(jobs[0], store, forgetful).end is End.FAILED
    assert store.failure(jobs[0].digest)["error"] == "training ended without a result"


def test_a_run_that_was_taken_over_reports_nothing(store: Store, jobs: list[Job]) -> None:
    def overtaken(config: TrainConfig, folder: Path) -> RunResult:
        (folder / "claim-2").write_text("{}\n")
        while not lost:
            pass
        raise ValueError("whatever happens now is not ours")

    lost: list[bool] = []
    assert execute(jobs[0], store, overtaken, on_loss=lambda: lost.append(True)).end is End.TAKEN
