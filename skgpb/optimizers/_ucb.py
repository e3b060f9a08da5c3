"""Base of the UCB family: beta_t, the exploration term of Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.guarantee import Guarantee
from skgpb.locks import locked
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils import Interval, Real, StrOptions, check_callable_value


@with_shared_paragraphs
class BaseUCBOptimizer(Search):
    r"""Base class for your own upper confidence bound: the mean plus a bonus with beta.

    A subclass defines the acquisition function, :meth:`acquisition`, with beta_t from
    :meth:`exploration`, and the value of beta="theory", :meth:`theory_beta`. They are given a
    :class:`~skgpb.optimizers.Round`.

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance*: the uncertainty is multiplied by sqrt(beta).
        "theory" is the algorithm's own; a callable takes the round t, counted from 1.
    guarantee, n_candidates, n_initial, optimizer, n_restarts_optimizer : %(arms)s
    relearn, normalize_y, direction, random_state : %(arms)s
    """

    _parameter_constraints: dict[str, Any] = {
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        queries: Any = None,
        targets: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        beta: str | float | Callable[[int], float] | None = "theory",
        guarantee: Guarantee | None = None,
        n_candidates: int = 500,
        n_initial: int | None = None,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            arms=arms,
            queries=queries,
            targets=targets,
            bounds=bounds,
            context_bounds=context_bounds,
            cost=cost,
            alpha=alpha,
            guarantee=guarantee,
            n_candidates=n_candidates,
            n_initial=n_initial,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.beta: Any = beta

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
        if callable(self.beta):
            return check_callable_value(self.beta, posterior.t, "beta")
        if self.beta == "theory":
            return max(0.0, self.theory_beta(posterior.t, posterior.n_arms))
        return self._widths().beta() if self.beta == "rkhs" else float(self.beta)

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """Return the exploration term that beta="theory" stands for.

        Parameters
        ----------
        t : int
            Round, counted from 1.
        n_arms : int
            Number of arms.

        Returns
        -------
        beta : float
        """
        raise ValueError(
            f"beta='theory' is not known for {type(self).__name__}: pass a number or a function of "
            "the round, or define theory_beta(t, n_arms)"
        )
