"""Hyperparameter search by a bandit, with the interface of RandomizedSearchCV."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import count
from math import ceil, inf
from os import PathLike
from time import monotonic
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from joblib import hash as joblib_hash
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.gaussian_process.kernels import Kernel
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, get_tags

from skgpb import defaults
from skgpb._core._ties import argmax_first
from skgpb.domains.candidates import spread_points
from skgpb.domains.space import ParameterSpace, as_coordinates
from skgpb.exceptions import AllPendingError
from skgpb.model_selection.checkpoint import Checkpoint
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._feasibility import failure_score
from skgpb.optimizers._stopping import StopRule, stop_rule
from skgpb.optimizers.indirect_search import BaseIndirectSearch
from skgpb.optimizers.search import Search
from skgpb.optimizers.ucb import GPUCBOptimizer
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.model import Model
from skgpb.surrogate.settings import kernel_on_settings
from skgpb.surrogate.warp import Warp
from skgpb.utils.documentation import DocumentedMixin
from skgpb.utils.progress import logger, tqdm_class
from skgpb.utils.typing import BaseEstimator, Scoring, Seed, Splitter
from skgpb.utils.validation import (
    LARGEST_REWARD,
    MOST_POINTS,
    MOST_QUERIES,
    BaseSearchCV,
    Integral,
    Interval,
    Real,
    StrOptions,
    failed_fits,
    has_contexts,
    insert_error_scores,
    warn_or_raise_about_fit_failures,
)
from skgpb.utils.warnings import warn

__all__ = ["BanditSearchCV"]

# Limit: number of attempts to draw a new setting at random.
MOST_DRAWS = 10_000
# Limit: successive queries without a new setting after which a setting is drawn at random.
MOST_REPEATS = 20
# Parameters that may differ from the file when a search is resumed.
FREE = (
    *("n_iter", "n_jobs", "pre_dispatch", "stop", "timeout", "select"),
    *("checkpoint", "resume", "verbose", "progress", "callback"),
)
# Rounding: noise of a score, as a share of the largest absolute score.
DIGITS = 1e-6


@dataclass(eq=False, repr=False)
class BanditSearchCV(DocumentedMixin, BaseSearchCV):
    """Tune an estimator like RandomizedSearchCV, with fewer fits.

    A drop-in for :class:`~sklearn.model_selection.RandomizedSearchCV`: the same parameters,
    methods and results. A bandit, the engine, chooses each setting from the scores of all settings
    before it, averaged over the folds. In the end its model chooses the best setting, with the
    variance over the folds as noise of the scores, see ``select``.

    Parameters
    ----------
    estimator : estimator
        Cloned and fitted for every setting and fold.
    param_distributions : dict or list of dicts
        Names of parameters, each with a frozen distribution of ``scipy.stats`` or a list of
        values. ``uniform`` gives a real dimension, ``loguniform`` a logarithmic one, ``randint`` an
        integer one and :func:`~skgpb.domains.log_randint` a logarithmic one of integers; any other
        distribution with ``ppf`` and ``cdf`` is searched on the scale of its quantiles. A list of
        numbers is ordered by size; any other list has categories. In a list of dicts each dict is
        a space of its own, so that one parameter can depend on another: ``[{"kernel": ["linear"],
        "C": c}, {"kernel": ["rbf"], "C": c, "gamma": g}]``. If a parameter has the same
        distribution in two dicts, scores of one dict inform about it in the other.
    optimizer : BaseBanditOptimizer, default=None
        The engine: any optimizer of skgpb with ``bounds``, which is set to the parameters. Its
        kernel, if it has one, compares settings, so that integers and categories have the
        covariances of their kind. With ``kernel=None`` the default kernel of the space of settings
        is learned from the scores. None stands for :class:`~skgpb.GPUCBOptimizer` with beta=4. If a
        query of a tree method averages over several representatives, all their settings are
        evaluated, and the answer is the average of their scores; ``n_representatives=None`` stands
        for 1 here.
    n_iter : int, default=10
        Number of settings evaluated.
    n_initial : int, default=None
        Number of settings, spread evenly, that are evaluated before the engine chooses. None stands
        for two for each parameter, and at least five, but at most a third of ``n_iter``. For an
        optimizer without a Gaussian process it stands for 0.
    batch_size : int, default=None
        Number of settings chosen at a time, to be evaluated in parallel. None stands for the
        smallest number whose fits keep ``n_jobs`` workers busy. Results depend on ``batch_size``,
        and on ``n_jobs`` only through it.
    timeout : float, default=None
        Seconds after which no further setting is evaluated. At least one setting is evaluated.
    stop : StopRule or callable, default=None
        Condition to end before ``n_iter``: a function of the engine, or a rule such as
        :class:`~skgpb.Stop`, asked before each batch after the first design.
        The latter ends the search if, by the engine's model, no setting has a score more than
        epsilon above the best on these folds.
    callback : callable, default=None
        Function of the parameters, a dict, and the mean score, a float, that is called after every
        setting that was fitted. If it returns True, the search ends.
    earlier_results : dict, default=None
        ``cv_results_`` of an earlier search with the same data, folds and metrics, whose settings
        are within these distributions. These settings are not fitted again. The engine learns their
        scores first, and they count in ``n_iter``, ``cv_results_`` and ``best_params_``.
    select : {"posterior", "observed"}, default="posterior"
        Criterion for the best setting, unless ``refit`` is callable. "posterior" chooses the
        setting with the largest posterior mean of the engine's model, given all scores. The noise
        of a score is the variance over its folds divided by their number, so that a score far above
        the scores of similar settings is attributed to its folds. Of settings that are as good,
        within the error of the model, it chooses one with fewer numbers at an end of their range.
        "observed" chooses the largest mean score, as RandomizedSearchCV does, and is the only
        criterion for an engine without a Gaussian process.
    scoring : str, callable, list, tuple or dict, default=None
        As in RandomizedSearchCV. Of several metrics the engine maximises the one in ``refit``, or
        else the first.
    n_jobs : int, default=None
        Number of fits that run in parallel.
    refit : bool, str or callable, default=True
        As in RandomizedSearchCV.
    cv : int, cross-validation generator or iterable, default=None
        As in RandomizedSearchCV.
    verbose : int, default=0
        1 prints a line for every setting, with its score and the best so far; the logger ``skgpb``
        of :mod:`logging` has these lines with every value. Larger numbers are as in
        RandomizedSearchCV.
    checkpoint : path, default=None
        File to which the fits are written after each batch of settings. If the file has another
        search, ``fit`` raises ValueError.
    resume : bool, default=False
        Whether to continue the search in the file ``checkpoint``, if there is one. So a script can
        be started again after its process was killed: settings in the file are not fitted again.
        Data and parameters must agree with the file. ``n_iter`` may be larger; ``n_jobs``,
        ``pre_dispatch``, ``timeout``, ``stop``, ``select``, ``verbose``, ``progress`` and
        ``callback`` may differ. ``cv`` must have the same splits in every process, as all splitters
        have that do not shuffle, or have an integer as ``random_state``.
    progress : bool, default=False
        Whether to show a progress bar of the settings (needs tqdm: ``pip install
        skgpb[progress]``).
    pre_dispatch : int or str, default="2*n_jobs"
        As in RandomizedSearchCV.
    random_state : int, RandomState instance or None, default=None
        Seeds the first settings, and the engine unless it has a ``random_state``.
    error_score : "raise" or float, default=np.nan
        Score of a fit that failed. A setting has failed if the score of a fold is not finite, or
        beyond 1e150. The engine learns where settings fail, see :class:`~skgpb.optimizers.Search`.
        A tree method learns a score instead: the worst score so far minus one standard deviation of
        the scores, or minus 1 % of the largest absolute score if that is more.
    return_train_score : bool, default=False
        As in RandomizedSearchCV.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in RandomizedSearchCV, in the order of evaluation, for ``pandas.DataFrame(cv_results_)``.
    best_estimator_, best_params_, best_index_, scorer_, n_splits_, refit_time_
        As in RandomizedSearchCV, for the setting that ``select`` chooses.
    best_score_ : float
        Observed mean score of that setting, ``cv_results_["mean_test_score"][best_index_]``. With
        ``select="posterior"`` another setting may have a larger mean score and the first rank.
    expected_scores_ : ndarray of shape (n_settings,)
        Posterior mean of the score of each setting, by the engine's model with the noise of the
        folds. NaN for a setting that failed, and for all settings if the engine has no Gaussian
        process.
    optimizer_ : BaseBanditOptimizer
        The engine after the search. ``optimizer_.recommend().params``, its warnings and its
        pictures have the names and values of the parameters.
    space_ : ParameterSpace
        The parameters and their values.

    Notes
    -----
    *Noise.* During the search the noise is that of the engine, by default learned from the scores.
    It is mostly small: all settings are scored on the same folds, on which similar settings have
    similar or equal scores. With the variance over the folds as noise, the engine would ask again
    and again near the best setting, for scores that it has observed. For other data a score is
    noisy, so that the final choice uses this variance. The difficulty of a fold for all settings is
    no noise: the median over the better half of the settings estimates it, and it is subtracted
    before the variance over the folds is computed. A variance of few folds is imprecise: it is
    averaged with the mean variance of the better half, which counts as four degrees of freedom
    [Smyth2004]_. A tree method, whose queries are averages over several settings, gets the variance
    over the folds as noise during the search.

    *Bad scores.* Settings with which an estimator learns nothing have scores far below all others,
    and no smooth function has such a drop. The size of the drop is irrelevant. So scores below the
    median by more than twice the distance between the median and the best score are moved near to
    the other scores before the engine learns them [Song2024]_. ``cv_results_`` and
    ``expected_scores_`` are in your units, ``optimizer_.history_`` has the moved scores. A tree
    method learns the scores unchanged.

    *Interrupting.* A KeyboardInterrupt (Ctrl-C) ends the search: with a warning, ``fit`` continues
    with the settings evaluated so far as if ``n_iter`` had been their number. Before the first
    setting is finished, and during the final refit, it is raised.

    *Repeats.* A setting is never fitted twice, because its scores would be the same. If the space
    has no new setting left, as with lists and integers, the search ends early with a warning.

    References
    ----------
    .. [Smyth2004] G. K. Smyth, "Linear models and empirical Bayes methods for assessing
       differential expression in microarray experiments", Statistical Applications in Genetics
       and Molecular Biology 3, 2004. Moderated variances.
    .. [Song2024] X. Song et al., "The Vizier Gaussian Process Bandit Algorithm", arXiv:2408.11527,
       2024. Warping of outputs.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skgpb.model_selection import BanditSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"C": loguniform(1e-3, 1e3), "gamma": loguniform(1e-5, 1e1)}
    >>> search = BanditSearchCV(SVC(), space, n_iter=15, random_state=0).fit(X, y)
    >>> bool(search.best_score_ > 0.97)
    True
    """

    estimator: BaseEstimator
    param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    _: KW_ONLY
    optimizer: BaseBanditOptimizer[Any] | None = None
    n_iter: int = 10
    n_initial: int | None = None
    batch_size: int | None = None
    timeout: float | None = None
    stop: StopRule | Callable[[Any], Any] | None = None
    callback: Callable[[dict[str, Any], float], Any] | None = None
    earlier_results: dict[str, Any] | None = None
    select: Literal["posterior", "observed"] = "posterior"
    scoring: Scoring = None
    n_jobs: int | None = None
    refit: bool | str | Callable = True
    cv: int | Splitter | Iterable[tuple[Any, Any]] | None = None
    verbose: int = 0
    checkpoint: str | PathLike[str] | None = None
    resume: bool = False
    progress: bool = False
    pre_dispatch: int | str = "2*n_jobs"
    random_state: Seed = None
    error_score: str | float = np.nan
    return_train_score: bool = False

    best_estimator_: Any = field(init=False)
    best_params_: dict[str, Any] = field(init=False)
    best_index_: int = field(init=False)
    best_score_: float = field(init=False)
    cv_results_: dict[str, Any] = field(init=False)
    optimizer_: BaseBanditOptimizer[Any] = field(init=False)
    space_: ParameterSpace = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict, list, tuple],
        "optimizer": [BaseBanditOptimizer, None],
        "n_iter": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "n_initial": [Interval(Integral, 0, MOST_POINTS, closed="both"), None],
        "batch_size": [Interval(Integral, 1, MOST_QUERIES, closed="both"), None],
        "timeout": [Interval(Real, 0, None, closed="neither"), None],
        "stop": [StopRule, callable, None],
        "callback": [callable, None],
        "earlier_results": [dict, None],
        "select": [StrOptions({"posterior", "observed"})],
        "checkpoint": [str, PathLike, None],
        "resume": ["boolean"],
        "progress": ["boolean"],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Valid targets are the targets that the estimator accepts.
        required = tags.target_tags.required
        tags.target_tags = deepcopy(get_tags(self.estimator).target_tags)
        tags.target_tags.required = required
        return tags

    def fit(self, X: object, y: object = None, **params: object) -> Self:
        """Search, and fit the estimator with the best setting.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict
            As in RandomizedSearchCV.

        Returns
        -------
        self : BanditSearchCV
        """
        if self.checkpoint is not None:
            self._data: str | None = joblib_hash((X, y, params))
        try:
            return super().fit(X, y, **params)
        finally:
            self.__dict__.pop("_data", None)

    def _open_checkpoint(self) -> Checkpoint | None:
        """Return the file of fits, read if it exists; None without ``checkpoint``."""
        if self.checkpoint is None:
            if self.resume:
                raise ValueError(
                    "resume=True continues the search in checkpoint, got checkpoint=None"
                )
            return None
        own = self.get_params(deep=False)
        search = {name: value for name, value in own.items() if name not in FREE}
        return Checkpoint(self.checkpoint, self.resume, search | {"data": self._data})

    def _rng(self, kept: Checkpoint | None) -> np.random.RandomState:
        """Return the random generator of the search, seeded by the file if there is one.

        A resumed search therefore has the random numbers of the search in the file.
        """
        rng = check_random_state(self.random_state)
        if kept is None:
            return rng
        if kept.seed is None:
            most, seed = np.iinfo(np.int32).max, self.random_state
            kept.begin(int(seed if isinstance(seed, Integral) else rng.randint(most)), self.n_iter)
        return np.random.RandomState(kept.seed)

    def _run_search(self, evaluate_candidates: Callable, *, callback_ctx: Any = None) -> None:
        self.space_ = ParameterSpace(self.param_distributions)
        kept = self._open_checkpoint()
        rng = self._rng(kept)
        self._n_planned = self.n_iter if kept is None else kept.n_iter
        engine = self._make_optimizer(self.space_, rng)
        n_iter = int(min(self.n_iter, self.space_.n_settings))
        context = None
        if callback_ctx is not None:  # from scikit-learn 1.9 on
            context = callback_ctx.subcontext(
                task_name="search", max_subtasks=n_iter * self.n_splits_, sequential_subtasks=False
            ).call_on_fit_task_begin(estimator=self)
            evaluate_candidates = partial(evaluate_candidates, callback_ctx=FitContexts(context))
        if hasattr(self.cv, "split"):
            evaluate_candidates = partial(evaluate_candidates, cv=SplitOnce(self.cv))
        earlier = earlier_fits(self.space_, self.earlier_results, self.scoring)
        scores = self._scores = Scores(
            self.space_,
            engine,
            evaluate_candidates,
            n_iter,
            self.refit,
            self.verbose,
            kept,
            earlier,
            self.callback,
        )
        # evaluate_candidates would print its lines for every batch, more lines than settings. The
        # fits print as in RandomizedSearchCV.
        verbose, self.verbose = self.verbose, 0
        try:
            self._search_with_progress(engine, scores, rng)
            scores.finish()
        finally:
            self.verbose = verbose
            del self._scores, self._n_planned
        self.optimizer_ = engine
        self.expected_scores_: np.ndarray
        self.expected_scores_, self._believed = scores.expected_scores()
        warn_or_raise_about_fit_failures(scores.fits, self.error_score)
        if callable(self.scoring):
            insert_error_scores(scores.fits, self.error_score)
        n_folds = len(scores.fits) // scores.n_settings
        scores.results.update(super()._format_results(scores.settings, n_folds, scores.fits))
        if context is not None:
            context.call_on_fit_task_end(estimator=self)

    def _format_results(
        self, candidate_params: list[Any], n_splits: int, out: list, more_results: Any = None
    ) -> dict[str, Any]:
        # scikit-learn calls this after every batch in which a fit succeeded. _run_search formats
        # the results once, with warnings about scores that are not finite, when the search is over.
        self._scores.successful = out
        return self._scores.results

    def _select_best_index(self, refit: Any, refit_metric: str, results: dict[str, Any]) -> int:
        """Return the index of the best setting in ``cv_results_``.

        It is by the model, unless ``refit`` is callable, ``select`` is "observed", or no model has
        an expected score.
        """
        expected = self.expected_scores_
        if self.refit and not callable(refit) and np.isnan(expected).all():
            means = results[f"mean_test_{refit_metric}"]
            if not np.isfinite(means).any():
                raise ValueError(
                    f"no setting has a finite {refit_metric!r}, by which refit chooses: "
                    f"mean_test_{refit_metric} is {means}"
                )
        if callable(refit) or self.select == "observed" or self._believed is None:
            return super()._select_best_index(refit, refit_metric, results)
        return self._believed

    def _make_optimizer(self, space: ParameterSpace, rng: np.random.RandomState) -> Any:
        """Return the engine, with the space as its bounds and kernels over its settings."""
        if self.optimizer is None:
            engine = GPUCBOptimizer(beta=defaults.BETA["simple"], relearn=defaults.SCORE_RELEARN)
        else:
            engine = clone(self.optimizer)
        parameters = engine.get_params(deep=False)
        for name in ("arms", "pool", "queries", "targets"):
            if parameters.get(name) is not None:
                raise ValueError(
                    f"optimizer must have {name}=None, because it searches the space of "
                    f"param_distributions; got {parameters[name]!r}"
                )
        elsewhere = has_contexts(engine) or isinstance(engine, BaseIndirectSearch)
        if "bounds" not in parameters or elsewhere:
            raise TypeError(
                "optimizer must search a box whose queries are settings, as GPOOOptimizer and "
                f"EIOptimizer do; got {self.optimizer!r}"
            )
        if engine.direction != "maximize":
            raise ValueError(
                "optimizer must have direction='maximize', because scores are maximised; got "
                f"{engine.direction!r}"
            )
        settings: dict[str, Any] = {}
        if isinstance(engine, Search):
            settings["bounds"] = self.space_ = space.copy_for_search()
            if engine.n_initial is None or self.n_initial is not None:
                settings["n_initial"] = self._n_initial(space, learns=True)
        else:
            settings["bounds"] = space.copy_for_search(as_cube=True)
            if "kernel" in parameters:
                settings["kernel"] = kernel_on_settings(engine.kernel, space)
        if isinstance(parameters.get("feedback"), Kernel):
            raise ValueError(
                "optimizer must have feedback='center', 'average' or 'integral' in BanditSearchCV, "
                f"got the kernel {parameters['feedback']}"
            )
        if parameters.get("n_representatives", 1) is None:
            settings["n_representatives"] = 1
        if parameters.get("random_state", 0) is None:
            settings["random_state"] = int(rng.randint(np.iinfo(np.int32).max))
        return engine.set_params(**settings)

    def _n_initial(self, space: ParameterSpace, learns: bool) -> int:
        """Return the number of settings, spread evenly, before the engine chooses.

        ``learns`` is False for an engine without a Gaussian process.
        """
        if self.n_initial is not None:
            return min(self.n_initial, self.n_iter)
        if not learns:
            return 0
        return min(max(defaults.SCORE_INITIAL, 2 * space.n_axes), ceil(self._n_planned / 3))

    def _search_with_progress(
        self, engine: Any, scores: Scores, rng: np.random.RandomState
    ) -> None:
        """Search until the end or an interrupt, with a progress bar if ``progress``."""
        shown: Any = nullcontext()
        if self.progress:
            shown = tqdm_class()(total=scores.n_iter, unit="setting")
        try:
            with shown as bar:
                scores.bar = bar
                self._search(engine, scores, rng)
        except KeyboardInterrupt:
            if not scores.any_finite:
                raise
            scores.tell_waiting()
            warn(
                f"interrupted after {scores.n_settings} of n_iter={self.n_iter} settings; the "
                "search ends with these",
                UserWarning,
            )
        finally:
            scores.bar = None

    def _first_batches(
        self, engine: Any, scores: Scores, rng: np.random.RandomState, batch_size: int
    ) -> list[list[Any]]:
        """Return the queries of the initial design, in batches of ``batch_size``."""
        if isinstance(engine, Search):
            n = min(int(engine.n_initial or 0), scores.n_iter) - scores.n_settings
            first: list[Any] = engine.ask(n) if n > 0 else []
        else:
            space = self.space_
            n, shift = self._n_initial(space, scores.learns), rng.uniform(size=space.n_axes)
            n = max(0, n - scores.n_settings)
            first = list(as_coordinates(spread_points(space.bounds, n, shift)))
        return [first[start : start + batch_size] for start in range(0, len(first), batch_size)]

    def _n_folds(self) -> int:
        """Return the number of folds; before scikit-learn 1.9 ``n_splits_`` is set too late."""
        try:
            return max(1, check_cv(self.cv).get_n_splits())
        except (TypeError, ValueError):
            # The number depends on the data, as for LeaveOneOut: assume one fold per worker, so
            # that a batch has one setting.
            return effective_n_jobs(self.n_jobs)

    def _search(self, engine: Any, scores: Scores, rng: np.random.RandomState) -> None:
        batch_size = self.batch_size or ceil(effective_n_jobs(self.n_jobs) / self._n_folds())
        rule = stop_rule(self.stop)
        rule.check(engine)  # raises before the first fit if stop cannot work
        begun, limit = monotonic(), inf if self.timeout is None else self.timeout
        if self.earlier_results is not None:
            scores.evaluate(list(self.space_.points(self.earlier_results["params"])))
            scores.tell_waiting()
        for queries in self._first_batches(engine, scores, rng, batch_size):
            if scores.ended or (scores.n_settings and monotonic() - begun >= limit):
                break
            scores.evaluate(queries)
        scores.tell_waiting()
        repeats = 0
        while scores.n_settings < scores.n_iter:
            if scores.ended or (scores.n_settings and monotonic() - begun >= limit):
                return
            if loop.stops(engine, rule):
                return
            queries = []
            if repeats < MOST_REPEATS and not scores.stuck:
                with suppress(AllPendingError):
                    queries = engine.ask(min(batch_size, self.n_iter - scores.n_settings))
            queries = queries or scores.unknown(rng)
            if not queries:
                break
            repeats = 0 if scores.evaluate(queries) else repeats + 1
            scores.tell_waiting()
        if scores.n_settings < self.n_iter:
            settings = "1 setting" if scores.n_settings == 1 else f"{scores.n_settings} settings"
            warn(
                f"the space has {settings}, fewer than n_iter={self.n_iter}; nothing is left to "
                "evaluate",
                UserWarning,
            )


class SplitOnce:
    """A splitter that repeats the folds of its first split, so that all batches have the same."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._folds: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """Return pairs of training and test indices."""
        if self._folds is None:
            self._folds = list(self._cv.split(X, y, **params))
        return self._folds


class FitContexts:
    """Number the fits of all batches as the subtasks of one callback context."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._ids = count()

    def subcontext(self, *, task_name: str, task_id: int) -> Any:
        """Return the context of a fit, with a number in the whole search.

        ``task_id`` counts within a batch, and is not used.
        """
        return self._context.subcontext(task_name=task_name, task_id=next(self._ids))


