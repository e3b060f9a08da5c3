r"""Suboptimality gap: how far one functional of f may be below the best of several.

References
----------
.. [Wilson2024] J. Wilson, "Stopping Bayesian Optimization with Probabilistic Regret Bounds",
   NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TypeAlias

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils.roots import pivoted_cholesky
from skgpb.utils.validation import bisection

# Speed: for more rivals a sum of probabilities replaces the joint probability.
MOST_RIVALS = 10_000
# Accuracy: variance, as a share of the largest, that draws may leave out.
NEGLIGIBLE_GAP = 1e-6
# Accuracy: number of draws of a test in the first stage, doubled until the test is decided, and at
# most; number of draws of a quantile.
FIRST_DRAWS, MOST_DRAWS, QUANTILE_DRAWS = 256, 2**14, 2048
# Accuracy: rivals whose probabilities of being ahead sum to at most this share of delta are not
# drawn.
LEFT_OUT = 0.01
# Memory: largest number of rivals whose covariances are computed together, not column by column (8
# MB).
MOST_RIVALS_AT_ONCE = 1000
# Memory: number of normal variates that are drawn at once (32 MB).
VARIATES_AT_ONCE = 2**22

#: Draws the largest of k differences n times: a function of n, a generator, and a mask (n, k) of
#: the differences that count in each draw, None for all.
Sampler: TypeAlias = Callable[..., np.ndarray]


class SuboptimalityGap:
    """Posterior of the largest of several differences, each of a rival minus the chosen one.

    Parameters
    ----------
    mean, var : ndarray of shape (n,)
        Posterior moments of rival minus chosen.
    columns : callable, default=None
        Function of indices of rivals (k,) that returns a function of i, which returns the
        covariances (k,) of their differences with the i-th of them. None if draws are not needed.
    prior : float, default=0.0
        Largest prior variance: rounding errors of the covariances are in proportion to it.

    Examples
    --------
    Two rivals with the same mean and standard deviation 1:

    >>> import numpy as np
    >>> from skgpb.surrogate.suboptimality_gap import SuboptimalityGap
    >>> gap = SuboptimalityGap(np.zeros(2), np.ones(2), lambda some: lambda i: np.eye(len(some))[i])
    >>> rng = np.random.default_rng(0)
    >>> bool(abs(gap.quantile(0.05, rng) - 1.955) < 0.1)  # ndtri(sqrt(0.95))
    True
    >>> gap.is_within(3.0, 0.05, 0.01, rng)
    True
    """

    def __init__(
        self,
        mean: np.ndarray,
        var: np.ndarray,
        columns: Callable[[np.ndarray], Callable[[int], np.ndarray]] | None = None,
        prior: float = 0.0,
    ) -> None:
        self.mean = mean
        self.std: np.ndarray = np.sqrt(np.maximum(var, 0.0))
        self._columns, self._prior = columns, prior

    @classmethod
    def from_process(cls, gp: GaussianProcess, row_sets: list[np.ndarray]) -> SuboptimalityGap:
        """Return the gap of the last of n functionals, in the user's units. O(n t^2)."""
        functionals = Functionals.of(row_sets, gp.n_columns)
        last, scale = functionals.one(len(row_sets) - 1), gp.scale
        V = gp.covariance(functionals, gp.observed)
        mean = V @ gp.posterior.weights()
        gp.posterior.solve_rows(V)
        prior = gp.variance(functionals)
        shared = gp.covariance(functionals, last)[:, 0] - V @ V[-1]
        own = prior - np.einsum("ij,ij->i", V, V)

        def columns(some: np.ndarray) -> Callable[[int], np.ndarray]:
            chosen = Functionals.of([functionals[i] for i in some.tolist()], gp.n_columns)
            known, beside = V[some], shared[some]
            if len(some) <= MOST_RIVALS_AT_ONCE:
                C = gp.covariance(chosen, chosen) - known @ known.T
                C = (C + own[-1] - beside - beside[:, np.newaxis]) * scale**2
                return lambda i: C[:, i]

            def column(i: int) -> np.ndarray:
                c = gp.covariance(chosen, chosen.one(i))[:, 0] - known @ known[i]
                return (c + own[-1] - beside - beside[i]) * scale**2

            return column

        var = own + own[-1] - 2.0 * shared
        largest = float(prior.max()) * scale**2
        return cls((mean - mean[-1]) * scale, var * scale**2, columns, largest)

    @classmethod
    def from_marginals(cls, gp: GaussianProcess, chosen: np.ndarray) -> SuboptimalityGap:
        """Return the gap of one functional to the tracked ones, from their marginals only.

        In the user's units, O(m t + t^2) for m tracked functionals, without solving for them.
        """
        single, posterior = Functionals.of([chosen], gp.n_columns), gp.posterior
        v = gp.covariance(single, gp.observed)
        mean = float(v[0] @ posterior.weights())
        posterior.solve_rows(v)
        shared = gp.covariance(gp.tracked, single)[:, 0] - posterior.tracked_rows() @ v[0]
        var = posterior.tracked_var() + float(gp.variance(single)[0] - v[0] @ v[0]) - 2.0 * shared

        return cls((posterior.tracked_mean() - mean) * gp.scale, var * gp.scale**2)

    @classmethod
    def from_moments(cls, mean: np.ndarray, cov: np.ndarray) -> SuboptimalityGap:
        """Return the gap of the last of n functionals, given mean (n,) and covariance (n, n)."""
        C = cov - cov[-1] - cov[:, -1:] + cov[-1, -1]
        return cls(mean - mean[-1], np.diag(C), lambda some: lambda i: C[some, some[i]])

    def ahead(self, epsilon: float) -> np.ndarray:
        """Return the probability (n,) that each rival is more than epsilon above the chosen one."""
        margin = self.mean - epsilon
        known = self.std == 0.0
        ratio = np.divide(margin, self.std, out=np.zeros_like(margin), where=~known)
        return np.where(known, margin > 0.0, ndtr(ratio))

    def is_within(
        self, epsilon: float, delta: float, risk: float, rng: np.random.Generator
    ) -> bool:
        """Return whether no rival is more than epsilon above, with probability 1 - delta.

        The test draws as often as necessary, after [Wilson2024]_: if neither the sum of the rivals'
        probabilities nor the largest of them decides, joint draws are counted until the exact
        binomial bound does.

        Parameters
        ----------
        epsilon : float
            In units of the differences.
        delta : float
            In (0, 1).
        risk : float
            Probability, in (0, 1), that the draws give True although it is False.
        rng : numpy.random.Generator
            Source of the draws.

        Returns
        -------
        within : bool
            False as well if the largest number of draws does not decide.
        """
        ahead = self.ahead(epsilon)
        if ahead.max() > delta:
            return False
        if ahead.sum() <= delta:
            return True
        some, missing = self._active_rivals(ahead, delta)
        if len(some) > MOST_RIVALS:
            return False
        draw = self._sampler(some, epsilon, delta)
        stages = ceil(np.log2(MOST_DRAWS / FIRST_DRAWS)) + 1
        n = failures = 0
        while n < MOST_DRAWS:
            more = max(FIRST_DRAWS, n)
            failures += int((draw(more, rng) > epsilon).sum())
            n += more
            if _upper(failures, n, risk / stages) + missing <= delta:
                return True
            if 1.0 - _upper(n - failures, n, risk / stages) > delta:
                return False
        return False

    def quantile(self, delta: float, rng: np.random.Generator) -> float:
        """Return the number >= 0 that the largest difference exceeds with probability delta."""
        # The quantile of the largest is at least that of any single difference.
        least = self._least(delta)
        some, missing = self._active_rivals(self.ahead(least), delta)
        if not len(some):
            return least
        if len(some) > MOST_RIVALS:
            return self._union_quantile(delta, least)
        drawn = np.sort(self._sampler(some, least, delta)(QUANTILE_DRAWS, rng))
        rank = min(QUANTILE_DRAWS, ceil((1.0 - delta + missing) * QUANTILE_DRAWS))
        return max(least, float(drawn[rank - 1]))

    def _least(self, delta: float) -> float:
        """Return the number >= 0 that one of the differences exceeds with probability delta."""
        return max(0.0, self._bound(delta))

    def _least_by_bisection(self, delta: float) -> float:
        """Return the value of :meth:`_least` if :meth:`_bound` is only an upper bound of it."""
        most = max(0.0, self._bound(delta))
        return bisection(0.0, most, lambda gap: self.ahead(gap).max() > delta)[0]

    def _bound(self, delta: float) -> float:
        """Return the number that no single difference exceeds with more than probability delta."""
        return float((self.mean - ndtri(delta) * self.std).max())

    def _active_rivals(self, ahead: np.ndarray, delta: float) -> tuple[np.ndarray, float]:
        """Return indices of the rivals that need draws, and the probability of all others."""
        order = np.argsort(ahead, kind="stable")
        sums = np.cumsum(ahead[order])
        n = int(np.searchsorted(sums, LEFT_OUT * delta, side="right"))
        return np.sort(order[n:]), float(sums[n - 1]) if n else 0.0

    def _sampler(self, some: np.ndarray, epsilon: float, delta: float) -> Sampler:
        """Return a function that draws the largest of some differences, compared with epsilon."""
        if self._columns is None:
            raise ValueError("cannot draw: the covariances of the differences are not known")
        mean, var = self.mean[some], self.std[some] ** 2
        negligible = NEGLIGIBLE_GAP * float(var.max())
        factor, _, _ = pivoted_cholesky(
            self._columns(some), var, len(some), lambda left: left.max() <= negligible, self._prior
        )
        root = factor.T

        def some_draws(n: int, rng: np.random.Generator, kept: np.ndarray | None) -> np.ndarray:
            drawn = mean + rng.standard_normal((n, len(root))) @ root
            return (drawn if kept is None else np.where(kept, drawn, -np.inf)).max(axis=1)

        return _in_parts(some_draws, len(some))

    def _union_quantile(self, delta: float, least: float) -> float:
        """Return an upper bound of the quantile, from the sum of the rivals' probabilities."""
        most = self._bound(delta / len(self.mean))
        return bisection(least, most, lambda gap: self.ahead(gap).sum() > delta)[1]


