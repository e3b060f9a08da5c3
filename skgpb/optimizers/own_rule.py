"""User-defined acquisition functions: one function of the posterior of queries and targets.

A rule takes a :class:`~skgpb.optimizers.Round` and returns the logarithm of the value of an answer
to each query. The search needs nothing else, whether queries are cells, points, rows, or indirect
queries that lead to random points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._ties import size_of
from skgpb._typing import Bounds, Direction, Optimizer, Relearn, Seed
from skgpb.domains.indirect import IndirectQuery
from skgpb.guarantee import Guarantee
from skgpb.locks import locked
from skgpb.optimizers._base import checked_scores
from skgpb.optimizers._indirect import BaseQuerySetOptimizer
from skgpb.optimizers.ids import IDSOptimizer
from skgpb.optimizers.kg import KGOptimizer
from skgpb.optimizers.mes import largest_target_information
from skgpb.optimizers.round import KnownIndirectly, Round
from skgpb.optimizers.search import Search
from skgpb.utils import StrOptions


def _log_information(round: Round) -> np.ndarray:
    """Logarithm of the information about the largest value of a target."""
    with np.errstate(divide="ignore"):
        return np.log(largest_target_information(round))


RULES: dict[str, Callable[[Round], np.ndarray]] = {
    "kg": lambda round: KGOptimizer().acquisition(round),
    "ids": lambda round: IDSOptimizer().acquisition(round),
    "mes": _log_information,
}


def values_of(rule: str | Callable, posterior: Any) -> np.ndarray:
    """Return the values of a rule for all queries, or raise ValueError."""
    if not callable(rule):
        return RULES[rule](posterior)
    return checked_scores(rule(posterior), "rule", len(posterior.cost))


class TargetsOptimizer(Search):
    r"""Search for targets with your own acquisition function, or with KG, IDS or MES.

    >>> from skgpb import TargetsOptimizer
    >>> opt = TargetsOptimizer(
    ...     lambda posterior: posterior.query_mean + posterior.query_var**0.5,
    ...     bounds={"x": (0, 10)}, random_state=0,
    ... )
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    Other parameters are those of :class:`~skgpb.optimizers.Search`.

    Parameters
    ----------
    rule : {"kg", "ids", "mes"} or callable, default="kg"
        Says what each query is worth: a function that takes a :class:`~skgpb.optimizers.Round` (see
        Notes) and returns an array of shape (n_queries,), the logarithms of what an answer to each
        is worth. Their prices are taken off, and the largest is asked. "kg" and "ids" stand for the
        rules of :class:`~skgpb.KGOptimizer` and :class:`~skgpb.IDSOptimizer`, "mes" for what an
        answer tells of the largest value of a target, from joint draws of the targets: max-value
        entropy search as CMES's ``information="joint"`` has it.

    See Also
    --------
    IndirectTargetsOptimizer : The same where queries lead to points by chance.

    Notes
    -----
    The function is given the posterior before the round, in units of the surrogate:

    - ``query_mean``, ``query_var``, ``query_noise`` and ``cost``, of shape (n_queries,): the
      posterior of the answers, their noise variances and costs;
    - ``target_mean`` and ``target_var``, of shape (n_targets,);
    - ``covariance``, of shape (n_queries, n_targets), and ``covariance_of_target(number)``, of one
      target with all;
    - ``draws(n)``, joint draws of all targets, of shape (n, n_targets);
    - ``t``, the round from 1, and ``rng``, a generator that begins anew with every round.

    -inf stands for a query that is not worth asking; if all are -inf, the one with the largest
    uncertainty per unit cost is asked. Pickles and runs with several processes need a function that
    can be imported.
    :meth:`save` leaves it out (``omit=["rule"]``), and ``load(path, rule=...)`` takes it.

    Examples
    --------
    Ask the query with the largest standard deviation, weighted by what it says of the best target:

    >>> import numpy as np
    >>> from skgpb import TargetsOptimizer
    >>> from skgpb.domains import Cells
    >>> def says_most_of_the_best(posterior):
    ...     of_best = posterior.covariance[:, np.argmax(posterior.target_mean)] ** 2
    ...     return np.log(of_best / (posterior.query_var + posterior.query_noise))
    >>> opt = TargetsOptimizer(
    ...     says_most_of_the_best, queries=Cells([0.1, 0.3]), cost=[3, 1], targets=Cells(0.1),
    ...     bounds=[(0, 1)], random_state=0,
    ... )
    >>> result = opt.run(lambda cell: float(np.sin(5 * cell.points).mean()), budget=15)
    >>> result.x.center.round(1)  # the maximum is at pi / 10
    array([0.3])
    """

    _parameter_constraints: dict[str, Any] = {"rule": [StrOptions(set(RULES)), callable]}

    def __init__(
        self,
        rule: str | Callable[[Round], Any] = "kg",
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        queries: Any = None,
        targets: Any = None,
        bounds: Bounds | None = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        guarantee: Guarantee | None = None,
        n_candidates: int = 500,
        n_initial: int | None = None,
        optimizer: Optimizer = None,
        n_restarts_optimizer: int = 0,
        relearn: Relearn = "doubling",
        normalize_y: bool = False,
        direction: Direction = "maximize",
        random_state: Seed = None,
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
        self.rule = rule

    _pulls_in_a_box = False
    _says_worth = True

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the values of the rule for all queries."""
        return values_of(self.rule, posterior)


