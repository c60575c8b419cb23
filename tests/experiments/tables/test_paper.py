"""The shipped protocols give the paper's tables: captions, columns and rows in their names and their order."""

from __future__ import annotations

import pytest
from experiments.made import places, score

from orda.experiments.protocol import Protocol
from orda.experiments.store import Entry, Record, State
from orda.experiments.tables import Results, accuracy_table, grid_of, time_table, to_latex

BASELINES = ["ERM", "DANN", "CDAN", "CDAN + SDAT", "CDAN + ELS", "ARM", "MCC"]
SAMPLERS = ["+ k-means++", "+ DPP", "+ Anticlustering", "+ VaRDASS", "+ ORDERED"]
METHODS = [BASELINES, ["CORAL", *SAMPLERS], ["MMD", *SAMPLERS]]
SPAWRIOUS = ["O2O-Easy", "O2O-Medium", "O2O-Hard", "M2M-Easy", "M2M-Medium", "M2M-Hard"]
OFFICE_HOME = ["C-A", "A-C", "P-A", "A-P", "R-A", "A-R", "P-C", "C-P", "R-C", "C-R", "R-P", "P-R"]
TIMES = ["Uniform random", "k-means++", "DPP", "Anticlustering", "VaRDASS", "ORDERED"]


def finished(name: str) -> Results:
    """Every run of a shipped protocol done, with one draw to save time."""
    protocol = Protocol.load(name)
    entry = Entry(State.DONE, score(0.5))
    records = tuple(Record(place, entry) for place in places(protocol) if place.draw == 0)
    return Results(protocol, records, "0" * 12)


@pytest.mark.parametrize(
    ("name", "caption", "columns"),
    [
        ("paper-spawrious", "Average test accuracy for Spawrious by data split", SPAWRIOUS),
        ("paper-office-home", "Average test accuracy for Office-Home by data split", OFFICE_HOME),
    ],
)
def test_tables_one_and_two(name: str, caption: str, columns: list[str]) -> None:
    grid = grid_of(accuracy_table(finished(name)))
    assert grid.title == caption
    assert list(grid.heads) == ["Method", *columns, "Average"]
    assert [[row.label for row in section] for section in grid.sections] == METHODS
    assert rf"\begin{{tabular}}{{@{{}}l|{'c' * len(columns)}|c@{{}}}}" in to_latex(grid)


def test_table_three() -> None:
    grid = grid_of(time_table([finished("paper-spawrious"), finished("paper-office-home")]))
    assert grid.title == "Average wall-clock training times by dataset (seconds)"
    assert grid.heads == ("Sampler", "Spawrious", "Office-Home")
    assert [[row.label for row in section] for section in grid.sections] == [TIMES]


def test_the_runs_are_as_many_as_the_papers() -> None:
    counts = {name: len(places(Protocol.load(name))) for name in ("paper-spawrious", "paper-office-home")}
    assert counts == {"paper-spawrious": 5700, "paper-office-home": 11400}
