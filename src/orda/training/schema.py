"""Frozen records from plain values and back: YAML files and command lines become configurations.

    YAML ──read_yaml──> mapping ──build──> record ──plain──> mapping ──write_yaml──> YAML

Every fault of a mapping is found before one error is raised. An unknown key is named with the nearest right one, a
value of the wrong type with the type that is wanted. A record's own ``faults()``, where it has that method, says what
else is wrong with its values.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from orda.errors import ConfigError

T = TypeVar("T")
Faults = list[str]


def build(kind: type[T], values: Mapping[str, Any], what: str = "the configuration") -> T:
    """The record ``kind`` of a mapping; keys that are left out keep their defaults."""
    faults: Faults = []
    record = _record(kind, values, "", faults)
    own: Callable[[], Faults] | None = getattr(record, "faults", None)
    if not faults and own is not None:
        faults = own()
    if faults:
        raise ConfigError(f"{what} cannot be used", "; ".join(faults), "Correct all of these")
    return record


def plain(record: Any) -> dict[str, Any]:
    """A record as nested dictionaries and lists, which YAML and JSON can write."""
    return {field.name: _plain_value(getattr(record, field.name)) for field in dataclasses.fields(record)}


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one with dotted names: {"data": {"root": 1}} becomes {"data.root": 1}."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of ``flat``; later names win."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *path, last = name.split(".")
        place = found
        for key in path:
            inner = place.get(key)
            place[key] = inner if isinstance(inner, dict) else {}
            place = place[key]
        place[last] = value
    return found


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``changes`` put over it, mapping by mapping."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping in a YAML file; 1e-3 is a number, and a key that stands twice is an error."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("the configuration must be a readable file", str(error), "Check the path") from error
    content = parse_yaml(text, str(path))
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ConfigError(f"{path} must hold 'key: value' lines", type(content).__name__, "See `orda train --help`")
    return content


def parse_yaml(text: str, where: str) -> Any:
    """The value that a text of YAML stands for."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where} must be YAML", " ".join(str(error).split()), "Correct it there") from error


def write_yaml(values: Mapping[str, Any]) -> str:
    """YAML in the order of the mapping."""
    return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, default_flow_style=False)


def did_you_mean(got: str, known: typing.Iterable[str]) -> str:
    """ ", did you mean 'ordered'?", or the list of what is known where nothing is near."""
    names = sorted(known)
    near = difflib.get_close_matches(got, names, n=1, cutoff=0.5)
    return f", did you mean {near[0]!r}?" if near else f" (known: {', '.join(names)})"


# ---- from a mapping to a record ---------------------------------------------------------------------------------


def _record(kind: type[T], values: Any, where: str, faults: Faults) -> T:
    if not isinstance(values, Mapping):
        faults.append(f"{where.rstrip('.') or 'it'} must be a mapping, not {values!r}")
        values = {}
    known = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    for key in values:
        if key not in known:
            near = did_you_mean(str(key), known)
            faults.append(f"unknown key {where + str(key)!r}" + near.replace("mean '", f"mean '{where}"))
    found = {name: _value(hints[name], values[name], where + name, faults) for name in known if name in values}
    return kind(**found)


def _value(hint: Any, value: Any, name: str, faults: Faults) -> Any:
    for wanted in _alternatives(hint):
        if wanted is types.NoneType and value is None:
            return None
        if dataclasses.is_dataclass(wanted):
            return _record(typing.cast(type[Any], wanted), value, name + ".", faults)
        converted = _convert(wanted, value)
        if converted is not _NO:
            return converted
    faults.append(f"{name} must be {' or '.join(_words(wanted) for wanted in _alternatives(hint))}, not {value!r}")
    return value


def _alternatives(hint: Any) -> tuple[Any, ...]:
    origin = typing.get_origin(hint)
    return typing.get_args(hint) if origin in (typing.Union, types.UnionType) else (hint,)


_NO: Any = object()
_KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {
    str: ("a text", (str,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    bool: ("true or false", (bool,)),
}


def _convert(wanted: Any, value: Any) -> Any:
    """The value as ``wanted``, or ``_NO``."""
    origin = typing.get_origin(wanted)
    if origin is typing.Literal:
        return value if value in typing.get_args(wanted) else _NO
    if origin is tuple:
        items = (value,) if isinstance(value, str) else value
        return tuple(items) if isinstance(items, (list, tuple)) and all(isinstance(x, str) for x in items) else _NO
    if origin is not None and issubclass(origin, Mapping):
        return dict(value) if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else _NO
    kinds = _KINDS[wanted][1] if wanted in _KINDS else ()
    if not isinstance(value, kinds) or (isinstance(value, bool) and wanted is not bool):
        return _NO
    if isinstance(value, (int, float)) and wanted is float:
        return float(value) if math.isfinite(value) else _NO
    return value


def _words(wanted: Any) -> str:
    origin = typing.get_origin(wanted)
    if wanted is types.NoneType:
        return "null"
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(wanted))
    if origin is tuple:
        return "a list of texts"
    return "a mapping" if origin is not None else _KINDS[wanted][0]


def _plain_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return plain(value)
    if isinstance(value, Mapping):
        return {key: _plain_value(inner) for key, inner in value.items()}
    return [_plain_value(inner) for inner in value] if isinstance(value, (list, tuple)) else value


# ---- YAML -------------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML 1.1 without two of its traps: 1e-3 is a number, and a mapping has every key once."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> Iterator[dict[Any, Any]]:
    result: dict[Any, Any] = {}
    yield result
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in result:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
        result[key] = loader.construct_object(value_node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)
