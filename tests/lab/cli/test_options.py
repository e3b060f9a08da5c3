"""Options of ``search``: in each route an option changes something, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb.lab.cli import main
from skgpb.lab.cli.options import OPTIONS, Route, searches_with

ROUTES = {
    Route.EXACT: ["t.csv"],
    Route.ASKED: ["t.csv", "--budget", "30"],
    Route.PRIVATE: ["t.csv", "--epsilon", "500", "--target-range", "0", "9", "--budget", "30"],
    Route.DATABASE: ["--sql", "t.parquet"],
}
# Values of each option that differ from its default, and options that it needs.
VALUES = {
    "--features": (["x", "y"], []),
    "--target": (["cost"], []),
    "--minimize": ([], []),
    "--min-rows": (["70"], []),
    "--where": (["y > 3"], []),
    "--seed": (["5"], ["--output", "result.json"]),
    "--output": (["result.json"], []),
    "--report": (["report.html"], []),
    "--plot": (["plot.png"], []),
    "--save-rows": (["rows.csv"], []),
    "--separator": (["semicolon"], []),
    "--decimal": (["comma"], []),
    "--encoding": (["utf-16"], []),
    "--dates": (["%d/%m/%Y"], []),
    "--sheet": (["first"], []),
    "--skip-lines": (["1"], []),
    "--header": (["2"], []),
    "--unreadable": (["missing"], ["--features", "x", "odd"]),
    "--drop-missing": ([], ["--features", "x", "gaps"]),
    "--one-hot": (["y"], []),
    "--group": (["y"], []),
    "--groups": (["town"], ["--features", "x", "town"]),
    "--budget": (["9"], []),
    "--noise": (["0.5"], []),
    "--alpha": (["4"], []),
    "--stop-within": (["30"], []),
    "--confidence": (["0.6"], ["--stop-within", "3"]),
    "--epsilon": (["2"], []),
    "--delta": (["1e-6"], []),
    "--target-range": (["0", "7"], []),
    "--ledger": (["ledger.json"], []),
    "--sql": (["duckdb:///no/such/file.db"], []),
    "--table": (["sales"], []),
    "--sample": (["100"], []),
    "--max-scans": (["3"], []),
}
# Values that say what holds anyway are refused as well where the option does not work.
DEFAULTS = {"--noise": "0", "--header": "1", "--skip-lines": "0", "--unreadable": "error"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 160
    x, y, town = rng.uniform(size=n).round(3), rng.integers(0, 8, n), rng.choice(list("ABCDE"), n)
    value = (4 + 3 * (x > 0.6) * (y > 4) + rng.normal(size=n)).clip(0, 9).round(3)
    lines = ["x,y,town,gaps,odd,cost,value"]
    for i in range(n):
        gaps, odd = "" if i % 9 == 0 else y[i], "high" if i == 30 else y[i]
        lines.append(f"{x[i]},{y[i]},{town[i]},{gaps},{odd},{10 - value[i]:.3f},{value[i]}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def outcome(capsys, folder, route, options):
    """Return the status and all that a search prints and writes; remove its files."""
    before = set(folder.iterdir())
    words = [*ROUTES[route], *options]
    for name, value in (("--features", "x"), ("--target", "value")):
        words += [] if name in options else [name, value]
    if route is Route.PRIVATE and "--ledger" not in options and "--seed" not in options:
        words += ["--seed", "0"]
    status = main(["search", *words])
    out, err = capsys.readouterr()
    files = {path.name: path.read_bytes() for path in set(folder.iterdir()) - before}
    for name in files:
        (folder / name).unlink()
    return status, out, err, files


def test_the_table_has_every_option(capsys):
    main(["search", "--help"])
    shown = capsys.readouterr().out
    assert set(VALUES) == set(OPTIONS)
    for option in OPTIONS:
        assert f"[{option}" in shown or f" {option} " in shown


def test_searches_in_which_an_option_works_are_named_shortly():
    assert searches_with("--noise") == "--budget"
    assert searches_with("--stop-within") == "--budget or --epsilon"
    assert searches_with("--plot") == "searches without --sql"
    assert searches_with("--save-rows") == "searches without --epsilon or --sql"
    assert searches_with("--group") == "searches without --budget or --epsilon or --sql"


@pytest.mark.one_in(18)
@pytest.mark.parametrize("route", Route)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_changes_something_or_is_refused(option, route, folder, capsys):
    values, needed = VALUES[option]
    chooses = option in {each.value for each in Route}
    if route in OPTIONS[option] or (chooses and route is not Route.DATABASE):
        if route is Route.DATABASE:
            pytest.importorskip("ibis")
            duckdb = pytest.importorskip("duckdb")
            duckdb.sql("COPY (SELECT * FROM 't.csv') TO 't.parquet'")
        without = outcome(capsys, folder, route, needed)
        assert outcome(capsys, folder, route, [*needed, option, *values]) != without
        return
    for given in [values, *([x] for name, x in DEFAULTS.items() if name == option)]:
        status, out, err, files = outcome(capsys, folder, route, [option, *given])
        assert (status, out, files) == (2, "", {}) and err.count("\n") == 1
        assert err.startswith(f"skgpb: error: {option} ")
        assert chooses or f"is for {searches_with(option)}" in err
        assert f"cannot be combined with {route.value}" in err or route is Route.EXACT
