from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orda.errors import ConfigError
from orda.training import schema


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    kind: Literal["a", "b"] | None = None


@dataclass(frozen=True)
class Outer:
    name: str = "x"
    count: int | None = None
    names: tuple[str, ...] = ()
    on: bool = False
    free: Mapping[str, Any] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)


def refused(values: Mapping[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        schema.build(Outer, values)
    return str(caught.value)


def test_what_is_left_out_keeps_its_default() -> None:
    assert schema.build(Outer, {}) == Outer()
    assert schema.build(Outer, {"inner": {"kind": "b"}}) == Outer(inner=Inner(kind="b"))


def test_values_take_the_type_of_their_field() -> None:
    built = schema.build(Outer, {"inner": {"rate": 3}, "names": "one", "free": {"k": [1]}})
    assert built == Outer(names=("one",), free={"k": [1]}, inner=Inner(rate=3.0))
    assert isinstance(built.inner.rate, float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nam": "x"}, "unknown key 'nam', did you mean 'name'?"),
        ({"inner": {"rat": 1}}, "unknown key 'inner.rat', did you mean 'inner.rate'?"),
        ({"zzz": 1}, "unknown key 'zzz' (known: count, free, inner, name, names, on)"),
        ({"name": 3}, "name must be a text, not 3"),
        ({"count": 3.0}, "count must be a whole number or null, not 3.0"),
        ({"count": True}, "count must be a whole number or null, not True"),
        ({"on": 1}, "on must be true or false, not 1"),
        ({"names": ["a", 1]}, "names must be a list of texts, not ['a', 1]"),
        ({"free": [1]}, "free must be a mapping, not [1]"),
        ({"inner": {"rate": float("nan")}}, "inner.rate must be a number, not nan"),
        ({"inner": {"rate": True}}, "inner.rate must be a number, not True"),
        ({"inner": {"kind": "c"}}, "inner.kind must be one of 'a', 'b' or null, not 'c'"),
        ({"inner": 4}, "inner must be a mapping, not 4"),
    ],
)
def test_every_fault_is_named(values: dict[str, Any], message: str) -> None:
    assert message in refused(values)


def test_all_faults_come_at_once() -> None:
    message = refused({"nam": 1, "count": "2", "inner": {"kind": "z", "q": 0}})
    assert all(part in message for part in ("'nam'", "count", "inner.kind", "'inner.q'"))


outers = st.builds(
    Outer,
    name=st.text(),
    count=st.none() | st.integers(),
    names=st.lists(st.text()).map(tuple),
    on=st.booleans(),
    free=st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.integers())),
    inner=st.builds(
        Inner, rate=st.floats(allow_nan=False, allow_infinity=False), kind=st.sampled_from(["a", "b", None])
    ),
)


@given(outers)
def test_a_record_survives_yaml(record: Outer) -> None:
    again = schema.parse_yaml(schema.write_yaml(schema.plain(record)), "here")
    assert schema.build(Outer, again) == record


trees = st.recursive(
    st.integers() | st.none(),
    lambda inner: st.dictionaries(st.text(alphabet="abc", min_size=1), inner, min_size=1, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(alphabet="abc", min_size=1), trees))
def test_nested_is_the_inverse_of_flat(values: dict[str, Any]) -> None:
    assert schema.nested(schema.flat(values)) == values


def test_merging_goes_into_mappings() -> None:
    base = {"a": {"x": 1, "y": 2}, "b": 3}
    assert schema.merged(base, {"a": {"y": 5}, "c": 6}) == {"a": {"x": 1, "y": 5}, "b": 3, "c": 6}
    assert base == {"a": {"x": 1, "y": 2}, "b": 3}


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 1e-3), ("5E2", 500.0), (".5e+1", 5.0), ("-2.e0", -2.0), ("1e", "1e"), ("e5", "e5")]
)
def test_yaml_knows_numbers(text: str, value: Any) -> None:
    assert schema.parse_yaml(text, "here") == value


def test_a_key_that_stands_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"here must be YAML.*'seed' stands twice.*line 3"):
        schema.parse_yaml("seed: 1\nsteps: 2\nseed: 3\n", "here")


@pytest.mark.parametrize(("text", "message"), [("- 1\n", "must hold 'key: value' lines"), ("a: [", "must be YAML")])
def test_files_that_are_no_configuration(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        schema.read_yaml(path)
    with pytest.raises(ConfigError, match="must be a readable file"):
        schema.read_yaml(tmp_path / "none.yaml")
