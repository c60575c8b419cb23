"""The cache: atomic, shared, rebuilt when the source changes, refused when the array does."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from references.datasets import write_image

from orda.data import build, cache
from orda.data.cache import CacheSettings, places
from orda.data.decode import DecodeSettings, decode
from orda.data.domain import ArrayDomain
from orda.data.folder import list_folder, open_folder
from orda.errors import CacheMismatch, DamagedImages, DataError

MakeFolder = Callable[..., Path]

BUILDER = """
import sys, time
from pathlib import Path
from orda.data import build
from orda.data.folder import open_folder
root, log, seconds = sys.argv[1:]
plain = build.decode
def slow(path, settings):
    time.sleep(float(seconds))
    with open(log, "a") as file:
        file.write(path.name + "\\n")
    return plain(path, settings)
build.decode = slow
domain = open_folder(root, size=6)["art"]
print(int(domain.images.astype("int64").sum()), len(domain))
"""


def opened(root: Path, **settings: object) -> ArrayDomain:
    return open_folder(root, ["art"], size=6, cache=CacheSettings(**settings))["art"]  # type: ignore[arg-type]


def folder_of(root: Path) -> Path:
    (folder,) = (root / ".orda-cache").glob("art-*")
    return folder


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were decoded, in order."""
    names: list[str] = []

    def record(path: Path, settings: DecodeSettings) -> np.ndarray:
        names.append(path.name)
        return decode(path, settings)

    monkeypatch.setattr(build, "decode", record)
    return names


def test_it_decodes_once_and_maps_the_array(make_folder: MakeFolder, decoded: list[str]) -> None:
    root = make_folder(["art"])
    first = opened(root)
    assert len(decoded) == 6
    second = opened(root)
    assert len(decoded) == 6
    assert isinstance(second.images, np.memmap)
    np.testing.assert_array_equal(first.images, second.images)
    for i, name in enumerate(first.names):
        np.testing.assert_array_equal(first.images[i], decode(root / "art" / name, DecodeSettings(6, 6)))
    assert not list(folder_of(root).glob("*.part"))


def test_the_order_of_many_files_survives_the_threads(tmp_path: Path) -> None:
    for i in range(150):
        write_image(tmp_path / "d" / "art" / "c" / f"{i:03}.png", seed=i)
    domain = opened(tmp_path / "d", workers=7)
    for i, name in enumerate(domain.names):
        np.testing.assert_array_equal(domain.images[i], decode(tmp_path / "d" / "art" / name, DecodeSettings(6, 6)))


def add(root: Path) -> None:
    write_image(root / "art" / "ant" / "new.png")


def remove(root: Path) -> None:
    (root / "art" / "ant" / "1.png").unlink()


def rewrite(root: Path) -> None:
    path = root / "art" / "ant" / "1.png"
    write_image(path, seed=77)
    os.utime(path, ns=(0, 12345))


def rename(root: Path) -> None:
    (root / "art" / "ant" / "1.png").rename(root / "art" / "ant" / "9.png")


@pytest.mark.parametrize("change", [add, remove, rewrite, rename])
def test_it_is_rebuilt_when_the_source_changed(
    make_folder: MakeFolder, decoded: list[str], change: Callable[[Path], None]
) -> None:
    root = make_folder(["art"])
    before = opened(root)
    held = np.array(before.images)
    change(root)
    decoded.clear()
    after = opened(root)
    assert len(decoded) == len(after)
    for i, name in enumerate(after.names):
        np.testing.assert_array_equal(after.images[i], decode(root / "art" / name, DecodeSettings(6, 6)))
    np.testing.assert_array_equal(before.images, held)  # who has the old array mapped keeps it
    assert len(list(folder_of(root).glob("images-*"))) == 1


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def other_shape(path: Path) -> None:
    np.save(path, np.load(path).transpose(0, 3, 1, 2))


