"""The estimators of this library, as :mod:`sklearn.utils.discovery` has those of scikit-learn."""

from __future__ import annotations

import importlib
import pkgutil
from inspect import isabstract, isclass
from pathlib import Path

from sklearn.base import BaseEstimator

__all__ = ["all_estimators"]


def all_estimators() -> list[tuple[str, type[BaseEstimator]]]:
    """Return the name and the class of every public estimator, as scikit-learn's function does.

    Abstract classes are left out, and so are classes that need a package which is not installed.

    Returns
    -------
    estimators : list of tuples
        In the order of their names.

    Examples
    --------
    >>> from skgpb.utils.discovery import all_estimators
    >>> "GPOOOptimizer" in dict(all_estimators())
    True
    """
    found: dict[str, type[BaseEstimator]] = {}
    for module in pkgutil.walk_packages([str(Path(__file__).parents[1])], "skgpb."):
        if "._" in module.name:
            continue
        try:
            public = importlib.import_module(module.name)
        except ImportError:
            continue
        for name in getattr(public, "__all__", ()):
            value = getattr(public, name)
            if isclass(value) and issubclass(value, BaseEstimator) and hasattr(value, "fit"):
                found |= {} if isabstract(value) else {name: value}
    return sorted(found.items())
