"""Importance of features according to an optimizer."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skgpb.domains.candidates import spread_points
from skgpb.domains.space import as_coordinates
from skgpb.utils.validation import check_size

if TYPE_CHECKING:
    from skgpb.optimizers._base import BaseBanditOptimizer

__all__ = ["feature_effects"]

# Memory: largest number of pairs of points; more would fill the memory with covariances.
MOST_PAIRS = 2_000


def feature_effects(optimizer: BaseBanditOptimizer[Any], n_samples: int = 200) -> Bunch:
    r"""Return the standard deviation of f with each feature alone, in units of the reward.

    A feature is changed at random, the others stay: the effect is the root of

    .. math:: \tfrac12 \mathbb{E}\left[(f(x) - f(x'))^2\right],

    where x' is x with another value of the feature, a total-effect index that is not divided by
    the variance [Saltelli2010]_. So it is a standard deviation, and comparable with the noise of
    an answer. A feature with a long length scale has no effect, nor does one that the tree never
    cuts. The expectation is over the box, or over the rows of a pool or of arms, with independent
    features, and over the posterior of f [Oakley2004]_; ``known`` ignores the posterior's
    uncertainty.

    Parameters
    ----------
    optimizer : BaseBanditOptimizer
        Optimizer after at least one ``ask`` or ``fit``.
    n_samples : int, default=200
        Number of pairs of points for each feature, at most 2,000. Every call uses the same ones.

    Returns
    -------
    effects : sklearn.utils.Bunch
        ``feature_names``, list of d str; ``known``, ndarray of shape (d,), the effects in the
        posterior mean; ``possible``, ndarray of shape (d,), the effects with the posterior's
        uncertainty, at least as large, and equal to ``known`` without a posterior.

    References
    ----------
    .. [Saltelli2010] A. Saltelli et al., "Variance based sensitivity analysis of model output",
       Computer Physics Communications 181, 2010. Table 2 (f).
    .. [Oakley2004] J. E. Oakley and A. O'Hagan, "Probabilistic sensitivity analysis of complex
       models: a Bayesian approach", Journal of the Royal Statistical Society B 66, 2004.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.plotting.inspection import feature_effects
    >>> opt = GPUCBOptimizer(bounds={"heat": (0, 1), "colour": (0, 1)}, random_state=0)
    >>> _ = opt.run(lambda query: query.params["heat"], budget=20)
    >>> effects = feature_effects(opt)
    >>> bool(effects.known[0] > 10 * effects.known[1])
    True
    """
    check_is_fitted(optimizer, "bounds_")
    check_is_single(optimizer)
    check_size(n_samples, "n_samples", most=MOST_PAIRS)
    predict = cast(Any, optimizer).predict
    sure = "return_cov" not in inspect.signature(predict).parameters
    points, others = _pairs(optimizer, int(n_samples))
    n, d = points.shape
    squares = np.empty((2, d))
    variance: Any = 0.0
    for i in range(d):
        changed = points.copy()
        changed[:, i] = others[:, i]
        both = np.vstack([points, changed])
        if sure:
            mean = predict(as_coordinates(both))
        else:
            mean, cov = predict(as_coordinates(both), return_cov=True)
            diagonal = np.diag(cov)
            between = diagonal[:n] + diagonal[n:] - 2.0 * np.diag(cov[:n, n:])
            variance = np.maximum(between, 0.0)
        known = (mean[:n] - mean[n:]) ** 2
        squares[:, i] = known.mean(), (known + variance).mean()
    known, possible = np.sqrt(0.5 * squares)
    return Bunch(feature_names=find_feature_names(optimizer), known=known, possible=possible)


def find_feature_names(optimizer: Any) -> list[str]:
    """Return the names of the features of an optimizer that has started.

    Parameters
    ----------
    optimizer : BaseBanditOptimizer
        Optimizer after at least one ``ask`` or ``fit``.

    Returns
    -------
    names : list of d str
        Names of the sides of its box, name of the campaign, or names of the columns of the table
        ``pool``, ``arms`` or X of ``fit``; otherwise names with indices.
    """
    check_is_fitted(optimizer, "bounds_")
    if optimizer.run_.space is not None:
        return optimizer.run_.space.names
    campaign = getattr(optimizer, "_campaign", None)
    if campaign is not None and optimizer.n_features_in_ == 1:
        return [campaign]
    if hasattr(optimizer, "feature_names_in_"):
        return list(optimizer.feature_names_in_)
    for table in ("pool", "arms"):
        columns = getattr(getattr(optimizer, table, None), "columns", ())
        if len(columns) == optimizer.n_features_in_:
            return [str(column) for column in columns]
    return [f"feature {i}" for i in range(optimizer.n_features_in_)]


def check_is_single(optimizer: Any) -> None:
    """Raise TypeError for an optimizer of several bandits, such as CombinatorialBandit."""
    if hasattr(optimizer, "optimizers_"):
        raise TypeError(
            f"{type(optimizer).__name__} has no posterior and no rewards of its own: take one of "
            "its named_optimizers_"
        )


def _pairs(optimizer: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two independent samples of points (n, d) that fill the domain evenly."""
    d = optimizer.n_features_in_
    for table in ("pool", "arms"):
        rows = getattr(optimizer, table, None)
        if rows is not None and np.shape(rows)[1:] == (d,):
            some = np.random.default_rng(0).choice(len(rows), size=(2, n))
            rows = np.asarray(rows, dtype=np.float64)
            return rows[some[0]], rows[some[1]]
    box = np.tile(optimizer.bounds_, (2, 1))
    points = spread_points(box, n, np.full(2 * d, 0.5))
    return points[:, :d], points[:, d:]
