"""An Optuna sampler that chooses parameters by a bandit, for studies on several machines.

The sampler has no state except a cache. Before a trial it rebuilds its posterior from the finished
trials of the study, of all processes and machines. Its random numbers depend on the seed and the
number of the trial. So a study in SQLite, PostgreSQL or a journal can continue after a crash, with
any number of workers that share the storage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import inf, isnan
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.tree import DecisionTreeClassifier

from skgpb import defaults
from skgpb.acquisition.volume import pareto_mask
from skgpb.domains.candidates import spread_points
from skgpb.domains.space import NEUTRAL, Choice, ParameterSpace, Side
from skgpb.kernels._settings import OnSettings
from skgpb.optimizers._feasibility import NumberWithinEnds, OutcomeConstraints
from skgpb.optimizers._goals import MOST_FURTHER_GOALS, GoalImprovement, Goals
from skgpb.optimizers.improvement import EIOptimizer
from skgpb.optimizers.search import Search, argmax_among, membership_mask
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
# Limit: draws of a parameter of the start-up, until the trial differs from those that run.
MOST_DRAWS = 100
# States of trials that count as failures.
FAILED = (TrialState.FAIL, TrialState.PRUNED)
# System attribute of a running trial with its chosen parameters, which other workers read.
CHOSEN = "skgpb:params"
# System attribute of Optuna with the values of the constraints of a trial.
CONSTRAINTS = "constraints"


class Numeric(Side):
    """An integer or real parameter of Optuna, with or without steps, linear or logarithmic."""

    low: float
    high: float
    arguments = ("distribution",)

    def __init__(self, distribution: FloatDistribution | IntDistribution) -> None:
        self.distribution = distribution
        self.integer: bool = isinstance(distribution, IntDistribution)
        # Two real numbers are as far apart as their coordinates, with steps as well.
        self.uses_columns = self.integer
        self.low, self.high = float(distribution.low), float(distribution.high)
        self.step: float | None = distribution.step
        self.log: bool = distribution.log
        if self.step is None:
            self._limits = self.low, self.high
            self.n_settings: float = np.inf
        else:
            # Half a step beyond both ends: all values of the grid have intervals of equal length.
            self._limits = self.low - 0.5 * self.step, self.high + 0.5 * self.step
            self.n_settings = float(round((self.high - self.low) / self.step) + 1)
        if self.log:
            self._limits = float(np.log(self._limits[0])), float(np.log(self._limits[1]))

    def value(self, u: float) -> float | int:
        """Return the value of the parameter at a coordinate in [0, 1]."""
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
        """Return the position of a value on the axis, from 0 to 1."""
        return float(self._coordinates(np.asarray(float(value))))

    def _coordinates(self, values: np.ndarray) -> np.ndarray:
        low, high = self._limits
        values = np.log(values) if self.log else values
        return np.clip((values - low) / (high - low), 0.0, 1.0)

    def columns(self, u: np.ndarray) -> np.ndarray:
        """Return the kernel's columns (n, 1) of coordinates (n,)."""
        return (u if self.step is None else self._coordinates(self._values(u)))[:, None]


def _axis(distribution: Any) -> Choice | Numeric:
    if isinstance(distribution, CategoricalDistribution):
        # Optuna's indices: choices that it regards as equal have the index of the first one.
        indices = map(distribution.to_internal_repr, distribution.choices)
        return Choice("", [str(int(i)) for i in dict.fromkeys(indices)])
    return Numeric(distribution)


