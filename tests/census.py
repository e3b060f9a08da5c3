"""The table of California's census of 1990, if it is there: it does not come with the package."""

from pathlib import Path

import pytest

FILE = Path("shared") / "data" / "california_housing.csv"
# In the parent folder of the checkout, or further up.
CALIFORNIA = next(
    (above / FILE for above in Path(__file__).parents if (above / FILE).exists()), FILE
)
needs_census = pytest.mark.skipif(not CALIFORNIA.exists(), reason="the census table is not there")
