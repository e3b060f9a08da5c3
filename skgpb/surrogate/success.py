"""The probability that an evaluation succeeds, learned from successes and failures.

A Gaussian process on outcomes 1 and 0, with the noise of a coin. It is used only if it predicts
outcomes, each from all others, better than their rate does: failures that happen anywhere are no
evidence of where to ask.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning",
   MIT Press, 2006. Section 6.5, least-squares classification; section 5.4.2, leave-one-out
   predictions.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skgpb import defaults
from skgpb.kernels.additive_matern import AdditiveMatern

# Rounding: least probability of a predicted outcome, so that its logarithm stays finite.
CERTAIN = 0.02


class SuccessModel:
    """Probabilities of success at rows of descriptors.

    Parameters
    ----------
    kernel : AdditiveMatern
        Covariance of probabilities over scaled rows.
    share : float
        Share of the variance of outcomes that depends on the row.
    rows : ndarray of shape (n, n_columns)
        Evaluated queries, scaled.
    succeeded : ndarray of shape (n,)
        1 for an answer and 0 for a failure.

    Attributes
    ----------
    rate : float
        Rate of success, the limit of the probabilities far from all evaluations.
    loss : float
        Logarithmic loss of the predictions of each outcome from all others, in nats.
    """

    def __init__(
        self, kernel: AdditiveMatern, share: float, rows: np.ndarray, succeeded: np.ndarray
    ) -> None:
        self._kernel, self._rows, n = kernel, rows, len(rows)
        self._share = share / (1.0 + kernel.main_effects)
        # The rate after one more success: nothing fails before the first success.
        self.rate: float = float((succeeded.sum() + 1.0) / (n + 1.0))
        K = self._share * np.asarray(kernel(rows)) + (1.0 - share) * np.eye(n)
        factor = cho_factor(K, lower=True)
        self._weights = cho_solve(factor, succeeded - self.rate)
        precisions = np.diag(cho_solve(factor, np.eye(n)))
        self.loss: float = log_loss(succeeded - self._weights / precisions, succeeded)

    def chance(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability (m,) that each of some rows, scaled alike, succeeds."""
        means = self.rate + self._share * (
            np.asarray(self._kernel(rows, self._rows)) @ self._weights
        )
        return np.clip(means, 0.0, 1.0)


def log_loss(chances: np.ndarray, succeeded: np.ndarray) -> float:
    """Return minus the log likelihood of outcomes, with probabilities away from 0 and 1."""
    chances = np.clip(chances, CERTAIN, 1.0 - CERTAIN)
    return -float(np.log(np.where(succeeded > 0.0, chances, 1.0 - chances)).sum())


def learned_success(rows: np.ndarray, succeeded: np.ndarray) -> SuccessModel | None:
    """Return the model that predicts outcomes best; None if their rate predicts them as well.

    Parameters
    ----------
    rows : ndarray of shape (n, n_columns)
        Evaluated queries, every column in units of its range.
    succeeded : ndarray of shape (n,)
        1 for an answer and 0 for a failure.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.surrogate.success import learned_success
    >>> rows = np.linspace(0, 1, 12)[:, np.newaxis]
    >>> model = learned_success(rows, np.where(rows[:, 0] > 0.5, 1.0, 0.0))
    >>> model.chance(np.array([[0.1], [0.9]])).round(1)
    array([0., 1.])
    >>> learned_success(rows, np.tile([1.0, 1.0, 0.0], 4)) is None
    True
    """
    n, d = rows.shape
    n_succeeded = succeeded.sum()
    if n_succeeded in (0, n):
        return None
    of_others = (n_succeeded - succeeded + 1.0) / n
    best, least = None, log_loss(of_others, succeeded) - defaults.SUCCESS_EVIDENCE
    for scale in defaults.SUCCESS_LENGTH_SCALES:
        kernel = AdditiveMatern(
            np.full(d, scale * defaults.ORDERED_LENGTH_SCALE * sqrt(d)),
            main_effects=defaults.SETTINGS_MAIN_EFFECTS,
        )
        for share in defaults.SUCCESS_SHARES:
            model = SuccessModel(kernel, share, rows, succeeded)
            if model.loss < least:
                best, least = model, model.loss
    return best
