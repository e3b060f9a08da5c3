"""Shared set-up: the naive references are importable, and small matrices get one BLAS thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401  # the limit is for libraries that are loaded already
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Threads that wait for each other over matrices this small make a busy machine crawl."""
    with threadpool_limits(1, user_api="blas"):
        yield
