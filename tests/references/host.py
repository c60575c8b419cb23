"""A file host on this machine that misbehaves as told."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    """Takes the next answer from the path's list; the last one stays."""

    protocol_version = "HTTP/1.1"
    host: Host

    def do_GET(self) -> None:
        data, answers = self.host.files.get(self.path, (b"", [missing]))
        self.host.requests.append((self.path, dict(self.headers)))
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self.close_connection = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            answer(self, data)

    def log_message(self, *_: object) -> None:
        pass

    def begin(self, status: int, length: int | None, **headers: str) -> None:
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def first_byte(self) -> int:
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(match[1]) if match else 0


class Host:
    """``add`` files with their answers; ``requests`` holds (path, headers) of all that came."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, list[Answer]]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"host": self}))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def add(self, path: str, data: bytes, *answers: Answer) -> str:
        self.files[path] = (data, list(answers))
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    def ranges(self) -> list[str | None]:
        """What every request asked for."""
        return [headers.get("Range") for _, headers in self.requests]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def plain(handler: Handler, data: bytes) -> None:
    """All of it, whatever range was asked for."""
    handler.begin(200, len(data))
    handler.wfile.write(data)


def ranged(tag: str = '"v1"', cut: int | None = None) -> Answer:
    """Honours ranges; of what it owes it gives ``cut`` bytes, if that is less, and hangs up."""

    def answer(handler: Handler, data: bytes) -> None:
        start = handler.first_byte()
        if handler.headers.get("If-Range") not in (None, tag):
            start = 0
        if start and start >= len(data):
            handler.begin(416, 0, Content_Range=f"bytes */{len(data)}")
            return
        rest = data[start:]
        if start:
            handler.begin(206, len(rest), ETag=tag, Content_Range=f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            handler.begin(200, len(rest), ETag=tag)
        handler.wfile.write(rest[:cut])

    return answer


def cut_off(at: int) -> Answer:
    """Says the whole length, gives the first bytes, hangs up; knows no ranges."""

    def answer(handler: Handler, data: bytes) -> None:
        handler.begin(200, len(data))
        handler.wfile.write(data[:at])

    return answer


def without_length(handler: Handler, data: bytes) -> None:
    handler.begin(200, None)
    handler.wfile.write(data)


def corrupt(handler: Handler, data: bytes) -> None:
    handler.begin(200, len(data))
    handler.wfile.write(bytes([data[0] ^ 255]) + data[1:])


def stall(seconds: float, at: int = 10) -> Answer:
    """The first bytes, then nothing for a while."""

    def answer(handler: Handler, data: bytes) -> None:
        handler.begin(200, len(data), ETag='"v1"')
        handler.wfile.write(data[:at])
        handler.wfile.flush()
        time.sleep(seconds)

    return answer


def trickle(pause: float) -> Answer:
    """One byte at a time."""

    def answer(handler: Handler, data: bytes) -> None:
        handler.begin(200, len(data), ETag='"v1"')
        for i in range(len(data)):
            handler.wfile.write(data[i : i + 1])
            handler.wfile.flush()
            time.sleep(pause)

    return answer


def status(code: int, **headers: str) -> Answer:
    def answer(handler: Handler, _: bytes) -> None:
        handler.begin(code, 0, **headers)

    return answer


missing = status(404)


def page(handler: Handler, _: bytes) -> None:
    body = b"<html>Too many users have downloaded this file</html>"
    handler.begin(200, len(body), Content_Type="text/html; charset=utf-8")
    handler.wfile.write(body)


def wrong_range(handler: Handler, data: bytes) -> None:
    """Goes on somewhere else than asked."""
    handler.begin(206, len(data) - 1, ETag='"v1"', Content_Range=f"bytes 1-{len(data) - 1}/{len(data)}")
    handler.wfile.write(data[1:])


def redirect(url: str) -> Answer:
    return status(302, Location=url)
