"""Posterior covariances of all pairs of tracked functionals, and joint draws of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg.blas import dger

from skgpb._core._arms import correct_draws, downdate, subtract_explained
from skgpb._core._posterior import Posterior
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.draws import DENSE, PosteriorDraws, posterior_root
from skgpb.surrogate.gaussian_process import JITTERS, GaussianProcess

# Memory: number of covariances that are computed at once (32 MB).
COVARIANCES_AT_ONCE = 2**22


def pending_downdate(
    gp: GaussianProcess, row_sets: list[np.ndarray], noises: Sequence[float] | np.ndarray
) -> np.ndarray:
    """Return the reduction of all covariances by answers to some functionals, whatever they are.

    It is R (k, m): the covariance of tracked functionals i and j falls by ``R[:, i] @ R[:, j]``.
    Like :meth:`GaussianProcess.fantasize`, but without a copy of the process. O(k t^2 + k m t + k^3).

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    row_sets : list of ndarray of shape (n_rows, n_columns)
        Descriptor rows of the functionals.
    noises : sequence of float
        Noise variances of their answers, in the user's units.
    """
    if not row_sets:
        return np.empty((0, len(gp.tracked)))
    pending = Functionals.of(row_sets, gp.n_columns)
    K = gp.covariance(pending, gp.tracked)
    # "Draws" of zero at the observed functionals: the part that no observation explains remains.
    correct_draws(gp.posterior, -gp.covariance(pending, gp.observed), K)
    noise = np.asarray(noises, dtype=np.float64) / gp.scale**2 + gp.white_noise(pending)
    values, vectors = np.linalg.eigh(gp.posterior_covariance(pending, pending) + np.diag(noise))
    # Functionals that are certain already, and answers without noise, reduce nothing.
    told = values > JITTERS[0] * float(gp.variance(pending).max())
    return (vectors[:, told] / np.sqrt(values[told])).T @ K


def _scaled_noise(gp: GaussianProcess, slot: int, noise: float) -> float:
    """Return the noise variance of an answer about a tracked functional, in process units."""
    own = float(gp.white_noise(gp.tracked.one(slot))[0]) if gp.white else 0.0
    return noise / gp.scale**2 + own


class PairCovariances:
    """Covariances of pairs of tracked functionals, computed on demand.

    Parameters
    ----------
    gp : GaussianProcess
        Process that tracks the same functionals, with the same hyperparameters, all the time.
    moving : bool, default=False
        Whether its functionals change soon, so that a root of the prior for draws does not pay.
    """

    def __init__(self, gp: GaussianProcess, moving: bool = False) -> None:
        self.gp = gp
        self.moving = moving
        self.known: np.ndarray | None = None
        self._draws: PosteriorDraws | None = None

    def observing(self, slot: int, noise: float) -> None:
        """Update the covariances before tracked functional ``slot`` is observed. O(m^2).

        ``slot`` is -1 for a functional that is not tracked. ``noise`` is the noise variance in the
        user's units.
        """
        if self.known is None:
            return
        if slot < 0 or noise == 0.0:
            # The functional is not in the matrix, or there may be jitter: compute the matrix again.
            self.known = None
            return
        downdate(self.known, slot, _scaled_noise(self.gp, slot, noise))

    def invalidate(self, slots: np.ndarray) -> None:
        """Discard the covariances, because other functionals are tracked in these slots."""
        self.known = self._draws = None

    def covariance(
        self, expected: Posterior, slots: Sequence[int], noises: Sequence[float] | np.ndarray
    ) -> np.ndarray:
        """Return the posterior covariance (m, m) of all pairs, O(m^2 t) once, then O(m^2) a round.

        Parameters
        ----------
        expected : Posterior
            Posterior of the process, or of a copy with further answers.
        slots : sequence of int
            Slot of the tracked functional of each further answer, -1 for any other functional.
        noises : sequence of float
            Noise variance of each further answer, in the user's units.
        """
        gp, m = self.gp, len(self.gp.tracked)
        if self.known is None:
            self.known = np.empty((m, m))
            for some in self.batches(np.arange(m)):
                self.known[some[0] : some[-1] + 1] = self.rows(gp.posterior, some)
        if expected is gp.posterior:
            return self.known
        if min(slots) < 0 or not np.all(noises):
            return self.rows(expected, np.arange(m))
        C = self.known.copy()
        for slot, noise in zip(slots, noises, strict=True):
            downdate(C, slot, _scaled_noise(gp, slot, float(noise)))
        return C

    def rows(self, expected: Posterior, slots: np.ndarray) -> np.ndarray:
        """Return posterior covariances (len(slots), m) of some functionals with all."""
        tracked = self.gp.tracked
        K = self.gp.covariance(Functionals.of_rows(tracked.rows[slots]), tracked)
        subtract_explained(expected, K, slots)
        return K

    def batches(self, slots: np.ndarray) -> Iterator[np.ndarray]:
        """Yield parts of ``slots`` whose rows fit into memory together."""
        size = max(1, COVARIANCES_AT_ONCE // max(1, len(self.gp.tracked)))
        for start in range(0, len(slots), size):
            yield slots[start : start + size]

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, m) from the posterior of the process."""
        if self.moving and len(self.gp.tracked) <= DENSE:
            root = posterior_root(self.gp)
            if root is not None:
                normals = rng.standard_normal((n_draws, len(root)))
                return self.gp.posterior.tracked_mean() + normals @ root.T
        if self._draws is None:
            self._draws = PosteriorDraws(self.gp)
        return self._draws(n_draws, rng)


