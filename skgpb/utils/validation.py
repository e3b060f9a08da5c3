"""Validation helpers of the library; the only module that uses private names of scikit-learn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from traceback import walk_tb
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import _fit_context
from sklearn.gaussian_process.kernels import Kernel
from sklearn.model_selection._search import BaseSearchCV as BaseSearchCV
from sklearn.model_selection._validation import _insert_error_scores
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures,
)
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils.validation import check_array
from sklearn.utils.validation import validate_data as _validate_data

# Rounding: searches step by a hundred thousandth of a side.
LEAST_RESOLUTION = 10**6
# Limit: sums of two coordinates, and one over the length of a side, are finite.
LARGEST_COORDINATE, SHORTEST_SIDE = 8e307, 1e-307
# Format: texts of truth values in tables, in lower case.
TRUE_OR_FALSE = {"true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0}
YES_OR_NO = {"yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0}
PASS_OR_FAIL = {"pass": 1.0, "fail": 0.0}
# Format: largest number of elements of an array, and of characters of other values, in messages.
MOST_SHOWN, LONGEST_SHOWN = 20, 200
# Rounding: coordinates that differ by less than this share of a side are equal.
SAME = 1e-9
# Accuracy: number of halvings of an interval by a bisection.
BISECTIONS = 60
# Limit: the sum of squares of MOST_ROUNDS numbers of this size is finite.
LARGEST_REWARD = 1e150

# Limit: larger sizes are assumed to be mistakes: they would fill the memory or never end, so they
# are rejected before memory is allocated. MOST_POINTS is for candidates and points, which have
# arrays of some hundreds of times this size. MOST_DRAWN is for draws times points.
MOST_CHILDREN, MOST_RESTARTS, MOST_POINTS, MOST_QUERIES = 1_000, 1_000, 100_000, 10_000
MOST_DRAWN = 100_000_000
MOST_LEAVES, MOST_ROUNDS, MOST_JOBS = 1_000_000, 10_000_000, 1_000

Method = TypeVar("Method", bound=Callable[..., Any])
# scikit-learn's decorator has no types: a checker would not know the result of a decorated method.
fit_context: Callable[..., Callable[[Method], Method]] = _fit_context
insert_error_scores: Callable[..., None] = _insert_error_scores


class Interval(_Interval):
    """Numbers between two limits; True and False are rejected, although they are int."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether a value is a number within the limits."""
        return not isinstance(val, bool) and super().is_satisfied_by(val)


def validate_params(estimator: Any) -> None:
    """Check constructor parameters by the class's ``_parameter_constraints``."""
    estimator._validate_params()


class unchanged_by_errors:  # a context as those of contextlib
    """Context that restores the attributes of an object if the block raises.

    Parameters
    ----------
    estimator : object
        The block works on a copy of its attributes, so it must not change them in place.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def __enter__(self) -> None:
        self._before = self._estimator.__dict__
        self._estimator.__dict__ = dict(self._before)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._estimator.__dict__ = self._before


def warn_at_bounds(kernel: Kernel) -> None:
    """Warn of hyperparameters that learning left at a bound, with scikit-learn's message."""
    kernel._check_bounds_params()


