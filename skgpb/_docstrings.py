"""Paragraphs that the docstrings of several classes share, worded once.

A docstring names them where they belong, in the order of its own signature. The line ::

    kernel, arms, bounds, alpha : %(arms)s

stands for the entries of these four below "arms", and :func:`with_shared_paragraphs` puts them in
its place, so that ``help`` and the reference show all of them. Above the parameters it says where
to find which class is for which problem.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from textwrap import indent
from typing import TypeVar

Documented = TypeVar("Documented")

#: Ends what is said of an optimizer before its parameters.
WHERE_ELSE = "Which class is for which problem: :ref:`which-class`."

PLACEHOLDER = re.compile(r"^( *)(\w+(?:, \w+)*) : %\((\w+)\)s$", re.MULTILINE)
PARAMETERS = re.compile(r"^( *)(?=Parameters\n *-{10}$)", re.MULTILINE)


def with_shared_paragraphs(documented: Documented) -> Documented:
    """Put the shared paragraphs into the docstring of an optimizer, where it has one."""
    if documented.__doc__ is not None:
        text = PARAMETERS.sub(rf"\1{WHERE_ELSE}\n\n\1", documented.__doc__, count=1)
        documented.__doc__ = PLACEHOLDER.sub(_paragraphs, text)
    return documented


def _paragraphs(placeholder: re.Match[str]) -> str:
    margin, names, family = placeholder.groups()
    return indent("\n".join(SHARED[family][name] for name in names.split(", ")), margin)


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a numpydoc section by their names."""
    return {entry.partition(" : ")[0]: entry for entry in re.split(r"\n(?=\S)", cleandoc(text))}


_OF_GAUSSIAN_PROCESSES = _entries(
    """
    alpha : float, default=None
        Noise variance of a reward, in units of the reward squared; None learns it.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How hyperparameters are learned from the answers, as in GaussianProcessRegressor.
        None keeps those of a given ``kernel``. "consistent" uses several length scales in turn
        and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : {"doubling", "growing"}, int or None, default="doubling"
        When to learn the hyperparameters and the noise, and to scale the rewards: whenever the
        number of observations has doubled or grown by a quarter (from 4 on), after every given
        number of observations, or only in ``fit`` (None).
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    history_ : structured ndarray
        Queries and answers, one row for each answer.
    n_features_in_ : int
        Number of dimensions.
    """
)

_OF_ARMS = _OF_GAUSSIAN_PROCESSES | _entries(
    """
    kernel : Kernel, default=None
        Prior covariance, over rows of ``arms``: any kernel of
        ``sklearn.gaussian_process.kernels`` where arms are points, or one of
        ``skgpb.kernels`` where they are descriptors of averages, integrals and so on. For cells,
        districts or fidelities it is the kernel of f over points. None learns Matern-5/2 with a
        length scale for every side, in units of the standard deviation of the rewards
        (:mod:`skgpb.surrogate.likelihood`). In several dimensions single sides have main effects
        (:class:`~skgpb.kernels.AdditiveMatern`); cells have a second, shorter length scale
        (:mod:`skgpb.surrogate.trend_and_rough`).
    arms : array-like of shape (n_arms, n_columns), default=None
        The arms. Rows are points, or descriptors that ``kernel`` accepts.
    bounds : array-like of shape (d, 2) or dict, default=None
        A box instead of arms; candidates are chosen in it. Without ``arms`` and ``bounds`` the
        box comes from ``fit``. A dict gives the sides names: a pair (lower, upper), a distribution
        of ``scipy.stats`` such as ``loguniform``, a range of integers, or a list of numbers or
        categories; queries then have ``params``, see :ref:`named-sides`.
    context_bounds : array-like of shape (d_c, 2) or dict, default=None
        Box of the contexts, for contextual bandits: ``ask(context=...)`` and
        ``recommend(context=...)``. Rows of ``kernel`` are then [context, arm]. A dict if
        ``bounds`` is a dict.
    information_gain : {"greedy", "order"}, float or callable, default="greedy"
        gamma_t: a bound computed from the kernel and the arms, the order formula of the
        kernel with constants dropped (for linear, RBF and Matern kernels), or any number or
        function of t. See :mod:`skgpb.surrogate.information_gain`.
    n_candidates : int, default=500
        Maximum number of candidates in a box; with ``queries`` and ``targets`` the number of
        candidate points or cells of each.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers near a query of the design replace it. Cells
        have all sizes in turn, or those of ``targets`` if ``kernel`` is None and targets can be
        asked at no higher cost. None means 10 if ``kernel`` is None, and 0 otherwise.
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that a given ``kernel`` is in units of
        their standard deviation. ``alpha`` stays in units of the reward.
    random_state : int, RandomState instance or None, default=None
        Seed of draws, of candidates in a box, and of restarts.
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over rows as in ``arms``: points, or boxes with cells.
    domain_ : ArmSet
        The queries, or the candidates in a box.
    bounds_ : ndarray of shape (d, 2)
        The domain; the bounding box of the arms.
    """
)