class MixedSuboptimalityGap(SuboptimalityGap):
    """Suboptimality gap under a mixture of posteriors, each with a probability.

    Parameters
    ----------
    parts : list of SuboptimalityGap
        Gaps of the same differences, one for each posterior.
    weights : ndarray of shape (n_parts,)
        Probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.surrogate.suboptimality_gap import MixedSuboptimalityGap, SuboptimalityGap
    >>> def gap_with(std):
    ...     return SuboptimalityGap(np.zeros(1), np.array([std**2]))
    >>> mixed = MixedSuboptimalityGap([gap_with(1.0), gap_with(2.0)], np.array([0.5, 0.5]))
    >>> mixed.ahead(2.0).round(3)  # (0.023 + 0.159) / 2
    array([0.091])
    """

    def __init__(self, parts: list[SuboptimalityGap], weights: np.ndarray) -> None:
        means = np.array([part.mean for part in parts])
        second = np.array([part.std**2 for part in parts]) + means**2
        mean = weights @ means
        super().__init__(mean, weights @ second - mean**2)
        self._parts, self._weights = parts, weights

    def ahead(self, epsilon: float) -> np.ndarray:
        """Return the probability (n,) that each rival is more than epsilon above the chosen one."""
        return self._weights @ np.array([part.ahead(epsilon) for part in self._parts])

    def _bound(self, delta: float) -> float:
        return max(part._bound(delta) for part in self._parts)

    _least = SuboptimalityGap._least_by_bisection

    def _active_rivals(self, ahead: np.ndarray, delta: float) -> tuple[np.ndarray, float]:
        some, missing = super()._active_rivals(ahead, delta)
        return some, missing + LEFT_OUT * delta  # the probability that each part leaves out

    def _sampler(self, some: np.ndarray, epsilon: float, delta: float) -> Sampler:
        samplers = []
        for part in self._parts:
            mine, _ = SuboptimalityGap._active_rivals(part, part.ahead(epsilon)[some], delta)
            chosen = some[mine]
            sampler = part._sampler(chosen, epsilon, delta) if len(chosen) else _none
            samplers.append((mine, sampler))

        def draw(n: int, rng: np.random.Generator, kept: np.ndarray | None = None) -> np.ndarray:
            counts, start, drawn = rng.multinomial(n, self._weights).tolist(), 0, []
            for (mine, sampler), count in zip(samplers, counts, strict=True):
                if count:
                    own = None if kept is None else kept[start : start + count, mine]
                    drawn.append(sampler(count, rng, own))
                start += count
            return np.concatenate(drawn)

        return draw


