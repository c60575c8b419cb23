"""Pages in headless Chromium, driven by its command line alone.

A page is looked at in a frame as wide as is asked for, and what is seen of it is read from the dump of the page around
it. What Chromium says on its console about the page is in what it logs.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
    "--enable-logging=stderr",
    "--virtual-time-budget=10000",
)
AROUND = """<!doctype html>
<meta charset="utf-8"><style>body {{ margin: 0 }} iframe {{ border: 0; width: {width}px; height: 900px }}</style>
<iframe src="{page}"></iframe><pre id="seen"></pre>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => {{
  const inside = frame.contentDocument, root = inside.documentElement, view = frame.contentWindow;
  const beyond = [...inside.querySelectorAll("body *")].filter(
    (e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll, pre, svg"));
  const empty = [...inside.querySelectorAll("main svg, main img")].filter(
    (e) => !e.closest("details:not([open])") && e.getBoundingClientRect().width < 5);
  const broken = [...inside.images].filter((e) => !e.complete || e.naturalWidth === 0);
  const small = [...inside.querySelectorAll("svg.panel text")].map((e) => e.getBoundingClientRect().height);
  document.getElementById("seen").textContent = JSON.stringify({{
    width: root.clientWidth, needed: root.scrollWidth, height: root.scrollHeight,
    beyond: beyond.map((e) => e.outerHTML.slice(0, 80)), empty: empty.length, broken: broken.length,
    dark: view.matchMedia("(prefers-color-scheme: dark)").matches,
    page: view.getComputedStyle(inside.body).backgroundColor, ink: view.getComputedStyle(inside.body).color,
    fetched: view.performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith("data:")),
    smallest: Math.min(...small.filter((h) => h > 0)),
  }});
}};
</script>
"""


def chromium() -> str | None:
    """The browser, where there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def look(page: Path, width: int, dark: bool = False) -> tuple[dict[str, Any], list[str]]:
    """What is seen of a page at this width, and the lines of the console."""
    with tempfile.TemporaryDirectory() as folder:
        around = Path(folder) / "around.html"
        around.write_text(AROUND.format(width=width, page=html.escape(page.resolve().as_uri())))
        out, log = _run(around.as_uri(), "--dump-dom", *(["--blink-settings=preferredColorScheme=0"] if dark else []))
    found = re.search(r'<pre id="seen">(.+?)</pre>', out, re.DOTALL)
    assert found, f"the page was not looked at: {log[-2000:]}"
    return json.loads(html.unescape(found[1])), console(log)


def print_page(page: Path, pdf: Path) -> list[str]:
    """The page as PDF; the lines of the console."""
    _, log = _run(page.resolve().as_uri(), f"--print-to-pdf={pdf}")
    return console(log)


def console(log: str) -> list[str]:
    """What was said to the page's console: errors, warnings, refusals of its policy."""
    return [line for line in log.splitlines() if "CONSOLE" in line]


def _run(address: str, *flags: str) -> tuple[str, str]:
    browser = chromium()
    assert browser is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}", "--window-size=1400,1000", *flags, address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr
