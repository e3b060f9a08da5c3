"""Posterior covariances of all pairs of tracked functionals, and joint draws of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from skgpb._core._arms import downdate, subtract_explained
from skgpb._core._posterior import Posterior
from skgpb.surrogate.draws import PosteriorDraws
from skgpb.surrogate.functionals import Functionals
from skgpb.surrogate.gaussian_process import GaussianProcess

# Rows of covariances that are held at once, in numbers (32 MB).
BLOCK = 2**22


class TrackedPairs:
    """What only pairs of tracked functionals tell; nothing is computed before it is asked for.

    Parameters
    ----------
    gp : GaussianProcess
        As long as it tracks the same functionals, with the same hyperparameters.
    """

    def __init__(self, gp: GaussianProcess) -> None:
        self.gp = gp
        self.known: np.ndarray | None = None
        self._draws: PosteriorDraws | None = None

    def observed(self, slot: int, noise: float) -> None:
        """Follow an observation of tracked functional ``slot``, -1 for any other. O(m^2).

        ``noise`` is its noise variance in the user's units.
        """
        if self.known is None:
            return
        if slot < 0 or noise == 0.0:
            # Nothing that the matrix knows, or perhaps with jitter: compute it again.
            self.known = None
            return
        downdate(self.known, slot, self._noise(slot, noise))

    def covariance(self, expected: Posterior, slots: Sequence[int], noise: float) -> np.ndarray:
        """Posterior covariance (m, m) of all pairs. O(m^2 t) once, then O(m^2) a round.

        Parameters
        ----------
        expected : Posterior
            That of the process, or of a copy of it that has seen some answers more.
        slots : sequence of int
            Which of the tracked functionals these answers were about, -1 for any other.
        noise : float
            Their noise variance, in the user's units.
        """
        gp, m = self.gp, len(self.gp.tracked)
        if self.known is None:
            self.known = np.empty((m, m))
            for some in self.blocks(np.arange(m)):
                self.known[some[0] : some[-1] + 1] = self.rows(gp.posterior, some)
        if expected is gp.posterior:
            return self.known
        if min(slots) < 0 or noise == 0.0:
            return self.rows(expected, np.arange(m))
        C = self.known.copy()
        for slot in slots:
            downdate(C, slot, self._noise(slot, noise))
        return C

    def rows(self, expected: Posterior, slots: np.ndarray) -> np.ndarray:
        """Posterior covariances (len(slots), m) of some functionals with all."""
        tracked = self.gp.tracked
        K = self.gp.covariance(Functionals.of_rows(tracked.rows[slots]), tracked)
        subtract_explained(expected, K, slots)
        return K

    def blocks(self, slots: np.ndarray) -> Iterator[np.ndarray]:
        """Parts of ``slots`` whose rows fit into memory side by side."""
        size = max(1, BLOCK // max(1, len(self.gp.tracked)))
        for start in range(0, len(slots), size):
            yield slots[start : start + size]

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Joint draws (n_draws, m) from the posterior of the process."""
        if self._draws is None:
            self._draws = PosteriorDraws(self.gp)
        return self._draws(n_draws, rng)

    def _noise(self, slot: int, noise: float) -> float:
        gp = self.gp
        own = float(gp.white_noise(gp.tracked.one(slot))[0]) if gp.white else 0.0
        return noise / gp.scale**2 + own
