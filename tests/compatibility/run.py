"""Run scikit-learn's own tests, as they are installed, on the classes of this library.

::

    python tests/compatibility/run.py regressor   # test_gpr.py
    python tests/compatibility/run.py search      # test_search.py

Further arguments go to pytest. The exit status is 0 if only tests fail that
``doc/development/compatibility.rst`` lists, with the reason.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import sklearn

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "doc" / "development" / "compatibility.rst"


def regressor() -> str:
    """Put our regressor in the place of theirs; return the module of the tests."""
    from sklearn import gaussian_process

    from skgpb import OnlineGaussianProcessRegressor

    vars(gaussian_process)["GaussianProcessRegressor"] = OnlineGaussianProcessRegressor
    return "sklearn.gaussian_process.tests.test_gpr"


def search() -> str:
    """Put our search in the place of both of theirs; return the module of the tests."""
    from grid import Grid
    from sklearn import model_selection

    from skgpb.model_selection import BanditSearchCV

    vars(model_selection)["GridSearchCV"] = Grid
    vars(model_selection)["RandomizedSearchCV"] = BanditSearchCV
    return "sklearn.model_selection.tests.test_search"


SUITES = {"regressor": regressor, "search": search}


class Outcomes:
    """Takes down how the tests ended."""

    def __init__(self) -> None:
        self.by_outcome: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take the outcome of a test, or of what came before or after it and failed."""
        if report.when == "call" or report.outcome != "passed":
            self.by_outcome[report.outcome].append(report.nodeid.split("::", 1)[1])


def main(suite: str, *options: str) -> int:
    """Run a suite; return how many tests fail that are not expected to."""
    module, outcomes = SUITES[suite](), Outcomes()
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "pytest.ini"
        settings.write_text("[pytest]\n")
        own = ["-c", str(settings), "-q", "--tb=line", "-p", "no:cacheprovider", "-W", "ignore"]
        pytest.main([*own, "--pyargs", module, *options], plugins=[outcomes])
    listed = set(re.findall(r"``(test_\w+)``", PAGE.read_text(encoding="utf-8")))
    failed = outcomes.by_outcome["failed"]
    others = [name for name in failed if name.partition("[")[0] not in listed]
    counts = ", ".join(f"{len(v)} {k}" for k, v in outcomes.by_outcome.items())
    print(f"scikit-learn {sklearn.__version__}, {module}: {counts}")
    print("failed, as listed:", *sorted({*failed} - {*others}), sep="\n  ")
    print("failed, and not listed:", *(others or ["none"]), sep="\n  ")
    return len(others)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in SUITES:
        sys.exit(f"usage: run.py {{{','.join(SUITES)}}} [options of pytest]")
    sys.exit(min(1, main(*sys.argv[1:])))
