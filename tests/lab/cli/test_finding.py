"""Every search says what it found in the same words: on a terminal, on a page, in JSON."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest

from skgpb.lab.cli import main

COMMON = ["command", "source", "answers", "features", "target", "sought", "n_rows", "n_members"]
COMMON += ["where", "runner_up", "effects_of_features", "seed", "parameters", "version"]
ROUTES = {
    "exact": [],
    "asked": ["--budget", "25"],
    "noisy": ["--budget", "25", "--noise", "0.1"],
    "private": ["--epsilon", "5", "--target-range", "0", "2"],
    "database": ["--sql", "duckdb:///rows.db"],
}


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_lines_pages_and_entries_of_every_search_agree(route, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = rng.choice(["a & b", "<c>", "d"], 300)
    rows = zip(kind.tolist(), rng.random(300).tolist(), strict=True)
    lines = [f"{a},{x!r},{(a == '<c>') * x + 0.1 * x!r}" for a, x in rows]
    (tmp_path / "rows.csv").write_text("\n".join(["kind,x,y", *lines]) + "\n")
    if route == "database":
        pytest.importorskip("ibis", reason="needs ibis")
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect("rows.db") as database:
            database.execute("CREATE TABLE data AS SELECT * FROM 'rows.csv'")
    words = ["rows.csv"] * (route != "database")
    words += ["--features", "kind", "x", "--target", "y", *ROUTES[route]]
    assert main(["search", *words, "--output", "r.json", "--report", "r.html"]) == 0
    printed = capsys.readouterr().out
    page, found = (tmp_path / "r.html").read_text(), json.loads((tmp_path / "r.json").read_text())
    assert [name for name in found if name in COMMON] == COMMON
    assert found["n_members"] < found["n_rows"] == 300
    said = re.findall(r"<dt>(.*?)</dt><dd>(?:<code>)?(.*?)(?:</code>)?</dd>", page)
    assert len(said) > 6
    for name, text in said:
        assert re.search(rf"^ *{re.escape(html.unescape(name))}  +", printed, re.MULTILINE)
        assert html.unescape(text) in printed
    assert f"{found['n_members']} rows, " in printed
    assert html.escape(found["where"]) in page
    assert f"The {found['n_members']} rows with <strong>" in page
