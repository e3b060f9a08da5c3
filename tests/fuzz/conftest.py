"""Limits for fuzzing: memory, and the place where a case is written that ends the process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fuzz import harness

MEMORY = 8 << 30


@pytest.fixture(scope="session", autouse=True)
def _limits(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Limit memory, so that a case that allocates too much fails with a MemoryError."""
    resource = pytest.importorskip("resource", reason="limits on memory and time need POSIX")
    harness.LAST_CASE = tmp_path_factory.getbasetemp() / "last_case.txt"
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        # A hang is reported when pytest's own output cannot be any more.
        harness.STDERR = os.dup(2)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)