@dataclass(eq=False, repr=False)
class Scores:
    """Fits and scores of all settings of a search; tells the engine the scores.

    Parameters
    ----------
    space : ParameterSpace
        Space that maps points of the cube to settings.
    engine : BaseBanditOptimizer
        Optimizer that chooses settings and learns their scores.
    evaluate_candidates : callable
        Fits and scores a list of settings.
    n_iter : int
        Number of settings to evaluate.
    refit : bool, str or callable
        Name of the metric that is maximised, if there are several.
    verbose : int
        Positive to print a line for every setting.
    kept : Checkpoint or None
        File with fits, None without ``checkpoint``.
    earlier : dict
        Fits of an earlier search, by the keys of their settings.
    callback : callable or None
        Function of each setting that was fitted and its score, see ``BanditSearchCV``.
    """

    space: ParameterSpace
    engine: Any
    evaluate_candidates: Callable
    n_iter: int
    refit: bool | str | Callable
    verbose: int
    kept: Checkpoint | None
    earlier: dict[bytes, list[dict[str, Any]]]
    callback: Callable[[dict[str, Any], float], Any] | None
    #: Whether the callback has ended the search.
    ended: bool = False
    #: Warp of the score of each setting at its ``tell``, by index of the setting.
    _told_by: dict[int, Warp] = field(default_factory=dict)
    #: Progress bar of the settings; None without ``progress``.
    bar: Any = None
    #: Settings in the order of evaluation, with the point and the index of each, and their fits,
    #: one for each fold, setting by setting. The key of a setting has the bytes of its columns.
    settings: list[dict[str, Any]] = field(default_factory=list)
    _points: list[np.ndarray] = field(default_factory=list)
    _row: dict[bytes, int] = field(default_factory=dict)
    fits: list[dict[str, Any]] = field(default_factory=list)
    #: Fits of the batches in which a fit succeeded, a list that scikit-learn extends.
    successful: list[dict[str, Any]] = field(default_factory=list)
    #: The dict that becomes ``cv_results_``.
    results: dict[str, Any] = field(default_factory=dict)
    _mean: np.ndarray = field(default_factory=lambda: np.empty(0))
    _noise: np.ndarray | None = field(default_factory=lambda: np.empty(0))
    #: Evaluated queries that the engine does not have yet, with the keys of their settings.
    _waiting: list[tuple[Any, list[bytes]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: Whether the engine has a Gaussian process, and so learns from points that it did not ask.
        self.learns: bool = "kernel" in self.engine.get_params(deep=False)
        #: Whether the engine is a Search: it gets one warped score for each setting, and failures
        #: as failures. A tree method gets unwarped means, and a bad score for failures.
        self.is_search: bool = isinstance(self.engine, Search)

    @property
    def n_settings(self) -> int:
        """Number of settings evaluated."""
        return len(self.settings)

    @property
    def stuck(self) -> bool:
        """True if queries without a finite score wait for ``tell``: ``ask`` repeats them."""
        return bool(self._waiting)

    def __getstate__(self) -> dict[str, Any]:
        """Return an empty state: the pickled search that workers get needs none of these fields."""
        return {}

    def evaluate(self, queries: list[Any]) -> int:
        """Evaluate the settings of the queries that have no score yet; return their number.

        At most ``n_iter`` settings are evaluated in all. A query with a setting beyond them is
        left out, because the search is over.
        """
        new: dict[bytes, np.ndarray] = {}
        answered = []
        for query in queries:
            points = np.atleast_2d(np.asarray(query))
            keys = [row.tobytes() for row in self.space.columns(points)]
            for key, point in zip(keys, points, strict=True):
                if key not in self._row and self.n_settings + len(new) < self.n_iter:
                    new.setdefault(key, point)
            if all(key in self._row or key in new for key in keys):
                answered.append((query, keys))
        if new:
            settings = [self.space.setting(point) for point in new.values()]
            fits, fitted = self._fits_of(dict(zip(new, settings, strict=True)))
            self.fits += fits
            self._row.update(zip(new, count(self.n_settings)))
            self.settings += settings
            self._points += new.values()
            self._read()
            self._report(len(new))
            if self.callback is not None:
                for row in (self._row[key] for key in fitted):
                    ends = self.callback(dict(self.settings[row]), float(self._mean[row]))
                    self.ended = self.ended or ends is True
            if self.bar is not None:
                self.bar.update(len(new))
        if self.learns:
            self._waiting += answered
        else:
            self._waiting += [each for each in answered if not isinstance(each[0], np.ndarray)]
        return len(new)

    def _fits_of(
        self, settings: dict[bytes, dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[bytes]]:
        """Return the fits of the settings, in order, and the keys of the settings fitted now.

        ``settings`` maps keys to settings. Fits of an earlier search and of the file are reused.
        """
        known = {key: self.earlier.get(key) for key in settings}
        if self.kept is not None:
            known = {key: fits or self.kept.get(key) for key, fits in known.items()}
        left = [key for key in settings if known[key] is None]
        if left:
            fits = self._fit([settings[key] for key in left])
            n = len(fits) // len(left)
            n_earlier = len(next(iter(self.earlier.values()), fits[:n]))
            if n_earlier != n:
                raise ValueError(
                    f"earlier_results has scores of {n_earlier} folds, but cv makes {n}: only "
                    "scores of the same folds can be compared"
                )
            found = {key: fits[i * n : (i + 1) * n] for i, key in enumerate(left)}
            if self.kept is not None:
                self.kept.add(found)
            known |= found
        return [fit for each in known.values() for fit in each or ()], left

    def finish(self) -> None:
        """Warn of unused fits in the file, and make sure that scikit-learn has a successful fit.

        scikit-learn reads the names of the metrics from the first successful fit.
        """
        if self.kept is not None:
            self.kept.warn_of_rest()
        if not self.successful and self.any_finite:
            # All fits are from the file, or from an earlier search: fit the best setting again.
            self._fit([self.settings[int(np.nanargmax(self._mean))]])

    @property
    def any_finite(self) -> bool:
        """True if a setting has a finite score."""
        return bool(np.isfinite(self._mean).any())

    def _fit(self, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Fit and score settings; return their fits, also if none succeeded.

        scikit-learn raises an error if all fits of a batch failed; their fits are read from it.
        """
        known = len(self.successful)
        with warnings.catch_warnings():
            # _run_search warns once about all fits, when the search is over.
            warnings.filterwarnings("ignore", r"\n\d+ fits failed out of a", FitFailedWarning)
            try:
                self.evaluate_candidates(settings)
            except ValueError as error:
                fits = failed_fits(error)
                if fits is None:
                    raise
                return fits
        return self.successful[known:]

    def _read(self) -> None:
        """Compute the mean score of every setting, NaN if it failed, and its noise variance."""
        measured = [fit["test_scores"] for fit in self.fits]
        names = list(next((each for each in measured if isinstance(each, dict)), ()))
        self._metric = self.refit if self.refit in names else next(iter(names), "score")
        scores = np.array(
            [each[self._metric] if isinstance(each, dict) else each for each in measured],
            dtype=np.float64,
        )
        folds = scores.reshape(self.n_settings, -1).T
        self._mean = folds.mean(axis=0)
        # Scores that an engine rejects count as failures; their squares could overflow.
        finite = (np.abs(folds) <= LARGEST_REWARD).all(axis=0)
        self._mean[~finite] = np.nan
        folds[:, ~finite] = 0.0
        if len(folds) == 1 or not finite.any():
            self._noise = None
            return
        spread = folds - folds.mean(axis=0)
        good = finite & (self._mean >= np.median(self._mean[finite]))
        if finite.sum() >= defaults.FOLDS_FROM:
            # All settings have the same folds: a fold that is easier for all of the better half
            # does not blur their comparison.
            spread -= np.median(spread[:, good], axis=1, keepdims=True)
        known = len(folds) - 1
        variance = (spread**2).sum(axis=0) / known
        variance = (known * variance + defaults.FOLDS_FREEDOM * variance[good].mean()) / (
            known + defaults.FOLDS_FREEDOM
        )
        self._noise = variance / len(folds)

    def _report(self, n_new: int) -> None:
        """Log a line for each of the last ``n_new`` settings, and print it if ``verbose``."""
        for row in range(self.n_settings - n_new, self.n_settings):
            known = self._mean[: row + 1]
            best = np.fmax.reduce(known)
            setting = ", ".join(
                f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in self.settings[row].items()
            )
            line = (
                f"[{row + 1}/{self.n_iter}] {self._metric} {known[-1]:.5g}, best {best:.5g}: "
                f"{setting}"
            )
            logger.info(line)
            if self.verbose > 0:
                print(line)

    def tell_waiting(self) -> None:
        """Tell the engine the waiting queries with their scores.

        Without any finite score only a Search gets them, as failures.
        """
        finite = self._mean[np.isfinite(self._mean)]
        if not (len(finite) or self.is_search):
            return
        if len(finite):
            self._warp = Warp(finite)
        waiting, self._waiting = self._waiting, []
        for query, keys in waiting:
            rows = [self._row[key] for key in keys]
            means = self._mean[rows]
            failed = ~np.isfinite(means)
            if self.is_search and failed.all():
                self.engine.tell(query, None)
                continue
            if failed.any():
                means[failed] = failure_score(finite)
            reward = float(means.mean())
            if self.is_search:
                self._told_by |= dict.fromkeys(rows, self._warp)
                reward = float(self._warp(reward))
            self.engine.tell(query, reward, alpha=self._told_noise(rows, finite))

    def _told_noise(self, rows: list[int], finite: np.ndarray) -> float | None:
        """Return the noise variance of the mean score of settings, for a tree method; else None.

        ``rows`` has the index of the setting of each point of a query; ``finite`` all finite
        scores.
        """
        if self.is_search or self._noise is None:
            return None
        settings, counts = np.unique(rows, return_counts=True)
        noise = np.maximum(self._noise[settings], least_noise(finite))
        return float((counts / len(rows)) ** 2 @ noise)

    def expected_scores(self) -> tuple[np.ndarray, int | None]:
        """Return the expected score of every setting, and the index of the best setting.

        The score of a failed setting is NaN. The index is None, and all scores are NaN, if the
        engine has no Gaussian process or no score is finite. Of settings that are as good, within
        their error, the best is one with the fewest values at an end of their range: an optimum is
        rarely exactly there.
        """
        finite = np.flatnonzero(np.isfinite(self._mean))
        expected = np.full(self.n_settings, np.nan)
        if not (self.learns and len(finite)):
            return expected, None
        points = np.array(self._points)[finite]
        rows = self.engine._rows_of(points)
        mean, cov = self._judge(rows, finite).moments(rows, cov=True)
        expected[finite] = mean
        for row, warp in self._told_by.items():
            expected[row] = warp.inverse(expected[row])
        best, var = argmax_first(mean), cov.diagonal()
        error = np.sqrt(np.maximum(var + var[best] - 2.0 * cov[best], 0.0))
        equal = np.flatnonzero(mean >= mean[best] - error)
        at_ends = self.space.n_at_ends(points)[equal]
        inner = equal[at_ends == at_ends.min()]
        return expected, int(finite[inner[argmax_first(mean[inner])]])

    def _judge(self, rows: np.ndarray, finite: np.ndarray) -> GaussianProcess:
        """Return the process of the engine's model, refitted with the noise of each finite score.

        ``rows`` are the kernel's rows of the settings with indices ``finite``.
        """
        searched: Model = self.engine._model
        gp = searched.process
        if not self.is_search or self._noise is None:
            return gp
        told = [(self._told_by[row], self._mean[row]) for row in finite.tolist()]
        scores, slopes = np.array([(warp(score), warp.slope(score)) for warp, score in told]).T
        noise = np.maximum(self._noise[finite] * slopes**2, least_noise(scores))
        judge = Model(
            gp.kernel,
            gp.n_columns,
            searched.options,
            prior=searched.prior,
            usual_noise=searched.usual_noise,
            origin=gp.origin,
            seed=searched.seed,
        )
        judge.set_units(gp.offset, gp.scale)
        judge.observe_rows(rows, scores, noise, is_answer=False)
        return (judge.refit() if judge.learns else judge).process

    def unknown(self, rng: np.random.RandomState) -> list[np.ndarray]:
        """Draw a point whose setting has no scores; return [point], or [] if no draw succeeds."""
        for _ in range(MOST_DRAWS // 1000):
            points = as_coordinates(rng.uniform(size=(1000, self.space.n_axes)))
            for point, row in zip(points, self.space.columns(points), strict=True):
                if row.tobytes() not in self._row:
                    return [point]
        return []


def earlier_fits(
    space: ParameterSpace, results: dict[str, Any] | None, scoring: Any
) -> dict[bytes, list[dict[str, Any]]]:
    """Return the fits in ``cv_results_`` of an earlier search, by the keys of their settings."""
    if results is None:
        return {}
    names = [key.removeprefix("split0_test_") for key in results if key.startswith("split0_test_")]
    if not names or not {"params", "mean_fit_time", "mean_score_time"} <= set(results):
        raise ValueError(
            "earlier_results must be the cv_results_ of a search, with 'params', the scores of all "
            f"folds and the mean times; got {sorted(map(str, results))}"
        )
    expected = list(scoring) if isinstance(scoring, (list, tuple, set, dict)) else ["score"]
    if not callable(scoring) and set(names) != set(expected):
        raise ValueError(
            f"earlier_results has the metrics {sorted(names)}, but scoring has {sorted(expected)}"
        )
    n_folds = next(i for i in count() if f"split{i}_test_{names[0]}" not in results)
    times = [
        np.asarray(results[f"mean_{name}_time"], dtype=np.float64) for name in ("fit", "score")
    ]
    try:
        points = space.points(list(results["params"]))
    except ValueError as error:
        raise ValueError(f"earlier_results has a setting out of the space: {error}") from None
    keys = [row.tobytes() for row in space.columns(points)]
    fits: dict[bytes, list[dict[str, Any]]] = {}
    for row, key in enumerate(keys):
        fits[key] = [
            {"fit_error": None, "fit_time": times[0][row], "score_time": times[1][row]}
            | {
                f"{part}_scores": by_name if names != ["score"] else by_name["score"]
                for part in ("test", "train")
                if (by_name := _scores_of(results, row, f"split{i}_{part}_", names))
            }
            for i in range(n_folds)
        ]
    return fits


def _scores_of(
    results: dict[str, Any], row: int, column: str, names: list[str]
) -> dict[str, float]:
    """Return the scores by metric in a row of ``cv_results_``, {} if it has no such column."""
    columns = {name: results.get(column + name) for name in names}
    return {name: float(each[row]) for name, each in columns.items() if each is not None}


def least_noise(scores: np.ndarray) -> float:
    """Return the lower bound of the noise variance of these scores."""
    size = float(np.abs(scores).max()) or 1.0
    return max(defaults.SCORE_LEAST_NOISE * float(scores.std()), DIGITS * size) ** 2
