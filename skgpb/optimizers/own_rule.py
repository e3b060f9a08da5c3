"""Rules of one's own: one function of what is known of queries and targets.

A rule takes a :class:`~skgpb.optimizers._targets.TargetsPosterior` and returns what each query is
worth, its price included. It is all that a search over queries and targets is told, whether queries
are cells, points and rows, or questions that lead to points by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.domains.indirect import IndirectQuery
from skgpb.locks import locked
from skgpb.optimizers._improvement import Slopes
from skgpb.optimizers._indirect import BaseQuerySetOptimizer
from skgpb.optimizers._posteriors import IndirectTargetsPosterior, TargetsPosterior
from skgpb.optimizers._targets import BaseTargetsOptimizer, worth_asking
from skgpb.optimizers.ids import IDSOptimizer
from skgpb.optimizers.kg import KGOptimizer, gain_and_slopes, targets_that_decide
from skgpb.optimizers.mes import (
    information_and_slopes,
    largest_target_information,
    targets_drawn_largest,
)
from skgpb.utils import StrOptions

RULES: dict[str, Callable[[TargetsPosterior], np.ndarray]] = {
    "kg": lambda posterior: KGOptimizer().acquisition(posterior),
    "ids": lambda posterior: IDSOptimizer().acquisition(posterior),
    "mes": largest_target_information,
}

# Of those of which the slopes are known: which targets decide, and the value with its slopes.
SLOPES: dict[str, tuple[Callable[..., np.ndarray], Callable[..., tuple[float, Slopes]]]] = {
    "kg": (targets_that_decide, gain_and_slopes),
    "mes": (targets_drawn_largest, information_and_slopes),
}


def values_of(rule: str | Callable, posterior: Any) -> np.ndarray:
    """Return what a rule says of all queries, or raise ValueError."""
    if not callable(rule):
        return RULES[rule](posterior)
    values = np.asarray(rule(posterior))
    n = len(posterior.cost)
    if values.shape != (n,) or values.dtype.kind not in "fiub" or np.isnan(values).any():
        raise ValueError(
            f"rule must return a number for each of {n} queries, none of them NaN; got "
            f"{values if values.shape in ((), (n,)) else values.shape}"
        )
    return values.astype(np.float64)


@with_shared_paragraphs
class TargetsOptimizer(BaseTargetsOptimizer):
    r"""A rule of your own that asks one kind of thing to find the best of another.

    Parameters
    ----------
    rule : {"kg", "ids", "mes"} or callable, default="kg"
        Says what each query is worth: a function that takes a posterior of queries and targets
        (see Notes) and returns an array of shape (n_queries,), of which the largest is asked.
        Prices are the function's business. "kg" and "ids" stand for the rules of
        :class:`~skgpb.KGOptimizer` and :class:`~skgpb.IDSOptimizer`, "mes" for what an answer tells
        of the largest value of a target, from joint draws of the targets: max-value entropy search
        as CMES's ``information="joint"`` has it.
    kernel : Kernel, default=None
        As in KGOptimizer.
    queries, targets : Cells, Districts, array-like or None, default=None
        What can be asked and what is to be found, in the forms that KGOptimizer takes.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box. With neither rows nor ``bounds`` it comes from ``fit``.
    context_bounds : %(arms)s
    cost : array-like or callable, default=None
        Prices, above 0: one for each row of ``queries``, or for each size of its cells. A callable
        takes sides of cells, (n, d), and returns (n,). None stands for 1.
    alpha : float, array-like, callable or None, default=None
        Noise variance of an answer, in units of the reward squared; an array has one for each row
        of ``queries``, or for each size of its cells; a callable is as for ``cost``. None learns
        one for all.
    relative_noise : array-like or callable, default=None
        How the noise variances of answers compare, as in KGOptimizer.
    n_candidates : int, default=500
        How many cells or points stand for all of ``queries``, and how many for all of ``targets``,
        where these are not rows.
    n_initial : int, default=None
        Distinct queries that are asked before the rule is followed. None stands for 10 where
        ``kernel`` is None, and for none where it is given.
    B, R, misspecification, failure_probability : %(arms)s
    optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over rows: of points, or of boxes where there are cells.
    domain_, targets_ : ArmSet
        What can be asked and what is to be found, or the cells that stand for it at present.
    spent_ : float
        Cost of what was told.
    history_, bounds_, n_features_in_ : %(arms)s

    See Also
    --------
    IndirectTargetsOptimizer : The same where queries lead to points by chance.

    Notes
    -----
    The function is given the posterior before the round, in units of the surrogate:

    - ``query_mean``, ``query_var``, ``query_noise`` and ``cost``, of shape (n_queries,): what is
      known of the answers, their noise variances and prices;
    - ``target_mean`` and ``target_var``, of shape (n_targets,);
    - ``covariance``, of shape (n_queries, n_targets), and ``covariance_of_target(number)``, of one
      target with all;
    - ``draws(n)``, joint draws of all targets, of shape (n, n_targets);
    - ``starts``, where queries are :class:`~skgpb.domains.Blocks`: what is known of queries then
      has an entry for each of their rows, those of a query from ``starts[i]`` to ``starts[i + 1]``,
      and ``noises[i]`` is the covariance (k, k) of the noise of its answer;
    - ``t``, the round from 1, and ``rng``, a generator that begins anew with every round.

    -inf stands for what is not worth asking; where all is that, what is known least for its price
    is asked. Pickles, and runs with several processes, need a function that can be imported.
    :meth:`save` leaves it out (``omit=["rule"]``), and ``load(path, rule=...)`` takes it.

    Examples
    --------
    What is known least, weighted by how much it says of the best target:

    >>> import numpy as np
    >>> from skgpb import TargetsOptimizer
    >>> from skgpb.domains import Cells
    >>> def says_most_of_the_best(posterior):
    ...     of_best = posterior.covariance[:, np.argmax(posterior.target_mean)] ** 2
    ...     return of_best / (posterior.query_var + posterior.query_noise) / posterior.cost
    >>> opt = TargetsOptimizer(
    ...     says_most_of_the_best, queries=Cells([0.1, 0.3]), cost=[3, 1], targets=Cells(0.1),
    ...     bounds=[(0, 1)], random_state=0,
    ... )
    >>> result = opt.run(lambda cell: float(np.sin(5 * cell.points).mean()), budget=15)
    >>> bool(abs(result.x.center[0] - np.pi / 10) < 0.05)
    True
    """

    _parameter_constraints: dict[str, Any] = {"rule": [StrOptions(set(RULES)), callable]}

    def __init__(
        self,
        rule: str | Callable[[TargetsPosterior], Any] = "kg",
        kernel: Kernel | None = None,
        *,
        queries: Any = None,
        targets: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        relative_noise: Any = None,
        n_candidates: int = 500,
        n_initial: int | None = None,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            queries=queries,
            targets=targets,
            bounds=bounds,
            context_bounds=context_bounds,
            cost=cost,
            alpha=alpha,
            relative_noise=relative_noise,
            n_candidates=n_candidates,
            n_initial=n_initial,
            B=B,
            R=R,
            misspecification=misspecification,
            failure_probability=failure_probability,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.rule = rule

    @locked
    def acquisition(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return what the rule says of all queries."""
        return values_of(self.rule, posterior)

    def _deciding(self, posterior: TargetsPosterior, slots: np.ndarray) -> np.ndarray | None:
        known = SLOPES.get(self.rule) if isinstance(self.rule, str) else None
        return None if known is None else known[0](posterior, slots)

    def _worth(self, posterior: TargetsPosterior) -> tuple[float, Slopes]:
        return SLOPES[str(self.rule)][1](posterior)


