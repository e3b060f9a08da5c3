"""The list of small errors that the tests must find fits the sources, the tests and the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import ROOT, all_mutants, table

MUTANTS = all_mutants()

if not (ROOT / "skgpb").is_dir():
    pytest.skip("the sources are not available", allow_module_level=True)


def test_every_error_can_be_made_in_one_place():
    for mutant in MUTANTS:
        source = (ROOT / mutant.file).read_text(encoding="utf-8")
        changed = mutant.applied(source)
        assert changed != source, mutant.what
        if mutant.file.endswith(".py"):
            compile(changed, mutant.file, "exec")


def test_an_error_that_does_not_fit_is_named():
    mutant = MUTANTS[0]
    for text in ("", 2 * mutant.old):
        with pytest.raises(ValueError, match=f"{re.escape(mutant.what)}: .* in {mutant.file}"):
            mutant.applied(text)


def test_no_error_is_listed_twice():
    assert len({(each.file, each.old, each.new) for each in MUTANTS}) == len(MUTANTS)
    assert len({each.what for each in MUTANTS}) == len(MUTANTS)


def test_the_tests_that_are_named_exist():
    laws = (ROOT / "skgpb/testing.py").read_text(encoding="utf-8")
    for mutant in MUTANTS:
        path, _, name = mutant.test.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        if path == "tests/test_contract.py":
            text += laws
        assert not name or f"def {name.rpartition('::')[2]}(" in text, mutant.test


def test_the_page_has_the_table():
    page = Path(ROOT / "doc/development/mutants.rst")
    if not page.exists():
        pytest.skip("the documentation is not available")
    assert table(MUTANTS) in page.read_text(encoding="utf-8")
