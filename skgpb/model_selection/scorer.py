"""Scorer of optimizers: the true average of the region that they recommend on held-out data."""

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
        """Run the optimizer on (X, y) and return the true average of the recommended region.

        Parameters
        ----------
        estimator : BaseBanditOptimizer or Pipeline
            An optimizer, or a pipeline of fitted transformers and an optimizer.
        X : array-like of shape (n_samples, n_features)
            The pool.
        y : array-like of shape (n_samples,)
            Value of each row of the pool.

        Returns
        -------
        score : float
            Score in units of y; larger is better. Its sign is changed for
            ``direction="minimize"``.
        """
        if isinstance(estimator, Pipeline):
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        X, y = check_numbers(X, "X"), check_numbers(y, "y", ensure_2d=False)
        return float(np.mean([self._play(estimator, X, y, i) for i in range(self.n_repeats)]))

    def _play(self, estimator: Any, X: np.ndarray, y: np.ndarray, repeat: int) -> float:
        """Return the score of one run: the true average of y over the recommended region."""
        # The seed depends on the repeat alone, so that all estimators have the same noise.
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
        """Return an unfitted optimizer with the parameters of the estimator, on the rows of X."""
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

    By default scikit-learn scores an optimizer as a regressor. This scorer runs a search instead:
    an optimizer with the same parameters has the held-out rows as its pool (or arms, or queries).
    The answer to a query is the average of y over its rows, plus noise. The score is the average of
    y over the rows of the recommended region. In this way [1]_ chooses the constant c in
    ``variation=(c, rho)`` by cross-validation.

    Parameters
    ----------
    budget : int, default=50
        Number of queries of a run.
    noise : float, default=0.0
        Standard deviation of the noise added to each answer, in units of y.
    n_repeats : int, default=1
        Number of runs with independent noise; the mean of their scores is returned.
    recommend : dict, default=None
        Arguments of the optimizer's ``recommend``, such as ``{"method": "paper"}``.
    random_state : int, default=0
        Seeds the noise, and the optimizer unless it has a ``random_state``.

    Returns
    -------
    scorer : BanditScorer
        A picklable callable ``(estimator, X, y)``, for ``scoring=`` anywhere in scikit-learn.

    Notes
    -----
    The observations of a fitted optimizer are not used: the score is about its parameters. The
    cells of a box have no rows of y, so an optimizer that can only search a box raises TypeError.

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
            f"noise, a standard deviation, must be a finite number >= 0, got {noise!r}"
        )
    if recommend is not None and not isinstance(recommend, dict):
        raise TypeError(f"recommend must be a dict of arguments or None, got {recommend!r}")
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(f"random_state must be an integer >= 0, got {random_state!r}")
    return BanditScorer(budget, float(noise), n_repeats, recommend or {}, random_state)
