r"""Joint draws of many functionals from a Gaussian process.

If the functionals stay the same, prior draws of all of them are corrected for the observations
(Matheron's rule), so that no posterior covariance is factorised:

    draw = prior draw + cov(., observed) Q^-1 (y - prior draw at the observed - noise draw).

This needs a root of the prior covariance, which pays only if it is reused. If the functionals
change with every draw, :func:`posterior_root` is far cheaper: it leaves out the observed ones.

References
----------
.. [Wilson2020] J. T. Wilson, V. Borovitskiy, A. Terenin, P. Mostowsky and M. P. Deisenroth,
   "Efficiently Sampling Functions from Gaussian Process Posteriors", ICML 2020. Equation 13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skgpb._core._arms import correct_draws, subtract_explained
from skgpb.kernels.evaluator import Functionals, key_of
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils.roots import pivoted_cholesky, symmetric_root

# Memory: largest number of functionals whose full prior covariance is decomposed.
DENSE = 1000
# Memory: for more functionals, largest number of columns of a pivoted Cholesky factor.
MAX_RANK = 512
# Accuracy: the factor is complete if all remaining variances are below this share of the largest.
NEGLIGIBLE_EIGENVALUE = 1e-11
# Accuracy: share of the largest prior variance that draws of a posterior may leave out.
NEGLIGIBLE_VARIANCE = 1e-8
# Rounding: share of the largest prior variance that is added to all variances, so that rounding
# leaves a Cholesky factor. With noisy answers a tenth of it is enough.
ADDED = 1e-12
# Memory: number of rows of a posterior covariance that are computed at once.
ROWS = 64


class PriorRoot:
    """Symmetric square root of the prior covariance of functionals, of low rank.

    The root U diag(s) U' is unique, so that draws do not depend on the algorithm. For smooth
    kernels the numerical rank is far below the number of functionals, and a Cholesky factor does
    not exist.

    Parameters
    ----------
    gp : GaussianProcess
        Process with the kernel.
    functionals : Functionals
        The n functionals to draw.

    Attributes
    ----------
    left : ndarray of shape (n, rank)
        U.
    scale : ndarray of shape (rank,)
        s.
    rest : ndarray of shape (n,) or None
        Standard deviations that the low rank leaves out, drawn independently so that every
        variance is right; None if the rank is complete.
    """

    left: np.ndarray
    scale: np.ndarray

    def __init__(self, gp: GaussianProcess, functionals: Functionals) -> None:
        n = len(functionals)
        if n <= DENSE:
            K = gp.covariance(functionals, functionals)
            self.left, self.scale = symmetric_root(K)
            self.rest: np.ndarray | None = None
            return
        variances = gp.variance(functionals)
        negligible = NEGLIGIBLE_EIGENVALUE * variances.max()
        factor, pivots, rest = pivoted_cholesky(
            lambda i: gp.covariance(functionals.one(i), functionals)[0],
            variances,
            MAX_RANK,
            lambda left: left.max() <= negligible,
        )
        Q, s = symmetric_root(factor.T @ factor)
        self.left, self.scale = (factor @ Q) / s, s
        # A factor of full accuracy stops before its rank reaches the limit.
        self.rest = np.sqrt(rest) if len(pivots) == MAX_RANK else None

    def __call__(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw from the prior, shape (n_draws, n)."""
        normals = rng.standard_normal((n_draws, len(self.left)))
        draws = ((normals @ self.left) * self.scale) @ self.left.T
        if self.rest is not None:
            draws += self.rest * rng.standard_normal(draws.shape)
        return draws


