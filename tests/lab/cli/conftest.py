"""Few permuted tables: commands say the same about them, and take a quarter of the time."""

import pytest

from skgpb.lab.tables import verdict


@pytest.fixture(autouse=True)
def _few_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "MAX_PERMUTATIONS", verdict.MIN_PERMUTATIONS)
