r"""Earlier campaigns on similar functions, whose likeness to the present one is learned.

With u the function of an earlier campaign in units of its own standard deviation, the model of the
present one is

.. math:: f(x) = c + s \, (\ell + \rho \, u(x) + \sqrt{1 - \rho^2} \, v(x)),

with v independent of u and of the same kernel, a level l of its own, and units c, s of the present
answers. The correlation is 1 for the same shape in other units, 0 if the campaigns have nothing in
common, and below 0 if one is upside down. Given the kernel and the correlation, the prior of f is
Gaussian: with the posterior mean m and covariance C of u given the earlier answers alone, its mean
is rho m and its covariance rho^2 C + (1 - rho^2) k, besides the level. The earlier answers are
therefore factorised once.

Every pair of a correlation and a kernel that fits the earlier answers is a model of the present
campaign, for several variances of f and of the noise. Its weight is its prior times the density of
the present answers given the earlier ones, so that no answer counts twice. Several campaigns are
weighed against each other, and not combined. The scale of f is about that of the earlier function
with prior probability 1/2. Then one flat answer at the earlier optimum refutes all likeness.

An average over these models explores where the campaigns contradict each other, but it still wastes
queries if nothing is alike. So earlier campaigns are dropped while the probability that the present
one is like none of them exceeds 0.7, and count again once it is below 0.1. Its prior is 1/2. The
models may agree with all answers at a local optimum of f. So while the campaigns count, the search
asks every fourth query, from the second on, where the first design would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from skgpb import defaults
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import LEAST_NOISE, Prior
from skgpb.surrogate.model import Model, Samples
from skgpb.surrogate.models import Models, log_density_of_answers, quantiles, thetas_around
from skgpb.surrogate.samples import Merged

# Accuracy: logarithms of the variances of f, and of those of the noise, in units of the variance of
# the answers.
AMPLITUDES = np.arange(-3, 6) * 1.2
NOISES = np.arange(-6.0, 1.0)
# Rounding: least noise variance of an answer, in units of the variance of f.
LEAST_SHARE = 1e-8
# Accuracy: share of the probability of all correlations and kernels that the average has, and the
# number of pairs of variances for all of them; each has one at least.
KEPT_SHARE, N_KEPT = 0.98, 30


def log_prior_of_variances(levels: np.ndarray) -> np.ndarray:
    """Return the log prior (n_levels, n_amplitudes) of variances of the noise and of f.

    A single level is a known noise variance.
    """
    of_f = -0.5 * (AMPLITUDES / defaults.CAMPAIGN_AMPLITUDE_SPREAD) ** 2
    if len(levels) == 1:
        return of_f[np.newaxis]
    gap = (levels - log(defaults.NOISE)) / defaults.NOISE_SPREAD
    return of_f - 0.5 * gap[:, np.newaxis] ** 2


@dataclass(frozen=True, eq=False)
class Shape:
    """Posterior of the function of an earlier campaign, with one kernel, in units of its variance.

    Without answers it is a prior for a campaign that is like no other.

    Attributes
    ----------
    gp : GaussianProcess
        Evaluates the kernel, whose variance is one; it has no observations.
    log_weight : float
        Logarithm of the probability of this kernel among those of the campaign.
    variance : float
        Variance of the function in the user's units; NaN without answers.
    observed : Functionals
        Settings of the earlier answers.
    root : ndarray of shape (n, n)
        Lower Cholesky factor of the covariance of the answers, level and noise included.
    weights : ndarray of shape (n,)
        The mean of u is cov(u, observed) @ weights.
    """

    gp: GaussianProcess
    log_weight: float
    variance: float
    observed: Functionals
    root: np.ndarray
    weights: np.ndarray

    def moments(self, where: Functionals) -> tuple[np.ndarray, np.ndarray]:
        """Return means (n,) of u, and R (n, m) whose R R^T is the reduction of its covariance."""
        C = self.gp.covariance(where, self.observed)
        if not C.size:
            return np.zeros(len(C)), C
        return C @ self.weights, solve_triangular(self.root, C.T, lower=True).T


def _fit_shape(gp: GaussianProcess, where: Functionals, z: np.ndarray, unit: float) -> Shape:
    """Return the posterior of standardised answers z (n,) with the most probable variances.

    Its ``log_weight`` is the log density of the answers. ``unit`` is their variance.
    """
    K = gp.covariance(where, where) + defaults.READ_LEVEL
    density = log_density_of_answers(K, np.ones(len(z)), z, AMPLITUDES, NOISES)
    density += log_prior_of_variances(NOISES)
    level, amplitude = np.unravel_index(density.argmax(), density.shape)
    variance = float(np.exp(AMPLITUDES[amplitude]))
    noise = float(np.exp(NOISES[level])) / variance
    root = np.linalg.cholesky(K + noise * np.eye(len(z)))
    weights = np.linalg.solve(root.T, np.linalg.solve(root, z / sqrt(variance)))
    return Shape(gp, float(density.max()), variance * unit, where, root, weights)


def _of_variance_one(model: Model, kernel: Any, theta: np.ndarray, row: np.ndarray) -> Any:
    """Return a process whose prior variance is one, with other hyperparameters as in ``theta``.

    Main effects add to the variance of a kernel, at every row (1, n_columns) alike.
    """
    kernel, rest = kernel.clone_with_theta(theta), (model.process.n_columns, model.process.origin)
    variance = GaussianProcess(kernel, *rest).variance(Functionals.of_rows(row))[0]
    theta = np.append(theta[0] - log(float(variance)), theta[1:])
    return GaussianProcess(kernel.clone_with_theta(theta), *rest)


def _gap_of_lengths(theta: np.ndarray, prior: Prior) -> float:
    """Return the log prior of hyperparameters other than the variance of f."""
    gap = ((theta - prior.center) / prior.spread)[1:]
    return -0.5 * float(gap @ gap)


def _normalised(shapes: list[Shape]) -> list[Shape]:
    """Return the probable ones of some shapes, with weights whose exponentials sum to one."""
    logs = np.array([shape.log_weight for shape in shapes])
    logs -= np.logaddexp.reduce(logs)
    best = np.argsort(-logs, kind="stable")[: defaults.CAMPAIGN_SHAPES]
    kept = best[logs[best] > log(defaults.NEGLIGIBLE_WEIGHT)]
    total = float(np.logaddexp.reduce(logs[kept]))
    return [replace(shapes[i], log_weight=float(logs[i]) - total) for i in kept.tolist()]


def shapes_of_campaign(model: Model, rows: np.ndarray, rewards: np.ndarray) -> list[Shape]:
    """Return the posteriors of an earlier function with the kernels that fit its answers.

    Parameters
    ----------
    model : Model
        A model with a learned kernel that has no answers; it is not changed.
    rows : ndarray of shape (n, n_columns)
        Settings.
    rewards : ndarray of shape (n,)
        Answers, which are not all equal.
    """
    process, prior, n = model.process, model.prior, len(rewards)
    assert prior is not None
    if n > defaults.MOST_OF_CAMPAIGN:
        chosen = np.arange(defaults.MOST_OF_CAMPAIGN) * n // defaults.MOST_OF_CAMPAIGN
        rows, rewards = rows[chosen], rewards[chosen]
    own = Model(process.kernel, process.n_columns, prior=prior, origin=process.origin, seed=0)
    own.condition(rows, rewards)
    kernel = own.refit().process.kernel
    z, where = (rewards - rewards.mean()) / rewards.std(), Functionals.of_rows(rows)
    shapes = []
    for theta in thetas_around(kernel, prior):
        gp = _of_variance_one(model, kernel, theta, rows[:1])
        found = _fit_shape(gp, where, z, float(rewards.var()))
        weight = found.log_weight + _gap_of_lengths(theta, prior)
        shapes.append(replace(found, log_weight=weight))
    return _normalised(shapes)


def shapes_alone(model: Model, row: np.ndarray) -> list[Shape]:
    """Return the priors of a function that is like none; ``row`` (1, n_columns) is any setting."""
    process, prior, kernel = model.process, model.prior, model.process.kernel
    assert prior is not None
    none, shapes = np.zeros((0, 0)), []
    for theta in thetas_around(kernel.clone_with_theta(prior.center), prior):
        gp = _of_variance_one(model, kernel, theta, row)
        where, weight = Functionals(process.n_columns), _gap_of_lengths(theta, prior)
        shapes.append(Shape(gp, weight, np.nan, where, none, np.zeros(0)))
    return _normalised(shapes)


@dataclass(frozen=True)
class Member:
    """One correlation with one pair of variances, among the models of a shape.

    Attributes
    ----------
    weight : float
        Its probability.
    correlation : float
        The correlation rho.
    variance, noise : float
        Variance of f, and factor of the noise variances, in units of the answers.
    """

    weight: float
    correlation: float
    variance: float
    noise: float


class CampaignProcess:
    """Average over the models of one shape, given present answers and pending queries.

    Parameters
    ----------
    shape : Shape
        The earlier function.
    members : list of Member
        The models.
    units : tuple of float
        Centre and scale of the answers, in the user's units.
    observed : Functionals
        The answered functionals.
    merged : Merged
        Their answers, in these units.
    row_sets : sequence of ndarray of shape (n_rows, n_columns)
        Rows of pending queries, whose answers are expected to equal their means.
    noises : ndarray of shape (n_pending,)
        Noise variances of these answers, in the user's units.
    """

    def __init__(
        self,
        shape: Shape,
        members: list[Member],
        units: tuple[float, float],
        observed: Functionals,
        merged: Merged,
        row_sets: Sequence[np.ndarray],
        noises: np.ndarray,
    ) -> None:
        self._shape, self._members, self._units = shape, members, units
        weights = np.array([member.weight for member in members])
        self._weights = weights / weights.sum()
        every = [*observed, *row_sets]
        self._seen = seen = Functionals.of(every, observed.n_columns)
        self._n = n = len(observed)
        K = shape.gp.covariance(seen, seen) + defaults.READ_LEVEL
        mean, self._root = shape.moments(seen)
        # For each member the root of the covariance of all answers, and the weights of those given.
        self._solved: list[tuple[np.ndarray, np.ndarray]] = []
        for each in members:
            own = np.concatenate([merged.noise * each.noise, noises / units[1] ** 2])
            prior = K - each.correlation**2 * self._root @ self._root.T
            prior += np.diag(np.maximum(own / each.variance, LEAST_SHARE))
            root = np.linalg.cholesky(prior)
            gap = merged.y / sqrt(each.variance) - each.correlation * mean[:n]
            self._solved.append((root, np.linalg.solve(prior[:n, :n], gap)))

    def moments(
        self, row_sets: np.ndarray | list[np.ndarray], std: bool = False, cov: bool = False
    ) -> Any:
        """Return moments like :meth:`GaussianProcess.moments`."""
        shape, (center, scale) = self._shape, self._units
        where = shape.gp.functionals(row_sets)
        known, R = shape.moments(where)
        C = shape.gp.covariance(where, self._seen) + defaults.READ_LEVEL
        prior = (shape.gp.covariance(where, where) if cov else shape.gp.variance(where)) + (
            defaults.READ_LEVEL
        )
        of_earlier = R @ R.T if cov else (R * R).sum(axis=1)
        means: list[np.ndarray] = []
        within = np.zeros_like(prior)
        for share, each, solved in zip(self._weights, self._members, self._solved, strict=True):
            (root, weights), rho, unit = solved, each.correlation, scale * sqrt(each.variance)
            across = C - rho**2 * R @ self._root.T
            means.append(center + unit * (rho * known + across[:, : self._n] @ weights))
            if not (std or cov):
                continue
            V = solve_triangular(root, across.T, lower=True) if len(root) else across.T
            left = prior - rho**2 * of_earlier - (V.T @ V if cov else (V * V).sum(axis=0))
            within += share * unit**2 * (left if cov else np.maximum(left, 0.0))
        mean = self._weights @ np.array(means)
        if not (std or cov):
            return mean
        apart = np.array(means) - mean
        if cov:
            return mean, within + (apart.T * self._weights) @ apart
        return mean, np.sqrt(within + self._weights @ apart**2)


@dataclass(frozen=True)
class CampaignModels(Models):
    """Models of the present campaign given earlier ones.

    Attributes
    ----------
    offset, scale : float
        Units of the process that the models replace.
    noise : float
        Mean noise variance of an answer, in the user's units.
    """

    offset: float = 0.0
    scale: float = 1.0
    noise: float = 0.0

    def scaled_moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means and variances (n,) at rows, in units of the process."""
        mean, std = self.moments(rows, std=True)
        return (mean - self.offset) / self.scale, (std / self.scale) ** 2


