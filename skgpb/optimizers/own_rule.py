"""User-defined acquisition functions: one function of the posterior of queries and targets.

A rule takes a :class:`~skgpb.optimizers.Round` and returns the log score of each query. The search
needs nothing else, for cells, points, rows, and indirect queries that lead to random points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from skgpb.optimizers._base import checked_scores
from skgpb.optimizers.ids import IDSOptimizer
from skgpb.optimizers.indirect_search import IndirectSearch
from skgpb.optimizers.kg import KGOptimizer
from skgpb.optimizers.mes import largest_target_information
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils.locks import locked
from skgpb.utils.validation import StrOptions

__all__ = ["IndirectTargetsOptimizer", "TargetsOptimizer"]


def _log_information(round: Round) -> np.ndarray:
    """Return the logarithm of the information about the largest value of a target."""
    with np.errstate(divide="ignore"):
        return np.log(largest_target_information(round))


RULES: dict[str, Callable[[Round], np.ndarray]] = {
    "kg": lambda round: KGOptimizer().acquisition(round),
    "ids": lambda round: IDSOptimizer().acquisition(round),
    "mes": _log_information,
}


def values_of(rule: str | Callable, posterior: Any) -> np.ndarray:
    """Return the log scores (n_queries,) of a rule; raise ValueError if they are invalid."""
    if not callable(rule):
        return RULES[rule](posterior)
    return checked_scores(rule(posterior), "rule", len(posterior.cost))


@dataclass(eq=False, repr=False)
class RuleFirst:
    """Mixin with ``rule`` as first parameter: the last base of a dataclass has its first fields."""

    rule: str | Callable[[Round], Any] = "kg"

    _parameter_constraints: ClassVar[dict[str, Any]] = {"rule": [StrOptions(set(RULES)), callable]}


@dataclass(eq=False, repr=False)
class TargetsOptimizer(Search, RuleFirst):
    r"""Search for targets with your own acquisition function, or with KG, IDS or MES.

    >>> from skgpb import TargetsOptimizer
    >>> opt = TargetsOptimizer(
    ...     lambda posterior: posterior.query_mean + posterior.query_var**0.5,
    ...     bounds={"x": (0, 10)}, random_state=0,
    ... )
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    Other parameters are inherited from :class:`~skgpb.optimizers.Search`.

    Parameters
    ----------
    rule : {"kg", "ids", "mes"} or callable, default="kg"
        Acquisition function: a function that takes a :class:`~skgpb.optimizers.Round` (see Notes)
        and returns the log scores of all queries, an array of shape (n_queries,). The search
        subtracts the logarithms of the costs and asks the query with the largest difference. "kg"
        and "ids" are the rules of :class:`~skgpb.KGOptimizer` and :class:`~skgpb.IDSOptimizer`.
        "mes" is the information of an answer about the largest value of a target, from joint draws
        of the targets, as ``information="joint"`` of :class:`~skgpb.CMESOptimizer`.
    kernel : Kernel, default=None
        Prior covariance of f, any kernel of scikit-learn; None learns one from the answers.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box that is searched: a pair (lower, upper) for each side, or a dict of named sides.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random: draws, candidates in a box, and restarts of the optimizer.
    arms : array-like of shape (n_arms, n_columns), default=None
        A finite list of points to choose from, instead of a box.
    queries : array-like (n_queries, n_columns), Cells, Districts, Fidelities, ..., default=None
        The set of possible queries, if it is not the set of targets.
    cost : array-like or callable, default=None
        Cost of an answer, above 0; None means 1 for all.
    limits : dict, default=None
        Constraints on other outcomes than the reward: ``{"temperature": (None, 80)}``, or
        ``{"passed": True}`` for an outcome that is yes or no.

    See Also
    --------
    IndirectTargetsOptimizer : The same for queries that lead to points by chance.

    Notes
    -----
    The argument of the function is the posterior before the round, in units of the surrogate:

    - ``query_mean``, ``query_var``, ``query_noise`` and ``cost``, of shape (n_queries,): the
      posterior of the answers, their noise variances and costs;
    - ``target_mean`` and ``target_var``, of shape (n_targets,);
    - ``covariance``, of shape (n_queries, n_targets), and ``covariance_of_target(number)``, of
      shape (n_targets,), of one target with all;
    - ``draws(n)``, joint draws of all targets, of shape (n, n_targets), and ``query_draws(n)``, of
      shape (n, n_queries); with ``bounds`` alone queries and targets are two sets;
    - ``t``, the round from 1, and ``rng``, a generator with a new seed in every round.

    -inf marks a query that is not worth asking. If all scores are -inf, the query with the largest
    uncertainty per unit cost is asked. Pickles and runs with several processes need a function that
    can be imported. ``save(path, omit=["rule"])`` leaves the function out of the file, and
    ``load(path, rule=...)`` restores it.

    Examples
    --------
    This asks the query with the largest squared covariance with the best target, relative to the
    variance of its answer:

    >>> import numpy as np
    >>> from skgpb import TargetsOptimizer
    >>> from skgpb.domains import Cells
    >>> def variance_explained(posterior):
    ...     covariance = posterior.covariance[:, np.argmax(posterior.target_mean)]
    ...     return np.log(covariance**2 / (posterior.query_var + posterior.query_noise))
    >>> opt = TargetsOptimizer(
    ...     variance_explained, queries=Cells([0.1, 0.3]), cost=[3, 1], targets=Cells(0.1),
    ...     bounds=[(0, 1)], random_state=0,
    ... )
    >>> result = opt.run(lambda cell: float(np.sin(5 * cell.points).mean()), budget=15)
    >>> result.x.center.round(1)  # the maximum is at pi / 10
    array([0.3])
    """

    rule: str | Callable[[Round], Any] = "kg"

    _targets_are_queries_in_box = False
    _unit_of_scores = "log"

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the log scores of the rule for all queries."""
        return values_of(self.rule, posterior)


