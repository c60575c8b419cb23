"""From a protocol to its runs: how many, which, and what moves when something is added."""

from __future__ import annotations

import random
from typing import Any

import pytest
from experiments.small import SMALL, changed

from orda.errors import SettingError, UnknownName
from orda.experiments.jobs import Job, choose, expand, task_names
from orda.experiments.protocol import Protocol


def jobs_of(values: dict[str, Any]) -> list[Job]:
    return expand(Protocol.from_dict(values))


def by_place(jobs: list[Job]) -> dict[tuple[str, str, int, int], Job]:
    return {(job.row, job.task, job.repeat, job.draw): job for job in jobs}


def test_the_paper_is_17100_different_runs() -> None:
    jobs = [job for name in ("paper-spawrious", "paper-office-home") for job in expand(Protocol.load(name))]
    assert len(jobs) == 17_100
    assert len({job.digest for job in jobs}) == 17_100


def test_the_digest_found_by_replacing_values_is_the_configurations_own() -> None:
    for name in ("paper-spawrious", "paper-office-home", "digits"):
        protocol = Protocol.load(name)
        for job in random.Random(0).sample(expand(protocol), 40):
            assert job.config().digest() == job.digest, job.name


def test_a_jobs_configuration() -> None:
    protocol = Protocol.load("paper-office-home")
    job = by_place(expand(protocol))["MMD + ORDERED", "Real->Product", 4, 9]
    config = job.config()
    assert (config.algorithm.name, config.sampler.name) == ("mmd", "ordered")
    assert config.sampler.settings["optimiser"] == "greedy"
    assert config.data.sources == ("Real->Product",)
    assert config.batch_size == job.drawn["batch_size"]
    assert config.algorithm.settings["penalty"] == job.drawn["algorithm.settings.penalty"]
    default = by_place(expand(protocol))["MMD + ORDERED", "Real->Product", 4, 0].config()
    assert (default.batch_size, default.algorithm.settings["penalty"], default.model.dropout) == (32, 1.0, 0.0)


def test_rows_share_splits_starts_and_candidates() -> None:
    """What makes differences between rows paired."""
    places = by_place(jobs_of(SMALL))
    mine, its = (places[row, "rendered->handwritten", 1, 1].config() for row in ("ERM", "CORAL + ORDERED"))
    assert mine.data.split_seed == its.data.split_seed
    assert mine.seed == its.seed
    assert mine.batch_size == its.batch_size
    assert mine.algorithm.settings["lr"] == its.algorithm.settings["lr"]


def test_splits_follow_the_repeat_and_starts_the_draw() -> None:
    places = by_place(jobs_of(SMALL))
    first, other_draw, other_repeat = (
        places["CORAL", "rendered->handwritten", repeat, draw].config() for repeat, draw in ((0, 0), (0, 1), (1, 0))
    )
    assert first.data.split_seed == other_draw.data.split_seed != other_repeat.data.split_seed
    assert len({first.seed, other_draw.seed, other_repeat.seed}) == 3


def test_each_row_may_have_its_own_candidates() -> None:
    places = by_place(jobs_of(changed(search={"draws": 3, "candidates": "own"})))
    mine, its = (places[row, "rendered->handwritten", 1, 2].drawn for row in ("CORAL", "CORAL + ORDERED"))
    assert mine.keys() == its.keys()
    assert mine["algorithm.settings.lr"] != its["algorithm.settings.lr"]


@pytest.mark.parametrize(
    "larger",
    [
        changed(search={"draws": 3}),
        changed(repeats=3),
        changed(tasks=["handwritten->rendered", "rendered->handwritten"]),
        changed(groups={"New": {"MCC": {"algorithm": "mcc"}}, **SMALL["groups"]}),
        changed(
            train={
                **SMALL["train"],
                "data": {"name": "digits", "cache_dir": "/elsewhere"},
                "machine": {"device": "cpu"},
            }
        ),
    ],
    ids=["draw", "repeat", "task", "row", "machine"],
)
def test_adding_something_moves_nothing(larger: dict[str, Any]) -> None:
    before, after = by_place(jobs_of(SMALL)), by_place(jobs_of(larger))
    assert {place: job.digest for place, job in before.items()}.items() <= {
        place: job.digest for place, job in after.items()
    }.items()


def test_another_seed_moves_everything() -> None:
    before, after = jobs_of(SMALL), jobs_of(changed(seed=1))
    assert not {job.digest for job in before} & {job.digest for job in after}


def test_the_first_repeat_and_the_defaults_come_first() -> None:
    places = [(job.repeat, job.draw) for job in jobs_of(SMALL)]
    assert places == sorted(places)
    assert [job.row for job in jobs_of(SMALL)][:3] == ["ERM", "CORAL", "CORAL + ORDERED"]


def test_tasks_are_checked_by_name() -> None:
    assert len(task_names(Protocol.from_dict(changed(tasks=[])))) == 12
    with pytest.raises(UnknownName, match="Did you mean 'rendered->handwritten'"):
        jobs_of(changed(tasks=["rendered->handwriten"]))


def test_choosing_by_patterns() -> None:
    jobs = jobs_of(SMALL)
    assert {job.row for job in choose(jobs, ["group=CORAL"])} == {"CORAL", "CORAL + ORDERED"}
    assert {job.row for job in choose(jobs, ["row=* + *"])} == {"CORAL + ORDERED"}
    assert {job.repeat for job in choose(jobs, ["repeat=1"])} == {1}
    assert {job.row for job in choose(jobs, ["sampler=uniform"])} == {"ERM", "CORAL"}
    assert len(choose(jobs, ["row=ERM", "row=CORAL", "draw=0"])) == 4
    assert choose(jobs, ["task=rendered->*", "algorithm=mmd"]) == []
    assert choose(jobs, []) == jobs


def test_a_filter_that_cannot_be_meant() -> None:
    jobs = jobs_of(SMALL)
    with pytest.raises(UnknownName, match="Did you mean 'repeat'"):
        choose(jobs, ["repeats=1"])
    with pytest.raises(SettingError, match="key=pattern"):
        choose(jobs, ["row"])