@pytest.mark.parametrize("tamper", [cut, flip_a_bit, other_shape, Path.unlink])
def test_an_array_that_does_not_match_its_manifest_is_refused(
    make_folder: MakeFolder, tamper: Callable[[Path], None]
) -> None:
    root = make_folder(["art"])
    opened(root)
    (array,) = folder_of(root).glob("images-*")
    tamper(array)
    with pytest.raises(CacheMismatch, match=f"Delete {folder_of(root)}"):
        opened(root)


def test_a_change_that_hides_its_time_is_found_by_verify(make_folder: MakeFolder) -> None:
    root = make_folder(["art"])
    opened(root)
    (array,) = folder_of(root).glob("images-*")
    stat = array.stat()
    flip_a_bit(array)
    os.utime(array, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    opened(root)
    with pytest.raises(CacheMismatch, match="SHA-256"):
        opened(root, verify=True)


def test_an_array_that_was_copied_is_hashed_and_taken(make_folder: MakeFolder, decoded: list[str]) -> None:
    root = make_folder(["art"])
    opened(root)
    (array,) = folder_of(root).glob("images-*")
    os.utime(array)
    decoded.clear()
    opened(root)
    assert not decoded


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}'])
def test_a_manifest_that_says_nothing_is_no_manifest(make_folder: MakeFolder, decoded: list[str], text: str) -> None:
    root = make_folder(["art"])
    opened(root)
    (folder_of(root) / "manifest.json").write_text(text)
    decoded.clear()
    opened(root)
    assert len(decoded) == 6


def test_damaged_images_are_refused_or_left_out_and_decoded_once_all_the_same(
    make_folder: MakeFolder, decoded: list[str]
) -> None:
    root = make_folder(["art"])
    (root / "art" / "ant" / "1.png").write_text("broken")
    (root / "art" / "bee" / "0.png").write_bytes(b"")
    for _ in range(2):
        with pytest.raises(DamagedImages, match=r"(?s)2 of 6.*ant/1\.png: Unident.*bee/0\.png.*skip_damaged"):
            opened(root)
    domain = opened(root, skip_damaged=True)
    assert len(decoded) == 6
    assert domain.names == ("ant/0.png", "ant/2.png", "bee/1.png", "bee/2.png")
    assert domain.labels.tolist() == [0, 0, 1, 1]
    assert domain.images.shape == (4, 6, 6, 3)
    for i, name in enumerate(domain.names):
        np.testing.assert_array_equal(domain.images[i], decode(root / "art" / name, DecodeSettings(6, 6)))
    write_image(root / "art" / "ant" / "1.png")
    write_image(root / "art" / "bee" / "0.png")
    assert len(opened(root)) == 6