class IndirectTargetsOptimizer(BaseQuerySetOptimizer):
    r"""Search by indirect queries with your own acquisition function, or KG, IDS or MES.

    A query a is answered with a noisy conditional expectation E[f(X) | A = a]. The target is the
    point x where f itself is largest. :class:`~skgpb.CMESOptimizer` does the same with max-value
    entropy search.

    Parameters
    ----------
    rule : {"kg", "ids", "mes"} or callable, default="kg"
        Says the logarithm of what each query is worth: the knowledge gradient,
        information-directed sampling, the information about the largest value, or a function as
        :class:`~skgpb.TargetsOptimizer` takes it. ``IDSOptimizer(beta=9).acquisition`` is one.
    kernel : Kernel, default=None
        Prior covariance of f over x. None takes the base of ``conditional``. If that has no base, a
        kernel is learned from standardised answers with a weak prior, starting from
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the sides of ``bounds``.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        The distribution p(x | a) over which a query averages, if it is known. With None it is
        learned from the ``queries`` given to ``fit``; without these a query is a point, and its
        answer is the value of f there.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate if p(x | a) has this form), or by the one with
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X. A
        dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        the recommendation then has ``params``.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, if they are not a finite set. Without ``queries`` and ``query_bounds`` it is
        the box around the queries given to ``fit``, the agents of a PolicyMean, or ``bounds`` for
        windows. A dict gives its sides names, as in ``bounds``; functions of a query take its
        coordinates.
    n_candidates : int, default=500
        About how many rows of a box stand for all that can be asked.
    n_points : int, default=500
        About how many points of a grid stand for the domain of x.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or ``queries`` differ in cost.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation; it is 0 for a known distribution.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.

    Attributes
    ----------
    surrogate_ : ConditionalMeanProcess
        Posterior of f and g.
    history_ : structured ndarray
        Queries and answers, one row for each answer.
    bounds_ : ndarray of shape (d, 2)
        The box of x.
    spent_ : float
        Total cost of the answers.
    alpha_ : float
        Noise variance in use, if it is one number: ``alpha``, or the learned value.
    n_features_in_ : int
        Number of dimensions.

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
        rule: str | Callable[[Round], Any] = "kg",
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        operator: str = "auto",
        bounds: Bounds | None = None,
        queries: Any = None,
        query_bounds: Any = None,
        n_candidates: int = 500,
        n_points: int = 500,
        n_initial: int | None = None,
        alpha: float | Callable[[np.ndarray], float] | None = None,
        model_noise: str | float = "auto",
        cost: Any = None,
        guarantee: Guarantee | None = None,
        optimizer: Optimizer = None,
        n_restarts_optimizer: int = 0,
        relearn: Relearn = "growing",
        normalize_y: bool = False,
        direction: Direction = "maximize",
        random_state: Seed = None,
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
        self.guarantee = guarantee
        self.optimizer: Optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn: Relearn = relearn
        self.normalize_y = normalize_y
        self.direction: Direction = direction
        self.random_state = random_state

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the values of the rule for all candidates.

        Parameters
        ----------
        posterior : Round
            Posterior of all candidates and points, see :meth:`posterior`.

        Returns
        -------
        values : ndarray of shape (n_candidates,)
        """
        return values_of(self.rule, posterior)

    @locked
    def posterior(self) -> Round:
        """Return the posterior before the next round, the argument of acquisition functions.

        Returns
        -------
        posterior : Round
            Pending queries count as answered with what is expected.
        """
        self._ensure_started()
        process, n = self._expected(), len(self._record.pending)
        return Round(
            KnownIndirectly(process),
            process.noise_of(self._alphas(None)) / process.scale_**2,
            self._queries.costs,
            self._record.n_told + 1 + n,
            lambda: np.random.default_rng([self._seed, self._record.n_told, n]),
        )

    def _best_by_rule(self) -> IndirectQuery:
        round = self.posterior()
        values = self.acquisition(round) - np.log(round.cost)
        if not np.isfinite(values).any():
            values = round.query_var / round.cost
        return self._most_valuable(lambda A, costs: values.copy(), False, size_of(values))