def _in_parts(draw: Sampler, n_differences: int) -> Sampler:
    """Return a sampler that draws as often as memory allows at once."""
    size = max(1, VARIATES_AT_ONCE // n_differences)

    def draw_all(n: int, rng: np.random.Generator, kept: np.ndarray | None = None) -> np.ndarray:
        if n <= size:
            return draw(n, rng, kept)
        starts = range(0, n, size)
        masks = [None if kept is None else kept[i : i + size] for i in starts]
        parts = zip(starts, masks, strict=True)
        return np.concatenate([draw(min(size, n - i), rng, mask) for i, mask in parts])

    return draw_all


def _none(n: int, rng: np.random.Generator, kept: np.ndarray | None = None) -> np.ndarray:
    """Return draws of the largest of no differences."""
    return np.full(n, -np.inf)


class FeasibleGap(SuboptimalityGap):
    """Suboptimality gap to the rivals that are feasible, which is independent of f.

    Parameters
    ----------
    gap : SuboptimalityGap
        Gap to all n rivals.
    probabilities : ndarray of shape (n,)
        Probability that each rival is feasible.
    sampler : callable
        Function of indices of rivals (k,) that returns a function of a number of draws and a
        generator, which returns a mask (n_draws, k) of the feasible rivals in joint draws.

    Examples
    --------
    A rival that is feasible in half of the draws:

    >>> import numpy as np
    >>> from skgpb.surrogate.suboptimality_gap import FeasibleGap, SuboptimalityGap
    >>> gap = SuboptimalityGap(np.zeros(1), np.ones(1), lambda some: lambda i: np.eye(1)[i])
    >>> def sampler(some):
    ...     return lambda n, rng: rng.random((n, len(some))) < 0.5
    >>> feasible, rng = FeasibleGap(gap, np.array([0.5]), sampler), np.random.default_rng(0)
    >>> bool(abs(feasible.quantile(0.05, rng) - 1.282) < 0.1)  # ndtri(0.9)
    True
    """

    def __init__(
        self,
        gap: SuboptimalityGap,
        probabilities: np.ndarray,
        sampler: Callable[[np.ndarray], Callable[[int, np.random.Generator], np.ndarray]],
    ) -> None:
        super().__init__(gap.mean, gap.std**2)
        self._gap, self._probabilities, self._masks = gap, probabilities, sampler

    def ahead(self, epsilon: float) -> np.ndarray:
        """Return the probability (n,) that each rival is feasible and more than epsilon above."""
        return self._probabilities * self._gap.ahead(epsilon)

    def _bound(self, delta: float) -> float:
        return self._gap._bound(delta)

    _least = SuboptimalityGap._least_by_bisection

    def _active_rivals(self, ahead: np.ndarray, delta: float) -> tuple[np.ndarray, float]:
        some, missing = super()._active_rivals(ahead, delta)
        return some, missing + LEFT_OUT * delta  # the probability that the gap of f leaves out

    def _sampler(self, some: np.ndarray, epsilon: float, delta: float) -> Sampler:
        values, masks = self._gap._sampler(some, epsilon, delta), self._masks(some)

        def some_draws(n: int, rng: np.random.Generator, _: None) -> np.ndarray:
            mask = masks(n, rng)
            return values(n, rng, mask)

        return _in_parts(some_draws, len(some))


def _upper(failures: int, n: int, risk: float) -> float:
    """Return the exact upper bound, of confidence 1 - risk, on the probability of a failure."""
    return 1.0 if failures == n else float(betaincinv(failures + 1, n - failures, 1.0 - risk))
