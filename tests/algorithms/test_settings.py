"""Settings: ranges, all faults at once, unknown names."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from references.tiny import smooth_model

from orda.algorithms import ALGORITHMS, ERM, DANNSettings, algorithm_type, build_algorithm, make_settings
from orda.errors import SettingError, UnknownName

REFUSED: list[tuple[str, str, Any]] = [
    *[(name, "lr", 0.0) for name in ALGORITHMS],
    *[(name, "lr", float("nan")) for name in ALGORITHMS],
    *[(name, "weight_decay", -1e-9) for name in ALGORITHMS],
    ("coral", "penalty", -1.0),
    ("coral", "scale", "Mean"),
    ("coral", "scale", 1),
    ("mmd", "kernel", "rbf"),
    ("mmd", "gammas", "fixed"),
    ("mmd", "estimator", "biased"),
    ("dann", "form", "both"),
    ("dann", "d_steps", 0),
    ("dann", "beta1", 1.0),
    ("dann", "grad_penalty", -0.1),
    ("cdan", "mlp_depth", 1),
    ("cdan", "mlp_width", 0),
    ("cdan", "mlp_width", 16.0),
    ("cdan", "mlp_dropout", 1.0),
    ("cdan", "random_map", -1),
    ("cdan", "entropy", 1),
    ("cdan", "ramp", 0.0),
    ("cdan", "lr_d", float("inf")),
    ("cdan-els", "eps", 0.5),
    ("cdan-els", "eps", -0.01),
    ("cdan-sdat", "rho", -0.01),
    ("arm", "support", 0),
    ("arm", "support", True),
    ("mcc", "temperature", 0.0),
    ("mcc", "temperature", "2.5"),
]


@pytest.mark.parametrize(("name", "key", "value"), REFUSED)
def test_outside_the_range_is_refused_with_rule_and_value(name: str, key: str, value: Any) -> None:
    with pytest.raises(SettingError) as caught:
        make_settings(name, **{key: value})
    assert f"{key} must be " in str(caught.value)
    assert repr(value) in str(caught.value)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(SettingError) as caught:
        make_settings("cdan-els", lr=-1, eps=0.9, mlp_depth=2.5)
    for part in (
        "lr must be above 0, not -1",
        "eps must be at least 0 and below 0.5, not 0.9",
        "mlp_depth must be a whole",
    ):
        assert part in str(caught.value)


def test_the_edges_that_are_allowed() -> None:
    make_settings("cdan-els", eps=0, weight_decay=0, penalty=0, mlp_depth=2, mlp_width=1)
    make_settings("dann", form="alternating", beta1=0.0, d_steps=1)


def test_unknown_names_get_the_nearest_right_one() -> None:
    with pytest.raises(UnknownName, match=r"unknown algorithm; got 'cdan-sdta'.*Did you mean 'cdan-sdat'"):
        algorithm_type("cdan-sdta")
    with pytest.raises(UnknownName, match=r"unknown setting of 'coral'; got 'penalti'.*Did you mean 'penalty'"):
        make_settings("coral", penalti=1)
    with pytest.raises(SettingError, match=r"'penalti'.*'scael'"):
        make_settings("coral", penalti=1, scael="sum")


def test_settings_are_frozen_and_survive_pickling() -> None:
    settings = make_settings("dann", penalty=2.0)
    with pytest.raises(FrozenInstanceError):
        settings.lr = 1.0  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_an_algorithm_takes_its_own_settings_only() -> None:
    with pytest.raises(SettingError, match=r"erm takes Settings; got DANNSettings"):
        ERM(smooth_model(), DANNSettings(), seed=0)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_names_agree_with_the_registry(name: str) -> None:
    assert ALGORITHMS[name].name == name
    assert build_algorithm(name, smooth_model() if name != "arm" else _conv(), seed=0).settings == make_settings(name)


def _conv() -> Any:
    from references.tiny import conv_model

    return conv_model()
