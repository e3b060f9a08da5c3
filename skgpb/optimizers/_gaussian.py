"""Base of optimizers with a Gaussian process on f: observing, learning, predicting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from copy import copy, deepcopy
from functools import partial
from math import inf, isnan, log, sqrt
from typing import Any, Literal, overload

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skgpb._warnings import warn
from skgpb.domains.query import Region
from skgpb.exceptions import ModelWarning
from skgpb.guarantee import USUAL, Guarantee
from skgpb.kernels._cell import CellKernel
from skgpb.kernels.evaluator import origin_of
from skgpb.locks import locked
from skgpb.optimizers._base import BaseBanditOptimizer, Q
from skgpb.optimizers._placement import best_placed, checked_sides
from skgpb.surrogate.criticism import FEWEST, FEWEST_LEARNED, Criticism, risk_of_check
from skgpb.surrogate.exactness import (
    EXACT,
    REPEATS,
    SMOOTHNESS,
    exact_model,
    is_of_matern,
    of_smoothness,
    repeats_agree,
)
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.learning import Learning
from skgpb.surrogate.likelihood import (
    FIRST_LEARNING,
    GROWTH,
    NOISE,
    SHARE,
    Likelihood,
    Prior,
    check_restarts,
    default_kernel,
    default_prior,
    next_learning,
    noise_prior,
)
from skgpb.surrogate.models import Models
from skgpb.surrogate.regressor import OnlineGaussianProcessRegressor
from skgpb.surrogate.samples import ScaledSamples, SharedNoise
from skgpb.surrogate.settings import kernel_on_settings
from skgpb.surrogate.units import (
    LARGEST_UNIT,
    SMALLEST_UNIT,
    units_of,
    usable,
    warn_of_digits,
)
from skgpb.surrogate.wild import LEAST, LEAST_SPREAD, MOST_AT_ONCE, wild_answers
from skgpb.utils import (
    MOST_RESTARTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_callable_value,
    validate_params,
)

# Regions that recommend() looks into at each level.
BEAM = 16
# Nodes along each continuous side of a cell of settings, where its mean has no closed form.
NODES_OF_SETTINGS = 8
# Fields of each answer.
SAMPLE = ("functional", "reward", "alpha", "share")
# Smoothness of the kernel of ours where answers have noise.
SMOOTHEST = SMOOTHNESS[-1]


class LearningOptimizer(BaseBanditOptimizer[Q]):
    """An optimizer with a model of f: when it is learned, and what it knows at points.

    The model is ``surrogate_``, which takes the rows of points.
    """

    kernel: Kernel | None
    alpha: Any
    optimizer: str | Callable | None
    n_restarts_optimizer: int
    relearn: Any
    normalize_y: bool
    surrogate_: Any

    _parameter_constraints: dict[str, Any] = {
        "kernel": [None, Kernel],
        "guarantee": [Guarantee, None],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, MOST_RESTARTS, closed="both")],
        "relearn": [StrOptions(set(GROWTH)), Interval(Integral, 1, None, closed="left"), None],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    #: For classes of one's own that do not name this parameter.
    guarantee: Guarantee | None = None

    @property
    @locked
    def guarantee_(self) -> Guarantee:
        """Assumptions about f and the noise: ``guarantee``, or the defaults."""
        return self._guaranteed

    @property
    def _guaranteed(self) -> Guarantee:
        """Guarantee in use, for callers that already hold the lock."""
        return USUAL if self.guarantee is None else self.guarantee

    def _set_params(self, params: dict[str, Any]) -> None:
        if any(name.startswith("guarantee__") for name in params):
            # A copy: what there is may be somebody else's, and what the run began with.
            given = params.get("guarantee", self.guarantee)
            params = params | {"guarantee": clone(given or USUAL)}
        super()._set_params(params)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validate_params(self._guaranteed)

    # Here and not with what has a ``beta``: a round passes through as few files as it can.
    def _beta(self: Any, t: int) -> float:
        """Factor of the variance in round t: the theory's, or what the user chose."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        if self.beta == "theory":
            return max(0.0, self._theory_beta(t))
        if self.beta == "rkhs":
            return self._norm_beta()
        return float(self.beta)

    @property
    @abstractmethod
    def _standardizes(self) -> bool:
        """True if the surrogate is in units of the standard deviation of the answers."""

    @property
    def _learns(self) -> bool:
        return self._standardizes or self.optimizer is not None or self.alpha is None

    def _schedule(self, n: int) -> None:
        """Follow ``relearn``; units are learned from the first answer on."""
        first = 1 if self._standardizes else FIRST_LEARNING
        self._learned_at = n
        self._learning_due = next_learning(self.relearn, n, first) if self._learns else inf

    def _reread(self) -> None:
        super()._reread()
        self._schedule(self._learned_at)

    def _rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, n_columns) of points (n, d)."""
        return points

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> np.ndarray: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Posterior of f at points.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points. Where sides have names also a DataFrame with these columns, or dicts.
        return_std, return_cov : bool, default=False
            At most one of them.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,), only if ``return_std``
        cov : ndarray of shape (n_samples, n_samples), only if ``return_cov``
        """
        check_is_fitted(self, "bounds_")
        rows = self._rows_of(self._checked_points_of(X))
        moments = self.surrogate_.predict(rows, return_std=return_std, return_cov=return_cov)
        return self._signed_moments(moments)

    @locked
    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw samples of f from the posterior at points.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, d)
            Points, as for :meth:`predict`.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seeds the draws.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples)
        """
        check_is_fitted(self, "bounds_")
        rows = self._rows_of(self._checked_points_of(X))
        return self._signed(self.surrogate_.sample_y(rows, n_samples, random_state))


class GaussianProcessOptimizer(LearningOptimizer[Q]):
    """A surrogate, observations of functionals, the schedule of learning.

    The domain, ``domain_``, says what the descriptor rows of points and queries are, and a subclass
    what depends on the hyperparameters (``_relearned``).
    """

    alpha: float | None

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="left"), None]
    }

    def _rows_of(self, points: np.ndarray) -> np.ndarray:
        return self.domain_.rows_of(points)

    def _block(self, query: Any) -> np.ndarray:
        """Descriptor rows of the functional that a query observes."""
        return self.domain_.block_of(query)

    def _relearned(self) -> None:
        """Renew what depends on the hyperparameters and the units of the surrogate."""

    def _best_region(
        self, side: Any, *, caution: float = 0.0, context: np.ndarray | None = None
    ) -> Region:
        """Return the best cell of a size, of actions in a context if there are contexts."""
        if any(getattr(self, name, None) is not None for name in ("arms", "pool")):
            raise ValueError(f"side is for cells of a box, got side={side!r}")
        there = np.empty(0) if context is None else context
        n, space = len(there), self.space_ if context is None else self._actions
        bounds, seen = self.bounds_[n:], self._places_seen()[:, n:]

        def moments(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            points = [np.hstack([np.tile(there, (len(cell), 1)), cell]) for cell in cells]
            return self._gp.moments([self._rows_of(each) for each in points], std=True)

        sides = checked_sides(side, bounds, space)
        best = best_placed(moments, seen, bounds, sides, caution, space)
        if not n:
            return best
        lower, upper = (np.concatenate([there, end]) for end in (best.lower, best.upper))
        return Region(lower, upper, (1,) * n + best.counts).named(self.space_)

    def _places_seen(self) -> np.ndarray:
        """Points, or centres of regions, that were observed, shape (n, d)."""
        d = len(self.bounds_)
        if self.space_ is not None and self.space_.discrete:
            boxes = np.array([row[0] for row in self._history]).reshape(-1, 2 * d)
        else:
            boxes = self._gp.observed.rows
        return 0.5 * (boxes[:, :d] + boxes[:, -d:])

    # -- observing --------------------------------------------------------------------------

    @property
    def _known_noise(self) -> float | None:
        """Noise variance of an answer where it is given, a typical one if they differ."""
        return None if self.alpha is None else float(self.alpha)

    @property
    def _gp(self) -> GaussianProcess:
        return self.surrogate_.process_

    @property
    def _standardizes(self) -> bool:
        return self.normalize_y or self._prior is not None

    def _prior_kernel(self, d: int, smooth: bool = False) -> Kernel:
        """Return the user's kernel, or the default one on the domain (else a unit cube)."""
        kernel = None if self.kernel is None else clone(self.kernel)
        if self.space_ is not None and self.space_.discrete:
            return kernel_on_settings(kernel, self.space_)
        if kernel is not None:
            return kernel
        bounds = getattr(self, "bounds_", None)
        return default_kernel(np.tile([0.0, 1.0], (d, 1)) if bounds is None else bounds, smooth)

    def _start_surrogate(self, kernel: Kernel, n_columns: int, seed: int | None = None) -> None:
        """Begin without observations; ``seed`` is for all random numbers, None draws one."""
        self._seed = self._draw_seed() if seed is None else seed
        alpha = 1e-10 if self._known_noise is None else self._known_noise
        regressor = OnlineGaussianProcessRegressor(alpha=alpha, random_state=self._seed)
        self._share_lock(regressor)
        bounds = self.bounds_
        if self.space_ is not None and isinstance(kernel, CellKernel):
            bounds = self.space_.column_bounds
        self.surrogate_: OnlineGaussianProcessRegressor = regressor.start(
            kernel, n_columns, origin_of_rows(kernel, bounds)
        )
        self._first_theta = kernel.theta
        # The last description of how the answers contradict the model.
        self._contradicted = ""
        # Number of these checks, and number of answers at which the next one is due.
        self._n_checks, self._check_due = 0, FEWEST
        self._samples = Samples()
        # A kernel that the user did not choose is ours, to be learned under our priors; another
        # one may bring its own.
        chosen = self.kernel is not None or isinstance(getattr(self, "feedback", None), Kernel)
        prior = getattr(self.kernel, "prior", None)
        self._prior = prior if chosen else self._default_prior()
        # Noise variance of answers that come without their own, in units of the surrogate.
        self._noise = NOISE if self._known_noise is None else self._known_noise
        self._schedule(0)
        if self._learns:
            self._check_due = FEWEST_LEARNED
        if self._prior is not None or self.optimizer is not None:
            check_restarts(kernel, self.n_restarts_optimizer)

    def _default_prior(self) -> Prior:
        """Prior under which a kernel that the user did not choose is learned."""
        if self.space_ is not None and self.space_.discrete:
            return kernel_on_settings(None, self.space_).prior
        return default_prior(self.bounds_)

    def _noise_prior(self) -> tuple[Prior, np.ndarray]:
        """Prior on the logarithm of the noise variance, and its limits."""
        return noise_prior(self._unit())

    def _default_noise(self) -> float:
        known = self._known_noise
        return self.alpha_ if known is None else known

    def _told_noise(self) -> float:
        known = self._known_noise
        return float("nan") if known is None else known

    def _told_noises(self, points: np.ndarray) -> list[float]:
        """Return the intervals of values at points (n, d)."""
        return [self._told_noise()] * len(points)

    @property
    @locked
    def alpha_(self) -> float:
        """Noise variance of an answer in use: ``alpha``, or what was learned."""
        check_is_fitted(self, "surrogate_")
        if self._known_noise is not None:
            return self._known_noise
        return self._noise * self._gp.scale**2

    def _first_units(self, reward: float) -> None:
        """Set the first units: the first reward is the best guess of the centre."""
        known = self._known_noise
        if self._standardizes:
            if known is None:
                # Any unit will do, until there is a standard deviation.
                scale = abs(reward)
            else:
                # The noise bounds the standard deviation from below; with a default kernel, its
                # typical fraction of the variance gives a better guess.
                scale = sqrt(known if self._prior is None else known / NOISE)
            self._gp.set_units(reward, usable(scale))
            self._relearned()
            return
        unit = self._unit()
        warn_of_digits(sqrt(unit), abs(reward))
        if known is None:
            self._noise = NOISE * unit

    def _unit(self) -> float:
        """Variance of answers that is typical under the prior, in units of the surrogate."""
        if self._standardizes:
            return 1.0
        variance = float(self._gp.variance(self._gp.tracked).mean())
        return variance if SMALLEST_UNIT**2 < variance < LARGEST_UNIT**2 else 1.0

    def _unit_of_means(self) -> float:
        """Scale of the rounding errors of posterior means, at most 1."""
        gp = self._gp
        if self._standardizes or not len(gp.observed):
            return 1.0
        return min(1.0, sqrt(float(gp.variance(gp.observed.one(0))[0])))

    def _observe(self, query: Any, slot: int, reward: float, alpha: float) -> tuple[float, float]:
        """Condition on a reward; the query's mean and variance before it, normalised.

        ``slot`` is the number under which the surrogate tracks the query, -1 if it does not. NaN
        as ``alpha`` stands for noise that is to be learned.
        """
        gp = self._gp
        if not len(self._samples):
            self._first_units(reward)
        share = self._noise_share(query)
        noise = self._noise_of(alpha, share)
        self._observing(slot, noise)
        if slot >= 0:
            before = gp.posterior.tracked_at(slot)
            number = gp.observe_tracked(slot, reward, noise)
        else:
            block = self._block(query)
            mean, std = (float(x[0]) for x in gp.moments([block], std=True))
            before = (mean - gp.offset) / gp.scale, (std / gp.scale) ** 2
            number = gp.observe(block, reward, noise)
        self._samples.append(number, reward, alpha, share)
        error = (reward - gp.offset) / gp.scale - before[0]
        if (
            error * error > LEAST * LEAST * (before[1] + noise / gp.scale**2)
            and isnan(alpha)
            and len(gp.observed) >= FEWEST_LEARNED
            and self._learning_due < inf
            and abs(error) > LEAST_SPREAD * np.std(gp.posterior.targets()[:-1])
        ):
            # Whether it is wild is known once the model was learned without it.
            self._learning_due = min(self._learning_due, self._learned_at + 1)
        return before

    def _observing(self, slot: int, noise: float) -> None:
        """Follow an answer that the process is about to observe, in its slot or in none (-1)."""

    def _noise_of(self, alpha: float, share: float = 1.0) -> float:
        """Noise variance of an answer, in the user's units."""
        return self._noise * share * self._gp.scale**2 if isnan(alpha) else alpha

    def _noise_share(self, query: Any) -> float:
        """Return the noise variance of a query, in units of the learned one."""
        return 1.0

    def _record(self, query: Any, reward: float, mean: float, var: float, expanded: bool) -> None:
        """Close the round."""
        scale, offset = self._gp.scale, self._gp.offset
        row = (mean * scale + offset, sqrt(var) * scale)
        self._round += 1
        self._history.append((self._descriptor(query), reward, *row, expanded))

    def _snapshot(self) -> dict[str, Any]:
        return super()._snapshot() | {
            "process": self._gp.snapshot(),
            "samples": self._samples.snapshot(),
            "noise": self._noise,
            "learned_at": self._learned_at,
            "learning_due": self._learning_due,
            "n_checks": self._n_checks,
            "check_due": self._check_due,
            "contradicted": self._contradicted,
        }

    def _restore(self, snapshot: dict[str, Any]) -> None:
        super()._restore(snapshot)
        kernel, wild = self._gp.kernel, ()
        for event in self._log:
            if event[0] == "learned":
                learned = checked_learned(event[1])
                if "smoothness" in learned:
                    kernel = of_smoothness(kernel, learned["smoothness"])
                kernel, wild = kernel.clone_with_theta(learned["theta"]), learned.get("wild", ())
        self.surrogate_.process_ = gp = self._gp.after(snapshot["process"], kernel)
        self._samples = Samples.of(snapshot["samples"], len(gp.observed), dict(wild))
        self._noise = float(snapshot["noise"])
        self._learned_at, self._learning_due = snapshot["learned_at"], snapshot["learning_due"]
        self._n_checks, self._check_due = snapshot["n_checks"], snapshot["check_due"]
        self._contradicted = snapshot["contradicted"]

    def _expected(self, pending: Iterable[Any] | None = None) -> GaussianProcess:
        """The process itself, or a copy that has seen what pending queries should answer."""
        pending = list(self._pending if pending is None else pending)
        blocks = [self._block(query) for query in pending]
        if not blocks:
            return self._gp
        return self._gp.imagine(blocks, self._noises_of(pending))

    def _noises_of(self, queries: list) -> list[float]:
        """Noise variances that are expected of answers, in the user's units."""
        return [self._default_noise()] * len(queries)

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        """Condition on point evaluations, one functional each."""
        gp, rows, alphas = self._gp, self._rows_of(X), self._told_noises(X)
        if self._standardizes and len(y):
            gp.set_units(*self._spread_of(y))
        elif self.alpha is None:
            self._noise = NOISE * self._unit()
        for i, (value, alpha) in enumerate(zip(y.tolist(), alphas, strict=True)):
            number = gp.observe(rows[i : i + 1], value, self._noise_of(alpha))
            self._samples.append(number, value, alpha)
        self._n_fitted = len(X)
        self._learn()

    @property
    def _is_exact(self) -> bool:
        """True if answers have no noise worth speaking of, as was said or as they say."""
        posterior = self._gp.posterior
        targets, counts = posterior.targets(), posterior.counts()
        if not len(targets):
            return False
        more = int(counts.sum()) - len(counts)
        samples = self._samples.scaled(0.0, 1.0)
        if more and samples.unknown.all() and repeats_agree(samples):
            return True
        least = EXACT * (1.0 if self._standardizes else float(np.var(targets)))
        if (posterior.noises() * counts > least).any():
            return False
        return posterior.repeat_terms()[0] <= REPEATS * more

    # -- learning ---------------------------------------------------------------------------

    def _learn(self) -> None:
        """Learn the scale of the rewards and the hyperparameters, and refactorise."""
        if not self._learns:
            return
        self._schedule(self._round + self._n_fitted)
        before = self._samples.factors
        replay = self._replay
        if replay is not None and replay.has_learned:
            learned = checked_learned(replay.next_learned())
        else:
            learned = self._robustly()
        self._samples = self._samples.with_factors(dict(learned.get("wild", ())))
        surrogate = copy(self.surrogate_)
        surrogate.process_ = self._process_of(learned)
        self.surrogate_, self._noise = surrogate, learned["noise"]
        if self._samples.factors.keys() - before.keys():
            # The answer that is told next may be to the same query, and decide.
            self._learning_due = min(self._learning_due, self._learned_at + 1)
            self._check_due = self._learned_at
        self._relearned()
        self._log.append(("learned", learned))

    def _robustly(self) -> dict[str, Any]:
        """Learn, and again without answers that are wild under what was learned."""
        cleared: set[int] = set()
        if self._samples.factors:
            # Answers that turn out to be exact are all believed.
            known, self._samples = self._samples, self._samples.with_factors({})
            learned = self._most_probable()
            if not self._judges(learned):
                return learned
            self._samples = known
        for _ in range(MOST_AT_ONCE):
            learned, factors = self._most_probable(), self._samples.factors
            learned["wild"] = list(factors.items())
            if not self._judges(learned):
                break
            samples = self._samples.with_factors({}).scaled(learned["center"], learned["scale"])
            process = self._process_of(learned)
            wild = wild_answers(process, samples, learned["noise"], factors, cleared)
            if wild.keys() == factors.keys():
                learned["wild"] = list(wild.items())
                break
            cleared |= factors.keys() - wild.keys()
            self._samples = self._samples.with_factors(wild)
        if not learned["wild"]:
            del learned["wild"]
        return learned

    def _judges(self, learned: dict[str, Any]) -> bool:
        """Return whether answers may be wild: noise was learned, and there is some."""
        samples = self._samples.scaled(learned["center"], learned["scale"])
        return (
            self._learned_at >= FIRST_LEARNING
            and bool(samples.unknown.any())
            and learned["noise"] > EXACT * self._unit()
        )

    def _process_of(self, learned: dict[str, Any]) -> GaussianProcess:
        """Return the process of all answers with what was learned."""
        center, scale = learned["center"], learned["scale"]
        merged = self._samples.scaled(center, scale).merged(learned["noise"])
        kernel = self._gp.kernel
        if "smoothness" in learned:
            kernel = of_smoothness(kernel, learned["smoothness"])
        return self._gp.relearned(learned["theta"], merged, center, scale, kernel)

    def _doubted(self) -> list[int]:
        """Return the only answers to their queries that are wild and higher than expected.

        One that is lower hides nothing once it counts little; one that is higher may be the top of
        a narrow peak.
        """
        gp, samples, first = self._gp, self._samples, self._n_fitted
        if not samples.factors or len(samples) - first != self._round:
            return []  # none, or some answers consist of several samples
        return [
            s - first
            for s in samples.factors
            if s >= first
            and samples.functional.count(samples.functional[s]) == 1
            and samples.reward[s] > gp.moments([gp.observed[samples.functional[s]]])[0]
        ]

    def _spread_of(self, rewards: np.ndarray) -> tuple[float, float]:
        """Centre and scale of the rewards."""
        known = self._known_noise
        # One distinct query does not determine a scale, but the noise is a lower bound of it.
        return units_of(rewards, None if known is None else sqrt(known))

    def _most_probable(self) -> dict[str, Any]:
        """Units of the rewards and hyperparameters, learned from all that was observed."""
        gp, samples = self._gp, self._samples
        ours = self._prior is not None and is_of_matern(gp.kernel)
        kernel = of_smoothness(gp.kernel, SMOOTHEST) if ours else gp.kernel
        center, scale = gp.offset, gp.scale
        if self._standardizes:
            # Each distinct query counts once: those near the maximum are asked again and again.
            targets = gp.posterior.targets() * scale + center
            if samples.factors:
                wild = [samples.functional[s] for s in samples.factors]
                targets = np.delete(targets, wild)
            center, scale = self._spread_of(targets)
        found: dict[str, Any] = {
            "center": center,
            "scale": scale,
            "theta": kernel.theta,
            "noise": self._noise,
        }
        prior, theta = self._prior, kernel.theta
        scaled = samples.scaled(center, scale)
        learning = Learning(
            kernel,
            (prior is not None or self.optimizer is not None) and kernel.n_dims > 0,
            self.optimizer,
            self.n_restarts_optimizer,
            self._seed,
            prior,
            self._noise_prior() if scaled.unknown.any() else None,
        )
        if self._learned_at < FIRST_LEARNING or not learning.learns:
            return found
        starts = [(theta, 0.0 if learning.noise_prior is None else log(self._noise))]
        if prior is not None:
            starts.append((prior.center, learning.usual_noise))
        elif learning.learns_kernel and not np.array_equal(theta, self._first_theta):
            # The likelihood of the next search may be flat where a search with few answers ended.
            starts.append((self._first_theta, learning.usual_noise))
        best, noise = learning.most_probable(gp.observed, scaled, starts, origin=gp.origin)
        found["theta"] = best
        if noise is not None:
            found["noise"] = noise
        if ours and scaled.unknown.all():
            assert prior is not None
            assert learning.noise_prior is not None
            found["smoothness"] = SMOOTHEST
            some, few, n = gp.observed, scaled, len(gp.observed)
            if n > SHARE:
                chosen = np.arange(SHARE) * n // SHARE
                some, few = gp.observed.chosen(chosen), scaled.about(chosen)

            def density(kernel: Kernel, samples: ScaledSamples, noise: Prior | None) -> Likelihood:
                covariance = covariance_of_functionals(kernel, some, True, gp.origin)
                return Likelihood(covariance, samples, prior, noise)

            exact = exact_model(density, kernel, few, prior, *learning.noise_prior, self.optimizer)
            if exact is not None:
                found |= vars(exact)
        return found

    def _possible_models(self, gp: GaussianProcess) -> Callable[[], Models] | None:
        """Return the factory of models that fit the answers; None with a given kernel.

        ``gp`` is a copy of the process; nothing else that is told from now on changes it.
        """
        prior = self._prior
        if prior is None or self._learned_at < FIRST_LEARNING or not is_of_matern(gp.kernel):
            return None
        samples = self._samples.scaled(gp.offset, gp.scale)
        of_noise, limits = self._noise_prior() if samples.unknown.any() else (None, None)
        return partial(
            Models.around, gp, samples, prior, of_noise, limits, self._noise, self.optimizer
        )

    # -- criticism --------------------------------------------------------------------------

    @locked
    def criticism(self) -> Criticism:
        """Compare every answer with the model's prediction from all the others.

        Returns
        -------
        criticism : Criticism
            Standardised leave-one-out residuals, and whether the answers contradict the model. It
            is for looking; a run looks by itself, and warns.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before anything is known.
        """
        self._check_informed()
        return Criticism.of(self._gp, learned=self._learns)

    def _criticise(self) -> None:
        n = self._round + self._n_fitted
        if self._learned_at < n < self._learning_due < inf:
            # Hyperparameters learned from fewer answers are no longer believed.
            self._check_due = self._learning_due
            return
        self._n_checks += 1
        self._check_due = next_learning("doubling", n)
        if self._learning_due < inf:
            self._check_due = max(self._check_due, self._learning_due)
        found = Criticism.of(self._gp, risk_of_check(self._n_checks), self._learns)
        before = self._contradicted
        self._contradicted = self._about_wild()
        if found.contradicts:
            self._contradicted = self._contradiction(found)
        if self._contradicted and not before:
            warn(self._contradicted, ModelWarning)

    def _contradiction(self, found: Criticism) -> str:
        """Describe how the answers contradict the model, and what can be done."""
        noise = f"a noise variance of {self._default_noise():.3g}"
        if not found.repeats_fit:
            said = (
                f"the variance of answers to the same query is {found.repeats:.3g} times as large "
                f"as expected under {noise}"
            )
            if self.alpha is not None:
                return f"the answers contradict the model: {said}; alpha=None learns it"
        else:
            wild = found.wild
            some = "one answer differs" if len(wild) == 1 else f"{len(wild)} answers differ"
            said = (
                f"{some} from the prediction that all others give, {self._answered(int(wild[0]))} "
                f"by {found.size_of(int(wild[0])):.3g} standard deviations, under kernel "
                f"{self._gp.kernel} and {noise}"
            )
        free = self._prior is not None or self.optimizer is not None
        return f"the answers contradict the model: {said}; " + (
            "kernel and noise were learned, so f may have jumps, the noise may differ between "
            "queries, or these answers may be wrong"
            if free
            else "predictions may have larger errors than their standard deviations say; "
            "kernel=None learns the kernel"
        )

    def _about_wild(self) -> str:
        """Say which answers count little, if there are any."""
        factors = self._samples.factors
        if not factors:
            return ""
        worst = max(factors, key=lambda s: factors[s])
        some = "one answer is" if len(factors) == 1 else f"{len(factors)} answers are"
        deviation = sqrt(factors[worst] * self._default_noise())
        return (
            f"{some} far from what all others let expect, {self._answered_at(worst)} by "
            f"{deviation:.3g}; unless an answer to the same query confirms it, it counts little: "
            f"its noise variance is taken to be {deviation**2:.3g}"
        )

    def _answered_at(self, place: int) -> str:
        return self._answered(self._samples.functional[place])

    def _answered(self, number: int) -> str:
        """Name the distinct query of a number."""
        told = [event[1] for event in self._log if event[0] == "tell"]
        place = self._samples.functional.index(number) - self._n_fitted
        if place >= 0 and len(told) == len(self._samples) - self._n_fitted:
            return repr(told[place])
        return f"the answer at {self._gp.observed[number].mean(axis=0).tolist()}"

    # -- predicting -------------------------------------------------------------------------

    @overload
    def predict_query(self, queries: Any, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict_query(
        self, queries: Any, return_std: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, queries: Any, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict_query(
        self, queries: Any, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Posterior of what queries observe, without the noise of an answer.

        Parameters
        ----------
        queries : query or list of queries
            Queries of this optimizer, asked or not; in a list also points, of shape (d,) or (S, d),
            which stand for their average.
        return_std : bool, default=False
            Whether to return standard deviations as well.

        Returns
        -------
        mean : ndarray of shape (n_queries,)
        std : ndarray of shape (n_queries,), only if ``return_std``
        """
        check_is_fitted(self, "bounds_")
        blocks = [self._block(query) for query in self._checked_queries(queries)]
        return self._signed_moments(self._gp.moments(blocks, std=return_std))


class Samples:
    """Answers to functionals, numbered as a surrogate numbers the distinct ones.

    Attributes
    ----------
    functional : list of int
        Number of the functional that was observed.
    reward : list of float
        The answers, in the user's units.
    alpha : list of float
        Their noise variances; NaN where it is to be learned.
    share : list of float
        Multiples of the unknown noise variance, where it is to be learned.
    shared : list of SharedNoise
        Covariances of noise between answers, in the units of ``alpha``, or of ``share`` where it is
        to be learned.
    factors : dict
        Numbers of the wild answers, and what their noise variances are multiplied by.
    """

    def __init__(self) -> None:
        self.functional: list[int] = []
        self.reward: list[float] = []
        self.alpha: list[float] = []
        self.share: list[float] = []
        self.shared: list[SharedNoise] = []
        self.factors: dict[int, float] = {}

    @classmethod
    def of(cls, snapshot: dict[str, Any], n_functionals: int, factors: dict[int, float]) -> Samples:
        """Return the samples of a snapshot, of functionals that are as many."""
        out, shared = cls(), snapshot["shared"]
        columns = [np.asarray(snapshot[name]).tolist() for name in SAMPLE]
        out.functional, out.reward, out.alpha, out.share = columns
        out.shared = [SharedNoise(np.array(i), np.array(C)) for i, C in shared]
        out.factors = factors
        known = set(out.functional) == {*range(n_functionals)}
        if not (
            known and {*map(len, columns)} == {len(out)} and factors.keys() <= {*range(len(out))}
        ):
            raise ValueError(f"samples are not of {n_functionals} functionals")
        return out

    def snapshot(self) -> dict[str, Any]:
        """Return all of them as arrays."""
        out: dict[str, Any] = {name: np.array(getattr(self, name)) for name in SAMPLE}
        return out | {"shared": [(each.numbers, each.covariance) for each in self.shared]}

    def __len__(self) -> int:
        return len(self.reward)

    def append(self, functional: int, reward: float, alpha: float, share: float = 1.0) -> None:
        """Add one answer."""
        self.functional.append(functional)
        self.reward.append(reward)
        self.alpha.append(alpha)
        self.share.append(share)

    def scaled(self, center: float, scale: float) -> ScaledSamples:
        """Return the samples in units in which learning takes place."""
        reward, alpha = np.array(self.reward), np.array(self.alpha)
        functional, share = np.array(self.functional, dtype=np.intp), np.array(self.share)
        for s, factor in self.factors.items():
            share[s] *= factor
        shared = [
            each if np.isnan(alpha[each.numbers[0]]) else each.times(scale**-2)
            for each in self.shared
        ]
        return ScaledSamples(functional, (reward - center) / scale, alpha / scale**2, share, shared)

    def with_factors(self, factors: dict[int, float]) -> Samples:
        """Return the same answers, with other factors."""
        if factors == self.factors:
            return self
        same = deepcopy(self)
        same.factors = factors
        return same


def checked_learned(learned: dict[str, Any]) -> dict[str, Any]:
    """Return what a saved run has learned, if that can be."""
    scale, noise = learned["scale"], learned["noise"]
    wild = dict(learned.get("wild", ()))
    numbers = np.array([learned["center"], scale, noise, *learned["theta"], *wild.values()])
    if learned.get("smoothness", SMOOTHEST) not in SMOOTHNESS:
        raise ValueError(f"the smoothness must be one of {SMOOTHNESS}: {learned}")
    if numbers.dtype.kind not in "fi" or not (np.isfinite(numbers).all() and scale > 0 <= noise):
        raise ValueError(f"these units and hyperparameters cannot be learned: {learned}")
    return learned


def origin_of_rows(kernel: Kernel, bounds: np.ndarray) -> np.ndarray | None:
    """Return the origin of descriptors far from zero, repeated for the corners of boxes."""
    if not isinstance(kernel, CellKernel):
        return origin_of(kernel, bounds)
    origin = origin_of(kernel.base, bounds)
    return None if origin is None else np.tile(origin, 2)
