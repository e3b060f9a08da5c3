"""Parameters as a run has them: copies, which change only when the run takes notice."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._typing import RecommendMethod
from skgpb.utils import validate_params

#: Parameters that matter at the start of a run only, whichever class has them.
AT_START: frozenset[str] = frozenset(
    {
        "answer_kernel",
        "arms",
        "bounds",
        "conditional",
        "context_bounds",
        "costs",
        "direction",
        "feedback",
        "kernel",
        "location",
        "max_depth",
        "metric",
        "min_members",
        "n_candidates",
        "n_children",
        "n_context",
        "n_points",
        "n_representatives",
        "operator",
        "optimizers",
        "pool",
        "queries",
        "query_bounds",
        "query_kernel",
        "r_min",
        "random_state",
        "scale",
        "targets",
        "window",
    }
)


def check_parameters(estimator: Any) -> None:
    """Raise where parameters have a value that they cannot have."""
    validate_params(estimator)
    guarantee = getattr(estimator, "guarantee", None)
    if guarantee is not None:
        validate_params(guarantee)


def checked_method(
    method: RecommendMethod | None, known: tuple[RecommendMethod, ...]
) -> RecommendMethod:
    """Resolve ``method`` of ``recommend``; the first of the known ones is the usual one."""
    if method is None:
        return known[0]
    if method not in known:
        raise ValueError(f"method must be None or one of {list(known)}, got {method!r}")
    return method


def own_copy(value: Any) -> Any:
    """Return a copy that nobody else changes, or the value where nobody can.

    Functions are what they are, and so are random numbers, from which a run draws its seed.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        if value.base is None and not value.flags.writeable:
            return value
        value = value.copy()
        value.flags.writeable = False
        return value
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return value
    if callable(value) and not isinstance(value, Kernel):
        return value
    try:
        return deepcopy(value)
    except Exception:  # such as a table that is a connection
        return value


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values of a parameter are known to be equal."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    try:
        return bool(one == other)
    except Exception:  # arrays within lists have no truth value
        return False
