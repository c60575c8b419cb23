"""The choice among draws: by source validation, the first of equals, diverged ones last, missing ones counted."""

from __future__ import annotations

import random
from typing import Any

import pytest
from experiments.made import PROTOCOL, results, score
from hypothesis import given
from hypothesis import strategies as st
from references import tables as literal

from orda.experiments.jobs import Place
from orda.experiments.select import Choice, Selection, select
from orda.experiments.store import Entry, Record, Score, State

KEY = ("CORAL", "a", 0)


def record(draw: int, found: Score | State) -> Record:
    entry = Entry(State.DONE, found) if isinstance(found, Score) else Entry(found)
    return Record(Place("CORAL", "CORAL", "a", 0, draw, "0" * 12, {}), entry)


def choose(*scores: Score | State, rule: Selection = Selection.SOURCE_VALIDATION) -> Choice:
    return select([record(draw, found) for draw, found in enumerate(scores)], rule)[KEY]


def draw_of(choice: Choice) -> int | None:
    return None if choice.run is None else choice.run.place.draw


def test_the_best_source_validation_decides_and_not_the_target() -> None:
    choice = choose(score(0.9, 0.5), score(0.1, 0.7), score(0.8, 0.6))
    assert (draw_of(choice), choice.accuracy()) == (1, 0.1)
    assert (choice.draws, choice.done, choice.through) == (3, 3, True)


def test_of_equals_the_first() -> None:
    assert draw_of(choose(score(0.1, 0.6), score(0.9, 0.7), score(0.8, 0.7))) == 1


def test_a_diverged_run_is_chosen_only_where_all_diverged() -> None:
    best = score(0.9, 0.99, diverged=True)
    assert draw_of(choose(best, score(0.2, 0.1))) == 1
    alone = choose(score(0.3, 0.2, diverged=True), best)
    assert (draw_of(alone), alone.fell_back, alone.diverged, alone.through) == (1, True, 2, True)


def test_where_nothing_was_ever_evaluated_there_is_no_accuracy() -> None:
    nothing = score(None, None, diverged=True)
    choice = choose(nothing, nothing)
    assert (choice.run, choice.accuracy(), choice.through, choice.fell_back) == (None, None, True, False)
    assert draw_of(choose(nothing, score(0.3, 0.0, diverged=True))) == 1


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING, State.FAILED, State.DAMAGED])
def test_what_has_no_result_is_counted(state: State) -> None:
    choice = choose(score(0.4, 0.5), state)
    assert (draw_of(choice), choice.done, choice.draws, choice.through) == (0, 1, 2, False)
    assert choose(state).run is None


def test_an_oracle_is_asked_for_by_name() -> None:
    scores = [Score(False, 0.9, 0.2, 0.5, 1.0), Score(False, 0.1, 0.3, 0.6, 1.0)]
    assert choose(*scores).accuracy() == 0.2
    oracle = choose(*scores, rule=Selection.ORACLE)
    assert (draw_of(oracle), oracle.accuracy(Selection.ORACLE)) == (1, 0.6)
    assert Selection("oracle") is Selection.ORACLE


SCORES = st.one_of(
    st.just(None),
    st.just((True, None, None, None, 1.0)),
    st.tuples(st.booleans(), *[st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])] * 3, st.just(2.0)),
)


@given(st.lists(SCORES, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_against_loops_in_any_order(found: list[Any], rng: random.Random) -> None:
    runs = [("CORAL", "a", 0, draw, one) for draw, one in enumerate(found)]
    records = [record(draw, State.QUEUED if one is None else Score(*one)) for draw, one in enumerate(found)]
    rng.shuffle(records)
    choice = select(records)[KEY]
    expected = literal.chosen(runs, *KEY)
    assert choice.accuracy() == (None if expected is None else expected[2])
    assert choice.diverged == sum(one is not None and one[0] for one in found)
    assert choice.through == all(one is not None for one in found)


def test_every_cell_chooses_for_itself() -> None:
    found = results(lambda place: score(0.5, place.draw / 10))
    choices = select(found.records)
    rows, tasks = sum(map(len, PROTOCOL["groups"].values())), len(PROTOCOL["tasks"])
    assert len(choices) == rows * tasks * PROTOCOL["repeats"]
    assert {draw_of(choice) for choice in choices.values()} == {1}
