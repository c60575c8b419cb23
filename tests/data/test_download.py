"""Downloads from a host on this machine that truncates, corrupts, stalls, lies and disappears."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from references.host import (
    Host,
    corrupt,
    cut_off,
    missing,
    page,
    plain,
    ranged,
    redirect,
    stall,
    status,
    trickle,
    without_length,
    wrong_range,
)

from orda.data import download
from orda.data.download import Patience, fetch
from orda.errors import DownloadError, SettingError

DATA = np.random.default_rng(0).bytes(50_000)
SHA = hashlib.sha256(DATA).hexdigest()
QUICK = Patience(retries=3, pause=0.01, longest_pause=0.05, timeout=20)
HASTY = replace(QUICK, timeout=0.5)


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


def left_beside(path: Path) -> list[str]:
    return [p.name for p in path.parent.iterdir() if p != path and not p.name.endswith(".lock")]


def test_a_plain_download(host: Host, tmp_path: Path) -> None:
    url = host.add("/a.zip", DATA, plain)
    path = fetch(url, tmp_path / "sub" / "a.zip", size=len(DATA), sha256=SHA, patience=QUICK)
    assert path.read_bytes() == DATA
    assert not left_beside(path)
    fetch(url, path, sha256=SHA, patience=QUICK)
    assert len(host.requests) == 1  # what is there and right stays


def test_it_goes_on_where_it_stopped(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, ranged(cut=20_000), ranged(cut=5_000), ranged())
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA
    assert host.ranges() == [None, "bytes=20000-", "bytes=25000-"]
    assert host.requests[1][1]["If-Range"] == '"v1"'


def test_it_goes_on_in_another_call(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, ranged(cut=20_000), missing)
    with pytest.raises(DownloadError, match="goes on where it stopped"):
        fetch(url, tmp_path / "a", patience=QUICK)
    assert not (tmp_path / "a").exists()
    host.add("/a", DATA, ranged())
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA
    assert host.ranges()[-1] == "bytes=20000-"


def test_a_file_that_changed_meanwhile_is_begun_again(host: Host, tmp_path: Path) -> None:
    other = DATA[::-1]
    url = host.add("/a", other, ranged(cut=20_000), status(503))
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a", patience=QUICK)
    host.add("/a", DATA, ranged(tag='"v2"'))
    assert fetch(url, tmp_path / "a", patience=QUICK).read_bytes() == DATA


def test_a_file_that_grew_is_begun_again_even_without_a_tag(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA[:30_000], ranged(tag="W/weak", cut=20_000), status(503))
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a", patience=QUICK)
    host.add("/a", DATA, ranged(tag="W/weak"))
    assert fetch(url, tmp_path / "a", patience=QUICK).read_bytes() == DATA
    assert "If-Range" not in host.requests[-2][1]
    assert host.ranges()[-2:] == ["bytes=20000-", None]


def test_a_host_without_ranges_begins_again(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, cut_off(20_000), plain)
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA


def test_a_host_that_goes_on_elsewhere_is_not_believed(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, ranged(cut=20_000), wrong_range, ranged())
    assert fetch(url, tmp_path / "a", patience=QUICK).read_bytes() == DATA


def test_all_bytes_there_but_not_yet_in_place(host: Host, tmp_path: Path) -> None:
    """Killed between the last byte and the move: 416 says that nothing is missing."""
    url = host.add("/a", DATA, ranged())
    name = f"a.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"
    (tmp_path / name).write_bytes(DATA)
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA
    (tmp_path / "a").unlink()
    (tmp_path / name).write_bytes(DATA + b"more")
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA


def test_a_truncated_answer_is_tried_so_often_and_no_more(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, cut_off(20_000))
    with pytest.raises(DownloadError, match=r"ended at byte 20,000 of 50,000 \(tried 4 times\)"):
        fetch(url, tmp_path / "a", patience=QUICK)
    assert len(host.requests) == 4
    assert not (tmp_path / "a").exists()


def test_getting_on_counts_as_a_new_beginning(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that hangs up every so often is used to the end; failures count only where nothing came."""
    monkeypatch.setattr(download, "BLOCK", 4096)
    url = host.add("/a", DATA, ranged(cut=5_000))
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA
    assert len(host.requests) == 10


def test_a_truncated_answer_of_unknown_length_is_caught_by_the_size(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA[:100], without_length)
    with pytest.raises(DownloadError, match="ended at byte 100 of 50,000"):
        fetch(url, tmp_path / "a", size=len(DATA), patience=QUICK)
    assert fetch(url, tmp_path / "a", patience=QUICK).read_bytes() == DATA[:100]  # nobody could know


