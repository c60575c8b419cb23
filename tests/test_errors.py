from __future__ import annotations

import pickle

import pytest

from orda import errors
from orda.errors import Diverged, FeatureError, InputError, OrdaError, SettingError, UnknownName


def test_a_message_has_rule_value_and_remedy() -> None:
    assert str(SettingError("k must be ≥ 1", 0, "Raise k")) == "k must be ≥ 1; got 0. Raise k"
    assert str(SettingError("no examples")) == "no examples"
    assert str(SettingError("k must be ≥ 1", remedy="Raise k")) == "k must be ≥ 1. Raise k"


@pytest.mark.parametrize("error", [SettingError("a", 1, "b"), UnknownName("sampler", "order", ["ordered", "dpp"])])
def test_errors_survive_a_trip_between_processes(error: OrdaError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)


def test_an_unknown_name_offers_the_nearest() -> None:
    assert str(UnknownName("sampler", "orderd", ["ordered", "dpp"])) == (
        "unknown sampler; got 'orderd'. Did you mean 'ordered'? Known: dpp, ordered"
    )
    assert "Did you mean" not in str(UnknownName("sampler", "zzz", ["ordered", "dpp"]))


def test_the_tree() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(FeatureError, InputError)
    assert issubclass(Diverged, errors.RunError)
    drawn = errors.__doc__ or ""
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, (OrdaError, errors.OrdaWarning)):
            assert name in drawn, f"{name} is not in the picture at the top of errors.py"
