r"""KG: the query whose answer is expected to raise the best mean most, for its price.

References
----------
.. [Frazier2009] P. Frazier, W. Powell and S. Dayanik, "The Knowledge-Gradient Policy for
   Correlated Normal Beliefs", INFORMS Journal on Computing 21 (4), 2009.
"""

from __future__ import annotations

from math import log

import numpy as np

from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.knowledge import envelope, log_gain_slopes, log_knowledge_gradient
from skgpb.locks import locked
from skgpb.optimizers._blocks import BlocksPosterior
from skgpb.optimizers._improvement import Slopes
from skgpb.optimizers._posteriors import TargetsPosterior
from skgpb.optimizers._targets import BaseTargetsOptimizer


@with_shared_paragraphs
class KGOptimizer(BaseTargetsOptimizer):
    r"""The knowledge gradient: ask one kind of thing to find the best of another.

    What can be asked, ``queries``, and what is to be found, the best of the ``targets``, are
    points, cells of some sizes or rows of whatever the kernel takes. It asks what is expected to
    raise the largest posterior mean of a target most, per unit of cost [Frazier2009]_: an answer is
    worth what it changes of the decision.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over points, any kernel of ``sklearn.gaussian_process.kernels``, or
        one of ``skgpb.kernels`` over the rows of ``queries`` and ``targets``. With ``Fidelities``
        one over points is that of the truth, and a sum of ``Tasks`` says all. None learns one with
        a scale for every side, in units of the rewards' spread
        (:mod:`skgpb.surrogate.likelihood`), and with a second, shorter one where cells are asked
        (:mod:`skgpb.surrogate.two_scales`).
    queries : Cells, Fidelities, Districts, Blocks, array-like (n_queries, n_columns), default=None
        What can be asked: cells, or discs (``Discs``), of some sizes wherever they lie in
        ``bounds``, cells of any size in a :class:`~skgpb.domains.SizeRange`, weighted averages over
        sets of points, or finitely many rows, points (d columns), boxes (2 d columns, [lower,
        upper]) or descriptors that ``kernel`` takes; with :class:`~skgpb.domains.Blocks` several
        rows for each query, whose answer has a number for each. None stands for all points of
        ``bounds``.
    targets : Cells, Districts, array-like of shape (n_targets, n_columns), default=None
        What is to be found, in the same forms. None stands for ``queries`` where these are rows,
        and for all points of ``bounds`` otherwise.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box. With neither rows nor ``bounds`` it comes from ``fit``. A dict gives the sides
        names, see :ref:`named-sides`.
    context_bounds : %(arms)s
    cost : array-like or callable, default=None
        Prices, above 0: one for each row of ``queries``, or for each size of its cells. A callable
        takes sides of cells, (n, d), and returns (n,). None stands for 1.
    alpha : float, array-like, callable or None, default=None
        Noise variance of an answer, in units of the reward squared; an array has one for each row
        of ``queries``, or for each size of its cells, with ``Blocks`` also for each of their rows,
        (n_queries, k) or (1, k), or the covariance (n_queries, k, k) or (1, k, k) of the noise of
        an answer (see :class:`~skgpb.domains.Blocks`); a callable is as for ``cost``. None learns
        one for all.
    relative_noise : array-like or callable, default=None
        How the noise variances of answers compare: one number above 0 for each row of ``queries``,
        or for each size of its cells. An answer has so many times ``alpha``, or so many times what
        is learned. None stands for 1; [4, 1] for cells of which the first have a quarter of the
        volume, and of the sample. A callable is as for ``cost``.
    n_candidates : int, default=500
        How many cells or points stand for all of ``queries``, and how many for all of ``targets``,
        where these are not rows.
    n_initial : int, default=None
        Distinct queries, spread evenly, that are asked before the rule is followed; what was told
        counts. Cells are of the sizes of ``targets`` where ``kernel`` is None and these can be
        asked, and are no dearer than others; otherwise of all sizes in turn. None stands for 10
        where ``kernel`` is None, and for none where it is given.
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
    GPOOOptimizer : Cells of a tree, at a fraction of the time per round.
    CMETSOptimizer : Windows of several resolutions and prices, to find the best point.

    Notes
    -----
    *The gain* is exact for the targets that there are, O(m log m) for each query. Where cells or
    points stand for all of a box some of them follow the best targets. Of answers of several
    numbers it is the mean over 256 draws, the same for all queries, and at least the exact gain of
    the one combination of the numbers that moves the targets most.

    *Wanted cells.* What cells of another size say of the targets rests on the kernel. Where it is
    None, a guess, every other answer is of a cell of the sizes of ``targets``, if these can be
    asked: it is right whatever f is like. Where prices differ it is at least half of the money.

    *Ties.* Among queries whose gains agree within 1e-9, relative, the first is asked. Where no
    answer could change the decision the one is asked that is known least for its price.

    *Batches.* ``ask(n)`` takes what is pending as answered with what is expected.

    Examples
    --------
    Which tenth of an interval has the largest average, if any tenth or quarter can be asked?

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
    >>> bool(abs(result.x.center[0] - np.pi / 10) < 0.05)
    True
    """

    _asks_wanted = True

    @locked
    def acquisition(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return the logarithm of the gain per unit cost."""
        if isinstance(posterior, BlocksPosterior):
            return posterior.log_rise() - np.log(posterior.cost)
        gain = log_knowledge_gradient(
            posterior.target_mean,
            posterior.covariance,
            posterior.query_var,
            posterior.query_noise,
        )
        return gain - np.log(posterior.cost)

    def _deciding(self, posterior: TargetsPosterior, slots: np.ndarray) -> np.ndarray:
        return targets_that_decide(posterior, slots)

    def _worth(self, posterior: TargetsPosterior) -> tuple[float, Slopes]:
        return gain_and_slopes(posterior)


def targets_that_decide(posterior: TargetsPosterior, slots: np.ndarray) -> np.ndarray:
    """Numbers of the targets that may be the best once one of some queries is answered.

    The gain is that of the largest of all targets, so that of some of them is no larger.
    """
    mean, every = posterior.target_mean, posterior.covariance
    units = np.sqrt(posterior.query_var + posterior.query_noise)
    known = [int(np.argmax(mean))]
    lines = [envelope(mean, every[i] / units[i])[0] for i in slots.tolist() if units[i] > 0.0]
    return np.unique(np.concatenate([known, *lines]))


def gain_and_slopes(posterior: TargetsPosterior) -> tuple[float, Slopes]:
    """Logarithm of the gain per unit cost of the only query of a posterior, and its slopes."""
    mean, covariance, cost = posterior.target_mean, posterior.covariance, posterior.cost
    var, noise = posterior.query_var, posterior.query_noise
    gain = float(log_knowledge_gradient(mean, covariance, var, noise)[0])
    by, by_total = log_gain_slopes(mean, covariance[0], float(var[0] + noise[0]), gain)
    price = float(cost[0])
    return gain - log(price), Slopes(by, 0.0, by_total, by_total, -1.0 / price)