@with_shared_paragraphs
class IndirectTargetsOptimizer(BaseQuerySetOptimizer):
    r"""Any rule over queries and targets where a question leads to inputs by chance.

    What is asked are questions a, answered by noisy conditional expectations E[f(X) | A = a]. What
    is to be found is the point x where f itself is largest. It is to :class:`~skgpb.CMESOptimizer`
    what other rules are to max-value entropy search.

    Parameters
    ----------
    rule : {"kg", "ids", "mes"} or callable, default="kg"
        Says what each query is worth, of which the largest is asked: the knowledge gradient,
        information-directed sampling, the information about the largest value, or a function as
        :class:`~skgpb.TargetsOptimizer` takes it. ``IDSOptimizer(beta=9).acquisition`` is one.
    kernel, query_kernel, conditional, operator, bounds, queries, query_bounds : %(indirect)s
    n_candidates : int, default=500
        About how many rows of a box stand for all that can be asked.
    n_points : int, default=500
        About how many points of a grid stand for the domain of x.
    n_initial, alpha, model_noise : %(indirect)s
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1.
    B, R, misspecification, failure_probability : %(indirect)s
    optimizer, n_restarts_optimizer, relearn, normalize_y, direction, random_state : %(indirect)s

    Attributes
    ----------
    surrogate_, history_, bounds_, spent_, alpha_, n_features_in_ : %(indirect)s

    See Also
    --------
    CMESOptimizer : Asks what tells most about the largest value of f.

    Notes
    -----
    The first queries are those of CMESOptimizer. Afterwards only the candidates are asked. A round
    costs O(n m t) for n candidates and m points.

    Examples
    --------
    Doctors recommend a dose a, patients take x, which scatters around it.

    >>> import numpy as np
    >>> from skgpb import IndirectTargetsOptimizer
    >>> rng = np.random.default_rng(0)
    >>> A = rng.uniform(size=(200, 1))
    >>> X = 0.8 * A + 0.1 + 0.05 * rng.normal(size=(200, 1))  # what was taken when a was told
    >>> opt = IndirectTargetsOptimizer("ids", alpha=1e-4, random_state=0).fit(X, queries=A)
    >>> for _ in range(12):
    ...     query = opt.ask()
    ...     taken = 0.8 * query.a + 0.1 + 0.05 * rng.normal(size=500)
    ...     opt = opt.tell(query, np.exp(-20 * (taken - 0.6) ** 2).mean())
    >>> bool(abs(opt.recommend()[0] - 0.6) < 0.05)
    True
    """

    _parameter_constraints: dict[str, Any] = {"rule": [StrOptions(set(RULES)), callable]}

    def __init__(
        self,
        rule: str | Callable[[TargetsPosterior], Any] = "kg",
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        operator: str = "auto",
        bounds: Any = None,
        queries: Any = None,
        query_bounds: Any = None,
        n_candidates: int = 500,
        n_points: int = 500,
        n_initial: int | None = None,
        alpha: float | Callable[[np.ndarray], float] | None = None,
        model_noise: str | float = "auto",
        cost: Any = None,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "growing",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        self.rule = rule
        self.kernel = kernel
        self.query_kernel = query_kernel
        self.conditional = conditional
        self.operator = operator
        self.bounds = bounds
        self.queries = queries
        self.query_bounds = query_bounds
        self.n_candidates = n_candidates
        self.n_points = n_points
        self.n_initial = n_initial
        self.alpha = alpha
        self.model_noise = model_noise
        self.cost = cost
        self.B = B
        self.R = R
        self.misspecification = misspecification
        self.failure_probability = failure_probability
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.direction = direction
        self.random_state = random_state

    @locked
    def acquisition(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return what the rule says of all candidates.

        Parameters
        ----------
        posterior : TargetsPosterior
            What is known of all candidates and points, see :meth:`posterior`.

        Returns
        -------
        values : ndarray of shape (n_candidates,)
        """
        return values_of(self.rule, posterior)

    @locked
    def posterior(self) -> TargetsPosterior:
        """Posterior of all candidates and points before the round about to be played.

        Returns
        -------
        posterior : TargetsPosterior
            Pending queries count as answered with what is expected.
        """
        self._ensure_started()
        pending = len(self._pending)
        return IndirectTargetsPosterior(
            self._expected(),
            self._alphas(None),
            self._queries.costs,
            self._round + 1 + pending,
            np.random.default_rng([self._seed, self._round, pending]),
        )

    def _best_by_rule(self) -> IndirectQuery:
        posterior = self.posterior()
        values = worth_asking(self.acquisition(posterior), posterior)
        return self._most_valuable(lambda A, costs: values.copy(), search=False)
