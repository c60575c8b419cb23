"""``orda data`` as a stranger would call it; what it does is tested with orda.data.prepare."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli.conftest import DOMAINS
from cli.test_root import run
from references.datasets import ANIMALS

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def root(shades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that may be changed, with nothing decoded."""
    monkeypatch.delenv("ORDA_CACHE", raising=False)
    return shutil.copytree(shades, tmp_path / "a 'copy' [b]", ignore=shutil.ignore_patterns(".*"))


def test_prepare_then_check(root: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "data", "prepare", "folder", "--root", str(root), "--size", "8", "-q")
    assert (code, err) == (0, "")
    assert "folder is ready" in out
    for domain in DOMAINS:
        assert any(domain in line and "42" in line for line in out.splitlines())
    code, out, _ = run(capsys, "data", "check", "folder", "--root", str(root), "-q")
    assert code == 0
    assert "folder is as it should be" in out
    assert "3 cached arrays match their manifests" in out


def test_check_finds_a_changed_array(root: Path, capsys: Capture) -> None:
    run(capsys, "data", "prepare", "folder", "--root", str(root), "--size", "8", "-q")
    array = next(root.rglob("*.npy"))
    content = bytearray(array.read_bytes())
    content[-1] ^= 1
    array.chmod(0o644)
    array.write_bytes(content)
    code, out, err = run(capsys, "data", "check", "folder", "--root", str(root), "-q")
    assert (code, out) == (1, "")
    assert str(array.parent) in err


def test_damaged_images_are_counted_when_skipped(root: Path, capsys: Capture) -> None:
    for i in (1, 5):
        (root / DOMAINS[0] / ANIMALS[0] / f"ink{i}.png").write_bytes(b"x")
    code, _, err = run(capsys, "data", "prepare", "folder", "--root", str(root), "--size", "8", "-q")
    assert code == 1
    assert "2 of 126 are not" in err
    code, out, _ = run(capsys, "data", "prepare", "folder", "--root", str(root), "--size", "8", "-q", "--skip-damaged")
    assert code == 0
    assert "2 damaged images were left out" in out


def test_digits_need_nothing(capsys: Capture) -> None:
    for command in ("prepare", "check"):
        code, out, err = run(capsys, "data", command, "digits")
        assert (code, err) == (0, "")
        assert "handwritten-textured" in out
        assert "4,000" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["prepare", "ofice-home"], "unknown data set; got 'ofice-home'. Did you mean 'office-home'?"),
        (["prepare", "folder"], "folder needs the folder that holds it"),
        (["check", "office-home"], "office-home needs the folder that holds it"),
        (["prepare", "folder", "--root", "no"], "the data must be in a folder; got no"),
        (["prepare", "folder", "--root", ".", "--download"], "only some data sets can be fetched; got folder"),
        (["prepare", "office-home", "--root", "no", "--task", "Art->Clpart"], "unknown task of office-home"),
    ],
    ids=" ".join,
)
def test_errors_are_one_line(
    args: list[str], message: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "data", *args)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"orda: {message}")


def test_a_data_set_that_is_not_there_says_how_to_fetch_it(tmp_path: Path, capsys: Capture) -> None:
    for name in ("office-home", "spawrious"):
        code, _, err = run(capsys, "data", "prepare", name, "--root", str(tmp_path))
        assert code == 1
        assert "--download" in err