@pytest.mark.parametrize("known", ["sha256", "md5"])
def test_a_corrupt_file_is_fetched_once_more_and_then_no_longer(host: Host, tmp_path: Path, known: str) -> None:
    digest = hashlib.new(known, DATA).hexdigest()
    url = host.add("/a", DATA, corrupt)
    with pytest.raises(DownloadError, match=rf"{known} .* instead of {digest} \(fetched 2 times\)"):
        fetch(url, tmp_path / "a", patience=QUICK, **{known: digest})
    assert len(host.requests) == 2
    assert not left_beside(tmp_path / "a")
    host.add("/a", DATA, corrupt, plain)
    assert fetch(url, tmp_path / "a", patience=QUICK, **{known: digest.upper()}).read_bytes() == DATA


def test_a_check_of_ones_own(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, plain)
    with pytest.raises(DownloadError, match="not to my taste"):
        fetch(url, tmp_path / "a", check=lambda _: "not to my taste", patience=QUICK)


def test_a_stalled_connection_is_left(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, stall(3.0), ranged())
    start = time.monotonic()
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=HASTY).read_bytes() == DATA
    assert time.monotonic() - start < 2.5
    assert host.ranges()[1] == "bytes=10-"


def test_a_trickling_connection_is_left(host: Host, tmp_path: Path) -> None:
    """No single wait is long, so only the rate shows it."""
    url = host.add("/a", DATA, trickle(0.02), ranged())
    start = time.monotonic()
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=HASTY).read_bytes() == DATA
    assert time.monotonic() - start < 5
    assert host.ranges()[1] is not None


def test_a_slow_but_steady_connection_is_kept(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA[:60], trickle(0.02))
    assert fetch(url, tmp_path / "a", patience=Patience(timeout=0.3, slowest=5)).read_bytes() == DATA[:60]
    assert len(host.requests) == 1


def test_the_next_address_when_one_is_gone(host: Host, tmp_path: Path) -> None:
    urls = [host.add("/gone", b"", missing), host.add("/page", b"", page), host.add("/a", DATA, plain)]
    assert fetch(urls, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA
    assert [path for path, _ in host.requests] == ["/gone", "/page", "/a"]  # neither is tried again


def test_all_addresses_fail_and_each_says_why(host: Host, tmp_path: Path) -> None:
    urls = [
        host.add("/gone", b"", missing),
        host.add("/page", b"", page),
        host.add("/busy", b"", status(503)),
        host.add("/other", DATA[:9], plain),
        "http://127.0.0.1:9/closed",
    ]
    with pytest.raises(DownloadError, match=r"(?s)gone: HTTP 404.*page: .*web page.*busy: HTTP 503.*4 times") as raised:
        fetch(urls, tmp_path / "a", size=len(DATA), patience=QUICK)
    assert "/other: the host has 9 bytes instead of 50,000" in str(raised.value)
    assert "/closed: URLError" in str(raised.value)


def test_a_busy_host_is_asked_again_after_the_time_it_names(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, status(429, Retry_After="1"), status(503), plain)
    start = time.monotonic()
    fetch(url, tmp_path / "a", patience=Patience(pause=0.01, longest_pause=0.4, timeout=2))
    assert 0.4 <= time.monotonic() - start < 2
    assert len(host.requests) == 3


def test_redirects_are_followed_with_the_range(host: Host, tmp_path: Path) -> None:
    real = host.add("/real", DATA, ranged(cut=20_000), ranged())
    url = host.add("/a", b"", redirect(real))
    assert fetch(url, tmp_path / "a", sha256=SHA, patience=QUICK).read_bytes() == DATA
    assert host.ranges() == [None, None, "bytes=20000-", "bytes=20000-"]


def test_what_is_there_and_wrong_is_not_overwritten(host: Host, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(DownloadError, match=r"4 bytes instead of 50,000.*Delete"):
        fetch(host.add("/a", DATA, plain), tmp_path / "a", size=len(DATA), patience=QUICK)
    assert (tmp_path / "a").read_bytes() == b"mine"


def test_a_folder_that_cannot_be_written_is_not_blamed_on_the_host(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA, plain)
    (tmp_path / f"a.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part").mkdir()
    with pytest.raises(DownloadError, match="must be writable"):
        fetch(url, tmp_path / "a", patience=QUICK)


def test_addresses(tmp_path: Path) -> None:
    for urls in ("file:///etc/passwd", [], ["http://x", "ftp://y"]):
        with pytest.raises(SettingError, match="http"):
            fetch(urls, tmp_path / "a")


def test_two_at_once_fetch_it_once(host: Host, tmp_path: Path) -> None:
    url = host.add("/a", DATA[:200], trickle(0.002), missing)
    with ThreadPoolExecutor(2) as pool:
        paths = [pool.submit(fetch, url, tmp_path / "a", patience=QUICK) for _ in range(2)]
    assert all(path.result().read_bytes() == DATA[:200] for path in paths)
    assert len(host.requests) == 1
