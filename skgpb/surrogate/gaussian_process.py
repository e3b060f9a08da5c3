r"""The one incremental posterior that every algorithm stands on.

An observation is y = phi(f) + eps with phi linear, so the posterior needs only covariances between
functionals. A functional is one row of descriptors (a point, a box, any input of the kernel) or the
mean over several rows.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning",
   MIT Press, 2006. Algorithm 2.1.
.. [Zhang2022] M. Zhang, R. Tsuchida and C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022. Equation 4 and Appendix B.
.. [Desautels2014] T. Desautels, A. Krause and J. Burdick, "Parallelizing Exploration-Exploitation
   Tradeoffs in Gaussian Process Bandit Optimization", JMLR 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import log, pi
from typing import Any, Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._posterior import Posterior
from skgpb.exceptions import NumericalWarning
from skgpb.kernels._random_effect import variance_of_effect
from skgpb.kernels._white import contains_white_noise
from skgpb.kernels.evaluator import Evaluator, Functionals, evaluator_of, key_of, unique_keys
from skgpb.surrogate.kernel_parts import PAIRS_AT_ONCE
from skgpb.surrogate.samples import Merged, ScaledSamples
from skgpb.utils.roots import nonnegative, warn_of_clipping
from skgpb.utils.validation import unchanged_by_errors
from skgpb.utils.warnings import warn, without_warnings

__all__ = ["GaussianProcess"]

# Jitter, relative to the largest prior variance: the first that is enough, in this order.
# Measured at condition 1e12, 1e-10 moves predictions by 8e-7 and 1e-6 by 6e-4.
JITTERS = tuple(10.0**e for e in range(-10, -3))


#: Of tracked functionals: means, variances, and the number of observations that these include.
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(eq=False, repr=False)
class GaussianProcess:
    r"""Posterior of a Gaussian process f, given noisy values of linear functionals of it.

    Rewards are in the user's units. Inside, the process works with (reward - ``offset``) /
    ``scale``, the units in which the prior is the kernel. :attr:`posterior` is in these units, and
    so are the arguments and results that say "units of the process". Inputs are not validated.

    Parameters
    ----------
    kernel : Kernel
        Covariance of functionals, over descriptor rows.
    n_columns : int
        Number of columns of a row.
    origin : ndarray of shape (n_columns,) or None, default=None
        Origin that may be subtracted from rows far from zero, for a kernel that depends on
        differences only.
    sizes : ndarray of shape (n_sizes, d) or None, default=None
        Sizes that many boxes will have, for kernels that compare boxes of equal size faster.

    Attributes
    ----------
    kernel : Kernel
        With the hyperparameters in use.
    offset, scale : float
        Units of the process, see :meth:`set_units`.
    observed : Functionals
        Distinct functionals observed, in the order of the posterior.
    tracked : Functionals
        Functionals whose moments are updated with every observation.
    posterior : Posterior
        The growing Cholesky factor and the tracked moments, in units of the process.

    Warns
    -----
    NumericalWarning
        If the Gram matrix is not numerically positive definite. The smallest jitter of
        1e-10, 1e-9, ..., 1e-4 times the largest prior variance that helps is added; beyond
        that ``numpy.linalg.LinAlgError`` is raised and the state does not change.

    Notes
    -----
    Observing a tracked functional takes O(m t) for m tracked ones and t distinct observations, any
    other O(t^2 + m t), a repeated one O((t + m) t) at most. With a WhiteKernel repeats are not
    merged, because its noise depends on hyperparameters that may change.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.surrogate import GaussianProcess
    >>> gp = GaussianProcess(RBF(0.3), n_columns=1)
    >>> gp.track([np.array([[0.0]]), np.array([[0.0], [1.0]])])  # f(0), and a mean of f
    >>> gp.observe(np.array([[0.0]]), 2.0, noise=0.01)
    0
    >>> mean, std = gp.tracked_moments()
    >>> mean.round(2)
    array([1.98, 0.99])
    """

    kernel: Kernel
    n_columns: int
    origin: np.ndarray | None = None
    sizes: np.ndarray | None = None

    _kept_fields = ("offset", "scale", "lazy", "_answers")

    def __post_init__(self) -> None:
        self.offset: float = 0.0
        self.scale: float = 1.0
        # Whether the moments of tracked functionals may be updated late, when they are read.
        self.lazy: bool = False
        self.observed: Functionals = Functionals(self.n_columns, one_by_one=True)
        self.tracked: Functionals = Functionals(self.n_columns)
        self.posterior: Posterior = Posterior()
        self._position: dict[str, int] = {}
        # Index of each observed tracked functional among the observed ones, by its slot.
        self._number_at: dict[int, int] = {}
        self.white: bool = contains_white_noise(self.kernel)
        #: Variance of the random effect of each block of observations.
        self.effect: float = variance_of_effect(self.kernel)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return evaluator_of(self.kernel, self.n_columns, self.origin, self.sizes)

    def reset_evaluator(self) -> None:
        """Reset the evaluator, after a change of the kernel or the sizes before any observation."""
        self.__dict__.pop("_evaluator", None)

    # -- the prior --------------------------------------------------------------------------

    def covariance(self, A: Functionals, B: Functionals) -> np.ndarray:
        """Return noiseless prior covariances (len(A), len(B)), a new C-contiguous array."""
        K = A.covariance(B, self._evaluator)
        if self.effect and A.has_strata and B.has_strata:
            K += self.effect * A.share_strata(B)
        return K

    def variance(self, A: Functionals) -> np.ndarray:
        """Return noiseless prior variances, shape (len(A),)."""
        variance = A.variance(self._evaluator)
        if self.effect and A.has_strata:
            variance += self.effect * (A.strata > 0)
        return variance

    def white_noise(self, A: Functionals) -> np.ndarray:
        """Return the variances of the own white noise of the kernel in functionals (len(A),)."""
        return A.white_noise(self._evaluator) if self.white else np.zeros(len(A))

    def deviations(self, row_set: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return prior standard deviations (n,) of f at rows minus a functional, process units."""
        return self.deviations_from(row_set)(rows)

    def deviations_from(self, row_set: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return :meth:`deviations` from one functional, as a function of the rows."""
        single = Functionals.of([row_set], row_set.shape[1])
        own = self.variance(single)

        def deviations(rows: np.ndarray) -> np.ndarray:
            points = Functionals.of_rows(rows)
            var = self.variance(points) + own
            var -= 2 * self.covariance(points, single)[:, 0]
            return np.sqrt(
                nonnegative(var, self.kernel, lambda: float(self.variance(points).max()))
            )

        return deviations

    def relative(self, rows: np.ndarray) -> np.ndarray:
        """Return rows minus the origin, for a kernel that depends on differences only."""
        return rows if self.origin is None else rows - self.origin

    # -- observing --------------------------------------------------------------------------

    def observe(self, row_set: np.ndarray, reward: float, noise: float, stratum: int = 0) -> int:
        """Observe a functional, in O(t^2 + m t) for t distinct functionals and m tracked ones.

        Parameters
        ----------
        row_set : ndarray of shape (n_rows, n_columns)
            Descriptor rows over which f is averaged.
        reward, noise : float
            The noisy value and its noise variance, in the user's units.
        stratum : int, default=0
            Index, from 1, of the level of the random effect in the observation; 0 without one.

        Returns
        -------
        index : int
            Index of the functional among the distinct ones observed so far.
        """
        y, noise = (reward - self.offset) / self.scale, noise / self.scale**2
        return self._observe(row_set, y, noise, stratum)

    def observe_tracked(self, slot: int, reward: float, noise: float) -> int:
        """Observe the tracked functional in a slot, like :meth:`observe`, in O(m t)."""
        y, noise = (reward - self.offset) / self.scale, noise / self.scale**2
        if slot in self._number_at:
            return self._repeat(self._number_at[slot], y, noise)
        key = key_of(self.tracked[slot])
        if not self.white and key in self._position:
            self._number_at[slot] = self._position[key]
            return self._repeat(self._position[key], y, noise)
        single, i = self.tracked.one(slot), len(self.observed)
        if self.white:
            noise += self.white_noise(single)[0]
        if self.lazy:
            self.posterior.source = self._later_covariances
            prior: Any = float(single.variance(self._evaluator)[0])
        else:
            prior = self.tracked.covariance(single, self._evaluator)[:, 0]
        if not self._append_tracked(slot, prior, noise, y):
            self._append_with_jitter(partial(self._append_tracked, slot, prior, noise, y), single)
        self.observed.put(i, self.tracked, slot)
        self._position.setdefault(key, i)
        if not self.white:
            self._number_at[slot] = i
        self._report_losses()
        return i

    def observe_all(
        self,
        several: np.ndarray | Functionals,
        rewards: np.ndarray,
        noises: np.ndarray,
        merge: bool = True,
    ) -> np.ndarray:
        """Observe several functionals at once, merging repeats; an error changes nothing.

        Parameters
        ----------
        several : ndarray of shape (n, n_columns), or Functionals
            One functional for each row, or n functionals.
        rewards, noises : ndarray of shape (n,)
            Noisy values and their noise variances, in the user's units.
        merge : bool, default=True
            Whether repeats are merged; with white noise they never are.

        Returns
        -------
        numbers : ndarray of shape (n,)
            Index of each functional among the distinct ones observed so far.
        """
        merge = merge and not self.white
        if merge and len(several) == 1 and isinstance(several, np.ndarray):
            return np.array([self.observe(several, float(rewards[0]), float(noises[0]))])
        if isinstance(several, np.ndarray):
            several = Functionals.of_rows(several)
        y, noises = (rewards - self.offset) / self.scale, noises / self.scale**2
        keys = several.keys()
        n = len(keys)
        numbers, first = unique_keys(keys) if merge else (np.arange(n), list(range(n)))
        merged = ScaledSamples(numbers, y, noises).merged()
        places = [self._position.get(keys[i], -1) if merge else -1 for i in first]
        known = [(j, place) for j, place in enumerate(places) if place >= 0]
        fresh = [j for j, place in enumerate(places) if place < 0]
        new = several.select(np.array([first[j] for j in fresh], dtype=np.intp))
        with unchanged_by_errors(self):
            if known and len(places) > 1:
                # One part may fail after another succeeded: work on a copy of the arrays.
                vars(self).update(vars(self.copy()))
            self._append(new, merged.y[fresh], merged.noise[fresh], merged.counts[fresh])
            for place, j in enumerate(fresh, len(self.observed) - len(fresh)):
                places[j] = place
                self._position.setdefault(keys[first[j]], place)
            for j, place in known:
                count = int(merged.counts[j])
                self._repeat(place, float(merged.y[j]), float(merged.noise[j]), count)
            self.posterior.add_repeat_terms(merged.square, merged.log)
        return np.array(places, dtype=np.intp)[numbers]

    def observe_in_turn(
        self, several: Functionals, rewards: np.ndarray, noises: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observe several functionals at once, and predict each answer from all before it.

        Parameters
        ----------
        several : Functionals
            The n functionals, in the order of their answers.
        rewards, noises : ndarray of shape (n,)
            As for :meth:`observe_all`.

        Returns
        -------
        numbers : ndarray of shape (n,)
            As for :meth:`observe_all`.
        mean, var : ndarray of shape (n,)
            Moments of each functional given all earlier answers, in units of the process.
        """
        first, keys = len(self.observed), several.keys()
        merges = len({*keys}) < len(keys) or not self._position.keys().isdisjoint(keys)
        one_by_one = self
        if merges and not self.white:
            one_by_one = self.copy()
            one_by_one.track([])
            # Rounding: a second answer without noise would make the Gram matrix singular.
            least = JITTERS[0] * float(self.variance(several).max()) * self.scale**2
            noisy = np.maximum(noises, least)
            observe = partial(one_by_one.observe_all, merge=False)
            without_warnings(NumericalWarning, observe, several, rewards, noisy)
        numbers = self.observe_all(several, rewards, noises)
        posterior = one_by_one.posterior
        if several.has_strata:
            # Predictions are of f alone, and not of the effect of a block.
            error, variance = posterior.innovations(0)
            alone = Functionals.of([*several], self.n_columns)
            K = self.covariance(alone, one_by_one.observed)
            posterior.solve_rows(K)
            K = np.tril(K, first - 1)
            return (
                numbers,
                K @ (error / np.sqrt(variance)),
                self.posterior_variances(self.variance(alone), K),
            )
        error, variance = posterior.innovations(first)
        mean = (rewards - self.offset) / self.scale - error
        return numbers, mean, np.maximum(variance - posterior.noises()[first:], 0.0)

    def number_of(self, row_set: np.ndarray) -> int:
        """Return the index of a functional among the distinct observed ones, -1 if it is not."""
        return -1 if self.white else self._position.get(key_of(row_set), -1)

    # -- predicting -------------------------------------------------------------------------

    def functionals(self, row_sets: np.ndarray | list[np.ndarray]) -> Functionals:
        """Return the functionals of single rows (n, n_columns), or means over lists of rows."""
        if isinstance(row_sets, np.ndarray):
            return Functionals.of_rows(row_sets)
        return Functionals.of(row_sets, self.n_columns)

    def moments(
        self, row_sets: np.ndarray | list[np.ndarray], std: bool = False, cov: bool = False
    ) -> Any:
        """Return posterior moments of functionals, without noise, in the user's units.

        Parameters
        ----------
        row_sets : list of ndarray of shape (n_rows, n_columns), or ndarray of shape (n, n_columns)
            Descriptor rows of the functionals, or one row for each.
        std, cov : bool, default=False
            At most one may be True.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,), only if ``std``
        cov : ndarray of shape (n, n), only if ``cov``
        """
        several, evaluator = self.functionals(row_sets), self._evaluator
        K = several.covariance(self.observed, evaluator)
        mean = K @ self.posterior.weights() * self.scale + self.offset
        if not (std or cov):
            return mean
        self.posterior.solve_rows(K)
        if cov:
            C = several.covariance(several, evaluator)
            return mean, (0.5 * (C + C.T) - K @ K.T) * self.scale**2
        prior = several.variance(evaluator)
        return mean, np.sqrt(self.posterior_variances(prior, K)) * self.scale

    def posterior_variances(self, prior: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Return noiseless variances (n,), given prior ones and K (n, t) after ``solve_rows``."""

        def largest() -> float:
            return float(np.append(prior, self.variance(self.observed)).max())

        var = prior - np.einsum("ij,ij->i", K, K)
        return nonnegative(var, self.kernel, largest, self.scale**2)

    def posterior_covariance(self, A: Functionals, B: Functionals) -> np.ndarray:
        """Return posterior covariances (len(A), len(B)), in units of the process."""
        K, M = self.covariance(A, self.observed), self.covariance(B, self.observed)
        self.posterior.solve_rows(K)
        self.posterior.solve_rows(M)
        return self.covariance(A, B) - K @ M.T

    # -- tracking ---------------------------------------------------------------------------

    def track(
        self,
        row_sets: np.ndarray | list[np.ndarray],
        slots: Sequence[int] | np.ndarray | None = None,
        moments: Moments | None = None,
    ) -> None:
        """Track functionals: O(t^2) each, and O(t) for every further observation.

        Parameters
        ----------
        row_sets : list of ndarray of shape (n_rows, n_columns), or ndarray of shape (n, n_columns)
            Descriptor rows of the functionals, or one row for each.
        slots : sequence of int, default=None
            Slots of the functionals. They replace the functionals in these slots; slots from the
            number of tracked functionals on are appended. None replaces all tracked functionals.
        moments : tuple of ndarray of shape (n,), default=None
            Result of the posterior's ``known_moments`` for these functionals, which then replace
            all tracked ones. Nothing is solved before an observation needs it.
        """
        self._number_at = {}
        if slots is None:
            self.tracked = Functionals(self.n_columns)
            self.posterior.untrack_all()
            slots = range(len(row_sets))
        # Tracked functionals have no random effect.
        new, evaluator = self.functionals(row_sets), self._evaluator
        numbers, prior = np.asarray(slots, dtype=np.intp), new.variance(evaluator)
        if moments is None:
            self.posterior.track(new.covariance(self.observed, evaluator), prior, numbers)
        else:
            self.posterior.source = self._later_covariances
            mean, var, upto = (np.array(each) for each in moments)
            self.posterior.track_known(prior, mean, var, upto)
        if len(self.tracked) == 0 and np.array_equal(numbers, np.arange(len(new))):
            self.tracked.extend(new)
        else:
            self.tracked.put_all(numbers, new, self.posterior.m)
        self._report_losses()

    def _later_covariances(self, slots: np.ndarray, first: int) -> np.ndarray:
        """Return prior covariances of tracked slots with the observed from index ``first`` on."""
        return self.covariance(self.tracked.select(slots), self.observed.after(first))

    def tracked_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return posterior means and noiseless deviations of the tracked, in the user's units."""
        mean = self.posterior.tracked_mean() * self.scale + self.offset
        return mean, np.sqrt(self.posterior.tracked_var()) * self.scale

    # -- copies -----------------------------------------------------------------------------

    def copy(self) -> Self:
        """Return a copy whose later observations are its own.

        The tracked functionals are shared: neither process may change them.
        """
        out = type(self).__new__(type(self))
        vars(out).update(
            vars(self),
            posterior=self.posterior.copy(),
            observed=self.observed.copy(),
            _position=dict(self._position),
            _number_at=dict(self._number_at),
        )
        return out

    def fantasize(self, row_sets: list[np.ndarray], noises: Iterable[float]) -> Self:
        """Return a copy that has observed its own means at further functionals.

        Means stay, and variances shrink by the amount that holds for any answers: the
        hallucination of batch methods [Desautels2014]_. Noise variances are in the user's units.
        """
        out = self.copy()
        for row_set, noise in zip(row_sets, noises, strict=True):
            single = Functionals.of([row_set], out.n_columns)
            mean = out.covariance(single, out.observed) @ out.posterior.weights()
            out._observe(row_set, float(mean[0]), noise / out.scale**2)
        return out

    # -- units and hyperparameters ------------------------------------------------------------

    def set_units(self, offset: float, scale: float) -> None:
        """Change the units, keeping every covariance: the prior scales with them."""
        if (offset, scale) == (self.offset, self.scale):
            return
        raw = self.posterior.targets() * self.scale + self.offset
        self.posterior.set_targets((raw - offset) / scale, self.scale / scale)
        self.offset, self.scale = offset, scale

    def with_hyperparameters(
        self,
        theta: np.ndarray,
        samples: Merged,
        offset: float,
        scale: float,
        kernel: Kernel | None = None,
    ) -> Self:
        """Return a process with other hyperparameters and units, and the same observations.

        It tracks the same functionals. O(t^3 + m t^2); this process does not change.

        Parameters
        ----------
        theta : ndarray of shape (n_theta,)
            Hyperparameters of the kernel.
        samples : Merged
            One merged observation for each distinct functional, in the new units.
        Units of the returned process.
            The new units.
        kernel : Kernel, default=None
            Another kernel over the same rows; None for the kernel of this process.

        Raises
        ------
        numpy.linalg.LinAlgError
            If no documented jitter makes the Gram matrix positive definite.
        """
        kernel = (kernel or self.kernel).clone_with_theta(theta)
        return self._afresh(kernel, samples, offset, scale)

    def restore(self, functionals: Functionals, samples: Merged) -> None:
        """Observe distinct functionals, none observed before, from merged samples of each.

        ``samples`` are in units of the process.
        """
        self._append(functionals, samples.y, samples.noise, samples.counts)
        self.posterior.add_repeat_terms(samples.square, samples.log)
        strata = functionals.strata.tolist()
        for i in range(len(functionals)):
            self._position.setdefault(key_of(functionals[i], strata[i]), i)

    def with_kernel(self, kernel: Kernel, samples: Merged) -> Self:
        """Return a process with the same observations and another kernel, tracking nothing."""
        out = self.without_answers(kernel)
        out.offset, out.scale = self.offset, self.scale
        out.restore(self.observed, samples)
        return out

    def without_answers(self, kernel: Kernel) -> Self:
        """Return a process with another kernel over the same rows, no observations, no tracking."""
        return type(self)(kernel, self.n_columns, self.origin, self.sizes)

    @property
    def _answers(self) -> tuple[Any, ...]:
        """Rows, offsets and strata of the observed functionals, and their merged observations."""
        observed = self.observed
        return observed.rows, observed.offsets, *vars(self.merged()).values(), observed.strata

    @_answers.setter
    def _answers(self, answers: tuple[Any, ...]) -> None:
        rows, offsets, *columns, strata = answers
        observed, merged = Functionals.between(rows, offsets, strata), Merged(*columns)
        if not (
            len(merged.y) == len(merged.noise) == len(merged.counts) == len(observed)
            and (merged.noise >= 0.0).all()
            and (merged.counts > 0).all()
            and len(strata) == len(observed)
            and (strata >= 0).all()
            and np.isfinite([self.offset, self.scale]).all()
            and self.scale > 0.0
        ):
            raise ValueError(
                f"the file has answers that do not fit {len(observed)} functionals: it is damaged, "
                "or another version wrote it"
            )
        self.restore(observed, merged)

    def merged(self) -> Merged:
        """Return one merged observation for each distinct functional, in units of the process."""
        posterior = self.posterior
        square, log = posterior.repeat_terms()
        known = posterior.targets(), self.noises(), posterior.counts()
        return Merged(*known, square, log)

    def means_of_f(self) -> np.ndarray:
        """Return posterior means (t,) of f at the observed, without effects, in process units."""
        posterior, weights = self.posterior, self.posterior.weights()
        means = posterior.targets() - posterior.noises() * weights
        if self.effect and self.observed.has_strata:
            means -= self.effect * (self.observed.share_strata(self.observed) @ weights)
        return means

    def effects(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return posterior moments of the random effects of levels 1 to n, in the user's units.

        Returns
        -------
        mean : ndarray of shape (n,)
        cov : ndarray of shape (n, n)
        """
        levels = np.arange(1, n + 1)[:, np.newaxis]
        K = self.effect * (levels == self.observed.strata).astype(np.float64)
        mean = K @ self.posterior.weights()
        self.posterior.solve_rows(K)
        return mean * self.scale, (self.effect * np.eye(n) - K @ K.T) * self.scale**2

    def noises(self) -> np.ndarray:
        """Return noise variances (t,) of the observed, process units, without white noise."""
        noise = self.posterior.noises()
        return noise - self.white_noise(self.observed) if self.white else noise

    # -- inside, in units of the process ------------------------------------------------------

    def _observe(self, row_set: np.ndarray, y: float, noise: float, stratum: int = 0) -> int:
        key = key_of(row_set, stratum)
        if not self.white and key in self._position:
            return self._repeat(self._position[key], y, noise)
        single = Functionals.of([row_set], row_set.shape[1], stratum)
        self._append(single, np.array([y]), np.array([noise]), np.ones(1, dtype=np.intp))
        number = len(self.observed) - 1
        self._position.setdefault(key, number)
        return number

    def _append(
        self, new: Functionals, y: np.ndarray, noise: np.ndarray, counts: np.ndarray
    ) -> None:
        """Observe functionals that were not observed before; an error changes nothing."""
        if not len(new):
            return
        variance, noise = self.variance(new), noise + self.white_noise(new)
        K_tracked = self.covariance(self.tracked, new)

        def append(jitter: float) -> bool:
            # Write the covariances where they are factorised: the matrix exists once.
            room, t = self.posterior.room_for(len(new)), len(self.observed)
            for start, some in new.parts(PAIRS_AT_ONCE):
                stop = start + len(some)
                room[start:stop, :t] = self.covariance(some, self.observed)
                room[start:stop, t : t + stop] = self.covariance(some, new.first(stop))
            return self.posterior.append_block(variance, noise + jitter, y, K_tracked, counts)

        if not append(0.0):
            self._append_with_jitter(append, new)
        self.observed.extend(new)
        self._report_losses()

    def _append_tracked(
        self, slot: int, prior: Any, noise: float, y: float, jitter: float = 0.0
    ) -> bool:
        """Observe a tracked functional; return False, changing nothing, if it needs more jitter.

        ``prior`` is its variance if the process is lazy, else its covariances with all tracked.
        """
        if self.lazy:
            return self.posterior.append_lazily(slot, prior, noise, y, jitter)
        return self.posterior.append_tracked(slot, prior, noise, y, jitter)

    def _append_with_jitter(self, append: Callable[[float], bool], new: Functionals) -> None:
        """Observe ``new`` with the smallest jitter that is enough, or raise and change nothing.

        If the smallest jitter is not enough, earlier observations had too little of it: their
        factor is computed again with as much for each.
        """
        known = (new, self.tracked, self.observed)
        scale = max(float(self.variance(some).max(initial=0.0)) for some in known)
        with unchanged_by_errors(self):
            n_less = 0
            for jitter in (relative * scale for relative in JITTERS):
                if jitter > JITTERS[0] * scale and len(self.observed):
                    n_less = self._jitter_all(jitter)
                if append(jitter):
                    warn_of_jitter(jitter, n_less + len(new))
                    return
            raise np.linalg.LinAlgError(
                f"the Gram matrix of kernel {self.kernel} is not positive definite even with "
                f"jitter {JITTERS[-1] * scale:.1e}, the largest prior variance being {scale:.1e}; "
                "increase alpha, or take another kernel: ExpSineSquared, for example, is a "
                "covariance in one dimension only"
            )

    def _jitter_all(self, jitter: float) -> int:
        """Refactorise with noise variances of at least ``jitter``; return how many were less."""
        samples = self.merged()
        n_less = np.count_nonzero(samples.noise < jitter)
        if n_less:
            samples.noise = np.maximum(samples.noise, jitter)
            vars(self).update(vars(self._afresh(self.kernel, samples, self.offset, self.scale)))
        return int(n_less)

    def _report_losses(self) -> None:
        """Warn of rounding errors, by the policy in ``skgpb.exceptions.NumericalWarning``."""
        posterior = self.posterior
        if not (posterior.clipped or posterior.doubtful):
            return
        clipped, doubtful = posterior.clipped * self.scale**2, posterior.doubtful * self.scale
        posterior.forget_losses()
        if clipped:
            warn_of_clipping(clipped, self.kernel)
            return
        message = f"rounding may move means by {doubtful:.1e}, more than their deviations say: "
        message += f"alpha is too small for covariances of kernel {self.kernel}"
        warn(message, NumericalWarning)

    def _repeat(self, i: int, y: float, noise: float, count: int = 1) -> int:
        if self.posterior.repeat(i, noise, y, count):
            self._report_losses()
            return i
        variance = float(self.variance(self.observed.one(i))[0])
        for jitter in (relative * variance for relative in JITTERS):
            if noise < jitter and self.posterior.repeat(i, noise + jitter, y, count):
                warn_of_jitter(jitter, 1)
                return i
        # So much more precise than the earlier observation that the digits of an update cancel.
        samples = self.merged()
        total, gap = samples.noise[i] + noise, y - samples.y[i]
        samples.y[i] += gap * (samples.noise[i] / total)
        samples.noise[i] *= noise / total
        samples.counts[i] += count
        samples.square += gap**2 / total
        samples.log += log(2.0 * pi * total)
        vars(self).update(vars(self._afresh(self.kernel, samples, self.offset, self.scale)))
        return i

    def _afresh(self, kernel: Kernel, samples: Merged, offset: float, scale: float) -> Self:
        """Return a new process with the same functionals, observed from ``samples`` and tracked."""
        out = type(self)(kernel, self.n_columns, self.origin, self.sizes)
        out.offset, out.scale, out.lazy = offset, scale, self.lazy
        out.restore(self.observed, samples)
        out.track([self.tracked[i] for i in range(len(self.tracked))])
        out._number_at = dict(self._number_at)
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_evaluator"}


def warn_of_jitter(jitter: float, n: int) -> None:
    """Warn of jitter, by the policy in ``skgpb.exceptions.NumericalWarning``."""
    warn(
        f"the Gram matrix is not numerically positive definite: jitter {jitter:.1e} was added to "
        f"the noise variance of {n} observation(s); near-duplicates need a larger alpha",
        NumericalWarning,
    )
