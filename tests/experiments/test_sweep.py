"""The sweep's bookkeeping: what becomes of runs that end in every way there is. The engine is scripted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from experiments import fake
from experiments.conftest import Clock
from experiments.test_claims import ELSEWHERE, write_claim

from orda.experiments.engine import Ended, Engine, Inline, Summary
from orda.experiments.jobs import Job
from orda.experiments.run import End, Outcome, execute
from orda.experiments.store import State, Store
from orda.experiments.store.claims import Watch

Of = Callable[[str], list[Job]]


class Scripted(Engine):
    """Ends every job as a script says: outcomes by row, the last one for ever; without a script it does the job."""

    def __init__(self, store: Store, slots: int = 2, **script: list[End]) -> None:
        self.store, self._slots, self.script = store, slots, {row: list(ends) for row, ends in script.items()}
        self.line: list[Job] = []
        self.submitted: list[Job] = []
        self.most = 0
        self.stops = 0

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, job: Job) -> None:
        self.line.append(job)
        self.submitted.append(job)
        self.most = max(self.most, len(self.line))

    def wait(self, seconds: float) -> list[Ended]:
        job = self.line.pop(0)
        ends = self.script.get(job.row)
        if not ends:
            return [Ended(job, execute(job, self.store, fake.train))]
        end = ends.pop(0) if len(ends) > 1 else ends[0]
        return [Ended(job, Outcome(end, f"it {end}"))]

    def stop(self) -> None:
        self.stops += 1

    def close(self) -> None:
        pass


def begun(store: Store, job: Job) -> int:
    path = store.folder(job.digest) / "begun.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_everything_is_done_once(store: Store, jobs: list[Job]) -> None:
    engine = Scripted(store)
    summary = fake.sweep(jobs, store, engine)
    assert summary.complete
    assert (len(summary.done), len(summary.before), summary.total) == (12, 0, 12)
    assert engine.most == 2
    again = fake.sweep(jobs, store, Scripted(store))
    assert (len(again.before), len(again.done), again.complete) == (12, 0, True)
    assert {begun(store, job) for job in jobs} == {1}


def test_the_order_is_that_of_the_jobs(store: Store, jobs: list[Job]) -> None:
    engine = Scripted(store)
    fake.sweep(jobs, store, engine)
    assert engine.submitted == jobs


def test_a_limit_counts_what_is_not_done(store: Store, jobs: list[Job]) -> None:
    assert fake.sweep(jobs, store, Inline(store, fake.train), limit=5).total == 5
    summary = fake.sweep(jobs, store, Inline(store, fake.train), limit=5)
    assert (len(summary.before), len(summary.done)) == (5, 5)


def test_a_run_that_always_fails_stops_nobody(store: Store, jobs: list[Job]) -> None:
    fake.behave(store.root, erm="fail")
    summary = fake.sweep(jobs, store, Inline(store, fake.train))
    assert len(summary.done) == 8
    assert [(job.row, message) for job, message in summary.failed] == [("ERM", "ValueError: it always does")] * 4
    assert not summary.complete
    assert summary.stopped is None
    again = fake.sweep(jobs, store, Inline(store, fake.train))
    assert [(job.row, message) for job, message in again.failed_before] == [("ERM", "ValueError: it always does")] * 4
    assert (len(again.before), again.failed, again.total, again.complete) == (8, [], 12, False)
    fake.behave(store.root)
    last = fake.sweep(jobs, store, Inline(store, fake.train), retry_failed=True)
    assert (len(last.done), last.complete) == (4, True)
    assert {begun(store, job) for job, _ in last.done} == {2}


def test_too_many_failures_may_stop_it(store: Store, jobs: list[Job]) -> None:
    fake.behave(store.root, erm="fail", coral="fail")
    summary = fake.sweep(jobs, store, Inline(store, fake.train), max_failures=3)
    assert len(summary.failed) == 3
    assert summary.stopped == "3 runs failed (--max-failures)"
    assert len(summary.todo) == 9


def test_a_lost_process_is_tried_again_and_then_counted_as_failed(store: Store, jobs: list[Job]) -> None:
    engine = Scripted(store, ERM=[End.LOST, End.LOST, End.DONE], CORAL=[End.LOST])
    for job in jobs:
        store.folder(job.digest).mkdir(parents=True)
    summary = fake.sweep(jobs[:2], store, engine, retries=2)
    assert [job.row for job, _ in summary.done] == ["ERM"]
    assert [(job.row, message) for job, message in summary.failed] == [("CORAL", "it lost, 3 times")]
    assert len(engine.submitted) == 6
    assert store.state(jobs[1].digest) is State.FAILED
    assert store.failure(jobs[1].digest)["error"] == "it lost, 3 times"


def test_a_full_disk_stops_it_and_blames_no_run(store: Store, jobs: list[Job]) -> None:
    engine = Scripted(store, CORAL=[End.FULL])
    summary = fake.sweep(jobs, store, engine)
    assert "no room on the disk" in (summary.stopped or "")
    assert summary.failed == []
    assert summary.total == 12
    assert engine.stops == 1
    assert store.state(jobs[1].digest) is State.QUEUED


def test_a_run_that_another_sweep_has_is_waited_for(store: Store, jobs: list[Job], of: Of) -> None:
    claims = {job.digest: store.claim(job.digest) for job in of("CORAL")[:2]}
    seen: list[int] = []

    def other_sweep(summary: Summary, ended: Ended | None) -> None:
        """It ends one of its runs well and gives the other back, once ours has nothing else to do."""
        seen.append(len(summary.elsewhere))
        if len(summary.done) == 10:
            for job in of("CORAL")[:2]:
                claim = claims.pop(job.digest, None)
                if claim is not None:
                    if claims:
                        fake.train(job.config(), store.folder(job.digest))
                    claim.release()

    summary = fake.sweep(jobs, store, Scripted(store), tell=other_sweep, poll=0.01)
    assert max(seen) == 2
    assert summary.complete
    assert [outcome.message for _, outcome in summary.done].count("by another sweep") == 1
    assert {begun(store, job) for job in jobs} == {1}


def test_a_run_of_a_machine_that_is_gone_is_taken_over(store: Store, jobs: list[Job], clock: Clock) -> None:
    store = Store(store.root, watch=Watch(60, clock))
    folder = store.folder(jobs[3].digest)
    folder.mkdir(parents=True)
    write_claim(folder, ELSEWHERE)

    def wait(summary: Summary, ended: Ended | None) -> None:
        clock.now += 10

    summary = fake.sweep(jobs, store, Scripted(store), tell=wait, poll=0.001)
    assert summary.complete
    assert summary.done[-1][0] == jobs[3]
    assert clock.now > 60


def test_a_failure_in_another_sweep_is_told(store: Store, jobs: list[Job]) -> None:
    claim = store.claim(jobs[0].digest)
    assert claim is not None

    def other_sweep(summary: Summary, ended: Ended | None) -> None:
        if len(summary.done) == 11 and not claim._through.is_set():
            store.fail(jobs[0].digest, "ValueError: there")
            claim.release()

    summary = fake.sweep(jobs, store, Scripted(store), tell=other_sweep, poll=0.01)
    assert summary.failed == [(jobs[0], "in another sweep: ValueError: there")]


def test_a_damaged_result_is_set_aside_and_done_again(store: Store, jobs: list[Job]) -> None:
    fake.sweep(jobs, store, Inline(store, fake.train))
    path = store.folder(jobs[2].digest) / "result.json"
    path.write_text("{")
    summary = fake.sweep(jobs, store, Inline(store, fake.train))
    assert (len(summary.before), len(summary.done)) == (11, 1)
    assert len(summary.set_aside) == 1
    assert jobs[2].digest in summary.set_aside[0]
    assert "result.json.damaged-1" in summary.set_aside[0]
    assert json.loads(path.read_text())["digest"] == jobs[2].digest


def test_an_interrupt_stops_it_in_order(store: Store, jobs: list[Job]) -> None:
    def interrupt(summary: Summary, ended: Ended | None) -> None:
        if len(summary.done) == 3:
            raise KeyboardInterrupt

    engine = Scripted(store, slots=1)
    summary = fake.sweep(jobs, store, engine, tell=interrupt)
    assert summary.stopped == "interrupted"
    assert len(summary.done) == 3
    assert summary.total == 12
    assert fake.sweep(jobs, store, Scripted(store)).complete


def test_runs_that_two_cells_share_are_done_once(store: Store, jobs: list[Job]) -> None:
    assert fake.sweep([*jobs, *jobs], store, Inline(store, fake.train)).total == 12


def test_every_end_is_told(store: Store, jobs: list[Job]) -> None:
    told: list[Any] = []
    fake.sweep(jobs, store, Inline(store, fake.train), tell=lambda summary, ended: told.append(ended and ended.job))
    assert [job for job in told if job is not None] == jobs
