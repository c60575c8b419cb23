"""The folder of a study where it cannot be written, and where what is in it cannot be trusted."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from experiments.simulate.toy import Toy

from orda import plots
from orda.errors import RunError
from orda.experiments.simulate import StudyFolder, config_of, run
from orda.training import paths


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_in_the_place_of_the_folder(place: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"a study's folder must be writable.*--out"):
        run(Toy(folder=str(place)), tmp_path / "file")


def test_a_folder_that_is_read_only(place: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in, since the superuser may write anywhere."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(RunError, match=r"must be writable.*Permission denied.*--out"):
        run(Toy(folder=str(place)), out)


def test_a_disk_that_fills_up_while_cells_are_kept(place: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(Toy(folder=str(place), repeats=1), out)
    with monkeypatch.context() as patch:
        patch.setattr(paths, "_write_all", full)
        with pytest.raises(RunError, match="no space left"):
            run(Toy(folder=str(place), repeats=2), out)
    assert run(Toy(folder=str(place), repeats=2), out).count() == 4


def test_a_disk_that_fills_up_at_the_end(
    place: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Toy(folder=str(place))
    with monkeypatch.context() as patch:
        patch.setattr(plots, "save", full)
        with pytest.raises(RunError, match=r"cannot write.*no space left.*finished cells are kept"):
            run(study, out)
    folder = StudyFolder(out / "toy")
    assert folder.count() == 6
    assert not folder.is_finished(config_of(study, 0))
    computed = (place / "computed").read_text()
    run(study, out)
    assert (place / "computed").read_text() == computed
    assert folder.data.read_bytes() == run(study, tmp_path / "whole").data.read_bytes()
    assert not list(folder.path.glob(".finishing"))


def test_a_finished_folder_is_not_touched(place: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Toy(folder=str(place))
    run(study, out)
    monkeypatch.setattr(Path, "mkdir", full)
    assert run(study, out).path == out / "toy"


@pytest.mark.parametrize("lost", ["data.csv", "figure.png", "figure.svg", "manifest.json"])
def test_a_result_that_was_lost_is_made_again_without_computing(lost: str, place: Path, out: Path) -> None:
    study = Toy(folder=str(place))
    folder = run(study, out)
    before, computed = folder.data.read_bytes(), (place / "computed").read_text()
    (folder.path / lost).unlink()
    assert not folder.is_finished(config_of(study, 0))
    run(study, out)
    assert folder.is_finished(config_of(study, 0))
    assert folder.data.read_bytes() == before
    assert (place / "computed").read_text() == computed


@pytest.mark.parametrize("text", ["", "{", "[]", '{"config": 3}', '{"other": {}}'])
def test_a_manifest_that_is_damaged_is_none(text: str, place: Path, out: Path) -> None:
    study = Toy(folder=str(place))
    folder = run(study, out)
    folder.manifest.write_text(text)
    assert folder.finished_config() is None
    run(study, out)
    assert folder.is_finished(config_of(study, 0))


def test_results_without_their_cells_are_still_refused_to_another(place: Path, out: Path) -> None:
    study = Toy(folder=str(place))
    folder = run(study, out)
    folder.cells.unlink()
    assert folder.is_finished(config_of(study, 0))
    with pytest.raises(RunError, match="seed is 0 there and 4 here"):
        run(study, out, seed=4)