def failed_fits(error: ValueError) -> list[dict[str, Any]] | None:
    """Return the results of a batch all of whose fits failed; None for another error.

    ``evaluate_candidates`` of a search discards such a batch: only the frames of its error have
    the durations of the fits. Its check is the third frame; deeper ones are those of searches
    within a fit.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if len(frames) != 3 or frames[2].f_code is not warn_or_raise_about_fit_failures.__code__:
        return None
    return frames[2].f_locals["results"]


def check_bounds(bounds: Any, name: str = "bounds") -> np.ndarray:
    """Return ``bounds`` as a float array (d, 2) of lower and upper limits.

    Raises
    ------
    ValueError
        Unless every row is finite with its first entry below its second, neither of them nor
        their difference is extreme, and there are enough floating-point numbers between them.
    """
    for axis, side in enumerate(bounds if isinstance(bounds, (list, tuple)) else ()):
        if isinstance(side, (list, tuple, range)) and any(isinstance(x, str) for x in side):
            raise ValueError(
                f"{name} must have shape (d, 2), one (lower, upper) pair per dimension; got "
                f"{side!r} in dimension {axis}. Integers, logarithmic scales and categories are "
                "sides with names: a dict such as {'n': range(1, 9), 'rate': loguniform(0.001, 1), "
                "'kind': ['a', 'b']}"
            )
    array = check_numbers(bounds, name, ensure_2d=False)
    transposed = array.ndim == 2 and len(array) == 2 and (array[0] < array[1]).all()
    hint = f". Is it transposed? Pass np.transpose({name})" if transposed else ""
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"{name} must have shape (d, 2), one (lower, upper) pair per dimension; got an array "
            f"of shape {array.shape}{hint}"
        )
    wrong = np.flatnonzero(~(array[:, 0] < array[:, 1]))
    if len(wrong):
        a = wrong[0]
        lower, upper = array[a].tolist()
        raise ValueError(
            f"{name} must satisfy lower < upper in every dimension; dimension {a} has "
            f"lower={lower!r}, upper={upper!r}{hint}"
        )
    check_resolution(array, name)
    return array


def check_resolution(bounds: np.ndarray, name: str) -> None:
    """Raise ValueError for a box (d, 2) with too few floating-point numbers for coordinates."""
    largest = np.abs(bounds).max(axis=1)
    far = np.flatnonzero(largest > LARGEST_COORDINATE)
    if len(far):
        raise ValueError(
            f"{name} must be within -{LARGEST_COORDINATE:g} and {LARGEST_COORDINATE:g}, got "
            f"{bounds[far[0]].tolist()} in dimension {far[0]}. Scale the coordinates"
        )
    sides = bounds[:, 1] - bounds[:, 0]
    gaps = sides / np.spacing(largest)
    coarse = np.flatnonzero(gaps < LEAST_RESOLUTION)
    if len(coarse):
        a = coarse[0]
        lower, upper = bounds[a].tolist()
        raise ValueError(
            f"{name} must leave room for {LEAST_RESOLUTION:.0e} floating-point numbers on every "
            f"side; between lower={lower!r} and upper={upper!r} of dimension {a} there are about "
            f"{gaps[a]:.0f}. Shift or scale the coordinates, to [0, 1] for example"
        )
    short = np.flatnonzero(sides < SHORTEST_SIDE)
    if len(short):
        raise ValueError(
            f"{name} must have sides of {SHORTEST_SIDE:g} or more, got "
            f"{bounds[short[0]].tolist()} in dimension {short[0]}. Scale the coordinates"
        )


def check_numbers(values: Any, name: str, ensure_2d: bool = True) -> np.ndarray:
    """Return finite real numbers as a float array; an error names the parameter."""
    check_unmasked(values, name)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise ValueError(f"expected real numbers, got {values!r}")
        shaped = array.ndim == 2 or (array.ndim == 1 and not ensure_2d)
        if type(values) in (list, tuple, np.ndarray) and shaped and array.size:
            # Fast path for plain numbers: check_array, which supports tables, is ten times slower.
            array = array.astype(np.float64, copy=False)
            if np.isfinite(array).all():
                return array
        return check_array(values, dtype=np.float64, ensure_2d=ensure_2d, input_name=name)
    except (ValueError, TypeError) as error:
        where = _where_wrong(error, values, name) if isinstance(error, ValueError) else ""
        raise ValueError(f"{name} must be an array of finite numbers: {error}{where}") from error


def as_labels(values: Any) -> np.ndarray:
    """Return texts or numbers as an array of one type, if they are of one type.

    Columns of tables often have objects of Python.
    """
    labels = np.asarray(values)
    return np.array(labels.tolist()) if labels.dtype.kind == "O" else labels


def check_rows(X: Any, y: Any) -> None:
    """Raise ValueError unless X and y have equally many rows, as far as their shapes show."""
    counted = all(hasattr(each, "__len__") and not issparse(each) for each in (X, y))
    if counted and len(X) != len(y):
        raise ValueError(
            "X must have one row for each y, shapes (n, n_features) and (n,); got "
            f"{getattr(X, 'shape', len(X))} and {getattr(y, 'shape', len(y))}"
        )


def row_message(i: int, n: int, error: Any) -> str:
    """Return the message of an error in row i of n, with the index of the row."""
    return f"row {i} of {n}, counted from 0: {error}" if n > 1 else str(error)


def shorten_value(values: Any) -> str:
    """Return a value as text for a message: an array by its shape, and long texts cut off."""
    if isinstance(values, np.ndarray) and values.size > MOST_SHOWN:
        return f"an array of shape {values.shape}"
    text = repr(values)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def validate_data(estimator: Any, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
    """Check data as scikit-learn does; reject masked entries, and name the row of an error."""
    for name, values in (("X", X), ("y", y)):
        check_unmasked(values, name)
    if checks.get("y_numeric"):
        y = _with_nan(y)
    try:
        return _validate_data(estimator, X, y, **checks)
    except ValueError as error:
        where = _where_wrong(error, X, "X") or _where_wrong(error, y, "y")
        if not where:
            raise
        raise ValueError(f"{error}{where}") from None


def is_missing(value: Any) -> bool:
    """Return whether an entry of a column stands for no value: None, NaN or pandas' NA."""
    return value is None or is_pandas_na(value) or is_scalar_nan(value)


