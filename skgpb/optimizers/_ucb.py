"""Base of the UCB family: beta_t, the exploration term of Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skgpb._typing import Beta, PerRound
from skgpb.acquisition.ucb import union_bound_beta
from skgpb.locks import locked
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.surrogate.information_gain import GainOfRound
from skgpb.utils import Interval, Real, StrOptions

__all__ = ["BaseUCBOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class BaseUCBOptimizer(Search):
    r"""Base class for your own upper confidence bound: the mean plus a bonus with beta.

    A subclass defines the acquisition function, :meth:`acquisition`, with beta_t from
    :meth:`exploration`, which it may define as well. Both are given a
    :class:`~skgpb.optimizers.Round`.

    >>> from skgpb.optimizers import BaseUCBOptimizer
    >>> class BoldOptimizer(BaseUCBOptimizer):
    ...     def acquisition(self, posterior):
    ...         return posterior.mean + self.exploration(posterior) ** 0.5 * posterior.std
    >>> opt = BoldOptimizer(bounds={"x": (0, 10)}, beta=9.0, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    Other parameters are those of :class:`~skgpb.optimizers.Search`.

    Parameters
    ----------
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance*: the uncertainty is multiplied by sqrt(beta).
        "theory" is the algorithm's own; a callable takes the round t, counted from 1.
    """

    beta: Beta | None = "theory"

    _parameter_constraints = {
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
    }

    @locked
    def exploration(self, posterior: Round) -> float:
        """Return beta_t, the exploration term of the round: given, or from a theory.

        Parameters
        ----------
        posterior : Round
            Knows the round and the number of arms.

        Returns
        -------
        beta : float
            At least 0.
        """
        if self.beta is None or self.beta == "theory":
            return max(0.0, self._theory_beta(posterior.t, posterior.n_arms))
        return self._norm.given_beta(posterior.t, self._model)

    def _theory_beta(self, t: int, n_arms: int) -> float:
        """Return what beta="theory" stands for in round t, counted from 1."""
        raise ValueError(
            f"beta='theory' is not known for {type(self).__name__}: pass a number or a function of "
            "the round, or define exploration(posterior)"
        )

    def _union_bound(self, t: int, n_arms: int) -> float:
        """Return 2 log(t^2 pi^2 n_arms / (6 delta)), which holds for all arms in all rounds."""
        delta = self._norm.guarantee.failure_probability
        if self.domain_.is_discretization:
            # Candidates stand for a box: the other half of delta is left for f between them.
            delta *= 0.5
        return union_bound_beta(t, n_arms, delta)


class GainUCBOptimizer(BaseUCBOptimizer):
    """Base of rules whose theory has gamma_t, the maximum information gain."""

    information_gain: Literal["greedy", "order"] | PerRound

    _kept_fields = ("_gain",)

    _parameter_constraints = {
        "information_gain": [
            StrOptions({"greedy", "order"}),
            Interval(Real, 0, None, closed="left"),
            callable,
        ],
    }

    def _renew(self) -> None:
        super()._renew()
        self._gain = GainOfRound(self)
