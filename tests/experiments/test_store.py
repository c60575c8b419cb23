"""The folder of runs: every state is told apart by what is on the disk, and what cannot be used is named."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import fake
from experiments.small import SMALL

from orda.errors import RunError, UnknownName
from orda.experiments.jobs import Job, Place
from orda.experiments.protocol import Protocol
from orda.experiments.run import End, execute
from orda.experiments.store import Score, State, Store
from orda.experiments.store.folder import counts


def test_the_states(store: Store, jobs: list[Job]) -> None:
    job = jobs[0]
    seen = [store.state(job.digest)]
    claim = store.claim(job.digest)
    assert claim is not None
    seen.append(store.state(job.digest))
    store.fail(job.digest, "ValueError: no", "Traceback …")
    claim.release()
    seen.append(store.state(job.digest))
    again = store.claim(job.digest)
    assert again is not None
    seen.append(store.state(job.digest))
    again.release()
    seen.append(store.state(job.digest))
    fake.train(job.config(), store.folder(job.digest))
    seen.append(store.state(job.digest))
    assert seen == ["queued", "running", "failed", "running", "queued", "done"]


def test_a_score(store: Store, jobs: list[Job]) -> None:
    result = fake.train(jobs[0].config(), store.folder(jobs[0].digest))
    entry = store.read(jobs[0].digest)
    assert entry.state is State.DONE
    assert entry.score == Score(
        False, result.source_validation, result.target_accuracy, result.final_target_accuracy, result.seconds["total"]
    )


def test_a_failure_is_kept_with_its_traceback(store: Store, jobs: list[Job]) -> None:
    fake.behave(store.root, erm="fail")
    assert execute(jobs[0], store, fake.train).end is End.FAILED
    found = store.failure(jobs[0].digest)
    assert found["error"] == "ValueError: it always does"
    assert 'raise ValueError("it always does")' in found["traceback"]
    assert store.read(jobs[0].digest).fault == "ValueError: it always does"


DAMAGE: dict[str, Callable[[str], str]] = {
    "cut short": lambda text: text[:100],
    "empty": lambda text: "",
    "zeros": lambda text: "\0" * len(text),
    "not a mapping": lambda text: "[]",
    "a missing key": lambda text: text.replace('"target_accuracy"', '"target_acuracy"'),
    "an impossible accuracy": lambda text: json.dumps(json.loads(text) | {"target_accuracy": 1.5}),
    "no total": lambda text: json.dumps(json.loads(text) | {"seconds": {}}),
    "another run's": lambda text: json.dumps(json.loads(text) | {"digest": "0" * 12}),
    "a text for a number": lambda text: json.dumps(json.loads(text) | {"source_validation": "high"}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_record_is_named_and_set_aside(store: Store, jobs: list[Job], damage: Callable[[str], str]) -> None:
    digest = jobs[0].digest
    fake.train(jobs[0].config(), store.folder(digest))
    path = store.folder(digest) / "result.json"
    path.write_text(damage(path.read_text()))
    entry = store.read(digest)
    assert entry.state is State.DAMAGED
    assert entry.score is None
    assert str(path) in (entry.fault or "")
    aside = store.set_aside(digest)
    assert aside.name == "result.json.damaged-1"
    assert store.state(digest) is State.QUEUED
    path.write_text("")
    assert store.set_aside(digest).name == "result.json.damaged-2"
    assert aside.exists()


def test_a_sweep_comes_back_as_it_was(store: Store, jobs: list[Job]) -> None:
    protocol = Protocol.from_dict(SMALL)
    store.save_sweep(protocol, jobs)
    assert store.sweeps() == ["small"]
    found, places = store.load_sweep("small")
    assert found == protocol
    assert places == [Place(**{name: getattr(job, name) for name in Place.__dataclass_fields__}) for job in jobs]
    with pytest.raises(UnknownName, match="Did you mean 'small'"):
        store.load_sweep("smal")


def test_records_say_how_many_are_what(store: Store, jobs: list[Job]) -> None:
    fake.behave(store.root, coral="fail")
    for job in jobs[:4]:
        execute(job, store, fake.train)
    (store.folder(jobs[0].digest) / "result.json").write_text("{")
    found = counts(store.records(jobs))
    assert found == {State.QUEUED: 8, State.FAILED: 2, State.DONE: 1, State.DAMAGED: 1}
    assert store.digests() == sorted(job.digest for job in jobs[:4])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="--runs"):
        Store(tmp_path / "nowhere").digests()


def test_another_process_opens_it_for_itself(store: Store) -> None:
    other = pickle.loads(pickle.dumps(store))
    assert (other.root, other.beat, other.watch.patience) == (store.root, store.beat, store.watch.patience)
    assert other.watch is not store.watch
