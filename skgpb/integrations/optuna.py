"""An Optuna sampler led by a bandit, for studies that several machines share.

The sampler keeps nothing that matters: before a trial it rebuilds its posterior from the finished
trials of the study, whatever process or machine they ran on, and its random numbers depend on
the seed and the number of the trial. A study in SQLite, PostgreSQL or a journal therefore goes
on after a crash, with as many workers as share the storage.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.tree import DecisionTreeClassifier

from skgpb import defaults
from skgpb._core._ties import argmax_first
from skgpb.domains.candidates import spread_points
from skgpb.domains.space import NEUTRAL, Axis, Choice, ParameterSpace
from skgpb.kernels._settings import OnSettings
from skgpb.optimizers.improvement import EIOptimizer
from skgpb.optimizers.search import Search
from skgpb.surrogate.likelihood import last_refit
from skgpb.surrogate.settings import default_model
from skgpb.surrogate.warp import Warp
from skgpb.utils.install import needs
from skgpb.utils.validation import Integral

__all__ = ["GPBanditSampler"]

with needs("skgpb.integrations.optuna", "Optuna", "optuna"):
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.study import StudyDirection
    from optuna.trial import TrialState

# Memory: number of search spaces for which learned hyperparameters are kept.
REMEMBERED = 16
# Rounding: lower bound of the noise variance, in units of the variance of the values.
LEAST_NOISE = 1e-8
# States of trials that have failed.
FAILED = (TrialState.FAIL, TrialState.PRUNED)
# System attribute of a trial with the values chosen for it, which other workers read.
CHOSEN = "skgpb:params"


class Numeric(Axis):
    """An integer or real parameter of Optuna, with or without steps, linear or logarithmic."""

    low: float
    high: float

    def __init__(self, distribution: FloatDistribution | IntDistribution) -> None:
        self.distribution = distribution
        self.integer: bool = isinstance(distribution, IntDistribution)
        self.discrete: bool = self.integer
        self.low, self.high = float(distribution.low), float(distribution.high)
        self.step: float | None = distribution.step
        self.log: bool = distribution.log
        if self.step is None:
            self._limits = self.low, self.high
            self.n_settings: float = np.inf
        else:
            # Every value of the grid gets an interval of the axis, also the first and the last.
            self._limits = self.low - 0.5 * self.step, self.high + 0.5 * self.step
            self.n_settings = float(round((self.high - self.low) / self.step) + 1)
        if self.log:
            self._limits = float(np.log(self._limits[0])), float(np.log(self._limits[1]))

    def value(self, u: float) -> float | int:
        """Value of the parameter at a coordinate in [0, 1]."""
        value = float(self._values(np.asarray(u)))
        return int(value) if self.integer else value

    def _values(self, u: np.ndarray) -> np.ndarray:
        low, high = self._limits
        values = low + u * (high - low)
        values = np.exp(values) if self.log else values
        if self.step is not None:
            values = self.low + np.round((values - self.low) / self.step) * self.step
        return np.clip(values, self.low, self.high)

    def coordinate(self, value: Any) -> float:
        """Coordinate in [0, 1] of a value."""
        return float(self._coordinates(np.asarray(float(value))))

    def _coordinates(self, values: np.ndarray) -> np.ndarray:
        low, high = self._limits
        values = np.log(values) if self.log else values
        return np.clip((values - low) / (high - low), 0.0, 1.0)

    def nearest_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Coordinates (n,) of what can be set that is nearest to numbers (n,)."""
        return self.columns(self._coordinates(values))[:, 0]

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Columns (n, 1) of coordinates (n,)."""
        return (u if self.step is None else self._coordinates(self._values(u)))[:, None]


def _axis(distribution: Any) -> Choice | Numeric:
    if isinstance(distribution, CategoricalDistribution):
        # Indices as Optuna keeps them: of choices that it takes for equal, that of the first.
        indices = map(distribution.to_internal_repr, distribution.choices)
        return Choice("", [str(int(i)) for i in dict.fromkeys(indices)])
    return Numeric(distribution)


class GPBanditSampler(optuna.samplers.BaseSampler):
    """Sampler for Optuna studies: many workers, restarts, conditional parameters.

    Parameters
    ----------
    optimizer : Search, default=None
        The engine: :class:`~skgpb.EIOptimizer`, :class:`~skgpb.GPUCBOptimizer` or another one
        over arms. Its kernel, in units of the standardised values, is applied to settings, so
        that integers and categories are known for what they are; where ``kernel`` is None a
        Matérn-5/2 kernel with a length scale for every parameter is learned, and where
        ``alpha`` is None the noise. None stands for EIOptimizer.
    seed : int, default=None
        Seeds the sampler. With a seed what a trial tries follows from its number and the trials
        finished before it; workers may share the seed.
    n_startup_trials : int, default=4
        Number of finished trials after which the bandit takes over; half as many suffice for a
        parameter that some trials lack. 0 is allowed.
    independent_sampler : optuna.samplers.BaseSampler, default=None
        Sampler for trials before that, and for parameters without any data. None for a
        RandomSampler.

    Notes
    -----
    *Trials.* The model of the values learns from complete trials. Trials that were pruned, raised
    an exception or returned NaN have failed, and teach where trials do: see *Failures* of
    :class:`~skgpb.optimizers.Search`. Infinite values count as the worst or best finite one, and
    of values far worse than most it only counts that they are. Values
    of trials that run elsewhere are assumed to come out as expected. Workers may still try the same
    setting, where answers are exact and the best setting is found.

    *Search spaces.* All parameters of earlier trials are chosen together, by one model: those
    that only some trials have count as neutral in the others. Which a trial will have follows from
    those that all trials have, as a decision tree learns it. A parameter whose range has changed,
    or which comes as a surprise, is chosen when it is asked for, given what the trial has already
    chosen, from the trials that had it.

    *Cost.* Hyperparameters are learned each time the number of trials has grown by a quarter, from
    all trials up to that number, so that all workers learn the same; later trials are appended.

    *Not supported.* Studies with several objectives raise ValueError; constraints are ignored.

    Examples
    --------
    >>> import optuna
    >>> from skgpb.integrations.optuna import GPBanditSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=GPBanditSampler(seed=0))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 2) ** 2, n_trials=20)
    >>> abs(study.best_params["x"] - 2) < 0.1
    True
    """

    def __init__(
        self,
        optimizer: Search | None = None,
        *,
        seed: int | None = None,
        n_startup_trials: int = 4,
        independent_sampler: optuna.samplers.BaseSampler | None = None,
    ) -> None:
        if optimizer is not None and not isinstance(optimizer, Search):
            raise TypeError(
                "optimizer must be one over arms, such as EIOptimizer or GPUCBOptimizer, got "
                f"{optimizer!r}"
            )
        if optimizer is not None and not (optimizer.arms is None and optimizer.bounds is None):
            raise ValueError("optimizer must have neither arms nor bounds: the trials give them")
        if optimizer is not None and optimizer.limits:
            raise ValueError(
                "optimizer must have no limits: the trials do not tell what has a limit, got "
                f"limits={optimizer.limits!r}"
            )
        if optimizer is not None and optimizer.direction != "maximize":
            raise ValueError("optimizer must have direction='maximize': the study has a direction")
        if seed is not None and (not isinstance(seed, Integral) or seed < 0):
            raise ValueError(f"seed must be None or an integer >= 0, got {seed!r}")
        if not isinstance(n_startup_trials, Integral) or n_startup_trials < 0:
            raise ValueError(f"n_startup_trials must be an integer >= 0, got {n_startup_trials!r}")
        self.optimizer: Any = optimizer
        self.n_startup_trials: Any = n_startup_trials
        self._entropy: Any = np.random.SeedSequence(seed).entropy
        self._independent: Any = independent_sampler or optuna.samplers.RandomSampler(seed=seed)
        self._learned: dict[tuple[Any, ...], tuple[Kernel, float, float, float]] = {}

    def reseed_rng(self) -> None:
        """Take a fresh seed, as Optuna asks of the copies of a sampler in parallel workers."""
        self._entropy = np.random.SeedSequence().entropy
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self, study: optuna.Study, trial: optuna.trial.FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return all parameters of more than one value whose distribution has not changed."""
        self._check_single(study)
        found: dict[str, BaseDistribution] = {}
        changed: set[str] = set()
        for other in self._known(study, {}):
            for name, space in other.distributions.items():
                if found.setdefault(name, space) != space:
                    changed.add(name)
        return {
            name: found[name]
            for name in sorted(found)
            if name not in changed and not found[name].single()
        }

    def sample_relative(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """Choose the parameters of a search space together; empty during the start-up."""
        self._check_single(study)
        if not search_space:
            return {}
        known = self._known(study, {})
        if len(known) < max(1, self.n_startup_trials):
            return {}
        chosen = self._choose(study, trial, search_space, known)
        internal = {name: search_space[name].to_internal_repr(v) for name, v in chosen.items()}
        study._storage.set_trial_system_attr(trial._trial_id, CHOSEN, json.dumps(internal))
        return chosen

    def sample_independent(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Choose a single parameter, given those that the trial has."""
        self._check_single(study)
        new = {param_name: param_distribution}
        if not param_distribution.single():
            known = self._known(study, new)
            started = len(self._known(study, {})) >= self.n_startup_trials
            # One of two branches is half as well known.
            if started and len(known) >= max(1, self.n_startup_trials // 2):
                # Parameters of the trial that every earlier trial with this parameter had as well.
                given = {
                    name: space
                    for name, space in trial.distributions.items()
                    if not space.single()
                    and all(other.distributions.get(name) == space for other in known)
                }
                fixed = {name: trial.params[name] for name in given}
                return self._choose(study, trial, {**given, **new}, known, fixed)[param_name]
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        """Let the independent sampler prepare."""
        self._independent.before_trial(study, trial)

    def after_trial(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Let the independent sampler clean up."""
        self._independent.after_trial(study, trial, state, values)

    @staticmethod
    def _check_single(study: optuna.Study) -> None:
        if len(study.directions) > 1:
            raise ValueError(
                "GPBanditSampler optimises a single objective, but the study has "
                f"{len(study.directions)}; use one of optuna.samplers.NSGAIISampler, TPESampler"
            )

    @staticmethod
    def _known(
        study: optuna.Study,
        search_space: Mapping[str, BaseDistribution],
        states: tuple[TrialState, ...] = (TrialState.COMPLETE,),
    ) -> list[Any]:
        """Trials of these states that had all these parameters, within these ranges, by number."""
        trials = study.get_trials(deepcopy=False, states=states)
        return [trial for trial in trials if _has(trial.params, search_space)]

    def _choose(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        known: list[Any],
        fixed: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask the engine for the values of a search space: of all, or given some of them."""
        cube = Cube({name: search_space[name] for name in sorted(search_space)})
        points = np.stack([cube.point(other.params) for other in known])
        X = cube.columns(points)
        y = _finite([other.value for other in known])
        y = y if study.direction == StudyDirection.MAXIMIZE else -y
        y = Warp(y[: last_refit("growing", len(y), first=1)])(y)
        key = (study._study_id, repr(cube.names), *[other.number for other in known])
        kernel, alpha, center, scale = self._learn(key, cube, X, y)
        sequence = np.random.SeedSequence([self._entropy, trial.number, len(trial.params)])
        best = points[np.argsort(-y, kind="stable")[: defaults.N_CENTERS]]
        candidates = cube.candidates(best, np.random.default_rng(sequence))
        for name, value in (fixed or {}).items():
            candidates[:, cube.names.index(name)] = cube.coordinate(name, value)
        candidates = cube.with_absent(candidates, points)
        player = self._engine().set_params(
            # Two corners make the box of all columns the domain.
            arms=np.concatenate([cube.corners, cube.columns(candidates)]),
            kernel=kernel,
            alpha=alpha,
            optimizer=None,
            normalize_y=False,
            random_state=int(sequence.generate_state(1)[0] >> 1),
        )
        player.fit(X, (y - center) / scale)
        # A single parameter is chosen from the trials that had it, all together from all.
        needed = {} if fixed is None else search_space
        for other in self._known(study, needed, FAILED):
            player.tell(cube.columns(cube.point(other.params)[np.newaxis])[0], None)
        for params in self._running(study, trial, search_space, needed):
            # As expected: the mean stays, the uncertainty around the point shrinks.
            row = cube.columns(cube.point(params)[np.newaxis])
            player.tell(row[0], player.predict(row)[0], alpha)
        _, values = player._scored_round()
        return cube.params(candidates[argmax_first(values[len(cube.corners) :])])

    def _engine(self) -> Search:
        return EIOptimizer() if self.optimizer is None else clone(self.optimizer)

    def _learn(
        self, key: tuple[Any, ...], cube: Cube, X: np.ndarray, y: np.ndarray
    ) -> tuple[Kernel, float, float, float]:
        """Kernel, noise variance and units of the values, from the first of the trials."""
        n = last_refit("growing", len(y), first=1)
        key = key[: 2 + n]
        if key not in self._learned:
            center, scale = float(y[:n].mean()), float(y[:n].std()) or 1.0
            engine = self._engine()
            kernel, prior = engine.kernel, None
            if kernel is None:
                kernel, prior = default_model(cube.space)
            kernel = OnSettings(kernel, TrialColumns, prior)
            engine.set_params(arms=cube.corners, kernel=kernel, normalize_y=False)
            if engine.alpha is not None:
                engine.set_params(alpha=np.divide(engine.alpha, scale**2))
            engine.fit(X[:n], (y[:n] - center) / scale)
            while len(self._learned) >= REMEMBERED:
                self._learned.pop(next(iter(self._learned)))
            alpha = max(engine.alpha_, LEAST_NOISE)
            self._learned[key] = engine.surrogate_.kernel_.base, alpha, center, scale
        return self._learned[key]

    @staticmethod
    def _running(
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        search_space: Mapping[str, BaseDistribution],
        needed: Mapping[str, BaseDistribution],
    ) -> list[dict[str, Any]]:
        """Return the known parameters of the running trials that have all that are needed."""
        found = []
        for other in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            chosen = json.loads(other.system_attrs.get(CHOSEN, "{}"))
            params = {
                name: search_space[name].to_external_repr(value)
                for name, value in chosen.items()
                if name in search_space and search_space[name]._contains(value)
            }
            params |= other.params
            if other.number != trial.number and params and _has(params, needed):
                found.append(params)
        return found


class TrialColumns:
    """What a kernel takes for a space of settings where rows are columns already."""

    @staticmethod
    def columns(X: np.ndarray) -> np.ndarray:
        """Return rows as they are."""
        return X


class Cube:
    """A search space of Optuna as a unit cube, in which a parameter may be absent.

    Points have a coordinate for each parameter, NaN for one that is absent.
    """

    def __init__(self, search_space: Mapping[str, BaseDistribution]) -> None:
        self._distributions = search_space
        self._axes = {name: _axis(each) for name, each in search_space.items()}
        self.names: list[str] = list(search_space)
        self.space: ParameterSpace = ParameterSpace.from_axes(self._axes)
        #: Two rows of columns, with all others between them.
        self.corners: np.ndarray = np.repeat([[0.0], [1.0]], len(self.space.groups), axis=1)

    def coordinate(self, name: str, value: Any) -> float:
        """Coordinate in [0, 1] of a value."""
        distribution = self._distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            value = str(int(distribution.to_internal_repr(value)))
        return self._axes[name].coordinate(value)

    def point(self, params: Mapping[str, Any]) -> np.ndarray:
        """Point (d,) of a trial's parameters, without those that are out of their range."""
        return np.array(
            [
                self.coordinate(name, params[name]) if _has(params, {name: space}) else np.nan
                for name, space in self._distributions.items()
            ]
        )

    def columns(self, points: np.ndarray) -> np.ndarray:
        """Return what distinguishes points (n, d), shape (n, n_columns)."""
        absent = np.isnan(points)
        columns = self.space.columns(np.where(absent, NEUTRAL, points))
        return np.where(absent[:, self.space.groups], NEUTRAL, columns)

    def candidates(self, best: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Points (n, d) everywhere and beside the best, nothing being absent."""
        bounds, n_axes = self.space.bounds, len(self.names)
        everywhere = spread_points(bounds, defaults.OPTUNA_EVERYWHERE, rng.uniform(size=n_axes))
        n_near = defaults.OPTUNA_NEAR
        centers = best[np.arange(n_near) % len(best)]
        centers = np.where(np.isnan(centers), rng.uniform(size=centers.shape), centers)
        near = self.space.neighbours(centers, n_near, rng)
        return np.concatenate([everywhere, near])

    def with_absent(self, points: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return points (n, d) with NaN where what a trial has tells that a parameter is absent.

        ``known`` (m, d) are trials. Of parameters that they all have a decision tree learns which
        others there are.
        """
        absent = np.isnan(known)
        common, kinds = ~absent.any(axis=0), np.unique(absent, axis=0)
        if len(kinds) == 1 or not common.any():
            return points
        of_common = common[self.space.groups]
        labels = (absent[:, np.newaxis] == kinds).all(axis=2).argmax(axis=1)
        tree = DecisionTreeClassifier(random_state=0)
        tree.fit(self.columns(known)[:, of_common], labels)
        found = kinds[tree.predict(self.columns(points)[:, of_common])]
        return np.where(found, np.nan, points)

    def params(self, point: np.ndarray) -> dict[str, Any]:
        """Parameters that a point (d,) stands for."""
        setting = self.space.setting(np.where(np.isnan(point), NEUTRAL, point))
        return {
            name: distribution.choices[int(setting[name])]
            if isinstance(distribution := self._distributions[name], CategoricalDistribution)
            else setting[name]
            for name, u in zip(self.names, point, strict=True)
            if not np.isnan(u)
        }


def _has(params: Mapping[str, Any], search_space: Mapping[str, BaseDistribution]) -> bool:
    """Return whether all parameters are there, and within the ranges."""
    for name, distribution in search_space.items():
        if name not in params:
            return False
        try:
            if not distribution._contains(distribution.to_internal_repr(params[name])):
                return False
        except ValueError:
            return False
    return True


def _finite(values: list[float]) -> np.ndarray:
    """Replace infinite values by the largest and the smallest finite ones."""
    y = np.array(values, dtype=np.float64)
    finite = y[np.isfinite(y)]
    return np.clip(y, finite.min(), finite.max()) if len(finite) else np.sign(y)
