"""Shared set-up: importable references, other seeds on request, one BLAS thread.

``SKGPB_TEST_SEED=3 python -m pytest`` runs the suite with other random numbers: every seed that
tests and optimizers give to ``numpy.random.default_rng`` gets the 3 as a second part. A test that
fails then has a tolerance that its number of draws does not justify, or has found something.
Optimizers without a ``random_state`` draw their seed from NumPy's global state, which begins anew
for each test: a test that fails, fails again.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # the limit is for libraries that are loaded already
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Exclude objects made during collection from garbage collection, which took half the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test with ``one_in(n)`` as slow, except for one case in n.

    Which case is the first to stay depends on the name of the test, so that the tests of many
    classes run every class.
    """
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("one_in") and not any(map(item.get_closest_marker, NOT_DEFAULT)):
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, alike in cases.items():
        n = min(alike[0].get_closest_marker("one_in").args[0], len(alike))
        first = crc32(name.encode()) % n
        for place, item in enumerate(alike):
            if place % n != first:
                item.add_marker("slow")


NOT_DEFAULT = ["slow", "exhaustive", "fuzz", "browser", "integration"]
DEFAULT_RNG = np.random.default_rng


def _reseed(offset: int) -> None:
    def reseeded(seed: Any = None) -> np.random.Generator:
        known = isinstance(seed, (int, np.integer, list, tuple))
        return DEFAULT_RNG([*np.atleast_1d(seed), offset] if known else seed)

    np.random.default_rng = reseeded


# Before any test module is imported, since some draw their data at once.
if int(os.environ.get("SKGPB_TEST_SEED", "0")):
    _reseed(int(os.environ["SKGPB_TEST_SEED"]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Begin NumPy's global random state anew, before any fixture."""
    np.random.seed(int(os.environ.get("SKGPB_TEST_SEED", "0")))  # noqa: NPY002  # the global one


@pytest.fixture
def own_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds as they are: for numbers that are written down, or that another process draws."""
    monkeypatch.setattr(np.random, "default_rng", DEFAULT_RNG)


@pytest.fixture(params=[3, pytest.param(20, marks=pytest.mark.exhaustive)])
def n_seeds(request: pytest.FixtureRequest) -> int:
    """Random cases in which a reference is followed: a few of each kind, or many."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Threads that wait for each other over matrices this small make a busy machine crawl."""
    with threadpool_limits(int(os.environ.get("SKGPB_TEST_BLAS_THREADS", "1")), user_api="blas"):
        yield