@dataclass(frozen=True, eq=False)
class _Fit:
    """Probabilities of all models, given the present answers.

    Attributes
    ----------
    observed, merged, units : object
        The answers and their units, see :class:`CampaignProcess`.
    nodes : list of tuples (Shape, float)
        Shape and correlation of each entry of ``probabilities``.
    probabilities : ndarray of shape (n_nodes, n_levels, n_amplitudes)
        They sum to one.
    levels : ndarray of shape (n_levels,)
        Logarithms of the noise variances.
    """

    observed: Functionals
    merged: Merged
    units: tuple[float, float]
    nodes: list[tuple[Shape, float]]
    probabilities: np.ndarray
    levels: np.ndarray

    @property
    def probability_of_none(self) -> float:
        """Probability that the campaign is like none of the earlier ones."""
        alone = np.array([correlation == 0.0 for _, correlation in self.nodes])
        return float(self.probabilities[alone].sum())


@dataclass(eq=False)
class EarlierCampaigns:
    """All earlier campaigns, and whether they count at present.

    Parameters
    ----------
    campaigns : list of lists of Shape
        The result of :func:`shapes_of_campaign` for each.
    alone : list of Shape
        The result of :func:`shapes_alone`.

    Attributes
    ----------
    are_off : bool
        Whether the present campaign seems to be like none of them, so that they do not count.
    n_with : int
        Number of answers when they last counted.
    """

    campaigns: list[list[Shape]]
    alone: list[Shape]
    are_off: bool = False
    n_with: int = 0
    _last: tuple[Samples, int, _Fit] | None = field(default=None, repr=False)
    _known: tuple[_Fit, GaussianProcess, CampaignModels] | None = field(default=None, repr=False)

    _kept_fields = ("are_off", "n_with")

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None, "_known": None}

    def update(self, model: Model) -> None:
        """Decide whether the campaigns count, after another answer."""
        n = model.n_answers
        if not self.are_off:
            self.n_with = n
        if n > defaults.MOST_WITH_CAMPAIGNS:
            self.are_off = True
        elif n > 1:
            back, off = defaults.CAMPAIGNS_BACK, defaults.CAMPAIGNS_OFF
            self.are_off = self._fit(model).probability_of_none > (back if self.are_off else off)

    def models(
        self, model: Model, row_sets: Sequence[np.ndarray] = (), noises: np.ndarray | None = None
    ) -> CampaignModels | None:
        """Return the models given the answers of a model; None while the campaigns are off.

        ``row_sets`` and ``noises`` are those of pending queries, see :class:`CampaignProcess`.
        """
        if self.are_off:
            return None
        fit, process = self._fit(model), model.process
        if noises is not None and len(noises):
            return _models_of(fit, model, row_sets, noises)
        if self._known is None or self._known[:2] != (fit, process):
            self._known = fit, process, _models_of(fit, model, (), np.empty(0))
        return self._known[2]

    def _fit(self, model: Model) -> _Fit:
        samples, n = model.samples, model.n_answers
        if self._last is None or self._last[0] is not samples or self._last[1] != n:
            self._last = samples, n, _fit_to(model, self.campaigns, self.alone)
        return self._last[2]


