"""The best subgroup as an estimator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skgpb.exceptions import DataWarning
from skgpb.lab.tables.checks import MOST_CHECKED, find_identity, missing_code, repeats
from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.finding import find_and_judge
from skgpb.lab.tables.memory import N_BINS, MemoryTable, as_column
from skgpb.lab.tables.verdict import MIN_PERMUTATIONS
from skgpb.utils.typing import Direction, Seed, SupportsArray
from skgpb.utils.validation import (
    TRUE_OR_FALSE,
    YES_OR_NO,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_numbers,
    fit_context,
    validate_data,
)
from skgpb.utils.warnings import warn

FEWEST_ROWS, FEWEST_GROUPS = 4, 5


@dataclass(eq=False, repr=False)
class BestSubgroup(BaseEstimator):
    """Find the group of rows with the highest average of a target, and test it on new rows.

    A group is a box: an interval of each number, some categories of each text, with or without
    missing values. :mod:`skgpb.lab.tables.search` describes the search, and
    :mod:`skgpb.lab.tables.verdict` the statements about rows that were not in the table.

    Parameters
    ----------
    min_rows : int or float, default=0.05
        Fewest rows of a group; a float is a share of the table.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether a high or a low average is sought.
    n_permutations : int, default=None
        Number of tables with permuted targets, to whose groups this group is compared. None for 49
        to 199, the more the smaller the table is.
    n_bins : int, default=128
        Maximum number of levels of a number; ends of conditions are edges of levels.
    random_state : int, RandomState instance or None, default=0
        Seed of the permutations for the verdict. The group does not depend on it.

    Attributes
    ----------
    subgroup_ : Subgroup
        Conditions of the group.
    where_ : str
        ``subgroup_`` as text, empty for the whole table.
    n_rows_ : int
        Number of rows of the table in the group.
    average_, table_average_ : float
        Average of the target over the group and over the whole table, without clipping of outliers.
    verdict_ : {"real", "chance"}
        Whether there is a group that chance alone does not explain.
    p_value_ : float
        Share of tables with permuted targets in which the search finds as much evidence.
    new_rows_average_ : float
        Expected average of new rows of the group; NaN if there are too few held-out rows.
    new_rows_interval_ : tuple of float
        Interval that contains ``new_rows_average_`` with 95 % probability.
    optimism_ : float
        Expected difference between the average of the group, with clipped outliers, and that of new
        rows.
    outlier_rows_ : ndarray of int
        Rows with outliers, whose targets were clipped to a limit; the most extreme first.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if ``X`` has names.

    See Also
    --------
    skgpb.GPOOOptimizer : The search for noisy answers, or for averages over groups only.

    Notes
    -----
    A search is linear in the number of rows, in memory and time. The verdict is about tables like
    this one, and not about causes.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.lab.tables import BestSubgroup
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 3))
    >>> y = 2 * ((X[:, 0] > 0.6) & (X[:, 1] < 0.3)) + rng.normal(size=2000)
    >>> search = BestSubgroup(min_rows=0.08).fit(X, y)
    >>> search.where_
    'x0 >= 0.6018 and x1 < 0.299'
    >>> search.verdict_
    'real'
    >>> search.predict([[0.9, 0.1, 0.5], [0.1, 0.1, 0.5]])
    array([ True, False])
    """

    min_rows: float = 0.05
    _: KW_ONLY
    direction: Direction = "maximize"
    n_permutations: int | None = None
    n_bins: int = N_BINS
    random_state: Seed = 0

    _parameter_constraints = {
        "min_rows": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "direction": [StrOptions({"maximize", "minimize"})],
        "n_permutations": [Interval(Integral, MIN_PERMUTATIONS, None, closed="left"), None],
        "n_bins": [Interval(Integral, 2, 60_000, closed="both")],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        groups: Sequence[object] | SupportsArray | None = None,
    ) -> Self:
        """Search a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features: numbers, and in a DataFrame categories as well. Values may be missing.
        y : array-like of shape (n_samples,)
            The target: numbers; or booleans, or texts that are yes and no or true and false, whose
            average is the share of True or yes.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that belong together, such as the patient of each visit. Rows of a group
            are held out and permuted together, so that the verdict and the interval are about new
            patients. None for independent rows.

        Returns
        -------
        self : BestSubgroup

        Warns
        -----
        DataWarning
            If a value of ``y`` looks like a code for missing values, or rows seem to belong
            together.
        """
        y = _as_numbers(y)
        if _is_frame(X):
            validate_data(self, X, y, skip_check_array=True)
            # Older versions of scikit-learn do not check this.
            if len(set(X.columns)) < len(X.columns):
                raise ValueError(f"X must have unique column names, got {list(X.columns)}")
            y = np.asarray(y)
            y = y.astype(np.float64) if y.dtype == bool else check_numbers(y, "y", ensure_2d=False)
            columns = _split_columns(X)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(
                self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", y_numeric=True
            )
            columns = _split_columns(X)
        n = len(y)
        if n < FEWEST_ROWS:
            raise ValueError(f"a search needs at least {FEWEST_ROWS} samples, got n_samples={n}")
        is_number = isinstance(self.min_rows, Integral)
        least = int(self.min_rows) if is_number else math.ceil(self.min_rows * n)
        if least > n:
            raise ValueError(f"min_rows={least} is more than the {n} samples of X")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        numbers = None if groups is None else encode_groups(groups, n)
        table = MemoryTable(columns, y, self.n_bins)
        for remark in _remarks(table, numbers is None):
            warn(remark, DataWarning)
        finding = find_and_judge(
            table,
            least,
            minimize=self.direction == "minimize",
            rng=rng,
            n_permutations=self.n_permutations,
            groups=numbers,
        )
        judged = finding.verdict
        self.subgroup_: Subgroup = finding.subgroup
        self.where_: str = finding.subgroup.where()
        self.n_rows_: int = int(finding.rows.sum())
        self.average_: float = finding.average
        self.table_average_: float = finding.table_average
        self.verdict_: str = judged.verdict
        self.p_value_: float = judged.p_value
        nan = math.nan
        self.new_rows_average_: float = nan if judged.average is None else judged.average
        interval: tuple[float, float] = (nan, nan) if judged.interval is None else judged.interval
        self.new_rows_interval_: tuple[float, float] = interval
        self.optimism_: float = nan if finding.optimism is None else finding.optimism
        self.outlier_rows_: np.ndarray = finding.limits.outliers
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return whether each row is in the group.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The features.

        Returns
        -------
        inside : ndarray of shape (n_samples,) of bool
        """
        check_is_fitted(self)
        if _is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        columns = _split_columns(X)
        inside = np.ones(len(X), dtype=bool)
        for name in self.subgroup_:
            inside &= self.subgroup_[name].holds(columns[name])
        return inside


