"""The draws of the random search: their distributions, their streams, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orda.algorithms.space import Choice, LogUniform, PowerOfTwo, Uniform
from orda.experiments.protocol import Protocol, Row
from orda.experiments.search import draw, parse_distribution, row_space


def row(algorithm: str, **changes: Any) -> Row:
    groups = {"G": {"row": {"algorithm": algorithm, **changes}}}
    return Protocol.from_dict({"name": "p", "train": {"data": {"name": "office-home"}}, "groups": groups}).rows[0]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"uniform": [0, 1]}, Uniform(0, 1)),
        ({"log-uniform": [-5, -3.5]}, LogUniform(-5, -3.5)),
        ({"power-of-two": [3, 7]}, PowerOfTwo(3, 7)),
        ({"choice": [0.0, 0.1]}, Choice((0.0, 0.1))),
        ({"uniform": [1, 0]}, None),
        ({"uniform": [0]}, None),
        ({"choice": []}, None),
        ({"normal": [0, 1]}, None),
        ({"uniform": [0, 1], "choice": [1]}, None),
        (3, None),
    ],
)
def test_a_distribution_is_one_kind_with_its_arguments(value: Any, wanted: object) -> None:
    assert parse_distribution(value) == wanted


def test_the_papers_distributions() -> None:
    """k ~ 2^U(3, 7) and λ ~ 10^U(-1, 1); the rest as DomainBed."""
    space = row_space(row("coral"), {})
    assert space == {
        "batch_size": PowerOfTwo(3, 7),
        "dropout": Choice((0.0, 0.1, 0.5)),
        "lr": LogUniform(-5, -3.5),
        "weight_decay": LogUniform(-6, -2),
        "penalty": LogUniform(-1, 1),
    }
    draws = [draw(space, 0, number) for number in range(1, 2001)]
    log_penalty = np.log10([values["algorithm.settings.penalty"] for values in draws])
    log_k = np.log2([values["batch_size"] for values in draws])
    assert log_penalty.min() > -1
    assert log_penalty.max() < 1
    assert abs(log_penalty.mean()) < 4 * (2 / 12**0.5) / 2000**0.5  # a uniform's mean, four standard errors
    assert {int(k) for k in np.floor(log_k)} == {3, 4, 5, 6}
    assert max(values["batch_size"] for values in draws) < 128


def test_draw_zero_is_the_defaults() -> None:
    assert draw(row_space(row("coral"), {}), 7, 0) == {}


def test_a_draw_follows_from_seed_number_and_name_alone() -> None:
    """Another setting in the space, or another algorithm around it, moves no draw of the others."""
    small = draw(row_space(row("erm"), {}), 5, 3)
    large = draw(row_space(row("cdan"), {}), 5, 3)
    assert small.items() <= large.items()
    assert draw(row_space(row("erm"), {"lr": None}), 5, 3) == {
        key: value for key, value in small.items() if key != "algorithm.settings.lr"
    }
    assert draw(row_space(row("erm"), {}), 6, 3) != small
    assert draw(row_space(row("erm"), {}), 5, 4) != small


def test_what_the_row_says_is_not_drawn() -> None:
    fixed = row_space(row("coral", **{"algorithm.settings.penalty": 3.0, "batch_size": 16}), {})
    assert {"penalty", "batch_size"} & set(fixed) == set()
    assert "lr" in fixed


def test_the_protocol_may_replace_drop_and_add() -> None:
    changes = {"lr": {"uniform": [0.1, 0.2]}, "dropout": None, "temperature": {"choice": [2.5, 3.0]}}
    assert row_space(row("mcc"), changes)["lr"] == Uniform(0.1, 0.2)
    assert "dropout" not in row_space(row("mcc"), changes)
    assert row_space(row("mcc"), changes)["temperature"] == Choice((2.5, 3.0))
    assert "temperature" not in row_space(row("erm"), changes)  # it has no such setting
