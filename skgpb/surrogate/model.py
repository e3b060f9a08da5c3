r"""The model of f: its posterior, the answers behind it, and how it is learned from them.

Everything is in the user's units, except that the posterior and its kernel work with
(reward - offset) / scale. Only this module decides on these units, on the noise of answers without
their own, on the outliers among them, and on when all of this is learned again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf, isnan, log, nan, sqrt
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.kernels._random_effect import RandomEffect
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.criticism import (
    Criticism,
    contradiction_message,
    deviations_from_others,
    explains_nothing,
    lacks_fit,
    outliers_message,
    risk_of_check,
)
from skgpb.surrogate.exactness import (
    exact_model,
    exact_noise,
    is_of_matern,
    repeats_agree,
    with_smoothness,
)
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.learning import fit_hyperparameters
from skgpb.surrogate.length_scales import are_length_scales
from skgpb.surrogate.likelihood import Likelihood, ModelNoise, Prior, check_restarts, noise_prior
from skgpb.surrogate.models import Models, can_be_averaged
from skgpb.surrogate.outliers import find_outliers
from skgpb.surrogate.samples import ScaledSamples, subsample
from skgpb.surrogate.schedule import Schedule
from skgpb.surrogate.shrinkage import shrinkage_means
from skgpb.surrogate.trend_and_rough import has_rough_part
from skgpb.surrogate.units import LARGEST_UNIT, SMALLEST_UNIT, units_of, usable, warn_of_digits


@dataclass(frozen=True)
class ModelOptions:
    """Options of a model; all of them may change during a run.

    Attributes
    ----------
    noise : float or None
        Noise variance of answers without their own, in the user's units; None if it is learned.
    optimizer : "fmin_l_bfgs_b", callable or None
        Optimizer of the hyperparameters of the kernel. None keeps them, unless there is a prior.
    n_restarts : int
        Number of further starts of its searches.
    relearn : "growing", "doubling", int or None
        When to learn, see :func:`~skgpb.surrogate.likelihood.next_refit`.
    normalize_y : bool
        Whether the units of the process follow the answers, as they do with a prior.
    model_noise : float or None
        Variance of the kernel's own error about an answer, in the user's units; None if the method
        ``model_noise`` of the kernel returns it. Values of f do not have this error.
    """

    noise: float | None = None
    optimizer: str | Callable | None = None
    n_restarts: int = 0
    relearn: str | int | None = "doubling"
    normalize_y: bool = False
    model_noise: float | None = 0.0


@dataclass(frozen=True)
class LearningPolicy:
    """Rules of learning that depend on the kind of observations; see decision D-H47.

    Attributes
    ----------
    starts_afresh : bool
        Whether searches for hyperparameters start at the centre of the prior alone, and not also
        at the end of the previous search.
    counts_answers : bool
        Whether the units are those of all answers, and a single answer sets the scale to its size.
        Otherwise each distinct query counts once, because the best are asked again and again.
    learns_at_once : bool
        Whether learning is due at once if an answer may be an outlier, or if answers may be exact.
    """

    starts_afresh: bool = False
    counts_answers: bool = False
    learns_at_once: bool = True


#: Rules for answers that are averages over random inputs: each is little evidence of f.
POLICY_OF_AVERAGES = LearningPolicy(starts_afresh=True, counts_answers=True, learns_at_once=False)


@dataclass(frozen=True)
class Hyperparameters:
    """Units, hyperparameters and noise that were learned from all answers.

    Attributes
    ----------
    center, scale : float
        Units of the process.
    theta : ndarray of shape (n_theta,)
        Hyperparameters of the kernel.
    noise : float
        Noise variance of answers without their own, in units of the process.
    smoothness : float or None
        Smoothness of the Matérn kernel, if it was chosen.
    outliers : dict
        Factors of the noise variances of the outliers, by the indices of the samples.
    """

    center: float
    scale: float
    theta: np.ndarray
    noise: float
    smoothness: float | None = None
    outliers: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Hyperparameters:
        """Return the hyperparameters of a saved run; raise ValueError if they are impossible."""
        out = cls(**{**values, "outliers": dict(values.get("outliers", ()))})
        numbers = np.array([out.center, out.scale, out.noise, *out.theta, *out.outliers.values()])
        if "smoothness" in values and out.smoothness not in defaults.SMOOTHNESS:
            raise ValueError(f"the smoothness must be one of {defaults.SMOOTHNESS}: {values}")
        finite = numbers.dtype.kind in "fi" and np.isfinite(numbers).all()
        if not (finite and out.scale > 0 <= out.noise):
            raise ValueError(f"these units and hyperparameters cannot be learned: {values}")
        return out

    def values(self) -> dict[str, Any]:
        """Return the values as a dict for a log, without the absent ones."""
        out = {name: getattr(self, name) for name in ("center", "scale", "theta", "noise")}
        if self.smoothness is not None:
            out["smoothness"] = self.smoothness
        if self.outliers:
            out["outliers"] = list(self.outliers.items())
        return out


# -- Answers, and what they say about the model ----------------------------------------------------


class Samples:
    """Answers to functionals, by the indices of the distinct functionals of a process.

    Attributes
    ----------
    functional : list of int
        Index of the observed functional.
    reward : list of float
        The answers, in the user's units.
    alpha : list of float
        Noise variances of the answers; NaN if it is learned.
    share : list of float
        Multiples of the unknown noise variance, if it is learned.
    factors : dict
        Factors of the noise variances of the outliers, by index of the sample.
    values : set of int
        Indices of the samples that are values of f, which have no error of the kernel itself.
    """

    _kept_fields = ("functional", "reward", "alpha", "share", "values")

    def __init__(self) -> None:
        self.functional: list[int] = []
        self.reward: list[float] = []
        self.alpha: list[float] = []
        self.share: list[float] = []
        self.factors: dict[int, float] = {}
        self.values: set[int] = set()

    def __len__(self) -> int:
        return len(self.reward)

    def append(self, functional: int, reward: float, alpha: float, share: float = 1.0) -> None:
        """Add one answer."""
        self.functional.append(functional)
        self.reward.append(reward)
        self.alpha.append(alpha)
        self.share.append(share)

    @property
    def is_answer(self) -> np.ndarray:
        """Mask (n,) of the samples that are answers, and not values of f."""
        out = np.ones(len(self), dtype=bool)
        out[list(self.values)] = False
        return out

    def scaled(self, center: float, scale: float) -> ScaledSamples:
        """Return the samples in the units (center, scale) of learning."""
        reward, alpha = np.array(self.reward), np.array(self.alpha)
        functional, share = np.array(self.functional, dtype=np.intp), np.array(self.share)
        for s, factor in self.factors.items():
            share[s] *= factor
        return ScaledSamples(functional, (reward - center) / scale, alpha / scale**2, share)

    def with_factors(self, factors: Mapping[int, float]) -> Samples:
        """Return the same answers with these factors of outliers."""
        if factors == self.factors:
            return self
        same = deepcopy(self)
        same.factors = dict(factors)
        return same


# Rounding: largest sum of squared gaps between answers to one query, in units of their noise, that
# rounding can cause.
DIFFER = 1e-3
# Evidence of the noise, if it was learned.
LEARNED = {
    "none": "as the answers say",
    "some": "as answers to the same query say",
    "unclear": "as learned; no answers to the same query confirm it",
}


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Findings about the answers: their noise, outliers, and the fit of the model.

    Each finding is computed at its first access, which must come before the next observation. A
    model with another answer has another diagnosis.

    Parameters
    ----------
    process : GaussianProcess
        The posterior.
    samples : Samples
        The answers.
    n_answers : int
        Number of answers.
    noise_variance : float
        Noise variance of answers without their own, in units of the process.
    given : float or None
        Noise variance in the user's units, if it is given.
    learned_at : int
        Number of answers at the latest refit.
    learns_all : bool
        Whether the kernel is learned with a prior, which is the default.
    standardizes : bool
        Whether the process is in units of the standard deviation of the answers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.surrogate.model import Model, ModelOptions
    >>> model = Model(RBF(0.3), 1, ModelOptions(noise=0.01))
    >>> _ = model.observe(np.array([[0.5]]), 1.2)
    >>> model.diagnosis.noise, model.diagnosis.method
    ('some', 'posterior')
    >>> model.diagnosis.describe()
    {'noise': 'standard deviation 0.1, as given'}
    """

    process: GaussianProcess
    samples: Samples
    n_answers: int
    noise_variance: float
    given: float | None
    learned_at: int
    learns_all: bool
    standardizes: bool

    @cached_property
    def noise(self) -> Literal["none", "some", "unclear"]:
        """Whether answers have noise, as given or as the answers show.

        "none" is a negligible noise. "unclear" is noise that was learned but that no two answers to
        one query confirm.
        """
        if self._is_exact:
            return "none"
        shown = self._repeats_differ if self.given is None else self.given > 0.0
        return "some" if shown else "unclear"

    @property
    def outliers(self) -> tuple[int, ...]:
        """Indices of the samples that are far from the predictions by all others."""
        return tuple(self.samples.factors)

    @cached_property
    def outlying(self) -> set[int]:
        """Indices of the functionals of which all answers are outliers."""
        functional, factors = self.samples.functional, self.samples.factors
        if not factors:
            return set()
        believed = {i for s, i in enumerate(functional) if s not in factors}
        return {functional[s] for s in factors} - believed

    @cached_property
    def suspects(self) -> tuple[int, ...]:
        """Outliers that are the only answers to their queries and higher than expected.

        The search replicates their queries. A low outlier hides no maximum once its weight is low;
        a high one may be the top of a narrow peak.
        """
        gp, samples = self.process, self.samples
        return tuple(
            s
            for s in self.outliers
            if samples.functional.count(samples.functional[s]) == 1
            and samples.reward[s] > gp.moments([gp.observed[samples.functional[s]]])[0]
        )

    @cached_property
    def repeats_best(self) -> bool:
        """Whether the query with the best answer should be replicated.

        A replicate distinguishes noise from roughness of f. The search needs it if the noise was
        learned and all answers are to different queries.
        """
        return (
            self.learns_all
            and self.learned_at >= defaults.REPEATS_BEST_FROM
            and self.n_answers == len(self.process.observed)
            and self.noise == "unclear"
            and self._is_all_learned
        )

    @cached_property
    def shows_nothing(self) -> bool:
        """Whether answers show nothing of f: all are equal, or the model does not predict them.

        An answer that is far from all others shows something, whatever the model predicts.
        """
        rewards = self.samples.reward
        if all(each == rewards[0] for each in rewards):
            return True
        if self.learned_at < defaults.FIRST_LEARNING or not explains_nothing(self.process):
            return False
        posterior = self.process.posterior
        far = deviations_from_others(posterior.targets()) * np.sqrt(posterior.counts())
        return bool(far.max() < defaults.OUTLIER_Z)

    @cached_property
    def lack_of_fit(self) -> str:
        """Reason why the learned model does not fit the answers; empty if it fits."""
        if not (
            self.learns_all and self.learned_at >= defaults.FIRST_LEARNING and self._is_all_learned
        ):
            return ""
        if explains_nothing(self.process):
            return "the model predicts an answer from all others no better than their mean does"
        if lacks_fit(self.process, self.noise_variance):
            return "most of what counts as noise is variation of f between queries"
        return ""

    @property
    def method(self) -> Literal["best_observed", "shrinkage", "posterior"]:
        """Method of the recommendation, if the queries are the targets."""
        if self.process.observed.has_strata:
            return "posterior"  # answers contain effects of their blocks, besides f
        if self.noise == "none":
            return "best_observed"
        return "shrinkage" if self.lack_of_fit else "posterior"

    @cached_property
    def repeats_agree(self) -> bool:
        """Whether equal answers to repeated queries show that answers have no noise."""
        return (
            not self._repeats_differ
            and self._is_all_learned
            and repeats_agree(self.samples.scaled(0.0, 1.0))
        )

    @property
    def _repeats_differ(self) -> bool:
        return self.process.posterior.repeat_terms()[0] > DIFFER

    @property
    def _is_all_learned(self) -> bool:
        """Whether all answers are without a noise variance of their own."""
        return all(map(isnan, self.samples.alpha))

    @property
    def _is_exact(self) -> bool:
        posterior = self.process.posterior
        if not posterior.n:
            return False
        counts, least = posterior.counts(), exact_noise()
        if counts.sum() > len(counts) and self.repeats_agree:
            return True
        if not self.standardizes:
            least *= float(np.var(posterior.targets()))
        believed = posterior.noises() * counts
        if self.outlying:
            believed = np.delete(believed, list(self.outlying))
        if not len(believed) or (believed > least).any():
            return False
        return not self._repeats_differ

    def describe(self) -> dict[str, str]:
        """Return noise, outliers and lack of fit as texts by name; only the findings present."""
        n, n_far, scale = self.n_answers, len(self.outliers), self.process.scale
        if not n:
            return {}
        variance = self.noise_variance * scale**2 if self.given is None else self.given
        size = "none" if self.noise == "none" else f"standard deviation {sqrt(variance):.3g}"
        source = LEARNED[self.noise] if self.given is None else "as given"
        far = f"{n_far} of {n} answers, far from what all others let expect, count little"
        found = {"noise": f"{size}, {source}", "outliers": far if n_far else ""}
        found["lack of fit"] = self.lack_of_fit
        return {name: words for name, words in found.items() if words}