def _models_of(
    fit: _Fit, model: Model, row_sets: Sequence[np.ndarray], noises: np.ndarray
) -> CampaignModels:
    """Return the most probable models, given pending queries as well."""
    of_nodes = fit.probabilities.sum(axis=(1, 2))
    best = np.argsort(-of_nodes, kind="stable")
    kept = best[: int(np.searchsorted(np.cumsum(of_nodes[best]), KEPT_SHARE)) + 1]
    members: dict[Shape, list[Member]] = {}
    for i in kept.tolist():
        shape, correlation = fit.nodes[i]
        n = max(1, round(N_KEPT * float(of_nodes[i])))
        for weight, level, amplitude in quantiles(fit.probabilities[i], n):
            variances = float(np.exp(AMPLITUDES[amplitude])), float(np.exp(fit.levels[level]))
            member = Member(weight, correlation, *variances)
            members.setdefault(shape, []).append(member)
    processes: list[Any] = [
        CampaignProcess(shape, own, fit.units, fit.observed, fit.merged, row_sets, noises)
        for shape, own in members.items()
    ]
    weights = np.array([sum(each.weight for each in own) for own in members.values()])
    noise = model.alpha
    if len(fit.levels) > 1:
        each_noise = [each.weight * each.noise for own in members.values() for each in own]
        noise = sum(each_noise) / float(weights.sum()) * fit.units[1] ** 2
    units = model.process.offset, model.process.scale
    return CampaignModels(processes, weights / weights.sum(), None, 0.0, *units, noise)