class GPBanditSampler(optuna.samplers.BaseSampler):
    """Sampler for Optuna studies: many workers, restarts, conditional parameters.

    Parameters
    ----------
    optimizer : Search, default=None
        The engine: :class:`~skgpb.EIOptimizer`, :class:`~skgpb.GPUCBOptimizer` or another
        optimizer over arms. Its kernel, in units of the standardised values, compares settings, so
        that integers and categories have the covariances of their kind. With ``kernel=None`` a
        Matérn-5/2 kernel with a length scale for every parameter is learned, and with
        ``alpha=None`` the noise variance. None stands for EIOptimizer.
    seed : int, default=None
        Seeds the sampler. With a seed the parameters of a trial are determined by its number and
        the trials finished before it; workers may share the seed.
    n_startup_trials : int, default=4
        Number of finished trials from which on the bandit chooses. Half as many suffice for a
        parameter that some trials lack. It may be 0.
    independent_sampler : optuna.samplers.BaseSampler, default=None
        Sampler for the trials before, and for parameters that no trial has had. None stands for a
        RandomSampler.
    constraints_func : callable, default=None
        Takes a finished trial, a ``FrozenTrial``, and returns a sequence of numbers, the
        constraints. A trial is feasible if none is above 0, as for Optuna's own samplers.

    Notes
    -----
    *Trials.* The model of the values learns from complete trials. Trials that were pruned, raised
    an exception or returned NaN count as failures, see *Failures* of
    :class:`~skgpb.optimizers.Search`. Infinite values count as the worst or best finite value, and
    values far worse than most are moved near to the others. For trials that run elsewhere the model
    assumes the expected values, and no trial has the setting of one of them, unless no other
    candidate is left.

    *Search spaces.* All parameters of earlier trials are chosen together, by one model. A trial
    without one of them counts with a neutral coordinate. A decision tree predicts, from the
    parameters that all trials have, which others a trial will have. If the range of a parameter has
    changed, or its occurrence was not predicted, the sampler chooses it when the trial suggests it.
    This choice is from the trials that had the parameter, given the parameters of the trial so far.

    *Cost.* Each time the number of trials has grown by a quarter, hyperparameters are learned from
    all trials up to that number, so that all workers learn the same. Later trials are appended.

    *Several directions.* Studies with two to four directions look for the Pareto front, by the
    expected improvement of the dominated volume as :doc:`/user_guide/goals`, whatever the engine.

    *Constraints.* Each constraint has a model of its own. Values of a trial count as far as it is
    probable that the constraints hold, see *Limits* of :class:`~skgpb.optimizers.Search`.

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
        constraints_func: Callable[[optuna.trial.FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        if optimizer is not None and not isinstance(optimizer, Search):
            raise TypeError(
                "optimizer must be an optimizer over arms, such as EIOptimizer or GPUCBOptimizer, "
                f"got {optimizer!r}"
            )
        if optimizer is not None and not (optimizer.arms is None and optimizer.bounds is None):
            raise ValueError(
                "optimizer must have arms=None and bounds=None, because trials define the space"
            )
        if optimizer is not None and (optimizer.limits or optimizer.goals):
            raise ValueError(
                "optimizer must have limits=None and goals=None, because the limits are those of "
                "constraints_func and the goals those of the study; got "
                f"limits={optimizer.limits!r} and goals={optimizer.goals!r}"
            )
        if optimizer is not None and optimizer.direction != "maximize":
            raise ValueError(
                "optimizer must have direction='maximize', because the direction is that of the "
                f"study; got {optimizer.direction!r}"
            )
        if not (constraints_func is None or callable(constraints_func)):
            raise TypeError(
                f"constraints_func must be a function of a trial or None, got {constraints_func!r}"
            )
        if seed is not None and (not isinstance(seed, Integral) or seed < 0):
            raise ValueError(f"seed must be None or an integer >= 0, got {seed!r}")
        if not isinstance(n_startup_trials, Integral) or n_startup_trials < 0:
            raise ValueError(f"n_startup_trials must be an integer >= 0, got {n_startup_trials!r}")
        self.optimizer: Any = optimizer
        self.n_startup_trials: Any = n_startup_trials
        self._entropy: Any = np.random.SeedSequence(seed).entropy
        self._independent: Any = independent_sampler or optuna.samplers.RandomSampler(seed=seed)
        self._constraints: Any = constraints_func
        self._learned: dict[tuple[Any, ...], tuple[Kernel, float, float, float]] = {}

    def reseed_rng(self) -> None:
        """Set a new random seed: Optuna calls it on copies of a sampler in parallel workers."""
        self._entropy = np.random.SeedSequence().entropy
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self, study: optuna.Study, trial: optuna.trial.FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the distributions of parameters with several values that have never changed."""
        self._check_directions(study)
        found: dict[str, BaseDistribution] = {}
        changed: set[str] = set()
        for other in self._usable_trials(study, {}):
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
        """Choose the parameters of a search space together; return {} during the start-up."""
        self._check_directions(study)
        if not search_space:
            return {}
        known = self._usable_trials(study, {})
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
        """Choose a single parameter, given the parameters that the trial already has."""
        self._check_directions(study)
        new = {param_name: param_distribution}
        if not param_distribution.single():
            known = self._usable_trials(study, new)
            started = len(self._usable_trials(study, {})) >= self.n_startup_trials
            # A parameter of one of two branches has about half of the trials.
            if started and len(known) >= max(1, self.n_startup_trials // 2):
                # Parameters of this trial that all earlier trials with the new parameter have too.
                given = {
                    name: space
                    for name, space in trial.distributions.items()
                    if not space.single()
                    and all(other.distributions.get(name) == space for other in known)
                }
                fixed = {name: trial.params[name] for name in given}
                return self._choose(study, trial, {**given, **new}, known, fixed)[param_name]
        running, draw = self._running(study, trial, {}, {}), self._independent.sample_independent
        for _ in range(MOST_DRAWS):
            value = draw(study, trial, param_name, param_distribution)
            params = {**trial.params, param_name: value}
            if not any(params.items() <= other.items() for other in running):
                break
        return value

    def before_trial(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        """Call ``before_trial`` of the independent sampler."""
        self._independent.before_trial(study, trial)

    def after_trial(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Keep the constraints of a trial, and call ``after_trial`` of the independent sampler."""
        if self._constraints is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            found = [float(each) for each in self._constraints(trial)]
            if any(map(isnan, found)):
                raise ValueError(f"constraints_func must return numbers, not NaN; got {found}")
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, found)
        self._independent.after_trial(study, trial, state, values)

    @staticmethod
    def _check_directions(study: optuna.Study) -> None:
        if len(study.directions) > 1 + MOST_FURTHER_GOALS:
            raise ValueError(
                f"GPBanditSampler takes at most {1 + MOST_FURTHER_GOALS} directions, but the study "
                f"has {len(study.directions)}; use one of optuna.samplers.NSGAIISampler, TPESampler"
            )

    @staticmethod
    def _usable_trials(
        study: optuna.Study,
        search_space: Mapping[str, BaseDistribution],
        states: tuple[TrialState, ...] = (TrialState.COMPLETE,),
    ) -> list[Any]:
        """Return the trials of these states with all parameters of a search space, by number.

        The parameters must be within the ranges of the search space.
        """
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
        """Choose values for a search space with the engine; ``fixed`` has values to condition on.

        ``known`` are the complete trials of which the engine learns.
        """
        cube = Cube({name: search_space[name] for name in sorted(search_space)})
        points = np.stack([cube.point(other.params) for other in known])
        y = [_finite([other.values[i] for other in known]) for i in range(len(study.directions))]
        y = [
            each if direction == StudyDirection.MAXIMIZE else -each
            for each, direction in zip(y, study.directions, strict=True)
        ]
        y = [Warp(each[: last_refit("growing", len(each), first=1)])(each) for each in y]
        of_trials = [other.system_attrs.get(CONSTRAINTS, ()) for other in known]
        n_constraints = max(map(len, of_trials))
        limited = [len(each) == n_constraints > 0 for each in of_trials]
        violated = np.array([max(each, default=0.0) > 0.0 for each in of_trials])
        sequence = np.random.SeedSequence([self._entropy, trial.number, len(trial.params)])
        best = points[_best_first(np.column_stack(y), violated)]
        candidates = cube.candidates(best, np.random.default_rng(sequence))
        for name, value in (fixed or {}).items():
            candidates[:, cube.names.index(name)] = cube.coordinate(name, value)
        candidates = cube.with_absent(candidates, points)
        # With ``fixed`` only trials with all parameters of the search space count.
        needed = {} if fixed is None else search_space
        places = [cube.point(each) for each in self._running(study, trial, search_space, needed)]
        running = cube.columns(np.reshape(places, (-1, len(cube.names))))
        new = ~membership_mask(cube.columns(candidates), running)
        candidates = candidates[new] if new.any() else candidates
        # The two corners make the domain the box of all columns.
        others = np.concatenate([cube.corners, running])
        failed = self._usable_trials(study, needed, FAILED)

        def player_of(number: int, trials: list[Any], values: np.ndarray) -> tuple[Search, float]:
            """Return an engine that was told a goal or a constraint, and its value for 0."""
            X = cube.columns(np.stack([cube.point(each.params) for each in trials]))
            key = (study._study_id, repr(cube.names), number, *[each.number for each in trials])
            kernel, alpha, center, scale = self._learn(key, cube, X, values)
            player = self._engine().set_params(
                arms=np.concatenate([others, cube.columns(candidates)]),
                kernel=kernel,
                alpha=alpha,
                optimizer=None,
                normalize_y=False,
                random_state=int(sequence.generate_state(1)[0] >> 1),
            )
            player.fit(X, (values - center) / scale)
            for other in failed:
                player.tell(cube.columns(cube.point(other.params)[np.newaxis])[0], None)
            for slot in range(len(cube.corners), len(others)):
                player.run_.ask(player.domain_.arm(slot))
            return player, -center / scale

        player, *others_of_goals = [player_of(i, known, each)[0] for i, each in enumerate(y)]
        feasibility = player._feasibility(expecting=True)
        if n_constraints:
            told = [each for each, has_all in zip(known, limited, strict=True) if has_all]
            limits: list[Any] = []
            for i in range(n_constraints):
                values = _finite([each.system_attrs[CONSTRAINTS][i] for each in told])
                of_limit, top = player_of(len(y) + i, told, values)
                limits.append(NumberWithinEnds(-inf, top, [of_limit._expected_process()], [1.0]))
            feasibility.limits = OutcomeConstraints(limits)
        improvement = None
        if others_of_goals:
            players = [player, *others_of_goals]
            goals = Goals(
                [each._model for each in players],
                [each._expected_process() for each in players],
                np.ones(len(players)),
            )
            observed, kept = [*player._model.process.observed], feasibility.limits_mask
            within = np.ones(len(observed), dtype=bool) if kept is None else kept(observed)
            improvement = GoalImprovement(goals, observed, [*running[:, np.newaxis]], within, None)
        _, values = player._score_round(feasibility, improvement)
        slots = player._apart_from_pending(np.arange(len(others), len(values)), values)
        return cube.params(candidates[argmax_among(values, slots) - len(others)])

    def _engine(self) -> Search:
        return EIOptimizer() if self.optimizer is None else clone(self.optimizer)

    def _learn(
        self, key: tuple[Any, ...], cube: Cube, X: np.ndarray, y: np.ndarray
    ) -> tuple[Kernel, float, float, float]:
        """Return kernel, noise variance, centre and scale, learned from the first of the trials.

        ``key`` identifies study, space, goal or constraint, and trials in the cache.
        """
        n = last_refit("growing", len(y), first=1)
        key = key[: 3 + n]
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
        """Return the parameters of other running trials, as far as they are in the search space.

        Trials without one of the parameters ``needed`` are left out.
        """
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
    """Stand-in for a space of settings, for a kernel whose rows are columns already."""

    @staticmethod
    def columns(X: np.ndarray) -> np.ndarray:
        """Return ``X`` unchanged."""
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
        #: Columns (2, n_columns) of the lower and the upper corner.
        self.corners: np.ndarray = np.repeat([[0.0], [1.0]], len(self.space.groups), axis=1)

    def coordinate(self, name: str, value: Any) -> float:
        """Return the coordinate in [0, 1] of a value of a parameter."""
        distribution = self._distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            value = str(int(distribution.to_internal_repr(value)))
        return self._axes[name].coordinate(value)

    def point(self, params: Mapping[str, Any]) -> np.ndarray:
        """Return the point (d,) of parameters, NaN for parameters absent or out of range."""
        return np.array(
            [
                self.coordinate(name, params[name]) if _has(params, {name: space}) else np.nan
                for name, space in self._distributions.items()
            ]
        )

    def columns(self, points: np.ndarray) -> np.ndarray:
        """Return the kernel's columns (n, n_columns) of points (n, d), neutral where NaN."""
        absent = np.isnan(points)
        columns = self.space.columns(np.where(absent, NEUTRAL, points))
        return np.where(absent[:, self.space.groups], NEUTRAL, columns)

    def candidates(self, best: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return candidates (n, d) spread over the cube and near the best points, without NaN."""
        bounds, n_axes = self.space.bounds, len(self.names)
        everywhere = spread_points(bounds, defaults.OPTUNA_EVERYWHERE, rng.uniform(size=n_axes))
        n_near = defaults.OPTUNA_NEAR
        centers = best[np.arange(n_near) % len(best)]
        centers = np.where(np.isnan(centers), rng.uniform(size=centers.shape), centers)
        near = self.space.neighbours(centers, n_near, rng)
        return np.concatenate([everywhere, near])

    def with_absent(self, points: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return points (n, d) with NaN for the parameters that are predicted to be absent.

        A decision tree learns from the trials, points ``known`` (m, d), which parameters are
        absent, given the parameters that all trials have.
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
        """Return the parameters of a point (d,), without parameters that are NaN."""
        setting = self.space.setting(np.where(np.isnan(point), NEUTRAL, point))
        return {
            name: distribution.choices[int(setting[name])]
            if isinstance(distribution := self._distributions[name], CategoricalDistribution)
            else setting[name]
            for name, u in zip(self.names, point, strict=True)
            if not np.isnan(u)
        }


def _has(params: Mapping[str, Any], search_space: Mapping[str, BaseDistribution]) -> bool:
    """Return whether ``params`` has all parameters of a search space, within their ranges."""
    for name, distribution in search_space.items():
        if name not in params:
            return False
        try:
            if not distribution._contains(distribution.to_internal_repr(params[name])):
                return False
        except ValueError:
            return False
    return True


def _best_first(Y: np.ndarray, violated: np.ndarray) -> np.ndarray:
    """Return the indices of the trials around which candidates lie.

    ``Y`` (n, n_goals) are the goals, to be maximised, and ``violated`` (n,) whether a constraint
    is violated. With several goals they are those of the front.
    """
    if Y.shape[1] == 1:
        return np.lexsort((-Y[:, 0], violated))[: defaults.N_CENTERS]
    among = np.flatnonzero(~violated) if not violated.all() else np.arange(len(Y))
    return among[pareto_mask(Y[among])]


def _finite(values: list[float]) -> np.ndarray:
    """Return an array of the values, infinite ones replaced by the largest or smallest finite one.

    If no value is finite, the values are replaced by their signs.
    """
    y = np.array(values, dtype=np.float64)
    finite = y[np.isfinite(y)]
    return np.clip(y, finite.min(), finite.max()) if len(finite) else np.sign(y)