# -- The model -------------------------------------------------------------------------------------


class Model:
    """A Gaussian process of f with all answers, and the hyperparameters learned from them.

    Observing changes a model. A refit returns a new model, so that nothing is lost if it fails.

    Parameters
    ----------
    kernel : Kernel
        Covariance of functionals over descriptor rows. It is not cloned.
    n_columns : int
        Number of columns of a row.
    options : ModelOptions
        Options of its learning.
    prior : Prior, default=None
        Prior of the logarithms of the hyperparameters, for answers of variance one. None if the
        user gave the kernel.
    usual_noise : tuple of float, default=None
        Median of the noise variance before it is learned, as a share of the variance of the
        answers, and the standard deviation of its logarithm; None for those of most searches.
    origin : ndarray of shape (n_columns,) or None, default=None
        See :class:`~skgpb.surrogate.GaussianProcess`.
    seed : int, RandomState instance or None, default=None
        Seeds the restarts.
    typical : float, default=None
        Typical variance of answers under the prior; None for the mean of the tracked functionals.
    learning_policy : LearningPolicy
        Rules of learning that depend on the kind of observations.

    Attributes
    ----------
    process : GaussianProcess
        The posterior.
    samples : Samples
        The answers.
    noise : float
        Noise variance of answers without their own, in units of the process.
    schedule : Schedule
        Numbers of answers of the next refit, and of the next comparison with the answers.
    first_theta : ndarray of shape (n_theta,)
        Hyperparameters at the start.
    found : Hyperparameters or None
        Result of the latest refit; None before the first.
    n_learned : int
        Number of refits.
    contradicted : str
        How the answers contradict the model, by the latest comparison; empty if they do not.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> model = Model(RBF(0.3), 1, ModelOptions(noise=0.01, optimizer="fmin_l_bfgs_b"))
    >>> for x in np.linspace(0, 1, 8):
    ...     _ = model.observe(np.array([[x]]), float(np.sin(9 * x)))
    ...     if model.is_due:
    ...         model = model.refit()
    >>> model.n_learned, bool(model.process.kernel.length_scale < 0.3)
    (2, True)
    """

    _kept_fields = ("process", "samples", "noise", "schedule", "contradicted")

    def __init__(
        self,
        kernel: Kernel,
        n_columns: int,
        options: ModelOptions = ModelOptions(),  # it is frozen
        *,
        prior: Prior | None = None,
        usual_noise: tuple[float, float] | None = None,
        origin: np.ndarray | None = None,
        seed: Any = None,
        typical: float | None = None,
        learning_policy: LearningPolicy = LearningPolicy(),  # it is frozen
    ) -> None:
        self.options: ModelOptions = options
        self.prior: Prior | None = prior
        self.usual_noise: tuple[float, float] | None = usual_noise
        self.seed: Any = seed
        self.typical: float | None = typical
        self.learning_policy: LearningPolicy = learning_policy
        self.process: GaussianProcess = GaussianProcess(kernel, n_columns, origin)
        self.samples: Samples = Samples()
        self.noise: float = (
            defaults.NOISE * (typical or 1.0) if options.noise is None else options.noise
        )
        self.n_learned: int = 0
        self.first_theta: np.ndarray = kernel.theta
        self.found: Hyperparameters | None = None
        self.contradicted: str = ""
        self._diagnosed: tuple[Any, Any] = None, None
        self._averaged: tuple[Any, Models | None] = None, None
        self._begun = False
        self._scaled_model_noise: float = self._error_of(kernel)
        check_due = defaults.FIRST_CHECK_LEARNED if self.learns else defaults.FIRST_CHECK_GIVEN
        self.schedule: Schedule = Schedule.of(*self._times(), check_due)
        if prior is not None or options.optimizer is not None:
            check_restarts(kernel, options.n_restarts)

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self.samples)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_averaged": (None, None)}

    # -- options ------------------------------------------------------------------------------

    @property
    def standardizes(self) -> bool:
        """True if the process is in units of the standard deviation of the answers."""
        return self.options.normalize_y or self.prior is not None

    @property
    def learns(self) -> bool:
        """True if units, hyperparameters or the noise are learned."""
        options = self.options
        return self.standardizes or options.optimizer is not None or options.noise is None

    @property
    def _is_free(self) -> bool:
        """True if hyperparameters are learned, if there are any."""
        return self.prior is not None or self.options.optimizer is not None

    def with_options(self, options: ModelOptions) -> Model:
        """Return the same model with other options."""
        out = copy(self)
        out.options = options
        out.schedule = self.schedule.following(*out._times())
        out._scaled_model_noise = out._error_of(self.process.kernel)
        known = self.options.noise
        if known is not None and options.noise is None:
            # Until it is learned, noise that is no longer given keeps its value.
            out.noise = known / self.process.scale**2
        return out

    def with_effects(self) -> Model:
        """Return the same model with a random effect of each block of answers, before its refit.

        Until then the variance of the effect is as large as the prior expects that of the noise.
        """
        gp = self.process
        if gp.effect:
            return self
        assert self.prior is not None
        kernel = RandomEffect(gp.kernel, defaults.NOISE, defaults.NOISE_LIMITS)
        center = np.append(self.prior.center, np.log(defaults.NOISE))
        out, spread = copy(self), np.append(self.prior.spread, defaults.NOISE_SPREAD)
        out.prior, out.first_theta = Prior(center, spread), np.append(self.first_theta, center[-1])
        merged = gp.merged()
        out.process = gp.with_hyperparameters(kernel.theta, merged, gp.offset, gp.scale, kernel)
        return out

    def _times(self) -> tuple[str | int | None, int]:
        """Return the options of the schedule; units are learned from the first answer on."""
        first = 1 if self.standardizes else defaults.FIRST_LEARNING
        return (self.options.relearn if self.learns else None), first

    # -- noise and units ----------------------------------------------------------------------

    @property
    def default_noise_variance(self) -> float:
        """Noise variance of an answer that does not say its own; NaN if it is learned."""
        return nan if self.options.noise is None else self.options.noise

    @property
    def alpha(self) -> float:
        """Noise variance of answers without their own, in the user's units: given or learned."""
        known = self.options.noise
        return self.noise * self.process.scale**2 if known is None else known

    @property
    def model_noise(self) -> float:
        """Variance of the kernel's own error about an answer, in the user's units."""
        given = self.options.model_noise
        return self._scaled_model_noise * self.process.scale**2 if given is None else given

    def noise_of(self, alpha: float, is_answer: bool = True) -> float:
        """Return the noise variance of an answer, or of a value of f, in the user's units.

        ``alpha`` is its own noise variance; NaN if it is learned.
        """
        noise = self.noise * self.process.scale**2 if isnan(alpha) else alpha
        return noise + self.model_noise if is_answer else noise

    def _error_of(self, kernel: Any) -> float:
        """Return the variance of a kernel's own error, if the kernel has it, in process units."""
        return float(kernel.model_noise()) if self.options.model_noise is None else 0.0

    def _model_noise_of(self, samples: Samples, scale: float) -> ModelNoise | None:
        """Return the kernel's own error in each sample; None if it has none."""
        given = self.options.model_noise
        if given == 0.0:
            return None
        fixed = None if given is None else given / scale**2
        return ModelNoise(self.process.kernel, samples.is_answer, fixed)

    def to_user_units(self, mean: float, var: float) -> tuple[float, float]:
        """Return mean and standard deviation in the user's units, from moments in process units."""
        scale = self.process.scale
        return mean * scale + self.process.offset, sqrt(var) * scale

    def set_units(self, center: float, scale: float) -> None:
        """Set units that are better known than the first answer implies."""
        self._begun = True
        self.process.set_units(center, scale)

    def begin(self, reward: float, renew: Callable[[], None] | None = None) -> None:
        """Set the first units, unless they are set, with the first reward as the centre.

        ``renew`` is called after units are set, before anything is observed in them.
        """
        if self._begun:
            return
        self._begun, known = True, self.options.noise
        if self.standardizes:
            if known is None:
                # Any unit serves, until there is a standard deviation.
                scale = abs(reward)
            else:
                # The noise bounds the standard deviation from below; with a default kernel, its
                # typical fraction of the variance gives a better guess.
                scale = sqrt(known if self.prior is None else known / defaults.NOISE)
            self.process.set_units(reward, usable(scale))
            if renew is not None:
                renew()
            return
        unit = self._unit()
        warn_of_digits(sqrt(unit), abs(reward))
        if known is None:
            self.noise = defaults.NOISE * unit

    def _unit(self) -> float:
        """Return the typical variance of answers under the prior, in units of the process."""
        if self.typical is not None and not self.standardizes:
            return self.typical
        if self.standardizes or not len(self.process.tracked):
            return 1.0
        variance = float(self.process.variance(self.process.tracked).mean())
        return variance if SMALLEST_UNIT**2 < variance < LARGEST_UNIT**2 else 1.0

    @property
    def tie_scale(self) -> float:
        """Scale of the rounding errors of posterior means in units of the process, at most 1."""
        gp = self.process
        if self.standardizes or not len(gp.observed):
            return 1.0
        return min(1.0, sqrt(float(gp.variance(gp.observed.one(0))[0])))

    def _spread_of(self, rewards: np.ndarray) -> tuple[float, float]:
        """Return centre and scale of the rewards."""
        known = self.options.noise
        # One distinct query does not determine a scale, but the noise is a lower bound of it.
        return units_of(rewards, None if known is None else sqrt(known))

    def _units_by(self, samples: Samples) -> tuple[float, float]:
        """Return centre and scale of all answers except outliers."""
        if self.learning_policy.counts_answers:
            rewards = np.delete(np.array(samples.reward), list(samples.factors))
            center, scale = self._spread_of(rewards)
            return center, usable(max(scale, abs(center))) if len(rewards) == 1 else scale
        # Each distinct query counts once: queries near the maximum are asked again and again.
        targets = self.process.posterior.targets() * self.process.scale + self.process.offset
        if samples.factors:
            outliers = [samples.functional[s] for s in samples.factors]
            targets = np.delete(targets, outliers)
        return self._spread_of(targets)

    # -- observing ----------------------------------------------------------------------------

    def observe(
        self,
        what: int | np.ndarray,
        reward: float,
        alpha: float | None = None,
        renew: Callable[[], None] | None = None,
        stratum: int = 0,
    ) -> tuple[float, float]:
        """Condition on a reward; return its predicted mean and variance, in units of the process.

        Parameters
        ----------
        what : int or ndarray of shape (n_rows, n_columns)
            Slot of the observed functional among the tracked ones, or its descriptor rows.
        reward : float
            Answer.
        alpha : float, default=None
            Its noise variance; NaN if it is learned, None follows the options.
        renew : callable, default=None
            See :meth:`begin`.
        stratum : int, default=0
            Index of the block of the answer, from 1; 0 without one. It needs descriptor rows.
        """
        gp = self.process
        if not self._begun:
            self.begin(reward, renew)
        alpha = self.default_noise_variance if alpha is None else alpha
        noise = self.noise_of(alpha)
        if isinstance(what, np.ndarray):
            mean, std = (float(x[0]) for x in gp.moments([what], std=True))
            before = (mean - gp.offset) / gp.scale, (std / gp.scale) ** 2
            number = gp.observe(what, reward, noise, stratum)
        else:
            before = gp.posterior.moments_at(what)
            number = gp.observe_tracked(what, reward, noise)
        self.samples.append(number, reward, alpha)
        learns_noise = isnan(alpha) and self.schedule.learning_due < inf
        if not self.learning_policy.learns_at_once:
            return before
        if learns_noise:
            error = (reward - gp.offset) / gp.scale - before[0]
            self._request_if_far([error], [before[1] + noise / gp.scale**2], [len(gp.observed)])
            self._request_if_exact(number < len(gp.observed) - 1)
        return before

    def _request_if_far(self, errors: Any, variances: Any, n_observed: Any) -> None:
        """Request a refit, which finds outliers, if an answer is far from its prediction.

        ``errors`` (n,) are answers minus predictions, ``variances`` (n,) those of predicted
        answers, and ``n_observed`` (n,) the numbers of distinct functionals with each answer.
        """
        for error, variance, n in zip(errors, variances, n_observed, strict=True):
            far = error * error > defaults.OUTLIER_Z * defaults.OUTLIER_Z * variance
            if not far or n < defaults.FIRST_CHECK_LEARNED:
                continue
            targets = self.process.posterior.targets()[: n - 1]
            if abs(error) > defaults.OUTLIER_SPREAD * np.std(targets):
                self.schedule.request_refit()
                return

    def _request_if_exact(self, again: bool) -> None:
        """Request a refit if repeated answers show that there is no noise, contrary to the model.

        ``again`` says whether a query was answered again.
        """
        may_be_exact = again and self.prior is not None and self.noise > exact_noise()
        if may_be_exact and self.diagnosis.repeats_agree:
            self.schedule.request_refit()

    def observe_together(
        self,
        row_sets: Sequence[np.ndarray],
        rewards: np.ndarray,
        alphas: np.ndarray,
        strata: Sequence[int] = (),
        renew: Callable[[], None] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Condition on several answers by one factorization, like :meth:`observe` on each in turn.

        Parameters
        ----------
        row_sets : sequence of n ndarray of shape (n_rows, n_columns)
            Descriptor rows of the functionals.
        rewards, alphas : ndarray of shape (n,)
            Answers and their noise variances; NaN if they are learned.
        strata : sequence of int, default=()
            Indices of their blocks, from 1; 0 for answers without one. Empty if none has one.
        renew : callable, default=None
            See :meth:`begin`.

        Returns
        -------
        mean, var : ndarray of shape (n,)
            Prediction of each answer from all before it, in units of the process.
        """
        gp, n_before = self.process, len(self.process.observed)
        if not self._begun and self.standardizes and self.schedule.learning_due < inf:
            self.set_units(*self._spread_of(rewards))
            if renew is not None:
                renew()
        self.begin(float(rewards[0]), renew)
        noises = np.array([self.noise_of(alpha) for alpha in alphas.tolist()])
        several = Functionals.of([*row_sets], gp.n_columns, strata)
        numbers, mean, var = gp.observe_in_turn(several, rewards, noises)
        for each in zip(numbers.tolist(), rewards.tolist(), alphas.tolist(), strict=True):
            self.samples.append(*each)
        if self.learning_policy.learns_at_once and self.schedule.learning_due < inf:
            # Numbers of distinct functionals before each answer, and with the last.
            known = np.maximum.accumulate(np.append(n_before, numbers + 1))
            learns = np.isnan(alphas)
            errors = (rewards - gp.offset) / gp.scale - mean
            self._request_if_far(
                errors[learns], (var + noises / gp.scale**2)[learns], known[1:][learns]
            )
            self._request_if_exact(bool((numbers < known[:-1])[learns].any()))
        return mean, var

    def observe_rows(
        self, rows: np.ndarray, rewards: np.ndarray, alphas: np.ndarray, is_answer: bool = True
    ) -> None:
        """Condition on one answer, or one value of f, for each row; an error changes nothing.

        Parameters
        ----------
        rows : ndarray of shape (n, n_columns)
            Descriptors.
        rewards : ndarray of shape (n,)
            Answers.
        alphas : ndarray of shape (n,)
            Their noise variances; NaN if they are learned.
        is_answer : bool, default=True
            Whether they are answers, which may have the kernel's own error.
        """
        noises = np.array([self.noise_of(alpha, is_answer=is_answer) for alpha in alphas.tolist()])
        numbers = self.process.observe_all(rows, rewards, noises).tolist()
        if not is_answer:
            n = len(self.samples)
            self.samples.values.update(range(n, n + len(rows)))
        for each in zip(numbers, rewards.tolist(), alphas.tolist(), strict=True):
            self.samples.append(*each)

    def condition(self, rows: np.ndarray, rewards: np.ndarray) -> None:
        """Observe values of f that are given at the start, one functional for each row."""
        self._begun = True
        if self.standardizes and len(rewards):
            self.set_units(*self._spread_of(rewards))
        elif self.options.noise is None:
            self.noise = defaults.NOISE * self._unit()
        if len(rewards):
            self.observe_rows(
                rows, rewards, np.full(len(rows), self.default_noise_variance), is_answer=False
            )

    # -- learning -----------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        """True if a refit is due now."""
        return self.n_answers >= self.schedule.learning_due

    def refit(self, values: Hyperparameters | None = None) -> Model:
        """Return the model with units, hyperparameters and noise learned from all answers.

        Parameters
        ----------
        values : Hyperparameters, default=None
            Result of an earlier refit to the same answers; None to compute it.
        """
        out = copy(self)
        out.schedule = copy(self.schedule)
        out.schedule.record_refit(self.n_answers)
        n_before = self.schedule.learned_at
        found, process = out._fit_robust(n_before) if values is None else (values, None)
        out.samples = self.samples.with_factors(found.outliers)
        out.process = out._process_of(found, out.samples) if process is None else process
        out.noise, out._scaled_model_noise = found.noise, out._error_of(out.process.kernel)
        out.found, out.n_learned = found, self.n_learned + 1
        if out.samples.factors.keys() - self.samples.factors.keys():
            # The next answer may be to the same query, and confirm or refute the outlier.
            out.schedule.request_refit()
            out.schedule.check_due = self.n_answers
        return out

    def _fit_robust(self, n_before: int) -> tuple[Hyperparameters, GaussianProcess | None]:
        """Learn hyperparameters, and again without the outliers under them.

        The process with these hyperparameters is returned as well, or None if there is none yet.
        ``n_before`` is the number of answers at the previous refit.
        """
        samples, cleared = self.samples, set[int]()
        if samples.factors:
            # If all answers turn out to be exact none of them is an outlier.
            all_believed = self._fit_map(samples.with_factors({}), n_before)
            if not self._judges(all_believed):
                return all_believed, None
        for _ in range(defaults.MAX_OUTLIERS_AT_ONCE):
            factors = samples.factors
            found = replace(self._fit_map(samples, n_before), outliers=factors)
            if not (judges := self._judges(found)) and not factors:
                break
            usual = samples.with_factors({}).scaled(found.center, found.scale)
            process = self._process_of(found, samples)
            outliers = find_outliers(process, usual, found.noise, factors, cleared)
            if not judges:
                # All others are exact: only the factors of the present outliers may change.
                outliers = {s: factor for s, factor in outliers.items() if s in factors}
            if outliers == factors:
                return found, process
            if outliers.keys() == factors.keys():
                return replace(found, outliers=outliers), None
            cleared |= factors.keys() - outliers.keys()
            samples = samples.with_factors(outliers)
        return found, None

    def _judges(self, found: Hyperparameters) -> bool:
        """Return whether answers may be outliers: noise was learned, and it is not zero.

        An error of the kernel itself may explain any answer.
        """
        return (
            self.schedule.learned_at >= defaults.FIRST_LEARNING
            and not self.model_noise
            and any(map(isnan, self.samples.alpha))
            and found.noise > exact_noise() * self._unit()
        )

    def _process_of(self, found: Hyperparameters, samples: Samples) -> GaussianProcess:
        """Return the process of all answers with the learned hyperparameters."""
        center, scale = found.center, found.scale
        own = self._model_noise_of(samples, scale)
        further = 0.0 if own is None else own.variances(found.theta)
        merged = samples.scaled(center, scale).merged(found.noise, further)
        kernel = self.process.kernel
        if found.smoothness is not None:
            kernel = with_smoothness(kernel, found.smoothness)
        return self.process.with_hyperparameters(found.theta, merged, center, scale, kernel)

    def _fit_map(self, samples: Samples, n_before: int) -> Hyperparameters:
        """Return units of the rewards and hyperparameters, learned from all observations."""
        gp, prior = self.process, self.prior
        ours = prior is not None and is_of_matern(gp.kernel)
        kernel = with_smoothness(gp.kernel, defaults.SMOOTHNESS[-1]) if ours else gp.kernel
        center, scale = gp.offset, gp.scale
        if self.standardizes:
            center, scale = self._units_by(samples)
        theta, scaled = kernel.theta, samples.scaled(center, scale)
        found = Hyperparameters(center, scale, theta, self.noise)
        free, usual = self._is_free and kernel.n_dims > 0, self._usual_level(scaled)
        if self.schedule.learned_at < defaults.FIRST_LEARNING or not (free or usual is not None):
            return found
        starts = [(theta, 0.0 if usual is None else log(self.noise))]
        if self.learning_policy.starts_afresh:
            starts = [(self.first_theta if prior is None else prior.center, usual or 0.0)]
        elif prior is not None:
            starts.append((prior.center, usual or 0.0))
        elif free and not np.array_equal(theta, self.first_theta):
            # The likelihood may be flat at the end of a search with few answers.
            starts.append((self.first_theta, usual or 0.0))
        found = self._fit_from_starts(kernel, prior, samples, scaled, starts, found, n_before)
        if not (ours and scaled.unknown.all()):
            return found
        if not repeats_agree(scaled):
            return replace(found, smoothness=defaults.SMOOTHNESS[-1])
        some, few = subsample(gp.observed, scaled)

        def density(kernel: Kernel, samples: ScaledSamples) -> Likelihood:
            covariance = covariance_of_functionals(kernel, some, True, gp.origin)
            return Likelihood(covariance, samples, prior, None)

        exact = exact_model(density, kernel, few, self.options.optimizer, found.theta)
        return replace(found, **exact)

    def fit_in_units(
        self, center: float, scale: float, prior: Prior | None = None
    ) -> Hyperparameters:
        """Return the most probable hyperparameters in given units, from however few answers.

        Parameters
        ----------
        center, scale : float
            Units of the process.
        prior : Prior, default=None
            Prior of the logarithms of the hyperparameters; the search starts at its centre. None
            for a search from the present ones.
        """
        kernel, samples = self.process.kernel, self.samples
        scaled = samples.scaled(center, scale)
        found = Hyperparameters(center, scale, kernel.theta, self.noise, outliers=samples.factors)
        free, usual = self._is_free and kernel.n_dims > 0, self._usual_level(scaled)
        if not (free or usual is not None):
            return found
        starts = [(kernel.theta if prior is None else prior.center, usual or 0.0)]
        n_before = self.n_answers  # all of them are learned from
        return self._fit_from_starts(kernel, prior, samples, scaled, starts, found, n_before)

    def _fit_from_starts(
        self,
        kernel: Kernel,
        prior: Prior | None,
        samples: Samples,
        scaled: ScaledSamples,
        starts: list[tuple[np.ndarray, float]],
        before: Hyperparameters,
        n_before: int,
    ) -> Hyperparameters:
        """Return ``before`` with the hyperparameters that searches from some starts find."""
        gp, options, prior_of_noise = self.process, self.options, None
        if scaled.unknown.any():
            prior_of_noise = self._noise_prior(scaled.variance_of_repeats())
        theta, noise = fit_hyperparameters(
            kernel,
            gp.observed,
            scaled,
            starts,
            free=self._is_free and kernel.n_dims > 0,
            optimizer=options.optimizer,
            n_restarts=options.n_restarts,
            random_state=self.seed,
            prior=prior,
            noise_prior=prior_of_noise,
            origin=gp.origin,
            model_noise=self._model_noise_of(samples, before.scale),
            n_before=n_before,
        )
        return replace(before, theta=theta, noise=before.noise if noise is None else noise)

    def _noise_prior(self, repeated: float = 0.0) -> tuple[Prior, np.ndarray]:
        """Return the prior of the logarithm of the noise variance, and its limits."""
        return noise_prior(self._unit(), self.usual_noise, repeated)

    def _usual_level(self, scaled: ScaledSamples) -> float | None:
        """Return the expected logarithm of the noise variance; None if all noise is given."""
        return float(self._noise_prior()[0].center[0]) if scaled.unknown.any() else None

    # -- reading ------------------------------------------------------------------------------

    def fantasize(
        self, row_sets: Iterable[np.ndarray], noises: list[float] | None = None
    ) -> GaussianProcess:
        """Return the process, or a copy that has observed the expected answers to pending queries.

        Parameters
        ----------
        row_sets : iterable of ndarray of shape (n_rows, n_columns)
            Descriptor rows of the pending queries.
        noises : list of float, default=None
            Noise variances of the answers; None for that of answers without their own.
        """
        row_sets = list(row_sets)
        if not row_sets:
            return self.process
        usual = self.alpha + self.model_noise
        return self.process.fantasize(row_sets, noises or [usual] * len(row_sets))

    @property
    def diagnosis(self) -> Diagnosis:
        """Diagnosis of the answers so far: noise, outliers and fit."""
        state = self._state
        if state != self._diagnosed[0]:
            _, options, n, learned_at = state
            facts = n, self.noise, options.noise, learned_at, self.prior is not None
            found = Diagnosis(self.process, self.samples, *facts, self.standardizes)
            self._diagnosed = state, found
        return self._diagnosed[1]

    @property
    def _state(self) -> tuple[GaussianProcess, ModelOptions, int, int]:
        """State that a diagnosis and an average over models depend on."""
        return self.process, self.options, self.n_answers, self.schedule.learned_at

    def describe(self) -> dict[str, str]:
        """Return the texts of the diagnosis, and as "beware" the latest contradiction, if any."""
        beware = {"beware": self.contradicted} if self.contradicted else {}
        return self.diagnosis.describe() | beware

    def shrinkage_means(self) -> np.ndarray:
        """Return the posterior means (n,) of the functionals in a model without a kernel."""
        return shrinkage_means(np.array(self.samples.functional), np.array(self.samples.reward))

    @property
    def mixture(self) -> Models | None:
        """Models that fit the answers, whose average replaces the posterior of ``process``.

        None with a given kernel, before anything is learned, and with so many answers that little
        doubt is left: then ``process`` is used. The models are computed at the first access, which
        must come before the next observation.
        """
        state = self._state
        if state != self._averaged[0]:
            few = len(self.process.observed) <= defaults.MOST_AVERAGED
            make = self.possible(self.process) if few else None
            self._averaged = state, None if make is None else make(0.0)
        return self._averaged[1]

    def possible(self, gp: GaussianProcess) -> Callable[[float], Models] | None:
        """Return the factory of models that fit the answers; None with a given kernel.

        The factory takes the epsilon of :meth:`Models.around`. ``gp`` is a copy of the process, so
        that later observations do not change the models.
        """
        prior = self.prior
        if prior is None or self.schedule.learned_at < defaults.FIRST_LEARNING:
            return None
        if self.model_noise or not can_be_averaged(gp.kernel):
            return None
        samples = self.samples.scaled(gp.offset, gp.scale)
        of_noise = None
        if samples.unknown.all() and self.diagnosis.noise != "none":
            of_noise, _ = self._noise_prior()
        make = partial(Models.around, gp, samples, prior, of_noise, self.noise)
        known = self._averaged[1] if self._averaged[0] == self._state else None
        return make if known is None else lambda epsilon: make(epsilon) if epsilon else known

    def possible_for_gap(self, gp: GaussianProcess) -> Callable[[float], Models] | None:
        """Return the factory of models for a gap: of :meth:`possible`, or of one wider process.

        A sum of a trend and a rough part is not averaged, and its most probable hyperparameters are
        too sure of cells that no answer has covered. The wider process has a larger prior deviation
        of f.
        """
        make = self.possible(gp)
        learned = self.prior is not None and self.schedule.learned_at >= defaults.FIRST_LEARNING
        if make is not None or not learned or self.model_noise or not has_rough_part(gp.kernel):
            return make
        wider = 2.0 * log(defaults.GAP_DEVIATION) * ~are_length_scales(gp.kernel)
        kernel = gp.kernel.clone_with_theta(gp.kernel.theta + wider)
        samples = self.samples.scaled(gp.offset, gp.scale).merged(self.noise)
        return lambda epsilon: Models([gp.with_kernel(kernel, samples)], np.ones(1), None)

    # -- criticism ----------------------------------------------------------------------------

    def criticism(self) -> Criticism:
        """Compare every answer with the prediction from all the others."""
        return Criticism.of(self.process, learned=self.learns)

    def criticise(self, name: Callable[[int], str | None] = lambda sample: None) -> str:
        """Compare the answers with the model, if it is due; return a new contradiction.

        Parameters
        ----------
        name : callable
            Takes the index of a sample; returns the name of the observed query, or None.

        Returns
        -------
        contradiction : str
            Empty if there is none, or if it was returned before; see ``contradicted``.
        """
        if not self.schedule.compares(self.n_answers):
            return ""
        risk, before = risk_of_check(self.schedule.n_checks), self.contradicted
        self.contradicted = self._outliers_message(name)
        found = Criticism.of(self.process, risk, self.learns)
        if found.contradicts:
            worst = self._name_of(int(found.outliers[0]), name) if found.repeats_fit else ""
            self.contradicted = contradiction_message(
                found,
                worst,
                # The kernel of f itself, not of averages of f.
                getattr(self.process.kernel, "base", self.process.kernel),
                self.alpha,
                knows_noise=self.options.noise is not None,
                learns_kernel=self._is_free,
            )
        return "" if before else self.contradicted

    def _outliers_message(self, name: Callable[[int], str | None]) -> str:
        """Return a message on the outliers; empty if there are none."""
        factors = self.samples.factors
        if not factors:
            return ""
        worst = max(factors, key=lambda s: factors[s])
        what = self._name_of(self.samples.functional[worst], name)
        return outliers_message(len(factors), what, factors[worst] * self.alpha)

    def _name_of(self, number: int, name: Callable[[int], str | None]) -> str:
        """Return the name of a distinct functional, given its index."""
        said = name(self.samples.functional.index(number))
        if said is not None:
            return said
        return f"the answer at {self.process.observed[number].mean(axis=0).tolist()}"

    # -- files --------------------------------------------------------------------------------

    def after(self, learned: list[Hyperparameters]) -> Model:
        """Return the model without answers, after refits with these results in this order."""
        out, kernel = copy(self), self.process.kernel
        for each in learned:
            if each.smoothness is not None:
                kernel = with_smoothness(kernel, each.smoothness)
            # Hyperparameters learned before the first block have no variance of its effect.
            kernel = kernel.clone_with_theta(np.append(each.theta, kernel.theta[len(each.theta) :]))
        out.process, out.samples = self.process.without_answers(kernel), Samples()
        if learned:
            out.found, out.n_learned = learned[-1], len(learned)
            out.samples = out.samples.with_factors(learned[-1].outliers)
        out._scaled_model_noise = out._error_of(kernel)
        return out

    def _resume(self) -> None:
        """Check that the samples are those of the observed functionals."""
        samples, n = self.samples, len(self.process.observed)
        columns: tuple[list[Any], ...] = samples.functional, samples.alpha, samples.share
        fits = {*map(len, columns)} == {len(samples)} and set(samples.functional) == {*range(n)}
        if not (fits and samples.factors.keys() | samples.values <= {*range(len(samples))}):
            raise ValueError(f"samples are not of {n} functionals")
        self._begun = bool(samples.reward)
