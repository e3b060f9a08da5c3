r"""Bounds on regret, with their constants: to be drawn over what was measured.

Every bound is a function of the number of answers n, one or an array of them, and of what its
theorem assumes to be known. Widths, ``beta``, are factors of the posterior variance. Where the
proofs of the papers leave something out, what is here holds, and each function says what differs
from the print.

Two statements about UCB rules in general, Theorems 1 and 4 of [Nuara2020]_, are left out. The proof
of Theorem 1 bounds the sum over all rounds of the largest posterior variance of *any* arm by the
information gain, which holds for the arms that are *pulled*; and it is false for rules that do not
explore, which it includes. Two independent arms are enough: one that is unlucky at first is never
pulled again. Theorem 4 rests on it.

References
----------
.. [Zhang2022] M. Zhang, R. Tsuchida, C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022. Lemma 1, Theorems 1 and 3, Corollary 1.
.. [Shekhar2018] S. Shekhar, T. Javidi, "Gaussian process bandits with adaptive discretization",
   Electronic Journal of Statistics 12(2), 2018. Theorems 1 to 3, Lemmas 1 and 2, Appendix C.
.. [Srinivas2010] N. Srinivas, A. Krause, S. M. Kakade, M. Seeger, "Gaussian Process Optimization in
   the Bandit Setting: No Regret and Experimental Design", ICML 2010. Theorem 1.
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by Maximum
   Distribution in Gaussian Process Bandits", AAMAS 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgpb.domains.partition import BoxPartition, points_per_axis
from skgpb.utils import check_bounds, check_numbers

__all__ = [
    "dimension_bound",
    "dimension_simple_bound",
    "gp_tree_bound",
    "gp_tree_gaps",
    "gp_ucb_bound",
    "gpoo_bound",
    "gpoo_rate",
    "near_optimal_cells",
    "near_optimality_dimension",
    "stooo_bound",
    "zooming_gaps",
]

# More cells than this are not counted one by one.
MOST_CELLS = 2**20


def near_optimal_cells(
    function: Callable[[np.ndarray], np.ndarray],
    bounds: ArrayLike,
    delta: ArrayLike,
    optimum: float,
    *,
    n_children: int = 2,
    n_representatives: int | tuple[int, ...] | None = 1,
    factor: float = 3.0,
) -> NDArray[np.intp]:
    r"""Count the cells that a tree search may split, at every depth.

    :math:`I_h` of [Zhang2022]_: the cells of depth h whose average is at most
    :math:`3 \delta(h)` below the optimum. Of the regions of [Shekhar2018]_ the gaps of
    :func:`gp_tree_gaps` or :func:`zooming_gaps` are ``delta``, with a ``factor`` of 1.

    Parameters
    ----------
    function : callable
        Takes points (n, d), returns the true values (n,).
    bounds : array-like of shape (d, 2)
        The box.
    delta : array-like of shape (n_depths,)
        :math:`\delta(h)` for h = 0, 1, ...; their number is the number of depths counted.
    optimum : float
        Largest value of the function.
    n_children : int, default=2
        K.
    n_representatives : int, tuple of d ints or None, default=1
        Points per axis over which a cell is averaged, as in :class:`~skgpb.GPOOOptimizer`.
    factor : float, default=3
        Largest distance of a cell below the optimum, as a multiple of ``delta``.

    Returns
    -------
    counts : ndarray of shape (n_depths,)

    Examples
    --------
    >>> from skgpb.theory import near_optimal_cells
    >>> near_optimal_cells(lambda X: -abs(X[:, 0] - 0.3), [(0, 1)], [0.5, 0.25, 0.125, 0.0625], 0.0)
    array([1, 2, 3, 3])
    """
    delta, box = _levels(delta, "delta"), check_bounds(bounds)
    if n_children ** len(delta) > MOST_CELLS:
        raise ValueError(
            f"delta must have fewer depths: {n_children}^{len(delta)} cells are too many"
        )
    counts = points_per_axis(n_representatives, len(box))
    partition = BoxPartition(box, n_children, counts, max_depth=len(delta))
    found, first = np.zeros(len(delta), dtype=np.intp), 0
    for depth, allowed in enumerate(delta):
        last = partition.tree.n_nodes
        points = np.stack([partition.cell(node).points for node in range(first, last)])
        values = np.asarray(function(points.reshape(-1, len(box)))).reshape(points.shape[:2])
        found[depth] = int((values.mean(axis=1) >= optimum - factor * allowed).sum())
        for node in range(first, last):
            partition.split(node)
        first = last
    return found


def near_optimality_dimension(
    counts: ArrayLike, delta: ArrayLike, *, factor: float = 3.0
) -> tuple[float, float]:
    r"""Constant C and dimension d for which the counts are at most :math:`C (3 \delta(h))^{-d}`.

    The dimension is the slope of the logarithms, at least 0, and C the smallest for which the bound
    of Lemma 2 of [Zhang2022]_ holds at all depths that were counted. With the radii of cells or
    balls as ``delta`` and a ``factor`` of 1, it is the dimension of Remarks 10 and 15 of
    [Shekhar2018]_.

    Parameters
    ----------
    counts, delta : array-like of shape (n_depths,)
        Result of :func:`near_optimal_cells`; at least two depths.
    factor : float, default=3
        Multiple of ``delta``.

    Returns
    -------
    C, d : float

    Examples
    --------
    >>> from skgpb.theory import near_optimality_dimension
    >>> C, d = near_optimality_dimension([2, 4, 8], [0.5, 0.25, 0.125])
    >>> round(C, 6), round(d, 6)
    (3.0, 1.0)
    """
    delta, counts = _levels(delta, "delta"), _levels(counts, "counts")
    if len(counts) != len(delta) or len(counts) < 2:
        raise ValueError(
            f"counts and delta must have the same length, at least 2; got {len(counts)}"
        )
    scale = factor * delta
    d = max(0.0, float(np.polyfit(-np.log(scale), np.log(counts), 1)[0]))
    return float((counts * scale**d).max()), d


def gpoo_bound(
    n: ArrayLike,
    delta: ArrayLike,
    counts: ArrayLike,
    beta: ArrayLike,
    noise_variance: float,
    n_children: int = 2,
) -> Any:
    r"""Aggregated regret of GPOO, Theorem 1 of [Zhang2022]_.

    :math:`3 \delta(h_n)`, with :math:`h_n` the smallest depth such that all cells that may be split
    down to there, and their children, can have taken n answers,

    .. math:: n \le K \sum_{h \le h_n} |I_h| \lceil \beta_n \sigma^2 / \delta(h)^2 + 1 \rceil.

    The paper has :math:`C (3 \delta)^{-d}` for the count, which :func:`near_optimality_dimension`
    fits, and no rounding: but the number of answers to a cell is whole, and of coarse cells it is
    one or two. It holds for ``expansion="before"`` and ``recommend("paper")`` with probability
    :math:`1 - \theta`, if :math:`\delta` bounds the variation within cells.

    Parameters
    ----------
    n : int or array-like of shape (k,)
        Number of answers.
    delta, counts : array-like of shape (max_depth + 1,)
        :math:`\delta(h)` and the number of cells, :func:`near_optimal_cells`.
    beta : float or array-like of shape (k,)
        Factor of the variance after n answers, as in Lemma 1.
    noise_variance : float
        :math:`\sigma^2`.
    n_children : int, default=2
        K.

    Returns
    -------
    bound : float or ndarray of shape (k,)

    Examples
    --------
    >>> from skgpb.theory import gpoo_bound
    >>> gpoo_bound([10, 100, 1000], [1.0, 0.5, 0.25], [1, 2, 4], beta=20.0, noise_variance=0.25)
    array([3.  , 1.5 , 0.75])
    """
    delta = _levels(delta, "delta")
    counts = _counted(counts, delta)
    beta = np.asarray(beta, dtype=np.float64)
    answers = np.floor(beta[..., np.newaxis] * noise_variance / delta**2) + 2.0
    return _deepest(n, delta, n_children * np.cumsum(counts * answers, axis=-1))


def gpoo_rate(
    n: ArrayLike,
    diameter: tuple[float, float],
    constant: float,
    dimension: float,
    beta: ArrayLike,
    noise_variance: float,
    n_children: int = 2,
) -> Any:
    r"""Rate of GPOO where :math:`\delta(h) = c \rho^h`, Corollary 1 of [Zhang2022]_ corrected.

    .. math:: 3 \Bigl(c_1 \frac{\beta_n}{n}\Bigr)^{1 / (d + 2)}, \quad
              c_1 = 3^{-d} K C \sigma^2 \frac{\rho^{-(d + 2)}}{\rho^{-(d + 2)} - 1}.

    In print the 3 is inside the constant's place, and the numerator of the last factor is 1. It
    follows from Theorem 1 as printed, without whole numbers of answers, so that it is for large n.

    Parameters
    ----------
    n : int or array-like of shape (k,)
        Number of answers.
    diameter : (c, rho)
        Constants of :math:`\delta`.
    constant, dimension : float
        C and d of :func:`near_optimality_dimension`.
    beta, noise_variance, n_children
        As in :func:`gpoo_bound`.

    Returns
    -------
    bound : float or ndarray of shape (k,)

    Examples
    --------
    >>> from skgpb.theory import gpoo_rate
    >>> round(gpoo_rate(10_000, (1.0, 0.5), 2.0, 0.0, beta=20.0, noise_variance=0.01), 4)
    0.031
    """
    _, rho = diameter
    ratio = rho ** -(dimension + 2.0)
    c1 = 3.0**-dimension * n_children * constant * noise_variance * ratio / (ratio - 1.0)
    rate = c1 * np.asarray(beta, dtype=np.float64) / np.asarray(n, dtype=np.float64)
    return _float(3.0 * rate ** (1.0 / (dimension + 2.0)))


def stooo_bound(
    n: ArrayLike,
    delta: ArrayLike,
    counts: ArrayLike,
    failure_probability: float = 0.1,
    reward_range: tuple[float, float] = (0.0, 1.0),
    n_children: int = 2,
) -> Any:
    r"""Aggregated regret of AVE-StoOO, Theorem 3 of [Zhang2022]_.

    As :func:`gpoo_bound`, with :math:`2 \log(n^2 / \theta)` in the place of
    :math:`\beta_n \sigma^2` for rewards in [0, 1]. It holds with probability
    :math:`1 - 2 \theta`, not by the proof in print: there the martingale of the rewards moves by
    up to 2, and the failures add up to :math:`2 \theta` in every round. It moves by no more than
    1, the range of a reward, and with that they add up to less in all rounds together.

    Parameters
    ----------
    n : int or array-like of shape (k,)
        Number of answers.
    delta, counts : array-like of shape (max_depth + 1,)
        :math:`\delta(h)` and the number of cells, :func:`near_optimal_cells`.
    failure_probability : float, default=0.1
        :math:`\theta`.
    reward_range : (low, high), default=(0, 1)
        Range of all answers.
    n_children : int, default=2
        K.

    Returns
    -------
    bound : float or ndarray of shape (k,)

    Examples
    --------
    >>> from skgpb.theory import stooo_bound
    >>> stooo_bound([10, 1000], [1.0, 0.5, 0.25], [1, 2, 4])
    array([3.  , 0.75])
    """
    n = np.asarray(n, dtype=np.float64)
    low, high = reward_range
    return gpoo_bound(
        n, delta, counts, 2.0 * np.log(n**2 / failure_probability), (high - low) ** 2, n_children
    )


def gp_ucb_bound(
    n: ArrayLike, gain: ArrayLike, beta: ArrayLike, noise_variance: float, variance: float = 1.0
) -> Any:
    r"""Cumulative regret of GP-UCB over finitely many arms, Theorem 1 of [Srinivas2010]_.

    .. math:: \sqrt{C_1 n \beta_n \gamma_n}, \quad C_1 = 8 v / \log(1 + v / \sigma^2),

    with v the largest prior variance, 1 in the paper.

    Parameters
    ----------
    n : int or array-like of shape (k,)
        Number of answers.
    gain : float or array-like of shape (k,)
        :math:`\gamma_n`, or the information gain of what was asked, for which the proof holds too:
        :func:`~skgpb.surrogate.information_gain.information_gain`, or the ``bound`` of
        :class:`~skgpb.surrogate.information_gain.GreedyInformationGain`.
    beta : float or array-like of shape (k,)
        Factor of the variance after n answers.
    noise_variance, variance : float
        :math:`\sigma^2` and v.

    Returns
    -------
    bound : float or ndarray of shape (k,)

    Examples
    --------
    >>> from skgpb.theory import gp_ucb_bound
    >>> round(gp_ucb_bound(100, gain=5.0, beta=20.0, noise_variance=0.01), 1)
    131.7
    """
    n, gain, beta = (np.asarray(each, dtype=np.float64) for each in (n, gain, beta))
    c1 = 8.0 * variance / np.log1p(variance / noise_variance)
    return _float(np.sqrt(c1 * n * beta * gain))


def gp_tree_bound(
    n: ArrayLike,
    gain: ArrayLike,
    beta: ArrayLike,
    variation: ArrayLike,
    noise_variance: float,
    variance: float = 1.0,
    gap: float | None = None,
) -> Any:
    r"""Cumulative regret of adaptive discretization, the information-type bound of [Shekhar2018]_.

    (3.11) with the constants of Appendix C.1: cells above the deepest level are at most three
    widths below the optimum, the others as much as ``gap`` says,

    .. math:: 3 \sqrt{\frac{2 v n \beta_n \gamma_n}{\log(1 + v / \sigma^2)}}
              + n (4 V_{h_{\max} - 1} + V_{h_{\max}}).

    The paper goes on to :math:`(4 N_1 + 1) V_{h_{\max}}`, N_1 being the largest ratio of two
    successive V. With the ``gap`` of :func:`zooming_gaps`, or that of :func:`gp_tree_gaps` in
    contexts, these are (5.5) and (5.11).

    Parameters
    ----------
    n, gain, beta, noise_variance, variance
        As in :func:`gp_ucb_bound`; beta is the square of the paper's :math:`\beta_n`.
    variation : array-like of shape (n_depths,)
        :math:`V_h`, down to the deepest cells that are asked; of balls W(r).
    gap : float, default=None
        Distance of the deepest of them below the optimum; None for the last of
        :func:`gp_tree_gaps`.

    Returns
    -------
    bound : float or ndarray of shape (k,)

    Examples
    --------
    >>> from skgpb.theory import gp_tree_bound
    >>> V = [2.0, 1.0, 0.5, 0.25]
    >>> round(gp_tree_bound(100, 5.0, 20.0, V, noise_variance=0.01), 1)
    422.5
    """
    deepest = gp_tree_gaps(variation)[-1] if gap is None else gap
    # Three widths where GP-UCB has two.
    above = 1.5 * np.asarray(gp_ucb_bound(n, gain, beta, noise_variance, variance))
    return _float(above + np.asarray(n, dtype=np.float64) * deepest)


def gp_tree_gaps(variation: ArrayLike, slack: ArrayLike = 0.0) -> NDArray[np.float64]:
    r"""Bound on the gap between the optimum and queried cells, Lemma 1 of [Shekhar2018]_.

    :math:`4 V_{h-1} + V_h`, the inequality (d) of its proof, and :math:`V_0` of the root. In a
    context, where the parent was refined with a slack,
    :math:`4 V_{h-1} + V_h + 2 \sqrt{\beta_n}\, g_{h-1}` (Section 5.2.2).

    Parameters
    ----------
    variation : array-like of shape (n_depths,)
        :math:`V_h`: how far f within a cell may be from its value at the centre, in a context
        from its value at any other point of the cell.
    slack : float or array-like of shape (n_depths,), default=0
        :math:`\sqrt{\beta_n}\, g_h`.

    Returns
    -------
    gaps : ndarray of shape (n_depths,)

    Examples
    --------
    >>> from skgpb.theory import gp_tree_gaps
    >>> gp_tree_gaps([4.0, 2.0, 1.0])
    array([ 4., 18.,  9.])
    """
    V = _levels(variation, "variation")
    slack = np.broadcast_to(np.asarray(slack, dtype=np.float64), V.shape)
    return np.concatenate([V[:1], 4.0 * V[:-1] + V[1:] + 2.0 * slack[:-1]])


def zooming_gaps(variation: ArrayLike) -> NDArray[np.float64]:
    r"""Bound on the gap between the optimum and ball centres, by their final radius.

    A ball of radius r_k was shrunk, and the one that is shrunk is at most
    :math:`3 W(r_{k-1})` below the optimum, by the proof of Lemma 2 of [Shekhar2018]_; the first
    ball :math:`W(r_0)`. Lemma 2 itself speaks of the radius with which a ball was *asked*, 5 W(r),
    and counts balls by a distance that they have only by the radius that they *end* with: one that
    was asked when it was larger may be close to one that came later.

    Parameters
    ----------
    variation : array-like of shape (n_radii,)
        :math:`W(r_k)` for the radii :math:`r_0 > r_1 > \ldots`, each half of the one before.

    Returns
    -------
    gaps : ndarray of shape (n_radii,)

    Examples
    --------
    >>> from skgpb.theory import zooming_gaps
    >>> zooming_gaps([4.0, 2.0, 1.0])
    array([ 4., 12.,  6.])
    """
    W = _levels(variation, "variation")
    return np.concatenate([W[:1], 3.0 * W[:-1]])


def dimension_bound(
    n: ArrayLike,
    gaps: ArrayLike,
    counts: ArrayLike,
    variation: ArrayLike,
    beta: ArrayLike,
    noise_variance: float,
    visits: int = 1,
) -> Any:
    r"""Cumulative regret of adaptive discretization, the dimension-type bound of [Shekhar2018]_.

    (3.10), (5.4) and (5.10) before their orders are taken: of n answers each of the
    :math:`|I_h|` regions that may be asked at depth h took at most :math:`q_h`, and each answer
    cost at most the gap,

    .. math:: \max \Bigl\{ \sum_h m_h \Delta_h : \sum_h m_h = n, \;
              m_h \le |I_h| q_h \Bigr\}, \quad
              q_h = \lceil \beta_n \sigma^2 / V_h^2 \rceil,

    and all the others at the last depth. The paper has :math:`C r_h^{-D}` for the count, which
    :func:`near_optimality_dimension` fits, and sums to a depth that depends on n. In print (D.5)
    halves q for balls; the variance after m answers, :math:`\sigma^2 / m` at most, does not allow
    that. For contexts q rests on the second half of Proposition 3, whose proof in print orders
    matrices that are not ordered. It holds: the mean of m answers within r estimates f with a
    variance of at most :math:`\sigma^2 / m + g(r)^2`, and the posterior's is the smallest.

    Parameters
    ----------
    n : int or array-like of shape (k,)
        Number of answers.
    gaps : array-like of shape (n_depths,)
        :math:`\Delta_h`, :func:`gp_tree_gaps` or :func:`zooming_gaps`.
    counts : array-like of shape (n_depths,)
        :math:`|I_h|`, of cells that may be asked, :func:`near_optimal_cells`. Of balls that
        are more than r apart there are no more than cells of side r that hold a centre.
    variation : array-like of shape (n_depths,)
        :math:`V_h`, or :math:`W(r_k)`.
    beta : float or array-like of shape (k,)
        Factor of the variance, the square of the paper's :math:`\beta_n`.
    noise_variance : float
        :math:`\sigma^2`.
    visits : int, default=1
        In contexts a region is asked at various points, and :math:`q_h` holds for points no farther
        apart than :math:`g_h` allows. ``visits`` is the number of such parts of a cell.

    Returns
    -------
    bound : float or ndarray of shape (k,)

    Examples
    --------
    >>> from skgpb.theory import dimension_bound, gp_tree_gaps
    >>> V = [1.0, 0.5, 0.25]
    >>> dimension_bound([10, 100], gp_tree_gaps(V), [1, 2, 4], V, beta=20.0, noise_variance=0.05)
    array([ 40.5, 243. ])
    """
    n = np.asarray(n, dtype=np.float64)
    gaps = _levels(gaps, "gaps")
    room = _room(counts, variation, beta, noise_variance, visits)
    if room.shape[-1] != len(gaps):
        raise ValueError(
            f"gaps must hold a number for each of {room.shape[-1]} depths, got {gaps!r}"
        )
    worst = np.argsort(-gaps, kind="stable")
    filled = np.minimum(np.cumsum(room[..., worst], axis=-1), n[..., np.newaxis])
    return _float((np.diff(filled, axis=-1, prepend=0.0) * gaps[worst]).sum(axis=-1))


def dimension_simple_bound(
    n: ArrayLike,
    counts: ArrayLike,
    variation: ArrayLike,
    beta: ArrayLike,
    noise_variance: float,
) -> Any:
    r"""Simple regret of adaptive discretization, the dimension-type bound of [Shekhar2018]_.

    (3.12) and (5.6) before their orders are taken: if n answers do not fit into the regions above
    depth h, one of depth h was asked, and one of depth h - 1 refined. What is recommended is as
    deep, and what is refined at most :math:`3 V_{h-1}` below the optimum. For trees and balls; in
    contexts nothing is recommended.

    Parameters
    ----------
    n, counts, variation, beta, noise_variance
        As in :func:`dimension_bound`.

    Returns
    -------
    bound : float or ndarray of shape (k,)

    Examples
    --------
    >>> from skgpb.theory import dimension_simple_bound
    >>> V = [1.0, 0.5, 0.25]
    >>> dimension_simple_bound([1, 10, 100], [1, 2, 4], V, beta=20.0, noise_variance=0.05)
    array([1. , 1.5, 1.5])
    """
    n = np.asarray(n, dtype=np.float64)
    V = _levels(variation, "variation")
    filled = np.cumsum(_room(counts, V, beta, noise_variance, 1), axis=-1)
    depth = (filled < n[..., np.newaxis]).sum(axis=-1)
    return _float(np.concatenate([V[:1], 3.0 * V])[depth])


def _room(
    counts: ArrayLike, variation: ArrayLike, beta: ArrayLike, noise_variance: float, visits: int
) -> NDArray[np.float64]:
    """Answers that the regions of each depth can take; those of the last take all others."""
    V = _levels(variation, "variation")
    beta = np.asarray(beta, dtype=np.float64)
    answers = np.maximum(1.0, np.ceil(beta[..., np.newaxis] * noise_variance / V**2))
    room = visits * _counted(counts, V) * answers
    room[..., -1] = np.inf
    return room


def _deepest(n: ArrayLike, delta: np.ndarray, capacity: np.ndarray) -> Any:
    """Three times delta at the first depth down to which n answers fit, or at the last."""
    n = np.asarray(n, dtype=np.float64)
    depth = (capacity < n[..., np.newaxis]).sum(axis=-1)
    return _float(3.0 * delta[np.minimum(depth, len(delta) - 1)])


def _levels(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return one number for each depth, above 0."""
    levels = check_numbers(values, name, ensure_2d=False).astype(np.float64)
    if levels.ndim != 1 or not (levels > 0.0).all():
        raise ValueError(f"{name} must hold a number above 0 for each depth, got {values!r}")
    return levels


def _counted(values: ArrayLike, delta: np.ndarray) -> NDArray[np.float64]:
    """Return one number of cells for each depth."""
    counts = check_numbers(values, "counts", ensure_2d=False).astype(np.float64)
    if counts.shape != delta.shape or not (counts >= 0.0).all():
        raise ValueError(
            f"counts must hold a number >= 0 for each of {len(delta)} depths, got {values!r}"
        )
    return counts


def _float(values: np.ndarray) -> Any:
    return float(values) if np.ndim(values) == 0 else values
