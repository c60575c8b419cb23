"""Archives: what comes out, what is refused, and checksums."""

from __future__ import annotations

import gzip
import io
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from orda.data import archive
from orda.data.archive import CHECKSUMS, unpack, write_checksums, wrong_files
from orda.errors import DataError, DownloadError

FILES = {"top/a.txt": b"one", "top/deep/b.txt": b"two" * 1000, "c d.txt": b""}


def make_zip(path: Path, files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return path


def make_tar(path: Path, files: dict[str, bytes], *extra: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as file:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
        for info in extra:
            file.addfile(info)
    return path


def make_tar_gz(path: Path, files: dict[str, bytes]) -> Path:
    return make_tar(path.with_suffix(".tar.gz"), files)


MAKERS: list[Callable[[Path, dict[str, bytes]], Path]] = [make_zip, make_tar, make_tar_gz]


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_in_comes_out(tmp_path: Path, make: Callable[..., Path]) -> None:
    assert unpack(make(tmp_path / "x", FILES), tmp_path / "out") == 3
    assert tree(tmp_path / "out") == FILES


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "name",
    [
        "../evil.txt",
        "a/../../evil.txt",
        "/evil.txt",
        "..\\evil.txt",
        "\\evil.txt",
        "C:\\evil.txt",
        "c:evil.txt",
        "a/..",
        "a\nb",
    ],
)
def test_no_path_leaves_the_folder(tmp_path: Path, make: Callable[..., Path], name: str) -> None:
    made = make(tmp_path / "x", {"good.txt": b"good", name: b"evil"})
    before = tree(tmp_path)
    with pytest.raises(DataError, match="stay below its own folder"):
        unpack(made, tmp_path / "sub" / "out")
    assert tree(tmp_path) == before  # not even the good file stays
    assert not Path("/evil.txt").exists()


def link(name: str, to: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        (link("l", "/etc", tarfile.SYMTYPE), "a link"),
        (link("l", "top/a.txt", tarfile.LNKTYPE), "a link"),
        (link("l", "", tarfile.FIFOTYPE), "a device"),
        (link("l", "", tarfile.CHRTYPE), "a device"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, extra: tarfile.TarInfo, what: str) -> None:
    made = make_tar(tmp_path / "x.tar", FILES, extra)
    with pytest.raises(DataError, match=rf"'l' \({what}\)"):
        unpack(made, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_link_cannot_lead_a_later_file_out(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    with tarfile.open(tmp_path / "x.tar", "w") as file:
        file.addfile(link("d", str(target), tarfile.SYMTYPE))
        info = tarfile.TarInfo("d/evil.txt")
        info.size = 4
        file.addfile(info, io.BytesIO(b"evil"))
    with pytest.raises(DataError, match="a link"):
        unpack(tmp_path / "x.tar", tmp_path / "out")
    assert not list(target.iterdir())


def test_links_devices_and_encryption_in_a_zip_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        for name, kind in (("l", stat.S_IFLNK), ("f", stat.S_IFIFO)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o777) << 16
            file.writestr(info, "/etc/passwd")
        file.writestr("e", "x")
    data = (tmp_path / "x.zip").read_bytes()
    at = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1) + 1)
    (tmp_path / "x.zip").write_bytes(data[: at + 8] + b"\x01" + data[at + 9 :])  # the flag of the third entry
    with pytest.raises(DataError, match=r"'l' \(a link\), 'f' \(a device\), 'e' \(encrypted\)"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a", "1")
        file.writestr("./a", "2")
        file.writestr("a/b", "3")
        file.writestr("a/", "")
    with pytest.raises(DataError, match=r"'\./a' \(twice\), 'a/b' \(twice\), 'a/' \(twice\)"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


def test_many_faults_are_counted(tmp_path: Path) -> None:
    made = make_zip(tmp_path / "x", {f"../{i}": b"x" for i in range(25)})
    with pytest.raises(DataError, match="and 15 more"):
        unpack(made, tmp_path / "out")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.7, 0.9])
def test_a_truncated_archive_is_damaged(tmp_path: Path, make: Callable[..., Path], keep: float) -> None:
    made = make(tmp_path / "x", {f"{i}": bytes(range(256)) * 20 for i in range(20)})
    size = made.stat().st_size
    made.write_bytes(made.read_bytes()[: int(keep * size)])
    with pytest.raises(DownloadError, match="fetch it again"):
        unpack(made, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("make", [make_zip, make_tar_gz])
def test_a_flipped_bit_is_found(tmp_path: Path, make: Callable[..., Path]) -> None:
    made = make(tmp_path / "x", {"a": b"some text " * 5000})
    data = bytearray(made.read_bytes())
    data[len(data) // 2] ^= 4
    made.write_bytes(data)
    with pytest.raises(DownloadError):
        unpack(made, tmp_path / "out")


def test_the_checksum_at_the_very_end_of_gzip_is_read(tmp_path: Path) -> None:
    made = make_tar(tmp_path / "x.tar.gz", FILES)
    data = bytearray(made.read_bytes())
    data[-6] ^= 1  # in the CRC of the whole stream
    made.write_bytes(data)
    with pytest.raises(DownloadError, match="CRC"):
        unpack(made, tmp_path / "out")


@pytest.mark.parametrize("data", [b"", b"<html>no</html>", b"PK but no zip", b"\x1f\x8b but no gzip"])
def test_what_is_no_archive(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(DownloadError):
        unpack(tmp_path / "x.zip", tmp_path / "out")


def test_an_archive_without_files(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="must hold files"):
        unpack(make_zip(tmp_path / "x", {"a/": b""}), tmp_path / "out")


def test_a_bomb_stops_at_the_room_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_zip(tmp_path / "x", {"a": bytes(10_000), "b": bytes(10_000)})
    usage = archive.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda _: usage._replace(free=15_000))
    with pytest.raises(DataError, match="no room"):
        unpack(made, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_checksums_find_what_changed_went_and_came(tmp_path: Path) -> None:
    assert wrong_files(tmp_path) is None
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    write_checksums(tmp_path)
    assert wrong_files(tmp_path) == []
    found = subprocess.run(["sha256sum", "-c", CHECKSUMS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    (tmp_path / "top" / "a.txt").write_bytes(b"One")
    (tmp_path / "c d.txt").unlink()
    (tmp_path / "new").write_bytes(b"")
    (tmp_path / ".hidden").write_bytes(b"")
    assert wrong_files(tmp_path) == ["c d.txt is missing", "top/a.txt has changed", "new was added"]


def test_gzip_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    made = make_tar(tmp_path / "x.tar", FILES)
    (tmp_path / "odd.name").write_bytes(gzip.compress(made.read_bytes()))
    assert unpack(tmp_path / "odd.name", tmp_path / "out") == 3
