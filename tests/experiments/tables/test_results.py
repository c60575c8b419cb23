"""The sweeps of a folder: found by name or by file, filtered, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import fake
from experiments.made import places, results, score
from experiments.small import SMALL, changed

from orda.errors import ConfigError, RunError, SettingError, UnknownName
from orda.experiments.jobs import Job, expand, sweep_digest
from orda.experiments.protocol import Protocol
from orda.experiments.run import execute
from orda.experiments.store import Store
from orda.experiments.tables import accuracy_table, load_results


@pytest.fixture
def swept(store: Store, jobs: list[Job]) -> Store:
    store.save_sweep(Protocol.from_dict(SMALL), jobs)
    for job in jobs:
        execute(job, store, fake.train)
    return store


def test_a_sweep_is_found(swept: Store, jobs: list[Job]) -> None:
    (found,) = load_results(swept)
    assert found.digest == sweep_digest(jobs)
    assert len(found.records) == len(jobs)
    table = accuracy_table(found)
    assert [line.name for line in table.lines] == ["ERM", "CORAL", "CORAL + ORDERED"]
    assert all(cell.complete for line in table.lines for cell in line.cells)


def test_a_protocols_file_serves_where_no_sweep_was_started(swept: Store, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(Protocol.from_dict(changed(name="mine")).to_yaml())
    (found,) = load_results(swept, [str(file)])
    (stored,) = load_results(swept, ["small"])
    assert accuracy_table(found).lines == accuracy_table(stored).lines
    assert found.digest == stored.digest


def test_part_of_it(swept: Store) -> None:
    (found,) = load_results(swept, only=["sampler=ordered", "draw=0"])
    assert [row.name for row in found.rows] == ["CORAL + ORDERED"]
    assert {record.place.draw for record in found.records} == {0}
    assert found.digest == load_results(swept)[0].digest
    assert "only sampler=ordered draw=0" in accuracy_table(found).notes[-1]


def test_a_folder_without_a_sweep(tmp_path: Path, store: Store, jobs: list[Job]) -> None:
    with pytest.raises(RunError, match=r"a folder of runs must be there.*orda sweep"):
        load_results(Store(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match=r"where there are no runs.*--protocol FILE"):
        load_results(Store(tmp_path / "empty"))
    fake.train(jobs[0].config(), store.folder(jobs[0].digest))
    with pytest.raises(RunError, match="with 1 runs and no sweep"):
        load_results(store)


def test_a_protocol_that_is_not_there(swept: Store) -> None:
    with pytest.raises(UnknownName, match="unknown protocol"):
        load_results(swept, ["smal"])
    with pytest.raises(ConfigError, match=r"no file smal\.yaml"):
        load_results(swept, ["smal.yaml"])


def test_a_filter_that_leaves_nothing(swept: Store) -> None:
    with pytest.raises(SettingError, match="--only must leave some runs of small; got row=MMD"):
        load_results(swept, only=["row=MMD"])
    with pytest.raises(UnknownName, match="key of --only"):
        load_results(swept, only=["rows=MMD"])


def test_the_digest_is_of_the_runs_and_not_of_their_order() -> None:
    found = places(results(lambda place: score(0.5)).protocol)
    assert sweep_digest(found) == sweep_digest(reversed(found))
    assert sweep_digest(found) != sweep_digest(found[1:])
    expanded = expand(Protocol.from_dict(SMALL))
    assert sweep_digest(expanded) == sweep_digest(expand(Protocol.from_dict(changed(name="x", title="y", note="z"))))
    assert sweep_digest(expanded) != sweep_digest(expand(Protocol.from_dict(changed(seed=1))))


def test_where_the_protocol_names_no_tasks_they_stand_by_name() -> None:
    found = results(lambda place: score(0.5))
    nameless = type(found)(Protocol.from_dict({**SMALL, "tasks": []}), found.records, found.digest)
    assert nameless.tasks == sorted(found.tasks)