_OF_SEARCHES = _entries(
    """
    queries : array-like (n_queries, n_columns), Cells, Districts, Fidelities, ..., default=None
        Queries, if they differ from the targets: rows of points (d columns), of
        boxes (2 d columns, [lower, upper]) or of descriptors that ``kernel`` accepts; cells of
        given sizes anywhere in ``bounds`` (:class:`~skgpb.domains.Cells`), weighted averages over
        sets of points (:class:`~skgpb.domains.Districts`), or several fidelities
        (:class:`~skgpb.domains.Fidelities`). None means all points of ``bounds``.
    targets : array-like (n_targets, n_columns), Cells, Districts, ..., default=None
        What to find the best of, in the same forms except the last. None means ``queries`` if
        these are rows, and all points of ``bounds`` otherwise.
    cost : array-like, default=None
        Cost of an answer, above 0: one number for each arm or row of ``queries``, or for each size
        of its cells. None means 1. What an answer is worth is divided by its cost; in the UCB
        family that is its index less the largest posterior mean of a target.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; an array has one for each arm
        or row of ``queries``, or for each size of its cells. None learns one variance for all.
    targets_ : ArmSet
        The targets; ``domain_`` if queries and targets are the same.
    spent_ : float
        Total cost of the answers.
    """
)

_OF_REGIONS = _OF_GAUSSIAN_PROCESSES | _entries(
    """
    kernel : Kernel, default=None
        Prior covariance of f over points, any kernel of ``sklearn.gaussian_process.kernels``,
        in units of the reward squared. None learns a kernel with a length scale for every side:
        Matern-5/2 if f is observed at points, RBF if answers are averages over cells, in units of
        the standard deviation of the rewards (:mod:`skgpb.surrogate.likelihood`).
    bounds : array-like of shape (d, 2) or dict, default=None
        The domain, a box. With neither ``bounds`` nor ``pool`` it comes from ``fit``. A dict
        gives the sides names: a pair (lower, upper), a distribution of ``scipy.stats`` such as
        ``loguniform``, a range of integers, or a list of numbers or categories; queries then
        have ``params``, see :ref:`named-sides` and :ref:`mixed-regions`.
    pool : array-like of shape (n, d), default=None
        A finite domain instead of a box: cells are groups of rows, split at quantiles.
    n_children : int, default=2
        K, the number of parts into which a cell is split; fewer if it has fewer settings.
    min_members : int, default=1
        Minimum number of members of a cell of a pool.
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that a given ``kernel`` is in units of
        their standard deviation. ``alpha`` and a given ``diameter`` stay in units of the reward.
    random_state : int, RandomState instance or None, default=None
        Seed of the restarts of the optimizer; nothing else is random.
    domain_ : BoxPartition or PoolPartition
        The cells; ``domain_.cell(node)`` is the query of a node.
    tree_ : Bunch
        The partition as arrays.
    bounds_ : ndarray of shape (d, 2)
        The domain.
    horizon_ : int
        The current n.
    """
)

_OF_INDIRECT_QUERIES = _OF_GAUSSIAN_PROCESSES | _entries(
    """
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
    n_candidates : int, default=2500
        Number of candidates in a box; a grid in up to three dimensions.
    continuous : bool, default=True
        Whether to improve the best candidates of a box by local searches.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
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
    information : {"auto", "noiseless", "noisy", "joint"}, default="auto"
        "noiseless" is eq. 7, which ignores the noise of the answers; "noisy" is the corrected
        Appendix A, which discounts answers that are mostly noise. "auto" is "noisy" if ``alpha`` is
        learned or depends on the query, and eq. 7 if it is one number. "joint" is not in the paper:
        the information in the part of f* that is linear in the answer, from their joint posterior,
        including the noise. It looks for the maximum of f, not of g, and explores more.
    max_values : {"draws", "gumbel"}, default="draws"
        How f* is sampled: by joint draws of f, refined between grid points, or from a Gumbel
        distribution fitted to independent marginals, which is biased high on fine grids. "joint"
        always uses draws.
    n_max_values : int, default=100
        Number of samples of f*.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    answer_kernel : Kernel, default=None
        Prior covariance of g over a, for the choice of queries. None stands for
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the query space's sides.
    surrogate_ : ConditionalMeanProcess
        Posterior of f and g.
    bounds_ : ndarray of shape (d, 2)
        The box of x.
    spent_ : float
        Total cost of the answers.
    alpha_ : float
        Noise variance in use, if it is one number: ``alpha``, or the learned value.
    """
)

#: The entries of each family of classes, parameters and attributes.
SHARED = {
    "arms": _OF_ARMS,
    "search": _OF_SEARCHES,
    "regions": _OF_REGIONS,
    "indirect": _OF_INDIRECT_QUERIES,
}
