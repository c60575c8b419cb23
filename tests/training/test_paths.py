from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from orda.errors import RunError
from orda.training import Lines, RunPaths, RunResult
from orda.training.paths import write_whole


def full(*_: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a file"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"cannot write .*a file; got no space left on the device. Make room"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_lines_grow_and_are_cut(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "l.jsonl")
    assert lines.read() == []
    lines.keep(lambda line: True)
    lines.sync()
    for i in range(5):
        lines.append({"i": i, "ü": "é"})
    with open(lines.path, "a") as file:
        file.write('{"i": 5')
    assert [line["i"] for line in lines.read()] == [0, 1, 2, 3, 4]
    lines.keep(lambda line: line["i"] < 3)
    lines.append({"i": 9})
    assert [json.loads(line)["i"] for line in lines.path.read_text().splitlines()] == [0, 1, 2, 9]
    lines.sync()


def test_lines_are_json_and_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        Lines(tmp_path / "l.jsonl").append({"loss": float("nan")})


@pytest.mark.parametrize("where", ["file/run", "/proc/run"])
def test_a_folder_that_cannot_be_written(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"the run's folder must be writable.*--out"):
        RunPaths(tmp_path / where).make()


def test_clearing_removes_the_run_and_nothing_else(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    paths.make()
    for path in (paths.config, paths.metrics, paths.plans, paths.checkpoint, paths.result, tmp_path / ".x.1.part"):
        path.write_text("x")
    paths.tensorboard.mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    paths.clear()
    assert {path.name for path in tmp_path.rglob("*")} == {"notes.txt", "plan"}


def result(**changes: Any) -> RunResult:
    values: dict[str, Any] = {
        "status": "finished",
        "digest": "0" * 12,
        "run": {"seed": 0},
        "steps": 3,
        "selected_step": 2,
        "source_validation": 0.5,
        "source_validations": {"a": 0.5},
        "target_accuracy": 0.25,
        "final_source_validation": 0.4,
        "final_target_accuracy": 0.3,
        "seconds": {"total": 1.5},
        "plans": {"count": 1},
        "sizes": {"train": 4},
        "weights_sha256": "f" * 64,
        "environment": {"device": "cpu"},
    }
    return RunResult(**(values | changes))


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(result(message="ü").to_json(), encoding="utf-8")
    assert RunResult.load(path) == result(message="ü")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", result().to_json()[:100], result().to_json().replace("steps", "stps")]
)
def test_a_damaged_result_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(RunError, match="a result must be readable"):
        RunResult.load(path)
