"""What a bound on the norm of f decides in a search: the bonus, and which length scales to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skgpb.surrogate.bounded_norm import Widths
from skgpb.utils import Interval, Real, StrOptions, check_callable_value

# As ``optimizer``: length scales are dropped that contradict the answers.
CONSISTENT = "consistent"
#: Constraints of ``beta`` where the norm may say how large it is.
BETA_CONSTRAINTS = [
    StrOptions({"theory", "rkhs"}),
    Interval(Real, 0, None, closed="left"),
    callable,
]


def given_beta(beta: Any, t: int, widths: Callable[[], Widths]) -> float:
    """Factor of the variance in round t that the user chose in place of the theory's.

    Parameters
    ----------
    beta : "rkhs", float or callable
        As the user gave it.
    t : int
        Round, from 1.
    widths : callable
        Returns the widths of the present state, for "rkhs".
    """
    if callable(beta):
        return check_callable_value(beta, t, "beta")
    return widths().beta() if beta == "rkhs" else float(beta)
