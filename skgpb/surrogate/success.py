"""The probability that an evaluation succeeds, learned from successes and failures.

A Gaussian process on outcomes 1 and 0, with the noise of a coin. It is used only if it predicts
outcomes, each from all others, better than their rate does: failures that happen anywhere are no
evidence of where to ask. For an outcome with a limit, :class:`AveragedSuccess` averages over all
models and the rate, so that its probabilities hold as often as they say.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning",
   MIT Press, 2006. Section 6.5, least-squares classification; section 5.4.2, leave-one-out
   predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import ndtri

from skgpb import defaults
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.utils.roots import symmetric_root

# Rounding: least probability of a predicted outcome, so that its logarithm stays finite.
CERTAIN = 0.02
# Rounding: least variance of a probability in draws.
CERTAIN_VARIANCE = 1e-9


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
    failed : float, default=0.0
        Number of failures that are assumed besides, and one success: with 0 nothing fails before
        the first success.

    Attributes
    ----------
    share : float
        Share of the variance of outcomes that depends on the row.
    rate : float
        Rate of success, the limit of the probabilities far from all evaluations.
    loss : float
        Logarithmic loss of the predictions of each outcome from all others, in nats.
    """

    def __init__(
        self,
        kernel: AdditiveMatern,
        share: float,
        rows: np.ndarray,
        succeeded: np.ndarray,
        failed: float = 0.0,
    ) -> None:
        self._kernel, self._rows, n = kernel, rows, len(rows)
        self.share: float = share
        self._share = share / (1.0 + kernel.main_effects)
        self.rate: float = float((succeeded.sum() + 1.0) / (n + 1.0 + failed))
        K = self._share * np.asarray(kernel(rows)) + (1.0 - share) * np.eye(n)
        self._factor = cho_factor(K, lower=True)
        self._weights = cho_solve(self._factor, succeeded - self.rate)
        precisions = np.diag(cho_solve(self._factor, np.eye(n)))
        self.loss: float = log_loss(succeeded - self._weights / precisions, succeeded)

    def chance(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability (m,) that each of some rows, scaled alike, succeeds."""
        means = self.rate + self._share * (
            np.asarray(self._kernel(rows, self._rows)) @ self._weights
        )
        return np.clip(means, 0.0, 1.0)

    def sampler(self, rows: np.ndarray) -> Callable[[int, np.random.Generator], np.ndarray]:
        """Return a function that draws at which rows (m,) evaluations succeed, (n_draws, m).

        A row succeeds if a normal variable is below the quantile of its probability. Variables are
        correlated like the posterior of the probabilities.
        """
        beside = self._share * np.asarray(self._kernel(self._rows, rows))
        prior = self._share * np.asarray(self._kernel(rows))
        V = solve_triangular(self._factor[0], beside, lower=True)
        U, s = symmetric_root(prior - V.T @ V)
        root = U * s
        std = np.sqrt(np.maximum((root**2).sum(axis=1), CERTAIN_VARIANCE))
        least = ndtri(self.chance(rows))

        def draw(n_draws: int, rng: np.random.Generator) -> np.ndarray:
            return rng.standard_normal((n_draws, root.shape[1])) @ root.T / std < least

        return draw


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
    n_succeeded, n = succeeded.sum(), len(rows)
    if n_succeeded in (0, n):
        return None
    best, least = None, _loss_of_rate(succeeded) - defaults.SUCCESS_EVIDENCE
    for model in _models(rows, succeeded):
        if model.loss < least:
            best, least = model, model.loss
    return best


def _loss_of_rate(succeeded: np.ndarray, failed: float = 0.0) -> float:
    """Return the log loss of the prediction of each outcome by the rate of all others."""
    of_others = (succeeded.sum() - succeeded + 1.0) / (len(succeeded) + failed)
    return log_loss(of_others, succeeded)


def _models(rows: np.ndarray, succeeded: np.ndarray, failed: float = 0.0) -> Iterator[SuccessModel]:
    """Return models of all length scales and shares of the variance."""
    d = rows.shape[1]
    for scale in defaults.SUCCESS_LENGTH_SCALES:
        kernel = AdditiveMatern(
            np.full(d, scale * defaults.ORDERED_LENGTH_SCALE * sqrt(d)),
            main_effects=defaults.SETTINGS_MAIN_EFFECTS,
        )
        for share in defaults.SUCCESS_SHARES:
            yield SuccessModel(kernel, share, rows, succeeded, failed)


class AveragedSuccess(SuccessModel):
    """Average over all models and the constant rate, weighted by how well they predict outcomes.

    Parameters
    ----------
    rows : ndarray of shape (n, n_columns)
        Evaluated queries, every column in units of its range.
    succeeded : ndarray of shape (n,)
        1 for success and 0 for the other value.
    """

    def __init__(self, rows: np.ndarray, succeeded: np.ndarray) -> None:
        self.rate: float = float((succeeded.sum() + 1.0) / (len(rows) + 2.0))
        self._models = [*_models(rows, succeeded, 1.0)]
        losses = np.array([_loss_of_rate(succeeded, 1.0), *(each.loss for each in self._models)])
        weights = np.exp(losses.min() - losses)
        self._weights = weights / weights.sum()
        self.share = float(self._weights @ [0.0, *(each.share for each in self._models)])

    def chance(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability (m,) that each of some rows, scaled alike, succeeds."""
        each = [np.full(len(rows), self.rate), *(model.chance(rows) for model in self._models)]
        return self._weights @ np.clip(each, CERTAIN, 1.0 - CERTAIN)

    def sampler(self, rows: np.ndarray) -> Callable[[int, np.random.Generator], np.ndarray]:
        """Return a function that draws at which rows (m,) outcomes succeed, (n_draws, m).

        The model of each draw is drawn as well. By the rate alone, rows are independent.
        """
        samplers = [lambda n, rng: rng.random((n, len(rows))) < self.rate]
        samplers += [model.sampler(rows) for model in self._models]

        def draw(n_draws: int, rng: np.random.Generator) -> np.ndarray:
            counts = rng.multinomial(n_draws, self._weights).tolist()
            pairs = zip(samplers, counts, strict=True)
            drawn = np.concatenate([each(n, rng) for each, n in pairs if n])
            return drawn[rng.permutation(n_draws)]

        return draw
