"""The table of times against loops: samplers over all their algorithms, repeats by repeats, sweeps side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from experiments.made import PROTOCOL, results, score
from experiments.tables.test_accuracy import made_up, runs_of
from references import tables as literal

from orda.experiments.jobs import Place
from orda.experiments.store import Score, State
from orda.experiments.tables import time_table

SAMPLERS = {
    "Uniform random": ["CORAL", "MMD"],
    "VaRDASS": ["CORAL + VaRDASS"],
    "ORDERED": ["CORAL + ORDERED", "MMD + ORDERED"],
}
OTHER: dict[str, Any] = {
    **PROTOCOL,
    "name": "other",
    "groups": {
        "MMD": {
            "MMD": {"algorithm": "mmd", "sampler": "uniform"},
            "+ DPP": {"algorithm": "mmd", "sampler": "dpp"},
            "+ ORDERED": {"algorithm": "mmd", "sampler": "ordered", "sampler.settings.optimiser": "greedy"},
        }
    },
}


@pytest.mark.parametrize("unfinished", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.05, 0.5])
def test_against_loops(missing: float, unfinished: bool) -> None:
    found = results(made_up(1, missing, diverged=0.2))
    table, runs = time_table([found], unfinished=unfinished), runs_of(found)
    assert [line.label for line in table.lines] == list(SAMPLERS)
    for name, rows in SAMPLERS.items():
        values = {repeat: literal.seconds(runs, rows, repeat, unfinished) for repeat in range(3)}
        expected = {repeat: value for repeat, value in values.items() if value is not None}
        cell = table.cell(name, "made")
        assert dict(cell.values) == pytest.approx(expected)
        assert cell.mean == (pytest.approx(literal.mean(list(expected.values()))) if expected else None)


def test_sweeps_stand_side_by_side() -> None:
    table = time_table([results(lambda p: score(0.5, seconds=2)), results(lambda p: score(0.5, seconds=3), OTHER)])
    assert [line.label for line in table.lines] == ["Uniform random", "VaRDASS", "ORDERED", "DPP"]
    assert [column.heading for column in table.columns] == ["made", "other"]  # both are of the digits
    assert [cell.mean for cell in table.line("ORDERED").cells] == [2.0, 3.0]
    assert [cell.asked for cell in table.line("VaRDASS").cells] == [3, 0]
    alone = time_table([results(lambda p: score(0.5))])
    assert [column.heading for column in alone.columns] == ["Digits"]


def test_two_settings_of_a_sampler_are_two_lines() -> None:
    groups = {**OTHER["groups"]["MMD"], "+ ORDERED (assignment)": {"algorithm": "mmd", "sampler": "ordered"}}
    table = time_table([results(lambda p: score(0.5), {**OTHER, "groups": {"MMD": groups}})])
    assert [line.label for line in table.lines] == ["Uniform random", "DPP", "ORDERED", "ORDERED (assignment)"]


def test_a_diverged_run_ended_early_and_is_left_out() -> None:
    def scored(place: Place) -> Score:
        broken = place.row == "CORAL" and place.draw == 1
        return score(0.5, diverged=broken, seconds=1 if broken else 10)

    cell = time_table([results(scored)]).cell("Uniform random", "made")
    assert cell.mean == 10.0
    assert cell.diverged == 6  # 2 tasks, 3 repeats


def test_without_groups_of_samplers_every_row_stands_for_itself() -> None:
    groups = {"Baselines": PROTOCOL["groups"]["Baselines"]}
    table = time_table([results(lambda p: score(0.5), {**PROTOCOL, "groups": groups})])
    assert (table.stub, [line.name for line in table.lines]) == ("Method", ["ERM", "MCC"])
    everything = time_table([results(lambda p: score(0.5))], by="row")
    assert len(everything.lines) == 7


def test_a_repeat_with_a_missing_run_does_not_count() -> None:
    def scored(place: Place) -> Score | State:
        return State.QUEUED if (place.row, place.repeat, place.draw) == ("MMD", 1, 0) else score(0.5)

    found = results(scored)
    table = time_table([found])
    assert list(table.cell("Uniform random", "made").values) == [0, 2]
    assert table.cell("ORDERED", "made").complete
    shuffled = replace(found, records=tuple(reversed(found.records)))
    assert time_table([shuffled]) == table