def test_a_domain_with_damaged_images_only_is_refused(make_folder: MakeFolder) -> None:
    root = make_folder(["art"], ["ant"], count=2)
    for i in range(2):
        (root / "art" / "ant" / f"{i}.png").write_text("broken")
    with pytest.raises(DataError, match="none in art"):
        opened(root, skip_damaged=True)


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def builder(root: Path, log: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILDER, str(root), str(log), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def test_a_builder_that_is_killed_leaves_nothing_that_can_be_opened(make_folder: MakeFolder, tmp_path: Path) -> None:
    root = make_folder(["art"], count=60)
    process = builder(root, tmp_path / "log", 0.05)
    wait_for(lambda: (tmp_path / "log").exists() and len((tmp_path / "log").read_text().split()) > 20)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert list(folder_of(root).glob("*.part"))
    assert not (folder_of(root) / "manifest.json").exists()
    domain = opened(root)  # the lock died with its holder
    assert len(domain) == 120
    for i, name in enumerate(domain.names):
        np.testing.assert_array_equal(domain.images[i], decode(root / "art" / name, DecodeSettings(6, 6)))
    assert sorted(p.name.split("-")[0] for p in folder_of(root).iterdir()) == ["images", "lock", "manifest.json"]


def test_two_builders_at_once_do_the_work_once(make_folder: MakeFolder, tmp_path: Path) -> None:
    root = make_folder(["art"], count=40)
    log = tmp_path / "log"
    processes = [builder(root, log, 0.02) for _ in range(2)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert outputs[0][0].split()[1] == "80"
    assert len(log.read_text().split()) == 80


def test_without_file_locks_it_still_builds(make_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(build.fcntl, "flock", refuse)
    root = make_folder(["art"])
    other = root / ".orda-cache"
    assert len(opened(root)) == 6
    (folder_of(root) / "images-other.npy.part").write_bytes(b"x")  # perhaps of a builder that lives
    add(root)
    assert len(opened(root)) == 7
    assert (folder_of(root) / "images-other.npy.part").exists()
    assert other.is_dir()


def test_a_full_disk_is_said_before_and_while_writing(make_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_folder(["art"])
    with monkeypatch.context() as patch:
        patch.setattr(build.shutil, "disk_usage", lambda _: build.shutil._ntuple_diskusage(10, 10, 5))
        with pytest.raises(DataError, match=r"need 0\.0 GB.*smaller size"):
            opened(root)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(build.os, "fsync", full)
        with pytest.raises(DataError, match="No space left"):
            opened(root)
    assert not list(folder_of(root).glob("*.part"))
    assert not list(folder_of(root).glob("images-*"))
    assert len(opened(root)) == 6


def test_where_arrays_are_kept(make_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = make_folder(["art"])
    first, second = places(root)
    assert first == root / ".orda-cache"
    assert second.parent == tmp_path / "xdg" / "orda"
    monkeypatch.setenv("ORDA_CACHE", str(tmp_path / "env"))
    (chosen,) = places(root)
    assert chosen.parent == tmp_path / "env"
    (named,) = places(root, tmp_path / "given")
    assert named.parent == tmp_path / "given"
    assert places(root / "art") != places(root)
    opened(root, cache_dir=tmp_path / "given")
    assert list(named.glob("art-6x6-*"))
    assert not (root / ".orda-cache").exists()


def test_a_root_that_cannot_be_written_is_cached_for_the_user(
    make_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = make_folder(["art"])
    plain = Path.mkdir

    def read_only(self: Path, *args: object, **kwargs: object) -> None:
        if self.is_relative_to(root):
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        plain(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", read_only)
    assert len(opened(root)) == 6
    assert list((tmp_path / "xdg" / "orda").glob("my data-*/art-6x6-*/manifest.json"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "also"))
    with pytest.raises(DataError, match="ORDA_CACHE"):
        opened(root, cache_dir=root / "x")


def test_the_manifest_says_where_the_pixels_come_from(make_folder: MakeFolder) -> None:
    root = make_folder(["art"])
    domain = opened(root)
    manifest = json.loads((folder_of(root) / "manifest.json").read_text())
    assert manifest["source"]["names"] == list(domain.names)
    assert manifest["source"]["sizes"] == [(root / "art" / name).stat().st_size for name in domain.names]
    assert manifest["decode"] == {"size": [6, 6], "resize": "squash", "filter": "bilinear", "background": "white"}
    assert manifest["array"]["sha256"] == cache.sha256_of(np.asarray(domain.images))


def test_a_listed_file_that_is_gone_is_said(make_folder: MakeFolder) -> None:
    root = make_folder(["art"])
    (listing,) = list_folder(root)
    remove(root)
    with pytest.raises(DataError, match=r"1\.png"):
        cache.build_domain(listing)


def test_odd_names_of_files_and_domains(tmp_path: Path) -> None:
    root = tmp_path / "d"
    for name in ("Real World", "naïve; 'x'", "Real_World"):
        write_image(root / name / "c l a s s" / "a b\n'c'.png")
    domains = open_folder(root, size=4)
    assert len(domains) == 3
    assert len(list((root / ".orda-cache").iterdir())) == 3
    assert len(open_folder(root, size=4)) == 3
