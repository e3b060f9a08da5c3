"""Diagnosis of a model: noise, outliers and lack of fit.

The search decides by it which query to replicate, and the recommendation which method to use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan, sqrt
from typing import Literal

import numpy as np

from skgpb import defaults
from skgpb.surrogate.criticism import explains_nothing, lacks_fit
from skgpb.surrogate.exactness import exact_noise, repeats_agree
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.samples import Samples

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
        targets, counts = posterior.targets(), posterior.counts()
        if not len(targets):
            return False
        if counts.sum() > len(counts) and self.repeats_agree:
            return True
        least = exact_noise() * (1.0 if self.standardizes else float(np.var(targets)))
        believed = np.delete(posterior.noises() * counts, list(self.outlying))
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