@dataclass(eq=False, repr=False)
class IndirectTargetsOptimizer(IndirectSearch, RuleFirst):
    r"""Search by indirect queries with your own acquisition function, or KG, IDS or MES.

    A query a is answered with a noisy conditional expectation E[f(X) | A = a]. The target is the
    point x where f itself is largest. :class:`~skgpb.CMESOptimizer` does the same with max-value
    entropy search.

    Other parameters are inherited from :class:`~skgpb.optimizers.IndirectSearch`.

    Parameters
    ----------
    rule : {"kg", "ids", "mes"} or callable, default="kg"
        Acquisition function, which returns log scores: the knowledge gradient,
        information-directed sampling, the information about the largest value, or a function as in
        :class:`~skgpb.TargetsOptimizer`, such as ``IDSOptimizer(beta=9).acquisition``.
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    n_points : int, default=500
        Approximate number of points of the grid on the domain of x.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    n_candidates : int, default=500
        Approximate number of candidate rows in a box of queries.
    continuous : bool, default=False
        Whether to improve the best candidates of a box by local searches.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a.

    See Also
    --------
    CMESOptimizer : Asks the query with the most information about the largest value of f.
    TargetsOptimizer : The same for queries that do not lead to points by chance.

    Notes
    -----
    A round costs O(n m t) for n candidates and m points.

    Examples
    --------
    Doctors recommend a dose a, patients take x, which scatters around it.

    >>> import numpy as np
    >>> from skgpb import IndirectTargetsOptimizer
    >>> rng = np.random.default_rng(0)
    >>> A = rng.uniform(size=(200, 1))
    >>> X = 0.8 * A + 0.1 + 0.05 * rng.normal(size=(200, 1))  # doses that patients took
    >>> opt = IndirectTargetsOptimizer("ids", alpha=1e-4, random_state=0).fit(X, queries=A)
    >>> for _ in range(12):
    ...     query = opt.ask()
    ...     taken = 0.8 * query.a + 0.1 + 0.05 * rng.normal(size=500)
    ...     opt = opt.tell(query, np.exp(-20 * (taken - 0.6) ** 2).mean())
    >>> bool(abs(opt.recommend()[0] - 0.6) < 0.05)
    True
    """

    rule: str | Callable[[Round], Any] = "kg"
    _: KW_ONLY
    n_points: int = 500
    n_candidates: int = 500
    continuous: bool = False

    _unit_of_scores = "log"

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the log scores of the rule for all queries."""
        return values_of(self.rule, posterior)

    def _unit_of_values(self, round: Round) -> float | None:
        return None
