"""A score for optimizers: the region they recommend when they search held-out data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skgpb.domains.cells import Cells
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers.search import Search
from skgpb.utils.validation import (
    MOST_ROUNDS,
    Integral,
    Real,
    check_numbers,
    check_size,
    has_contexts,
)

__all__ = ["bandit_scorer"]

MAX_SEED = np.iinfo(np.int32).max


@dataclass(eq=False, repr=False)
class BanditScorer:
    """Scorer of :func:`bandit_scorer`: picklable, called as ``scorer(estimator, X, y)``."""

    budget: int
    noise: float
    n_repeats: int
    recommend: dict[str, Any]
    random_state: int

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"bandit_scorer({settings})"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Play on (X, y) and return the true average of the recommended region.

        Parameters
        ----------
        estimator : BaseBanditOptimizer or Pipeline
            An optimizer, perhaps behind transformers that have been fitted.
        X : array-like of shape (n_samples, n_features)
            The pool.
        y : array-like of shape (n_samples,)
            Its values.

        Returns
        -------
        score : float
            In units of y, with its sign changed where small ones are sought; larger is better.
        """
        if isinstance(estimator, Pipeline):
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        X, y = check_numbers(X, "X"), check_numbers(y, "y", ensure_2d=False)
        return float(np.mean([self._play(estimator, X, y, i) for i in range(self.n_repeats)]))

    def _play(self, estimator: Any, X: np.ndarray, y: np.ndarray, repeat: int) -> float:
        """Return the true average of what one run recommends."""
        # Every estimator meets the same noise.
        rng = np.random.default_rng([self.random_state, repeat])
        optimizer = self._on_pool(estimator, X, int(rng.integers(MAX_SEED)))

        def true_average(query: Any) -> float:
            members = getattr(query, "members", None)
            return float(y[query.index] if members is None else y[members].mean())

        for _ in range(self.budget):
            query = optimizer.ask()
            optimizer.tell(query, true_average(query) + self.noise * rng.standard_normal())
        found = true_average(optimizer.recommend(**self.recommend))
        return -found if optimizer.direction == "minimize" else found

    @staticmethod
    def _on_pool(estimator: Any, X: np.ndarray, seed: int) -> BaseBanditOptimizer[Any]:
        """Return a fresh optimizer with the estimator's parameters on the rows of X."""
        optimizer = clone(estimator)
        parameters = optimizer.get_params(deep=False)
        domain = next((name for name in ("pool", "arms") if name in parameters), None)
        if isinstance(optimizer, Search):
            free = optimizer.targets is not None or isinstance(optimizer.queries, Cells)
            domain = None if free else "arms"
        known = isinstance(optimizer, BaseBanditOptimizer) and not has_contexts(optimizer)
        if domain is None or not known:
            raise TypeError(
                "bandit_scorer needs an optimizer that searches a pool, arms, or queries that are "
                "the targets as well, such as GPOOOptimizer, GPUCBOptimizer or KGOptimizer, got "
                f"{estimator!r}"
            )
        settings: dict[str, Any] = {"bounds": None, domain: X}
        if "queries" in parameters:
            settings["queries"] = None
        if parameters.get("random_state", seed) is None:
            settings["random_state"] = seed
        return optimizer.set_params(**settings)


def bandit_scorer(
    budget: int = 50,
    *,
    noise: float = 0.0,
    n_repeats: int = 1,
    recommend: dict[str, Any] | None = None,
    random_state: int = 0,
) -> BanditScorer:
    """Return a scorer with which GridSearchCV tunes an optimizer.

    By default scikit-learn scores an optimizer as a regressor. This scorer lets it search
    instead: an optimizer with the same parameters plays on the held-out rows as its pool (or
    arms, or queries), where the answer to a query is the average of their y, and is scored by
    the true average over the region that it recommends. This is how the constant c in
    ``variation=(c, rho)`` is chosen by cross-validation in [1]_.

    Parameters
    ----------
    budget : int, default=50
        Number of queries.
    noise : float, default=0.0
        Standard deviation of the noise added to each answer, in units of y.
    n_repeats : int, default=1
        Number of runs with independent noise; the mean of their scores is returned.
    recommend : dict, default=None
        Arguments of the optimizer's ``recommend``, such as ``{"rule": "paper"}``.
    random_state : int, default=0
        Seeds the noise, and the optimizer unless it has a ``random_state``.

    Returns
    -------
    scorer : BanditScorer
        A picklable callable ``(estimator, X, y)``, for ``scoring=`` anywhere in scikit-learn.

    Notes
    -----
    The observations of a fitted optimizer are not used: its parameters are judged, not its
    memory. On a box the cells would hold no data, so optimizers that only know boxes are refused.

    References
    ----------
    .. [1] M. Zhang, R. Tsuchida and C. S. Ong, "Gaussian Process Bandits with Aggregated
       Feedback", AAAI 2022, Section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skgpb import GPOOOptimizer
    >>> from skgpb.model_selection import bandit_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = np.sin(13 * X[:, 0]) * np.sin(27 * X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> search = GridSearchCV(
    ...     GPOOOptimizer(RBF(0.05), min_members=3, alpha=0.01),
    ...     {"variation": [(0.1, 0.5), (1.0, 0.5), (10.0, 0.5)]},
    ...     scoring=bandit_scorer(budget=20, noise=0.1),
    ...     cv=3,
    ... )
    >>> search.fit(X, y).best_params_
    {'variation': (10.0, 0.5)}
    """
    budget = check_size(budget, "budget", most=MOST_ROUNDS)
    n_repeats = check_size(n_repeats, "n_repeats")
    if not isinstance(noise, Real) or not 0 <= noise < np.inf:
        raise ValueError(
            f"noise is a standard deviation and must be finite and >= 0, got {noise!r}"
        )
    if recommend is not None and not isinstance(recommend, dict):
        raise TypeError(f"recommend must be a dict of arguments or None, got {recommend!r}")
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(f"random_state must be an integer >= 0, got {random_state!r}")
    return BanditScorer(budget, float(noise), n_repeats, recommend or {}, random_state)