class QueryTargetCovariances:
    """Posterior covariances of the first tracked functionals with all others.

    They are computed at the first access and updated by the observations after it.

    Parameters
    ----------
    gp : GaussianProcess
        Process that keeps its hyperparameters.
    n_first : int
        Number of the first functionals; at least one other is tracked.
    """

    def __init__(self, gp: GaussianProcess, n_first: int) -> None:
        self.gp = gp
        self.n_first = n_first
        self.known: np.ndarray | None = None
        self._prior: np.ndarray | None = None
        # Slots whose functional changed since the prior, and since the posterior, was computed.
        self._stale_prior, self._stale = np.zeros((2, len(gp.tracked)), dtype=bool)

    def observing(self, slot: int, noise: float) -> None:
        """Update the covariances before tracked functional ``slot`` is observed. O(m t + m^2).

        ``slot`` is -1 for a functional that is not tracked. ``noise`` is the noise variance in the
        user's units.
        """
        if self.known is None or slot < 0 or noise == 0.0:
            # The functional is not in the matrix, or there may be jitter: compute the matrix again.
            self.known = None
            return
        gp, n = self.gp, self.n_first
        if self._stale.any():
            self.covariance()
        row = gp.covariance(gp.tracked.one(slot), gp.tracked)
        subtract_explained(gp.posterior, row, np.array([slot]))
        pivot = float(row[0, slot]) + _scaled_noise(gp, slot, noise)
        dger(-1.0 / pivot, row[0, n:], row[0, :n], a=self.known.T, overwrite_a=True)

    def invalidate(self, slots: np.ndarray) -> None:
        """Mark the covariances of these slots as stale: other functionals are tracked in them."""
        self._stale[slots] = self._stale_prior[slots] = True

    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n_first, m - n_first), O(m t + m^2) once in a round."""
        if self.known is None:
            self.known = self._prior_covariance().copy()
            first = np.arange(self.n_first)
            subtract_explained(self.gp.posterior, self.known, first, self.n_first)
        elif self._stale.any():
            slots = np.flatnonzero(self._stale)
            self.known = self._recompute(self.known, slots, self.gp.posterior)
        self._stale[:] = False
        return self.known

    def target_covariance_rows(self, numbers: np.ndarray) -> np.ndarray:
        """Return posterior covariances (k, m - n_first) of some of the others with all others."""
        gp, n = self.gp, self.n_first
        rows = gp.tracked.rows
        K = gp.covariance(Functionals.of_rows(rows[n + numbers]), Functionals.of_rows(rows[n:]))
        subtract_explained(gp.posterior, K, n + numbers, n)
        return K

    def _prior_covariance(self) -> np.ndarray:
        tracked, n = self.gp.tracked, self.n_first
        if self._prior is None:
            rows = tracked.rows
            first, others = Functionals.of_rows(rows[:n]), Functionals.of_rows(rows[n:])
            self._prior = self.gp.covariance(first, others)
        elif self._stale_prior.any():
            self._prior = self._recompute(self._prior, np.flatnonzero(self._stale_prior))
        self._stale_prior[:] = False
        return self._prior

    def _recompute(
        self, K: np.ndarray, slots: np.ndarray, expected: Posterior | None = None
    ) -> np.ndarray:
        """Return covariances with the rows and columns of some slots recomputed, in place."""
        n, rows = self.n_first, self.gp.tracked.rows
        for side, others, start in (
            (slots[slots < n], rows[n:], n),
            (slots[slots >= n], rows[:n], 0),
        ):
            if not len(side):
                continue
            of = Functionals.of_rows(rows[side])
            part = self.gp.covariance(of, Functionals.of_rows(others))
            if expected is not None:
                subtract_explained(expected, part, side, start)
            if start:
                K[side] = part
            else:
                K[:, side - n] = part.T
        return K