def _fit_to(model: Model, campaigns: list[list[Shape]], alone: list[Shape]) -> _Fit:
    """Return the probabilities of all models, given the answers of a model."""
    variances = [float(np.mean([shape.variance for shape in own])) for own in campaigns]
    rewards = np.array(model.samples.reward)
    center = float(rewards.mean()) if len(rewards) else 0.0
    scale = float(rewards.std()) if len(rewards) else 0.0
    # One answer has no scale: until there are two, that of the earlier campaigns is as good as any.
    scale = scale if scale > 0.0 else sqrt(float(np.mean(variances)))
    samples = model.samples.scaled(center, scale)
    samples = replace(samples, alpha=np.maximum(samples.alpha, LEAST_NOISE))
    is_learned = bool(samples.unknown.all()) and model.options.noise is None
    levels = NOISES if is_learned else np.zeros(1)
    merged = samples.merged(1.0 if is_learned else model.alpha / scale**2)
    repeats = -0.5 * (merged.square * np.exp(-levels) + merged.n_merged_away * levels)
    # The answers of the process, without embeddings of its kernel.
    observed = Functionals.of([*model.process.observed], model.process.n_columns)
    nodes: list[tuple[Shape, float]] = []
    logs = []
    groups = [(campaign, [own]) for campaign, own in zip(campaigns, variances, strict=True)]
    for shapes, scales in [(alone, variances), *groups]:
        prior = _log_prior_near(levels, [each / scale**2 for each in scales])
        prior += repeats[:, np.newaxis] - (0.0 if shapes is alone else log(len(campaigns)))
        for shape in shapes:
            K = shape.gp.covariance(observed, observed) + defaults.READ_LEVEL
            mean, R = shape.moments(observed)
            for rho, weight in defaults.CORRELATIONS.items():
                if (rho == 0.0) != (shapes is alone):
                    continue
                given = K - rho**2 * R @ R.T, merged.noise, merged.y, AMPLITUDES, levels
                density = log_density_of_answers(*given, rho * mean)
                nodes.append((shape, rho))
                logs.append(density + prior + log(weight) + shape.log_weight)
    every = np.array(logs)
    every = np.exp(every - every.max())
    return _Fit(observed, merged, (center, scale), nodes, every / every.sum(), levels)


def _log_prior_near(levels: np.ndarray, variances: list[float]) -> np.ndarray:
    """Return the log prior (n_levels, n_amplitudes) of variances of the noise and of f.

    With probability 1/2 the variance of f is about one of ``variances``, those of earlier
    functions in units of the answers, and otherwise it is any.
    """
    spread = defaults.CAMPAIGN_AMPLITUDE_SPREAD
    any_scale = -0.5 * (AMPLITUDES / spread) ** 2 - log(spread)
    near = [-0.5 * (AMPLITUDES - log(each)) ** 2 for each in variances]
    mean = np.logaddexp.reduce(near) - log(len(near))
    return log_prior_of_variances(levels) + np.logaddexp(mean, any_scale) - any_scale
