"""Imports go one way. The order below is the design's; a module may import rooms above its own line only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "orda"

BASE = {"errors", "seeds", "records", "compiled", "threads", "devices"}
LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "seeds": {"errors"},
    "records": {"errors"},
    "threads": set(),
    "compiled": {"errors"},
    "devices": {"errors"},
    "kernels": BASE,
    "discrepancies": BASE | {"kernels"},
    "approximations": BASE | {"kernels"},
    "stratification": BASE | {"kernels", "approximations", "discrepancies"},
    "ordering": BASE | {"kernels", "approximations", "discrepancies", "stratification"},
    "features": BASE,
    "samplers": BASE | {"kernels", "approximations", "discrepancies", "stratification", "ordering"},
    "planning": BASE | {"kernels", "discrepancies", "features", "samplers"},
    "loader": BASE | {"features", "samplers", "planning", "data"},
    "models": BASE,
    "algorithms": BASE | {"kernels", "discrepancies", "models"},
    "data": BASE,
}
BENCHED = set(LAYERS)
LAYERS["training"] = set(LAYERS) - {"training"}
LAYERS["experiments"] = set(LAYERS) - {"experiments"}
LAYERS["plots"] = set(LAYERS) - {"training"} - {"experiments"}
LAYERS["experiments"] |= {"plots"}  # a report is made of plots; plots know of records only
LAYERS["bench"] = BENCHED  # it must run where the packages of training's configurations and of the command are missing
LAYERS["cli"] = set(LAYERS) | {"cli"}


def room(path: Path) -> str:
    """The room a source file belongs to: its folder below orda, or its own name."""
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_rooms(path: Path) -> set[str]:
    """The rooms of orda that a file imports, wherever in the file it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{path.name}:{node.lineno}: relative imports hide the room; write orda.… in full")
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "orda":
                found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("orda.")}
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = room(path)
    assert own in LAYERS, f"{own} has no place in the layers: give it one in tests/test_layers.py and in the design"
    outside = imported_rooms(path) - {own} - LAYERS[own] - {"__version__"}
    assert not outside, f"{own} must not import {sorted(outside)}"


def test_the_layers_have_no_cycle() -> None:
    seen: set[str] = set()
    left = dict(LAYERS)
    while left:
        ready = {name for name, below in left.items() if below - {name} <= seen}
        assert ready, f"a cycle among {sorted(left)}"
        seen |= ready
        left = {name: below for name, below in left.items() if name not in ready}