def posterior_root(
    gp: GaussianProcess, start: int = 0, falls: np.ndarray | None = None
) -> np.ndarray | None:
    """Return the Cholesky factor (m, m) of the posterior covariance of the tracked functionals.

    A share of 1e-12 of the largest prior variance is added to every variance, which decides all
    digits that matter. None if rounding is larger, which can happen if answers have no noise.
    O(m^2 (t + m)).

    Parameters
    ----------
    gp : GaussianProcess
        Process that tracks m functionals from slot ``start`` on.
    start : int, default=0
        First slot.
    falls : ndarray of shape (p, m), default=None
        Reductions by pending answers, as :func:`~skgpb.surrogate.pairs.pending_downdate` returns.
    """
    tracked = Functionals.of_rows(gp.tracked.rows[start:]) if start else gp.tracked
    m = len(tracked)
    C = np.empty((m, m))  # only the lower triangle is read
    for first, some in tracked.parts(ROWS * m):
        stop = first + len(some)
        K = gp.covariance(some, tracked.first(stop))
        subtract_explained(gp.posterior, K, start + np.arange(first, stop), start)
        if falls is not None:
            K -= falls[:, first:stop].T @ falls[:, :stop]
        C[first:stop, :stop] = K
    C.flat[:: m + 1] += ADDED * gp.variance(tracked).max()
    try:
        return np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        return None


def posterior_sampler(
    gp: GaussianProcess, row_sets: np.ndarray | list[np.ndarray]
) -> Callable[[int, np.random.Generator], np.ndarray]:
    """Return a function that draws n functionals jointly, (n_draws, n), in the user's units.

    O(n t^2 + n r^2) for a posterior covariance of rank r.
    """
    functionals = gp.functionals(row_sets)
    V, prior = gp.covariance(functionals, gp.observed), gp.variance(functionals)
    mean = V @ gp.posterior.weights()
    gp.posterior.solve_rows(V)
    largest = float(prior.max())
    factor, _, _ = pivoted_cholesky(
        lambda i: gp.covariance(functionals, functionals.one(i))[:, 0] - V @ V[i],
        prior - np.einsum("ij,ij->i", V, V),
        len(functionals),
        lambda left: left.max() <= NEGLIGIBLE_VARIANCE * largest,
        largest,
    )

    def draw(n_draws: int, rng: np.random.Generator) -> np.ndarray:
        normals = rng.standard_normal((n_draws, factor.shape[1]))
        return gp.offset + gp.scale * (mean + normals @ factor.T)

    return draw


class PosteriorDraws:
    """Joint posterior draws of the functionals that a process tracks.

    The root of the prior covariance is reused until the functionals change.

    Parameters
    ----------
    gp : GaussianProcess
        Process whose tracked functionals are drawn.
    """

    def __init__(self, gp: GaussianProcess) -> None:
        self._gp = gp
        self._position = {key_of(gp.tracked[i]): i for i in range(len(gp.tracked) - 1, -1, -1)}
        self._extra: list[np.ndarray] = []
        self._root: PriorRoot | None = None

    def __call__(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw from the posterior, shape (n_draws, n_tracked), in O(n (rank + t)) for each draw.

        All prior draws come before all noise in the random numbers.
        """
        gp, posterior = self._gp, self._gp.posterior
        places = self._places()
        if self._root is None:
            functionals = Functionals(gp.n_columns)
            functionals.extend(gp.tracked)
            for row_set in self._extra:
                functionals[len(functionals)] = row_set
            self._root = PriorRoot(gp, functionals)
        prior = self._root(n_draws, rng)
        noise = rng.standard_normal((n_draws, len(places)))
        noise *= np.sqrt(posterior.noises())
        if gp.effect and gp.observed.has_strata:
            strata = gp.observed.strata
            effects = rng.standard_normal((n_draws, strata.max() + 1)) * np.sqrt(gp.effect)
            effects[:, 0] = 0.0
            noise += effects[:, strata]
        draws = np.ascontiguousarray(prior[:, : len(gp.tracked)])
        residuals = np.ascontiguousarray(posterior.targets() - prior[:, places] - noise)
        correct_draws(posterior, residuals, draws)
        return draws

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_root": None}  # large, and recomputed to the last bit

    def _places(self) -> np.ndarray:
        """Return the position of each observed functional among the drawn ones."""
        observed, n = self._gp.observed, len(self._gp.tracked)
        places = np.empty(len(observed), dtype=np.intp)
        for i in range(len(observed)):
            key = key_of(observed[i])
            if key not in self._position:
                # It is observed but not tracked: draw it together with the tracked ones.
                self._position[key] = n + len(self._extra)
                self._extra.append(np.array(observed[i]))
                self._root = None
            places[i] = self._position[key]
        return places
