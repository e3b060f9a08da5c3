"""The script that looks for broken links and for pages that are wider than a telephone."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOC = Path(__file__).resolve().parents[1] / "doc"
if not DOC.is_dir():
    pytest.skip("the documentation is not available", allow_module_level=True)

VIEW = '<meta name="viewport" content="width=device-width, initial-scale=1">'


@pytest.fixture
def check_site(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOC)
    monkeypatch.delitem(sys.modules, "check_site", raising=False)
    return importlib.import_module("check_site")


def test_links_that_lead_nowhere_are_named(check_site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "macros.html").write_text('<a href="{{ nothing }}">')
    (tmp_path / "index.html").write_text(
        '<a href="a/b.html#here">1</a> <a href="a/b.html#gone">2</a> <a href="#top">3</a>'
        '<img src="a%20b.svg"> <a href="https://example.org/x">4</a> <a href="mailto:x@y.z">5</a>'
    )
    (tmp_path / "a" / "b.html").write_text('<p id="here"><a href="../index.html">up</a>')
    assert list(check_site.broken_links(tmp_path)) == [
        "index.html: #top: no such place on that page",
        "index.html: a%20b.svg: no such file",
        "index.html: a/b.html#gone: no such place on that page",
    ]
    assert check_site.main([str(tmp_path)]) == 1
    (tmp_path / "index.html").write_text('<a href="a/b.html#here">1</a>')
    assert check_site.main([str(tmp_path)]) == 0


def test_a_folder_without_pages_is_refused(
    check_site: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit):
        check_site.main([str(tmp_path)])
    assert "no index.html" in capsys.readouterr().err


@pytest.mark.slow
def test_pages_wider_than_a_telephone_are_named(check_site: ModuleType, tmp_path: Path) -> None:
    if shutil.which("chromedriver") is None or shutil.which("chromium") is None:
        pytest.skip("needs chromium and its driver")
    row = "<td>long</td>" * 100
    (tmp_path / "index.html").write_text(f"{VIEW}<table class='wide'><tr>{row}</table>")
    (tmp_path / "box.html").write_text(f"{VIEW}<div style='overflow-x: auto'><table>{row}</div>")
    (complaint,) = check_site.wide_pages(tmp_path)
    assert complaint.startswith("index.html: ") and "pixels wide" in complaint
    assert int(complaint.split()[1]) > check_site.WIDTH


def test_what_a_reader_looks_for_is_in_the_first_row() -> None:
    conf = (DOC / "conf.py").read_text(encoding="utf-8")
    n_shown = int(re.search(r'"header_links_before_dropdown": (\d+)', conf)[1])
    index = (DOC / "index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\S.*)$", index.partition(".. toctree::\n   :hidden:\n")[2], re.M)
    assert {"API <api/index>", "Changelog <changes>"} <= set(listed[:n_shown])
    # Two clicks: a link of the first page, and one of the page behind it.
    assert "<development/new_kernel>" in index and ":doc:`citing`" in index


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("user_guide/settings", "Mixed spaces"),
        ("user_guide/settings", "Constraints on the settings"),
        ("user_guide/limits", "Constraints on outcomes"),
        ("user_guide/transfer", "Transfer learning"),
        ("development/new_kernel", "Own kernels"),
    ],
)
def test_titles_have_the_words_that_readers_search(page: str, title: str) -> None:
    text = (DOC / f"{page}.rst").read_text(encoding="utf-8")
    assert re.search(rf"^{title}.*\n[=-]+$", text, re.M)
