"""Units of answers: their offset and their scale (decision D-H35).

If hyperparameters are learned, or answers normalised, the surrogate subtracts the mean of the
answers and divides them by their standard deviation. Neither a constant factor nor a constant added
to all answers then changes the queries. Doubles have 16 digits. A warning is issued if a common
offset leaves fewer than four of them, or if the variance underflows or overflows.
"""

from __future__ import annotations

import numpy as np

from skgpb.exceptions import NumericalWarning
from skgpb.utils.warnings import warn

# Rounding: units outside these limits are not used: their squares underflow or overflow.
SMALLEST_UNIT, LARGEST_UNIT = 1e-153, 1e153
# Rounding: a standard deviation below this fraction of the largest answer is rounding only.
ROUNDING = 4.0 * np.finfo(np.float64).eps
# Rounding: a standard deviation below this fraction has fewer than four digits.
FOUR_DIGITS = 1e4 * np.finfo(np.float64).eps


def units_of(values: np.ndarray, noise: float | None = None) -> tuple[float, float]:
    """Return centre and unit of answers; warn if too few digits distinguish them.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The answers, at least one.
    noise : float, default=None
        Standard deviation of their noise, a lower limit of the unit; None if it is unknown.

    Returns
    -------
    center, scale : float
        Mean and standard deviation. If all answers are equal up to rounding, the unit is ``noise``,
        or the size of the first answer if ``noise`` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.surrogate.units import units_of
    >>> center, scale = units_of(1e9 + np.array([1.0, 2.0, 3.0]))
    >>> center == 1e9 + 2.0, round(scale, 6)
    (True, 0.816497)
    """
    scale, largest = float(values.std()), float(np.abs(values).max())
    # A few answers may be equal up to rounding: those to points on both sides of a maximum.
    equal = scale <= np.finfo(np.float64).eps * largest and len(values) < 4
    if not equal and (values != values[0]).any():
        warn_of_digits(scale or float(np.ptp(values)), largest)
    unit = scale if noise is None else max(scale, noise)
    if not scale > ROUNDING * largest:
        unit = abs(float(values[0])) if noise is None else noise
    return float(values.mean()), usable(unit)


def warn_of_digits(spread: float, largest: float) -> None:
    """Warn if the size of answers leaves too few digits for their differences."""
    if spread <= SMALLEST_UNIT:
        warn(
            f"the answers differ by {spread:.1e} only, and the squares of differences below "
            f"{SMALLEST_UNIT:.0e} underflow, so nothing can be learned from them. Multiply all "
            "answers by a constant",
            NumericalWarning,
        )
    elif spread < FOUR_DIGITS * largest:
        warn(
            f"answers of up to {largest:.3g} differ by {spread:.1e} only, which leaves fewer than "
            "four of sixteen digits. Subtract a constant from all answers before they are rounded",
            NumericalWarning,
        )


def usable(scale: float) -> float:
    """Return ``scale``, or 1 if its square would underflow or overflow."""
    return scale if SMALLEST_UNIT < scale < LARGEST_UNIT else 1.0
