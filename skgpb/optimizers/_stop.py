"""When a run may stop, because enough is known.

References
----------
.. [Wilson2024] J. Wilson, "Stopping Bayesian Optimization with Probabilistic Regret Bounds",
   NeurIPS 2024.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import floor, log, pi
from typing import Any

from skgpb import defaults
from skgpb.utils import Real, check_size

__all__ = ["Stop"]


def check_share(value: Any, name: str) -> float:
    """Return a probability in (0, 1), or raise."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be a number in (0, 1), got {value!r}")
    return float(value)


def first_where_learned(n_dims: int) -> int:
    """Answers before the first check where hyperparameters are learned (decision D-G12)."""
    return defaults.FIRST_STOP * max(1, n_dims - 1)


@dataclass(eq=False, repr=False)
class Stop:
    """Stop when the recommendation is within epsilon of the best, with probability 1 - delta.

    The rule of [Wilson2024]_. It draws the values of all possible recommendations jointly from the
    posterior, as often as it needs to decide whether the best of a draw exceeds the recommendation
    by more than epsilon with a probability of at most delta. delta includes the error of the draws
    in all checks. A check is made whenever the number of answers has grown by a tenth.

    Parameters
    ----------
    epsilon : float
        Largest difference between the best and the recommendation, in units of the reward, > 0.
    delta : float, default=0.05
        Probability, in (0, 1), with which the difference may be larger.
    min_answers : int, default=None
        Answers before the first check. None stands for 1, or, if hyperparameters or the noise are
        learned, for 30 in one and two dimensions and 30 (d - 1) in d.
    bound : {"draws", "interval"}, default="draws"
        "draws" is the rule above. "interval" waits until no upper end of an interval is more than
        epsilon above the lower end of the recommendation's, which holds for every f of norm at most
        ``B`` and not on average over the prior, and needs many more answers. The optimizer's
        ``guarantee.failure_probability`` must be at most delta.

    Notes
    -----
    The claim is as good as the model. It holds for functions that are drawn from the prior; if
    hyperparameters are learned it is too bold as long as answers are few, see :ref:`stopping`.
    If the kernel of arms, rows or a box is learned, the average over models of several
    smoothnesses, length scales and noise variances has to agree (:mod:`skgpb.surrogate.models`).
    These models expect the standard deviation of f to be at least two epsilon.
    A stop never changes the queries of a run, and has random numbers of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import GPUCBOptimizer, Stop
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = GPUCBOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=500, stop=Stop(epsilon=0.1))
    >>> result.nfev < 50, result.gap < 0.1
    (True, True)
    >>> result.message
    'within 0.1 of the best with probability 0.95'
    """

    epsilon: float
    delta: float = 0.05
    _: KW_ONLY
    min_answers: int | None = None
    bound: str = "draws"

    def __post_init__(self) -> None:
        number = isinstance(self.epsilon, Real) and not isinstance(self.epsilon, bool)
        if not number or not 0.0 < self.epsilon < float("inf"):
            raise ValueError(f"epsilon must be a finite number > 0, got {self.epsilon!r}")
        self.epsilon, self.delta = float(self.epsilon), check_share(self.delta, "delta")
        if self.bound not in ("draws", "interval"):
            raise ValueError(f"bound must be 'draws' or 'interval', got {self.bound!r}")
        if self.min_answers is not None:
            self.min_answers = check_size(self.min_answers, "min_answers")

    @property
    def message(self) -> str:
        """Why a run ended that this has stopped."""
        return f"within {self.epsilon:g} of the best with probability {1.0 - self.delta:g}"

    def risks(self, n: int, learned: bool = False, n_dims: int = 1) -> tuple[float, float] | None:
        """Return the parts of delta for the posterior and for its draws after n answers.

        Parameters
        ----------
        n : int
            Number of answers.
        learned : bool, default=False
            Whether hyperparameters or the noise are learned from them.
        n_dims : int, default=1
            Number of dimensions, where they are.

        Returns
        -------
        risks : tuple of two floats, or None
            Their probabilities of being wrong; None where no check is due.
        """
        if n < (self.min_answers or (first_where_learned(n_dims) if learned else 1)):
            return None
        # Checks are counted by what was told, so that a run that is resumed makes the same ones.
        check = floor(log(n) / log(defaults.STOP_GROWTH))
        if n > 1 and check == floor(log(n - 1) / log(defaults.STOP_GROWTH)):
            return None
        share = 6.0 / (pi * (check + 1)) ** 2  # these sum to one over all checks
        of_draws = (1.0 - defaults.POSTERIOR_SHARE) * self.delta * share
        return defaults.POSTERIOR_SHARE * self.delta, of_draws

    def __repr__(self) -> str:
        return f"Stop(epsilon={self.epsilon:g}, delta={self.delta:g}, bound={self.bound!r})"