def keyed(values: Any, names: Iterable[Any]) -> Any:
    """Return a Series as a dict if its index has one of the names; anything else unchanged."""
    if not (hasattr(values, "to_frame") and hasattr(values, "index")):
        return values
    return values if set(names).isdisjoint(values.index) else values.to_dict()


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a table; None where they are none, or X is no table."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def check_columns(X: Any, names: Sequence[str] | None) -> None:
    """Raise ValueError if columns, or the index of a row, have other names or another order."""
    given = column_names(X)
    if names is not None and isinstance(row := keyed(X, names), dict):
        given = list(row)
    if names is not None and given is not None and given != list(names):
        raise ValueError(
            f"a table must have the columns {list(names)} in this order, as in the first table of "
            f"this run; got {given}"
        )


def _with_nan(values: Any) -> Any:
    """Return objects that are numbers as floats, NaN where a value is missing; others unchanged.

    In objects scikit-learn looks for NaN before None becomes one.
    """
    array = np.asarray(values)
    if array.dtype.kind != "O" or not array.ndim:
        return values
    try:
        each = [np.nan if is_missing(value) else float(value) for value in array.ravel()]
    except (TypeError, ValueError):
        return values
    return np.array(each).reshape(array.shape)


def _where_wrong(error: ValueError, values: Any, name: str) -> str:
    """Return a sentence with the row that is not finite; empty for other errors."""
    if not re.search("NaN|infinity", str(error)):
        return ""
    try:
        finite = np.isfinite(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        return ""
    if finite.all() or not finite.ndim:
        return ""
    return f" In {name} this is row {np.nonzero(~finite)[0].min()}, counted from 0."


def check_unmasked(values: Any, name: str) -> None:
    """Raise ValueError for masked entries, whose hidden values NumPy would use."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have no masked entries, got {values!r}")


def check_count(n: Any) -> int:
    """Return the number of queries in a call of ``ask``, 1 for None."""
    if n is None:
        return 1
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= int(n) <= MOST_QUERIES:
        raise ValueError(f"n must be None or an integer from 1 to {MOST_QUERIES}, got {n!r}")
    return int(n)


def check_size(n: Any, name: str, least: int = 1, most: int = MOST_POINTS) -> int:
    """Return the size of an object to be created, an integer within limits."""
    if not isinstance(n, Integral) or isinstance(n, bool) or not least <= int(n) <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {n!r}")
    return int(n)


def check_draws(n_samples: Any, n_points: int = 1) -> int:
    """Check and return the number of joint draws at ``n_points`` points."""
    return check_size(n_samples, "n_samples", 0, MOST_DRAWN // max(1, n_points))


def call(function: Any, argument: Any, name: str) -> Any:
    """Return ``function(argument)``; the error of a missing key names the parameter."""
    try:
        return function(argument)
    except LookupError as error:  # its message is the key alone
        raise ValueError(f"{name}({argument}) raised {error!r}") from error


def check_callable_value(function: Any, argument: Any, name: str) -> float:
    """Return ``function(argument)`` as a finite float >= 0; an error names the parameter."""
    value = call(function, argument, name)
    try:
        number = np.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0.0 <= number < np.inf:
        raise ValueError(f"{name}({argument}) must be a finite number >= 0, got {value!r}")
    return number


def has_contexts(optimizer: Any) -> bool:
    """Return whether an optimizer chooses its queries in a context."""
    parameters = optimizer.get_params(deep=False)
    # The contextual tree may get its contexts from ``fit``.
    return "n_context" in parameters or parameters.get("context_bounds") is not None


def box_around(X: np.ndarray) -> np.ndarray:
    """Return the bounding box (d, 2) of points, with sides of positive length."""
    lower, upper = X.min(axis=0), X.max(axis=0)
    pad = np.where(upper > lower, 0.0, np.maximum(0.5, 1e-6 * np.abs(lower)))
    return np.column_stack([lower - pad, upper + pad])


def bisection(low: float, high: float, is_low: Callable[[float], Any]) -> tuple[float, float]:
    """Return the ends of a tiny interval in which ``is_low`` changes from true to false."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if is_low(middle):
            low = middle
        else:
            high = middle
    return low, high


def check_inside(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return points (n, d) in a box (d, 2), moved onto it if only rounding puts them outside.

    Raises
    ------
    ValueError
        If a point is farther outside; the message has its row.
    """
    lower, upper = bounds.T
    if ((points >= lower) & (points <= upper)).all():
        return points
    inside = np.clip(points, lower, upper)
    outside = np.flatnonzero(~(np.abs(points - inside) <= SAME * (upper - lower)).all(axis=1))
    if len(outside):
        i = outside[0]
        message = f"point {points[i]} is outside the bounds {bounds.tolist()}"
        raise ValueError(row_message(i, len(points), message))
    return inside


def check_reward(reward: Any) -> float:
    """Return a real number as a float; its square, and sums of squares, must be finite.

    Raises
    ------
    ValueError, TypeError
        For anything else; the message has the value.
    """
    try:
        value = check_real(reward, "reward")
    except ValueError as error:
        raise ValueError(f"{error}: None says that an evaluation failed") from None
    check_squares(value, "reward")
    return value


def check_squares(values: Any, name: str) -> None:
    """Raise ValueError for numbers, one or an array, whose sums of squares may overflow.

    Raise TypeError for values that are not numbers.
    """
    if np.asarray(values).dtype.kind not in "fiub":
        raise TypeError(f"{name} must be real numbers, got {shorten_value(values)}")
    if np.abs(values).max(initial=0.0) > LARGEST_REWARD:
        largest = float(np.ravel(values)[np.abs(values).argmax()])
        raise ValueError(
            f"{name} must be within -{LARGEST_REWARD:g} and {LARGEST_REWARD:g}, because learning "
            f"squares it; got {largest!r}. Divide all answers by a constant"
        )


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def truth_value(value: Any) -> bool | None:
    """Return a value that means yes or no as a bool; None for any other value.

    Examples
    --------
    >>> from skgpb.utils.validation import truth_value
    >>> [truth_value(each) for each in (True, 0, "Yes", "fail", 0.5, "perhaps")]
    [True, False, True, False, None, None]
    """
    if isinstance(value, str):
        word = value.strip().lower()
        value = (YES_OR_NO | TRUE_OR_FALSE | PASS_OR_FAIL).get(word)
    known = isinstance(value, (bool, np.bool_)) or (is_number(value) and value in (0, 1))
    return bool(value) if known else None


def check_real(reward: Any, name: str) -> float:
    """Return a real, finite number as a float.

    Raises
    ------
    ValueError, TypeError
        For anything else; the message has the value.
    """
    check_unmasked(reward, name)
    if isinstance(reward, np.ndarray) and reward.size == 1 and reward.dtype.kind in "fiu":
        reward = reward.item()
    not_real = isinstance(reward, (bool, np.bool_, np.complexfloating))
    if not_real or not isinstance(reward, (Real, np.number)):
        raise TypeError(f"{name} must be a real number, got {reward!r}")
    try:
        value = float(reward)
    except OverflowError:
        value = np.inf
    if not -np.inf < value < np.inf:
        raise ValueError(f"{name} must be finite, got {value!r}")
    return value


def check_reached(moments: Any, X: Any) -> None:
    """Raise ValueError for points so far away that their moments are NaN."""
    for values in moments if isinstance(moments, tuple) else [moments]:
        wrong = np.flatnonzero(np.isnan(values).reshape(len(values), -1).any(axis=1))
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                "X is too far from the data: values of the kernel overflow there; row "
                f"{i}, counted from 0, is {np.asarray(X)[i].tolist()}"
            )


def is_sequence(values: Any) -> bool:
    """Return whether values are a sequence: an array, a list, a column of a table."""
    single = not hasattr(values, "__len__") or getattr(values, "ndim", 1) == 0
    return not single and not isinstance(values, (str, bytes, dict, set))


def check_one_each(
    values: Any, n: int, name: str, owners: str, shared: bool = False, kind: str = "number"
) -> list[Any]:
    """Return ``values`` as a list of n entries of any type; repeat a single one if ``shared``.

    Columns of tables have NaN where other sequences have None.

    Raises
    ------
    TypeError, ValueError
        For other types, or another length; the message has the values.
    """
    single = not hasattr(values, "__len__") or getattr(values, "ndim", 1) == 0
    if single and shared:
        return [values] * n
    message = f"{name} must hold one {kind} for each of {n} {owners}, got {values!r}"
    if not is_sequence(values):
        raise TypeError(message)
    is_table = hasattr(values, "columns")  # whose iteration returns the names of its columns
    if len(values) != n or (is_table and values.shape[1] != 1):
        raise ValueError(message)
    if is_table:
        values = values.to_numpy()[:, 0]
    if is_table or hasattr(values, "to_frame"):
        return [None if is_missing(each) else each for each in values]
    return list(values)


def check_noise_variance(alpha: Any) -> float:
    """Return a finite noise variance >= 0 as a float."""
    value = check_real(alpha, "alpha")
    if value < 0.0:
        raise ValueError(f"alpha is a noise variance and must be >= 0, got {value!r}")
    return value


def check_noise_variances(alpha: Any, n: int) -> np.ndarray:
    """Return noise variances (n,) from a number, or from one for each of n samples."""
    single = not hasattr(alpha, "__len__") or getattr(alpha, "ndim", 1) == 0
    noise = check_numbers([alpha] if single else alpha, "alpha", ensure_2d=False)
    if noise.shape == (1,):
        noise = np.full(n, noise)
    if noise.shape != (n,):
        raise ValueError(
            f"alpha must be a number or an array with one entry for each of {n} samples, "
            f"got shape {noise.shape}"
        )
    if not (noise >= 0.0).all():
        raise ValueError("alpha holds noise variances and must be finite and >= 0")
    return noise
