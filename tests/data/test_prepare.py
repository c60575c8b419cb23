"""`orda data prepare` and `check`, from a host on this machine to decoded arrays."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from references.datasets import write_office_home, write_spawrious
from references.host import Host, corrupt, cut_off, missing, plain, ranged
from typer.testing import CliRunner

from orda.cli.data import app
from orda.data import prepare as module
from orda.data.archive import CHECKSUMS
from orda.data.download import Archive, Patience
from orda.data.prepare import DOWNLOADS, Download, check, prepare
from orda.errors import DamagedImages, DataError, DownloadError, SettingError, UnknownName

MakeFolder = Callable[..., Path]
Offer = Callable[..., list[Archive]]
QUICK = Patience(retries=2, pause=0.01, timeout=20)


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


def packed(folder: Path, kind: str) -> bytes:
    path = Path(shutil.make_archive(str(folder.parent / "packed"), kind, folder))
    data = path.read_bytes()
    path.unlink()
    return data


@pytest.fixture
def offer(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Puts a tiny data set on the host and makes its addresses those of the real one."""

    def put(name: str, kind: str, *answers: Callable[..., None], also: list[Archive] | None = None) -> list[Archive]:
        folder = tmp_path / "made"
        if name == "office-home":
            write_office_home(folder / "OfficeHomeDataset_10072016")
        else:
            write_spawrious(folder, count=3)
        file = {"zip": "x.zip", "gztar": "x.tar.gz"}[kind]
        archives = [*(also or []), Archive(host.add(f"/{file}", packed(folder, kind), *answers), file)]
        known = DOWNLOADS[name]
        replaced = Download(tuple(archives), known.folder, known.find)
        monkeypatch.setattr(module, "DOWNLOADS", {**DOWNLOADS, name: replaced})
        return archives

    return put


def test_every_address_is_one_of_a_data_host() -> None:
    for download in DOWNLOADS.values():
        assert len({archive.file for archive in download.archives}) == len(download.archives)
        assert all(archive.url.startswith("https://") for archive in download.archives)


@pytest.mark.parametrize(("name", "kind"), [("office-home", "zip"), ("spawrious", "gztar"), ("office-home", "gztar")])
def test_from_the_host_to_decoded_arrays(host: Host, offer: Offer, tmp_path: Path, name: str, kind: str) -> None:
    offer(name, kind, ranged(cut=2000), ranged())
    root = tmp_path / "data"
    report = prepare(name, root, download=True, complete=False, size=4, patience=QUICK)
    assert host.ranges() == [None, "bytes=2000-"]
    assert sorted(path.name for path in root.iterdir() if not path.name.startswith(".")) == [DOWNLOADS[name].folder]
    assert "files from x." in report.notes[0]
    assert sum(report.domains.values()) == (24 if name == "office-home" else 6 * 48)
    again = prepare(name, root, download=True, complete=False, size=4)
    assert again.domains == report.domains
    assert again.notes == ()
    assert len(host.requests) == 2
    assert not list(root.glob(f"{module.UNPACK}*"))
    checked = check(name, root, complete=False)
    assert checked.domains == report.domains
    assert "all files match their checksums" in checked.notes
    assert f"{len(report.domains)} cached arrays match their manifests" in checked.notes


def test_only_the_domains_of_a_task(offer: Offer, tmp_path: Path) -> None:
    offer("spawrious", "gztar", plain)
    from orda.data import find_task

    task = find_task("spawrious", ["o2o_easy"])
    report = prepare("spawrious", tmp_path / "d", download=True, complete=False, size=4, task=task, patience=QUICK)
    assert set(report.domains) == {"o2o_easy/env1", "o2o_easy/env2", "o2o_easy/test"}


def test_the_next_archive_when_the_first_cannot_be_had(host: Host, offer: Offer, tmp_path: Path) -> None:
    gone = Archive(host.add("/gone.zip", b"", missing), "gone.zip")
    offer("office-home", "zip", plain, also=[gone])
    assert (
        len(prepare("office-home", tmp_path / "d", download=True, complete=False, size=4, patience=QUICK).domains) == 4
    )


def test_a_damaged_archive_is_fetched_once_more(host: Host, offer: Offer, tmp_path: Path) -> None:
    offer("spawrious", "gztar", corrupt, plain)
    prepare("spawrious", tmp_path / "d", download=True, complete=False, size=4, patience=QUICK)
    assert len(host.requests) == 2


def test_a_host_that_fails_leaves_nothing_but_a_beginning(host: Host, offer: Offer, tmp_path: Path) -> None:
    offer("office-home", "zip", cut_off(500))
    root = tmp_path / "d"
    with pytest.raises(DownloadError, match="ended at byte 500"):
        prepare("office-home", root, download=True, complete=False, size=4, patience=QUICK)
    visible = [path.name for path in root.iterdir() if not path.name.startswith(".")]
    assert all(".part" in name for name in visible)


