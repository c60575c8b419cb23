"""Machine code that is kept: never stale, never another function's, and not needed."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import orda
from orda import compiled
from orda.compiled import Files, fingerprint
from orda.errors import CompileWarning

PACKAGE = Path(orda.__file__).parent
INNER = """
from orda.compiled import compiled

@compiled
def inner(x):
    return x + {}
"""
OUTER = """
from inner import inner
from orda.compiled import compiled

@compiled
def outer(x):
    return 10 * inner(x)
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with two modules of compiled functions, one of which calls the other."""
    (tmp_path / "inner.py").write_text(INNER.format(1))
    (tmp_path / "outer.py").write_text(OUTER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python's own cache sees whole seconds only
    compiled.warn_once.cache_clear()
    yield tmp_path
    for name in ("inner", "outer"):
        sys.modules.pop(name, None)
    compiled.warn_once.cache_clear()


def opened(room: Path) -> ModuleType:
    """The outer module as a new process would find it."""
    for name in ("inner", "outer"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module("outer")


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def test_code_is_kept_for_the_next_process(room: Path) -> None:
    assert opened(room).outer(1) == 20
    again = opened(room).outer
    assert again(1) == 20
    assert hits(again) == 1


def test_a_change_of_a_called_function_is_seen(room: Path) -> None:
    assert opened(room).outer(1) == 20
    (room / "inner.py").write_text(INNER.format(2))
    changed = opened(room).outer
    assert changed(1) == 30
    assert hits(changed) == 0
    kept = {path.name.split(".")[1] for path in room.rglob("*.nbc")}
    assert len(kept) == len(list(room.rglob("*.nbc"))) == 2  # what was compiled before is not left lying about


def test_names_and_contents_make_the_fingerprint(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("ab")
    two.write_text("c")
    before = fingerprint([one, two])
    assert before == fingerprint([one, two])
    one.write_text("a")
    two.write_text("bc")
    assert fingerprint([one, two]) != before
    assert fingerprint([tmp_path / "gone.py"]) != fingerprint([])


def test_processes_that_save_at_once_do_not_swap_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that both see an empty index, the writes of each in any order among those of the other."""
    writes: list[tuple[str, Any]] = []
    monkeypatch.setattr(Files, "_load_index", lambda self: {})
    monkeypatch.setattr(Files, "_save_data", lambda self, name, data: writes.append((name, data)))
    monkeypatch.setattr(Files, "_save_index", lambda self, index: writes.append(("index", dict(index))))
    for key in "ab":
        Files(str(tmp_path), "f", "stamp").save(key, f"code of {key}")
    first, second = writes[:2], writes[2:]
    for places in itertools.combinations(range(4), 2):
        ones, others = iter(first), iter(second)
        files: dict[str, Any] = {}
        for place in range(4):
            name, content = next(ones if place in places else others)
            files[name] = content
            for key, file in files.get("index", {}).items():
                assert files[file] == f"code of {key}"


def test_a_full_disk_is_no_reason_to_stop(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Files, name: str, data: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Files, "_save_data", full)
    with pytest.warns(CompileWarning, match="No space left on device.*Set NUMBA_CACHE_DIR"):
        assert opened(room).outer(1) == 20


def no_folder_can_be_written(room: Path) -> dict[str, str]:
    """Files stand where folders should be, which stops the superuser too; the environment for the user's folder."""
    blocked = room / "blocked"
    blocked.write_text("")
    for folder in {path.parent for path in room.rglob("*.py")}:
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        (folder / "__pycache__").write_text("")
    return {"HOME": str(blocked), "XDG_CACHE_HOME": str(blocked), "LOCALAPPDATA": str(blocked)}


def test_where_nothing_can_be_written_every_process_compiles_and_says_so_once(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in no_folder_can_be_written(room).items():
        monkeypatch.setenv(name, value)
    with pytest.warns(CompileWarning, match="compiled code cannot be kept.*Set NUMBA_CACHE_DIR") as caught:
        found = [opened(room).outer(x) for x in (1, 2.5)]
    assert found == [20, 35.0]
    assert len(caught) == 1
    assert not list(room.rglob("*.nb[ic]"))


@pytest.mark.slow
def test_an_installation_that_cannot_be_written_plans_all_the_same(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "orda", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, **no_folder_can_be_written(tmp_path), "PYTHONPATH": str(tmp_path)}
    script = [
        "import numpy as np, orda",
        "z = np.random.default_rng(0).normal(size=(60, 3))",
        "print(orda.__file__, orda.plan(z, z, batch_size=4, horizon=5).source.index.tolist())",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(script)], capture_output=True, text=True, env=environment)
    z = np.random.default_rng(0).normal(size=(60, 3))
    expected = orda.plan(z, z, batch_size=4, horizon=5).source.index.tolist()
    assert done.stdout.split(" ", 1) == [str(tmp_path / "orda" / "__init__.py"), f"{expected}\n"], done.stderr
    assert done.stderr.count("CompileWarning") == 1


def compiled_files() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "orda.compiled import" in path.read_text()]


@pytest.mark.parametrize("path", compiled_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_compiled_functions_use_nothing_of_other_folders(path: Path) -> None:
    """Of what they use only the sources beside them are looked at, to see whether kept code is still good."""
    module = importlib.import_module(".".join(["orda", *path.relative_to(PACKAGE).with_suffix("").parts]))
    functions = [value.py_func for value in vars(module).values() if isinstance(value, Dispatcher)]
    used = {name for function in functions for name in function.__code__.co_names}
    folder = ".".join(["orda", *path.parent.relative_to(PACKAGE).parts])
    foreign = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("orda.") and str(node.module) != folder
        for alias in node.names
        if not str(node.module).startswith(f"{folder}.")
    }
    assert functions
    assert not used & foreign
