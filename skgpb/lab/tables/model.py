r"""A Gaussian process on a table, observed by averages over groups of rows.

The model of the target of a row is a sum of functions of one feature and of two features,

    f(x) = c + sum_j f_j(x_j) + sum_{j < l} f_{jl}(x_j, x_l),

each a Gaussian process over a few bins of its features. So the average over a group depends only on
the number of its rows in each bin, or pair of bins: once its rows are counted, a group of millions
costs no more than a small one. The variance of each function is fitted to the answers
[Duvenaud2011]_; each group has a residual variance, which the sum does not explain.

References
----------
.. [Duvenaud2011] D. Duvenaud, H. Nickisch and C. E. Rasmussen, "Additive Gaussian Processes",
   NeurIPS 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from skgpb.lab.tables.levels import Levels
from skgpb.lab.tables.memory import MemoryTable

# Bins of a number, and of the most frequent categories; all other categories share a bin.
N_BINS, N_CATEGORIES = 12, 40
# Kernel along a number, scaled to [0, 1] by ranks: its length scale, and the share of the squared
# exponential kernel in it; the rest is the exponential kernel.
LENGTH_SCALE, SMOOTH = 0.25, 0.7
# Largest number of features whose pairs have a function.
MOST_PAIRED = 12
# Prior standard deviations of the logarithms of three variances: of single features, of the
# interactions of pairs, and of the residuals of groups.
SINGLE, PAIRED, OWN = 1.5, 1.0, 1.5
# Prior median of the residual variance of a group, as a fraction of the variance of the answers.
OWN_SHARE = 0.1
MOST_ITERATIONS = 60
# Rounding: smaller eigenvalues of a covariance, as a fraction of the largest, are dropped.
SMALLEST = 1e-6

GroupFeatures = tuple[np.ndarray, dict[tuple[int, int], np.ndarray]]


class GroupModel:
    """Gaussian process on the rows of a table, which predicts the averages over groups.

    Parameters
    ----------
    table : MemoryTable
        The features of the rows. Its target is not read.

    Attributes
    ----------
    r2_loo : float
        Share of the variance of the answers that the model predicts, each from all others;
        negative if the average of all answers predicts better.
    """

    def __init__(self, table: MemoryTable) -> None:
        self.names: list[str] = [levels.name for levels in table.levels]
        self.codes: list[np.ndarray] = []
        self._functions: list[np.ndarray] = []
        for j, levels in enumerate(table.levels):
            bins, kernel = _bins(table.codes[:, j], levels)
            codes = bins[table.codes[:, j]]
            self.codes.append(codes)
            share = np.bincount(codes, minlength=len(kernel)) / len(codes)
            self._functions.append(_functions(kernel, share))
        self._paired: list[tuple[int, int]] = []
        if len(self.codes) <= MOST_PAIRED:
            self._paired += combinations(range(len(self.codes)), 2)
        # Averages over groups by id(rows); rows are stored too, so that the id stays unique.
        self._cached: dict[int, GroupFeatures] = {}

    # -- groups -----------------------------------------------------------------------------

    def _features(self, groups: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return averages of all basis functions over n groups, of single features and of pairs.

        Each list has an array (n, n_functions) for each feature, or pair of features.
        """
        cached = [self._cached.setdefault(id(rows), (rows, {})) for rows in groups]
        single = [
            np.array([self._averages(each, j, -1) for each in cached])
            for j in range(len(self.codes))
        ]
        paired = [
            np.array([self._averages(each, a, b) for each in cached]) for a, b in self._paired
        ]
        return single, paired

    def _averages(self, cached: GroupFeatures, a: int, b: int) -> np.ndarray:
        """Return cached averages over a group of the basis functions of features a and b.

        They are those of feature a alone if b is -1.
        """
        rows, averages = cached
        if (a, b) not in averages:
            f, codes = self._functions[a], self.codes[a][rows]
            if b < 0:
                averages[a, b] = np.bincount(codes, minlength=len(f)) @ f / len(rows)
            else:
                g = self._functions[b]
                joint = np.bincount(codes * len(g) + self.codes[b][rows], minlength=len(f) * len(g))
                averages[a, b] = (f.T @ (joint.reshape(len(f), -1) @ g)).ravel() / len(rows)
        return averages[a, b]

    # -- learning ---------------------------------------------------------------------------

    def fit(
        self, groups: Sequence[np.ndarray], answers: np.ndarray, noise: np.ndarray
    ) -> GroupModel:
        """Fit the variances of the functions to answers.

        Parameters
        ----------
        groups : sequence of n ndarrays of int
            Rows of each group.
        answers : ndarray of shape (n,)
            Averages over the groups.
        noise : ndarray of shape (n,)
            Noise variances of the answers.

        Returns
        -------
        self : GroupModel
        """
        if len(self.codes) > MOST_PAIRED:
            # Fit single features first: only pairs of the most important ones get a function.
            self._paired = []
            self._learn(groups, answers, noise)
            some = np.sort(np.argsort(-self._weights)[:MOST_PAIRED]).tolist()
            self._paired = list(combinations(some, 2))
        self._learn(groups, answers, noise)
        return self

    def _learn(self, groups: Sequence[np.ndarray], answers: np.ndarray, noise: np.ndarray) -> None:
        single, paired = self._features(groups)
        self._single, self._pairs = single, paired
        n, d = len(answers), len(single)
        gram = np.array([f @ f.T for f in [*single, *paired]])
        self._first = np.array([a for a, _ in self._paired], dtype=np.intp)
        self._second = np.array([b for _, b in self._paired], dtype=np.intp)
        self._offset = float(answers.mean())
        residual = answers - self._offset
        spread = float(residual @ residual) / n
        # Variance of the answers minus that of their noise, but at least a twentieth of it.
        self._constant = max(spread - float(noise.mean()), 0.05 * spread) or 1.0
        scale = float(np.mean([np.trace(each) / n for each in gram[:d]])) or 1.0
        centre = np.full(d + 2, np.log(self._constant / scale / d))
        centre[d] = np.log(scale / self._constant)
        centre[d + 1] = np.log(OWN_SHARE * self._constant)
        width = np.array([*[SINGLE] * d, PAIRED, OWN])
        fixed = self._constant + np.diag(noise + 1e-9 * self._constant)

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            """Return minus the log evidence and log prior of ``theta``, and its gradient."""
            weights, own = self._variances(theta)
            K = np.tensordot(weights, gram, 1) + fixed
            K[np.diag_indices(n)] += own
            factor = cho_factor(K, lower=True)
            solved = cho_solve(factor, residual)
            slope = cho_solve(factor, np.eye(n)) - np.outer(solved, solved)
            value = 0.5 * residual @ solved + np.log(np.diag(factor[0])).sum()
            each = 0.5 * np.tensordot(gram, slope, 2) * weights
            gradient = np.zeros(d + 2)
            gradient[:d] = each[:d]
            np.add.at(gradient, self._first, each[d:])
            np.add.at(gradient, self._second, each[d:])
            gradient[d] = each[d:].sum()
            gradient[d + 1] = 0.5 * np.trace(slope) * own
            away = (theta - centre) / width
            return float(value + 0.5 * away @ away), gradient + away / width

        limits = list(zip(centre - 6 * width, centre + 6 * width, strict=True))
        options = {"maxiter": MOST_ITERATIONS}
        found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=limits, options=options)
        theta = found.x
        self._all_weights, self._own = self._variances(theta)
        self._weights = self._all_weights[:d]
        K = np.tensordot(self._all_weights, gram, 1) + fixed
        K[np.diag_indices(n)] += self._own
        self._factor = cho_factor(K, lower=True)
        self._solved = cho_solve(self._factor, residual)
        left_out = self._solved / np.diag(cho_solve(self._factor, np.eye(n)))
        self.r2_loo: float = 1.0 - float(left_out @ left_out) / n / (spread or 1.0)

    def _variances(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the variances of all functions, single ones first, and the residual variance."""
        d = len(theta) - 2
        single = np.exp(theta[:d])
        paired = np.exp(theta[d]) * single[self._first] * single[self._second]
        return np.concatenate([single, paired]), float(np.exp(theta[d + 1]))

    # -- predictions ------------------------------------------------------------------------

    def rows(self) -> np.ndarray:
        """Return the expected targets of all rows, shape (n_rows,)."""
        mean = np.full(len(self.codes[0]), self._offset + self._constant * self._solved.sum())
        d = len(self.codes)
        for j, codes in enumerate(self.codes):
            f = self._functions[j]
            mean += (self._weights[j] * (f @ (self._single[j].T @ self._solved)))[codes]
        for k, (a, b) in enumerate(self._paired):
            f, g = self._functions[a], self._functions[b]
            inner = (self._pairs[k].T @ self._solved).reshape(f.shape[1], g.shape[1])
            table = self._all_weights[d + k] * (f @ inner @ g.T)
            mean += table[self.codes[a], self.codes[b]]
        return mean

    def joint(
        self, groups: Sequence[np.ndarray], answered: Sequence[int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior mean (n,) and covariance (n, n) of the averages over groups.

        Parameters
        ----------
        groups : sequence of n ndarrays of int
            Rows of each group.
        answered : sequence of int, default=None
            Index of each group among those of :meth:`fit`, -1 for a group that was not among them;
            None if none was.
        """
        single, paired = self._features(groups)
        pairs = list(zip([*self._single, *self._pairs], [*single, *paired], strict=True))
        n, n_fitted = len(groups), len(self._solved)
        across, within = np.full((n_fitted, n), self._constant), np.full((n, n), self._constant)
        for weight, (fitted, new) in zip(self._all_weights, pairs, strict=True):
            across += weight * (fitted @ new.T)
            within += weight * (new @ new.T)
        within[np.diag_indices(n)] += self._own
        if answered is not None:
            for i, k in enumerate(answered):
                if k >= 0:
                    across[k, i] += self._own
        mean = self._offset + across.T @ self._solved
        return mean, within - across.T @ cho_solve(self._factor, across)

    def effects(self) -> dict[str, float]:
        """Return the standard deviation of each single-feature function, the largest first."""
        spreads = []
        for j, codes in enumerate(self.codes):
            f = self._functions[j]
            values = self._weights[j] * (f @ (self._single[j].T @ self._solved))
            share = np.bincount(codes, minlength=len(f)) / len(codes)
            spreads.append(float(np.sqrt(max(share @ (values - share @ values) ** 2, 0.0))))
        order = np.argsort(-np.array(spreads), kind="stable")
        return {self.names[i]: spreads[i] for i in order}


def _bins(codes: np.ndarray, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
    """Return the bin of each level (n_levels,), and the covariance (n_bins, n_bins) of bins."""
    n = np.bincount(codes, minlength=levels.n_levels)
    bins = np.zeros(levels.n_levels, dtype=np.intp)
    values = slice(0, levels.n_values)
    if levels.kind == "category":
        order = np.argsort(-n[values], kind="stable")
        bins[order] = np.minimum(np.arange(levels.n_values), N_CATEGORIES)
        kernel = np.eye(bins.max() + 1)
    else:
        total = max(n[values].sum(), 1)
        place = (n[values].cumsum() - 0.5 * n[values]) / total
        _, bins[values] = np.unique((N_BINS * place).astype(int), return_inverse=True)
        count = np.bincount(bins[values], n[values])
        middle = np.bincount(bins[values], n[values] * place) / np.maximum(count, 1)
        far = np.abs(middle[:, None] - middle) / LENGTH_SCALE
        kernel = SMOOTH * np.exp(-0.5 * far**2) + (1.0 - SMOOTH) * np.exp(-far)
    if levels.missing:
        bins[-1] = len(kernel)
        kernel = np.pad(kernel, (0, 1))
        kernel[-1, -1] = 1.0
    return bins, kernel


def _functions(kernel: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return basis functions (n_bins, n_functions) with a covariance, centred over all rows.

    Their products sum to ``kernel`` after centring, scaled to an average variance of 1. ``share``
    is the share of the rows in each bin.
    """
    centred = np.eye(len(kernel)) - share
    kernel = centred @ kernel @ centred.T
    variance = float(share @ np.diag(kernel))
    if variance < 1e-12:
        return np.zeros((len(kernel), 1))
    values, vectors = np.linalg.eigh(kernel / variance)
    kept = values > SMALLEST * values.max()
    return vectors[:, kept] * np.sqrt(values[kept])