def encode_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Return the groups of rows as codes (n_rows,): whole numbers from 0 on.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        The group of each row.
    n_rows : int
        Number of rows of the table.
    """
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(f"groups must have shape ({n_rows},), got {values.shape}")
    codes: dict[Any, int] = {}
    numbers = np.array([codes.setdefault(each, len(codes)) for each in values.tolist()])
    if missing := [each for each in values.tolist() if each is None or each != each]:
        raise ValueError(
            f"groups must not have missing values, got {missing[0]} in {len(missing)} of {n_rows} "
            "rows"
        )
    if len(codes) < FEWEST_GROUPS:
        raise ValueError(
            f"groups must have at least {FEWEST_GROUPS} different values, got {len(codes)}: "
            "cross-validation leaves out one group or more at a time"
        )
    return numbers


def _remarks(table: MemoryTable, independent: bool) -> list[str]:
    """Return warnings about the table: a code for missing values, rows that are not independent."""
    remarks = []
    code = missing_code(table.y)
    if code is not None:
        remarks.append(
            f"{code:g} occurs in {np.count_nonzero(table.y == code):,} rows of y, far from all "
            "other values: if it stands for a missing value, leave these rows out"
        )
    if independent and table.n_rows <= MOST_CHECKED:
        name, different = find_identity(table.columns, table.y), repeats(table.columns)
        if name is not None:
            remarks.append(
                f"rows with the same {name!r} seem to belong together, like the visits of a "
                "patient: give it as groups, because such rows are not independent"
            )
        elif different is not None:
            remarks.append(
                f"only {different:,} of {table.n_rows:,} rows differ in X: if rows belong "
                "together, say so by groups, because they are not independent"
            )
    return remarks


def _as_numbers(y: Any) -> Any:
    """Return texts that are yes and no as booleans, decimals as floats, others unchanged."""
    values = np.asarray(y)
    if values.dtype.kind in "mM":
        raise ValueError("y holds dates or durations: give numbers, such as days since the first")
    if values.ndim != 1 or values.dtype.kind not in "OUT":
        return y
    cells = values.tolist()
    if cells and all(isinstance(cell, Decimal) for cell in cells):
        return values.astype(np.float64)
    if not any(isinstance(cell, str) for cell in cells):
        return y
    texts = [str(cell).lower() for cell in cells]
    for meaning in (YES_OR_NO, TRUE_OR_FALSE):
        if set(texts) <= set(meaning):
            return np.array([meaning[text] for text in texts], dtype=bool)
    other = next(cell for cell in cells if str(cell).lower() not in YES_OR_NO)
    raise ValueError(
        f"y must be numbers, booleans, or texts that are yes or no, got {other!r}: give numbers, "
        f"or whether each value is the one whose share should be high, such as y == {other!r}"
    )


def _is_frame(X: Any) -> bool:
    """Return whether ``X`` is a data frame, whose columns have names and types of their own."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _split_columns(X: Any) -> dict[str, np.ndarray]:
    """Return the columns of a table, by their names."""
    if not _is_frame(X):
        return {f"x{j}": np.ascontiguousarray(column) for j, column in enumerate(X.T)}
    return {str(name): as_column(X[name]) for name in X.columns}