def test_an_archive_that_is_not_complete_is_not_moved_into_place(offer: Offer, tmp_path: Path) -> None:
    offer("office-home", "zip", plain)
    with pytest.raises(DownloadError, match=r"(?s)x\.zip does not hold office-home.*no images of"):
        prepare("office-home", tmp_path / "d", download=True, size=4, patience=QUICK)
    assert not (tmp_path / "d" / "office_home").exists()
    assert not list((tmp_path / "d").glob(f"{module.UNPACK}*"))


def test_an_archive_of_ones_own_is_unpacked_without_a_download(host: Host, offer: Offer, tmp_path: Path) -> None:
    (archive,) = offer("spawrious", "gztar", plain)
    root = tmp_path / "d"
    root.mkdir()
    (root / archive.file).write_bytes(host.files["/x.tar.gz"][0])
    prepare("spawrious", root, complete=False, size=4)
    assert not host.requests
    assert (root / archive.file).exists()  # what the user brought stays
    assert (root / "spawrious224" / CHECKSUMS).exists()


def test_what_a_killed_process_left_is_cleared(offer: Offer, tmp_path: Path) -> None:
    offer("office-home", "zip", plain)
    left = tmp_path / "d" / f"{module.UNPACK}old"
    (left / "data").mkdir(parents=True)
    prepare("office-home", tmp_path / "d", download=True, complete=False, size=4, patience=QUICK)
    assert not left.exists()


def test_nothing_is_overwritten(offer: Offer, tmp_path: Path) -> None:
    offer("office-home", "zip", plain)
    (tmp_path / "d" / "office_home").mkdir(parents=True)
    with pytest.raises(DataError, match="Move it away"):
        prepare("office-home", tmp_path / "d", download=True, complete=False, patience=QUICK)


def test_without_download_it_says_how(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--download"):
        prepare("office-home", tmp_path)
    with pytest.raises(SettingError, match="office-home, spawrious"):
        prepare("folder", tmp_path, download=True)
    with pytest.raises(SettingError, match="root"):
        prepare("folder")
    with pytest.raises(UnknownName, match="spawrious"):
        prepare("spawrous", tmp_path)


def test_check_lists_all_that_is_wrong_and_writes_nothing(offer: Offer, tmp_path: Path) -> None:
    offer("office-home", "zip", plain)
    root = tmp_path / "d"
    prepare("office-home", root, download=True, complete=False, size=4, patience=QUICK)
    image = root / "office_home" / "Art" / "Bed" / "00001.jpg"
    image.parent.mkdir(exist_ok=True)
    (root / "office_home" / "Art" / "Backpack" / "00001.jpg").write_bytes(b"changed")
    (array,) = root.glob(".orda-cache/Clipart-*/images-*")
    data = bytearray(array.read_bytes())
    data[-1] ^= 1
    array.write_bytes(data)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    with pytest.raises(DataError, match=r"(?s)Art/Backpack/00001\.jpg has changed.*its SHA-256 is another"):
        check("office-home", root, complete=False)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    with pytest.raises(DataError, match="not complete"):
        check("office-home", root)


def test_check_of_other_data(make_folder: MakeFolder) -> None:
    root = make_folder()
    report = check("folder", root)
    assert report.domains == {"art": 6, "photo": 6}
    assert report.notes == ("nothing is cached yet",)
    assert check("digits").domains["handwritten"] == 1797
    with pytest.raises(SettingError, match="root"):
        check("folder")
    with pytest.raises(UnknownName, match="folder"):
        check("foldr")


def run(*args: str) -> str:
    result = CliRunner().invoke(app, list(args), catch_exceptions=False, env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command(make_folder: MakeFolder) -> None:
    root = make_folder(name="data")
    out = run("prepare", "folder", "--root", str(root), "--size", "4", "--workers", "2", "--quiet")
    assert "folder is ready" in out
    assert "art" in out
    assert " 6 " in out
    assert list(root.glob(".orda-cache/art-4x4-*/manifest.json"))
    assert "2 cached arrays match their manifests" in run("check", "folder", "--root", str(root), "--quiet")
    assert "embedded" in run("prepare", "digits")


def test_the_command_counts_what_it_skips(make_folder: MakeFolder) -> None:
    root = make_folder()
    (root / "art" / "ant" / "1.png").write_text("broken")
    with pytest.raises(DamagedImages):
        run("prepare", "folder", "--root", str(root), "--size", "4")
    out = run("prepare", "folder", "--root", str(root), "--size", "4", "--skip-damaged")
    assert "1 damaged images were left out" in out


def test_the_command_decodes_only_a_task(tmp_path: Path) -> None:
    write_office_home(tmp_path)
    args = ("office-home", "--root", str(tmp_path), "--size", "4", "--incomplete", "--task", "Art->Real")
    out = run("prepare", *args)
    assert "Real" in out
    assert "Clipart" not in out


def test_help_explains_every_option() -> None:
    prepare_help, check_help = run("prepare", "--help"), run("check", "--help")
    for option in (
        "--root",
        "--download",
        "--size",
        "--task",
        "--skip-damaged",
        "--incomplete",
        "--workers",
        "--cache-dir",
    ):
        assert option in prepare_help
    assert "Writes nothing" in check_help
