r"""KG: the query whose answer is expected to raise the best mean most, per unit cost.

References
----------
.. [Frazier2009] P. Frazier, W. Powell and S. Dayanik, "The Knowledge-Gradient Policy for
   Correlated Normal Beliefs", INFORMS Journal on Computing 21 (4), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils.locks import locked

__all__ = ["KGOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class KGOptimizer(Search):
    r"""Knowledge gradient: ask ``queries`` to find the best of ``targets``, also multi-fidelity.

    >>> from skgpb import KGOptimizer
    >>> opt = KGOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    ``queries`` and ``targets`` are points, cells of some sizes or rows that the kernel accepts. The
    search asks the query whose answer is expected to raise the largest posterior mean of a target
    most, per unit cost [Frazier2009]_.

    Other parameters are inherited from :class:`~skgpb.optimizers.Search`.

    Parameters
    ----------
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
    GPOOOptimizer : Cells of a tree, at a fraction of the time per round.
    CMETSOptimizer : Windows of several resolutions and costs, to find the best point.

    Notes
    -----
    *The gain* is exact for m targets, in O(m log m) for each query. In a box, candidates represent
    all cells or points, and some candidates are resampled around the best targets. If an answer
    has several numbers, the gain is a mean over 256 draws, the same for all queries, and at least
    the exact gain of the one combination of the numbers that moves the targets most.

    *Target-size cells.* The kernel relates cells of other sizes to the targets. Without ``kernel``
    this relation is uncertain. So every second query is then a cell of a size of ``targets``, if
    such cells are queries, because its answer needs no model. If costs differ, at least half of
    the total cost is spent on these cells.

    *Ties.* Of gains that agree within a relative 1e-9 the first one counts as the largest. If no
    answer could change the decision, ``ask`` returns the query with the largest uncertainty per
    unit cost.

    *Batches.* ``ask(n)`` chooses each query given the expected answers to pending queries.

    Examples
    --------
    Find the tenth of an interval with the largest average by asking tenths and quarters:

    >>> import numpy as np
    >>> from skgpb import KGOptimizer
    >>> from skgpb.domains import Cells
    >>> rng = np.random.default_rng(0)
    >>> def average(cell):
    ...     return float(np.sin(5 * cell.points).mean() + 0.1 * rng.normal())
    >>> opt = KGOptimizer(
    ...     queries=Cells([0.1, 0.25]), targets=Cells(0.1), bounds=[(0, 1)], random_state=0
    ... )
    >>> result = opt.run(average, budget=30)
    >>> result.x.center.round(1)  # the maximum is at pi / 10
    array([0.3])
    """

    _targets_are_queries_in_box = False
    _unit_of_scores = "log"
    _interleaves_targets = True

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the logarithm of the expected rise of the largest target mean."""
        return posterior.log_knowledge_gradient()
