"""The record of a run as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

try:
    import pandas as pd
except ImportError as _error:
    raise ImportError(
        "skgpb.integrations.pandas needs pandas, which is not installed: pip install skgpb[pandas]"
    ) from _error


def history_frame(optimizer: Any, feature_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return ``history_`` as a data frame with one row for each observation.

    Parameters
    ----------
    optimizer : BaseBanditOptimizer
        After at least one ``ask``, ``tell`` or ``fit``.
    feature_names : sequence of d str, default=None
        Names of the features; None for those seen by ``fit``, else their numbers.

    Returns
    -------
    frame : pandas.DataFrame
        Indexed by ``round``, with the columns of ``history_``: ``reward``, ``mean``, ``std`` and
        so on. The box around what was observed becomes ``lower_<name>`` and ``upper_<name>``
        for every feature, an indirect query ``a_0``, ``a_1``, ...

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> from skgpb.integrations.pandas import history_frame
    >>> opt = GPOOOptimizer(bounds=[(0, 1)])
    >>> _ = opt.run(lambda cell: float(cell.points.mean()), budget=3)
    >>> history_frame(opt, ["x"])[["lower_x", "upper_x", "expanded"]].shape
    (3, 3)
    """
    check_is_fitted(optimizer, "bounds_")
    history, d = optimizer.history_, optimizer.n_features_in_
    given: Any = feature_names
    if given is None:
        given = getattr(optimizer, "feature_names_in_", range(d))
    names = [str(name) for name in given]
    if len(names) != d:
        raise ValueError(f"feature_names must hold {d} names, got {feature_names!r}")
    columns: dict[str, np.ndarray] = {}
    for field in history.dtype.names:
        values = history[field]
        if field == "descriptor":
            # Queries may live in a space of their own, where features have no names.
            axes = names if "a" not in history.dtype.names else range(values.shape[1] // 2)
            labels = [f"{side}_{name}" for side in ("lower", "upper") for name in axes]
        elif values.ndim > 1:
            labels = [f"{field}_{i}" for i in range(values.shape[1])]
        else:
            labels, values = [field], values[:, None]
        columns.update(zip(labels, values.T, strict=True))
    return pd.DataFrame(columns).set_index("round")
