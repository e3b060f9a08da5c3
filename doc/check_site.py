"""Check the built pages: every link leads somewhere, and no page is wider than a telephone.

    python doc/check_site.py [FOLDER] [--phone]

FOLDER holds the built pages, ``doc/_build/html`` by default. Links between pages are followed to
the element that they name; those to other sites are for ``python -m sphinx -b linkcheck``.
``--phone`` opens each page in Chromium as a telephone 390 pixels wide and measures how wide the
document is (``apt install chromium chromium-driver``). Complaints are printed, one a line, and the
status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

DOC = Path(__file__).resolve().parent
WIDTH, HEIGHT = 390, 844


class Page(HTMLParser):
    """The names that a page defines, and the addresses that it needs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if value and (key == "id" or (tag == "a" and key == "name")):
                self.names.add(value)
            elif value and key in ("href", "src"):
                self.addresses.add(value)


def built_pages(folder: Path) -> list[Path]:
    """Return the pages; templates that a theme leaves in _static are none.

    Nor are those of the source code: Sphinx keeps one name for a module, so that the links back
    from them end at the top of a page where a module has classes with pages of several packages.
    """
    others = {"_static", "_modules"}
    return sorted(
        p for p in folder.rglob("*.html") if not others & set(p.relative_to(folder).parts)
    )


def broken_links(folder: Path) -> Iterator[str]:
    """Describe each link of a page to a file or an element that is not there."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in built_pages(folder)}
    for path, page in sorted(pages.items()):
        for address in sorted(page.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            start = folder if parts.path.startswith("/") else path.parent
            target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            where = f"{path.relative_to(folder)}: {address}"
            if not target.exists():
                yield f"{where}: no such file"
            elif target in pages and unquote(parts.fragment) not in {"", *pages[target].names}:
                yield f"{where}: no such place on that page"


class Browser:
    """As much of the WebDriver protocol as is needed here."""

    def __init__(self, address: str) -> None:
        self.address = address

    def send(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        """Send a command, and return its value."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["value"]


@contextmanager
def telephone(chromium: str, driver: str) -> Iterator[Browser]:
    """Start Chromium as a telephone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL)
    try:
        browser = Browser(f"http://127.0.0.1:{port}")
        for _ in range(100):
            try:
                browser.send("/status", method="GET")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        metrics = {"width": WIDTH, "height": HEIGHT, "pixelRatio": 2.0, "mobile": True}
        options = {
            "binary": chromium,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu"],
            "mobileEmulation": {"deviceMetrics": metrics},
        }
        wanted = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}
        session = browser.send("/session", {"capabilities": wanted})
        browser.address += f"/session/{session['sessionId']}"
        yield browser
        browser.send("", method="DELETE")
    finally:
        process.terminate()
        process.wait()


# The width of the document or, where it is larger, of what would have to be scrolled to with all
# of the page: elements past the right edge that are in no box with a scroll bar of its own.
MEASURE = """
const edge = document.documentElement.clientWidth, found = [];
let wide = document.documentElement.scrollWidth;
const scrolls = (box) => !box.matches(".bd-article-container")
  && /auto|scroll/.test(getComputedStyle(box).overflowX);
for (const e of document.querySelectorAll("body *")) {
  const place = e.getBoundingClientRect();
  if (place.width < 2 || place.right <= edge + 0.5 || e.closest("dialog, .sr-only")) continue;
  let box = e.parentElement;
  while (box && !scrolls(box)) box = box.parentElement;
  if (box) continue;
  wide = Math.max(wide, Math.ceil(place.right));
  if (found.length < 3) found.push(e.outerHTML.slice(0, 80));
}
return [wide, found];
"""


def wide_pages(folder: Path) -> Iterator[str]:
    """Describe each page that is wider than a telephone."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit("--phone needs chromium and chromedriver on the path")
    with telephone(chromium, driver) as browser:
        for path in built_pages(folder):
            browser.send("/url", {"url": path.resolve().as_uri()})
            width, found = browser.send("/execute/sync", {"script": MEASURE, "args": []})
            if width > WIDTH:
                yield f"{path.relative_to(folder)}: {width} pixels wide: {' '.join(found)}"


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DOC / "_build" / "html")
    parser.add_argument("--phone", action="store_true", help="measure the width of each page")
    options = parser.parse_args(arguments)
    if not (options.folder / "index.html").exists():
        parser.error(f"{options.folder} holds no built pages: no index.html")
    complaints = list(broken_links(options.folder.resolve()))
    if options.phone:
        complaints += wide_pages(options.folder)
    print("\n".join(complaints) if complaints else "nothing to complain about")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
