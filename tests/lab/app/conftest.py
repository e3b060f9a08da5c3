"""What all tests of the app share: compiled templates, and a browser."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from skgpb.surrogate import suboptimality_gap

HOW = (
    "pip install selenium, and apt-get install chromium chromium-driver (nox -s browser says more)"
)


@pytest.fixture(scope="session", autouse=True)
def _templates_are_compiled_once():
    if find_spec("flask") is None:
        yield
        return
    from flask import Flask
    from jinja2 import BytecodeCache

    class Compiled(BytecodeCache):
        kept: dict[str, bytes] = {}

        def load_bytecode(self, bucket):
            if bucket.key in self.kept:
                bucket.bytecode_from_string(self.kept[bucket.key])

        def dump_bytecode(self, bucket):
            self.kept[bucket.key] = bucket.bytecode_to_string()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flask, "jinja_options", {"bytecode_cache": Compiled()})
        yield


@pytest.fixture(scope="module", autouse=True)
def _gaps_are_bounded():
    """Bound the gap instead of drawing it, in a tenth of the time: pages show both alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suboptimality_gap, "MOST_RIVALS", 10)
        yield


@pytest.fixture(scope="session")
def driver():
    """Chromium, with JavaScript switched off for the pages."""
    with _chromium(scripts=False) as driver:
        yield driver


@pytest.fixture(scope="session")
def driver_with_scripts():
    """Chromium in which tools for tests can run scripts that wait."""
    with _chromium(scripts=True) as driver:
        yield driver


@contextmanager
def _chromium(scripts):
    pytest.importorskip("flask")
    selenium = pytest.importorskip("selenium.webdriver", reason=f"needs selenium: {HOW}")
    from selenium.webdriver.chrome.service import Service

    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    program = shutil.which("chromedriver")
    if browser is None or program is None:
        pytest.skip(f"needs Chromium and its driver: {HOW}")
    options = selenium.ChromeOptions()
    options.binary_location = browser
    switches = ["headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"]
    switches += ["disable-background-networking", "no-first-run"]
    for switch in switches:
        options.add_argument(f"--{switch}")
    if not scripts:
        off = {"profile.managed_default_content_settings.javascript": 2}
        options.add_experimental_option("prefs", off)
    driver = selenium.Chrome(options=options, service=Service(program))
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()
