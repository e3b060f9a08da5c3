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
        How hyperparameters are learned from what was told, as in GaussianProcessRegressor.
        None keeps those of a given ``kernel``. "consistent" lets several length scales take turns
        and drops those under which no f of norm at most ``B`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Further starts of the optimizer.
    relearn : {"doubling", "growing"}, int or None, default="doubling"
        When to learn them and the noise: whenever the number of observations has doubled or
        grown by a quarter (from 4 on), every so many observations, or only in ``fit``. It is
        also when rewards are scaled.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought. All that is told, predicted and recorded has
        the user's sign; rules (``acquisition``) and ``surrogate_`` know the reward with its sign
        changed where it is to be small.
    B : float, default=1.0
        Bound on the norm of f in the reproducing kernel Hilbert space of ``kernel``, on which
        :meth:`interval` rests. It is a property of the unknown f: in experiments an oracle, in
        practice a guess.
    R : float, default=None
        The noise is R-sub-Gaussian, in units of the reward: that of an answer with a noise variance
        of its own in proportion. None stands for sqrt(alpha), which Gaussian noise is.
    misspecification : float, default=0.0
        epsilon, in units of the reward: f differs by at most so much from a function of norm at
        most ``B``.
    history_ : structured ndarray
        What was told.
    n_features_in_ : int
        Number of dimensions.
    """
)

_OF_ARMS = _OF_GAUSSIAN_PROCESSES | _entries(
    """
    kernel : Kernel, default=None
        Prior covariance, over rows of ``arms``: any kernel of
        ``sklearn.gaussian_process.kernels`` where arms are points, or one of
        ``skgpb.kernels`` where they are descriptors of averages, integrals and so on. None
        learns Matern-5/2 with a scale for every side, in units of the rewards' spread
        (:mod:`skgpb.surrogate.likelihood`).
    arms : array-like of shape (n_arms, n_columns), default=None
        The arms. Rows are points, or descriptors of whatever ``kernel`` takes.
    bounds : array-like of shape (d, 2) or dict, default=None
        A box instead of arms, which candidates then stand for. With neither it comes from
        ``fit``. A dict gives the sides names: a pair (lower, upper), a distribution of
        ``scipy.stats`` such as ``loguniform``, a range of integers, or a list of numbers or
        categories; queries then have ``params``, see :ref:`named-sides`.
    context_bounds : array-like of shape (d_c, 2) or dict, default=None
        Where contexts come from, which are given and not chosen: ``ask(context=...)`` and
        ``recommend(context=...)``. Rows of ``kernel`` are then [context, arm]. A dict where
        ``bounds`` is one.
    information_gain : {"greedy", "order"}, float or callable, default="greedy"
        gamma_t: a bound computed from the kernel and the arms, the order formula of the
        kernel with constants dropped (for linear, RBF and Matern kernels), or any number or
        function of t. See :mod:`skgpb.surrogate.information_gain`.
    failure_probability : float, default=0.1
        delta, in (0, 1).
    n_candidates : int, default=500
        Most points that stand for a box.
    n_initial : int, default=None
        Distinct arms, spread evenly, that are pulled before the rule is followed; what was told
        counts where it lies. None stands for 10 where ``kernel`` is None, and for none where it is
        given.
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that a given ``kernel`` is in units of
        their spread. ``alpha`` stays in units of the reward.
    random_state : int, RandomState instance or None, default=None
        Seeds what is random: draws, candidates in a box, restarts.
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over rows as in ``arms``.
    domain_ : ArmSet
        The arms, or the candidates in a box: makes queries and resolves them.
    arms_ : ndarray of shape (n_arms, n_columns)
        The arms, or the present candidates in a box.
    bounds_ : ndarray of shape (d, 2)
        The domain; the bounding box of the arms.
    """
)

_OF_REGIONS = _OF_GAUSSIAN_PROCESSES | _entries(
    """
    kernel : Kernel, default=None
        Prior covariance of f over points, any kernel of ``sklearn.gaussian_process.kernels``,
        in units of the reward squared. None learns one on every side's own scale:
        Matern-5/2 where f is observed at points, RBF where cells are averaged, in units of the
        rewards' spread (:mod:`skgpb.surrogate.likelihood`).
    bounds : array-like of shape (d, 2) or dict, default=None
        The domain, a box. With neither ``bounds`` nor ``pool`` it comes from ``fit``. A dict
        gives the sides names: a pair (lower, upper), a distribution of ``scipy.stats`` such as
        ``loguniform``, a range of integers, or a list of numbers or categories; queries then
        have ``params``, see :ref:`named-sides` and :ref:`mixed-regions`.
    pool : array-like of shape (n, d), default=None
        A finite domain instead of a box: cells are groups of rows, split at quantiles.
    n_children : int, default=2
        K, the number of parts into which a cell is split; fewer where it has fewer settings.
    min_members : int, default=1
        Fewest members of a cell of a pool.
    failure_probability : float, default=0.1
        theta = exp(-u), in (0, 1).
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that a given ``kernel`` is in units of
        their spread. ``alpha`` and a given ``diameter`` stay in units of the reward.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts of the optimizer; nothing else is random.
    domain_ : BoxPartition or PoolPartition
        The cells; ``domain_.cell(node)`` is the query of a node.
    tree_ : Bunch
        The partition as arrays.
    bounds_ : ndarray of shape (d, 2)
        The domain.
    horizon_ : int
        The present n.
    """
)

_OF_INDIRECT_QUERIES = _OF_GAUSSIAN_PROCESSES | _entries(
    """
    kernel : Kernel, default=None
        Prior covariance of f over x. None takes the base of ``conditional``; where that has none,
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the sides of ``bounds`` is the start
        of a kernel that is learned, under a weak prior, from standardised answers.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        What a query averages, where it is known. With None it is learned from the ``queries``
        given to ``fit``; without those, a query is a point and its answer is f there.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate where that is what happens), or by whichever has
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X. A
        dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        what is recommended then has ``params``.
    queries : array-like of shape (n_queries, q), default=None
        The queries that can be asked.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, where they are not a finite set: an array (2, 2) could be both, so that
        the two have names of their own. With neither it is the box around the queries given to
        ``fit``, the agents of a PolicyMean, or ``bounds`` for windows. A dict gives its sides
        names, as in ``bounds``; functions of a query take its coordinates.
    n_candidates : int, default=2500
        Candidates that stand for a box, a grid in up to three dimensions.
    continuous : bool, default=True
        Whether the best candidates of a box are improved by local searches, or only they are asked.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Distinct queries, spread evenly, that are asked before the rule is followed; what was told
        or given to ``fit`` counts. None stands for 10, and for none where f's kernel is given or
        some of ``queries`` are dearer than others.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the error of what was learned of p(x | a), which every answer has beside its
        noise. "auto" estimates it by leave-one-out; known conditionals have none.
    information : {"auto", "noiseless", "noisy", "joint"}, default="auto"
        Eq. 7, which ignores the noise of the answers, or the corrected Appendix A, which can tell
        an informative query from one drowned in noise. "auto" is "noisy" where ``alpha`` is learned
        or depends on the query, and eq. 7 where it is one number. "joint" is not in the paper: the
        information in the part of f* that is linear in the answer, from their joint posterior,
        noise included. It looks for where f and not where g is largest, and explores more.
    max_values : {"draws", "gumbel"}, default="draws"
        Samples of f* by joint draws of f, refined between grid points, or from a Gumbel law
        fitted to independent marginals, which is biased high on fine grids. "joint" always
        draws.
    n_max_values : int, default=100
        Number of samples of f*.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a ``kernel`` that is given are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is learned in any case.
        "consistent", where queries are chosen by the process on f, lets several length scales take
        turns and drops those under which no f of norm at most ``B`` fits the answers
        (:doc:`/user_guide/guarantees`).
    failure_probability : float, default=0.1
        delta of the intervals, in (0, 1).
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), every so many observations, or only in ``fit``.
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    random_state : int, RandomState instance or None, default=None
        Seeds what is random: samples of a maximum, restarts.
    answer_kernel : Kernel, default=None
        Prior covariance of g over a, for the choice of queries. None stands for
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the query space's sides.
    surrogate_ : ConditionalMeanProcess
        Posterior of f and g.
    bounds_ : ndarray of shape (d, 2)
        The box of x.
    spent_ : float
        Cost of what was told.
    alpha_ : float
        Noise variance in use, where it is one number: ``alpha``, or what was learned.
    """
)

#: The entries of each family of classes, parameters and attributes.
SHARED = {"arms": _OF_ARMS, "regions": _OF_REGIONS, "indirect": _OF_INDIRECT_QUERIES}
