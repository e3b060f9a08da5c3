"""The loop that every optimizer shares: fit, ask, tell, recommend, run."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skgpb.exceptions import EvaluationWarning, LearningWarning, ReplayWarning
from skgpb.locks import Guarded, locked
from skgpb.partition.arm import Arm
from skgpb.persistence import FORMAT, VERSION, Reader, Writer, encode_parameters, opened, write
from skgpb.utils import (
    Integral,
    box_around,
    check_bounds,
    check_count,
    check_inside,
    check_noise_variance,
    check_numbers,
    check_one_each,
    check_resolution,
    check_reward,
    check_unmasked,
    unchanged_by_errors,
    validate_params,
)

# run() gives up when so many evaluations in a row have failed: the fault is not the query's.
MOST_FAILURES = 10


class BaseBanditOptimizer(Guarded, RegressorMixin, BaseEstimator, ABC):
    """Ask for queries, tell rewards, recommend; it maximises.

    A subclass implements the algorithm in ``_begin``, ``_choose``, ``_resolve``, ``_update``
    and ``_best``, none of which has to validate anything. Public methods hold the lock of the
    optimizer (:mod:`skgpb.locks`), except for ``run``, which evaluates in between.
    """

    # -- the algorithm ----------------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> None:
        """Set up the state before any observation, for the domain in ``bounds_``."""

    @abstractmethod
    def _choose(self) -> Any:
        """Return the next query, different from the keys of ``_pending``."""

    @abstractmethod
    def _resolve(self, query: Any) -> Any:
        """Return what ``_update`` needs to know of a query; raise without changing anything."""

    @abstractmethod
    def _update(self, target: Any, reward: float, alpha: float) -> None:
        """Take one validated reward."""

    @abstractmethod
    def _best(self) -> Any:
        """Return the recommended query."""

    @abstractmethod
    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        """Take point evaluations given to ``fit``."""

    # -- fitting ----------------------------------------------------------------------------

    @locked
    def fit(self, X: Any, y: Any = None) -> Self:
        """Start afresh, learning from X and y what can be learned before the first query.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. They give the bounds where the parameters give no domain.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X, which the posterior is conditioned on. None for none.

        Returns
        -------
        self : BaseBanditOptimizer
            Everything told before is forgotten.
        """
        with unchanged_by_errors(self):
            validate_params(self)
            check_unmasked(X, "X")
            check_unmasked(y, "y")
            if y is None:
                X = validate_data(self, X, dtype=np.float64)
            else:
                X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            self._start(X)
            self._log.append(("fit", X, y))
            if y is not None:
                self._condition(X, np.asarray(y, dtype=np.float64))
        return self

    def _domain(self) -> np.ndarray | None:
        """Bounds (d, 2) from the parameters, or None where they give no domain."""
        return None if self.bounds is None else check_bounds(self.bounds)

    def _start(self, X: np.ndarray | None) -> None:
        """Forget everything and begin on the domain given, or on the bounding box of X."""
        bounds = self._domain()
        if bounds is None:
            if X is None:
                raise NotFittedError(
                    f"This {type(self).__name__} instance has no domain yet: pass bounds= (or "
                    f"{'arms' if hasattr(self, 'arms') else 'pool'}=) to the constructor, or call "
                    "fit(X, y), which takes the bounds from X."
                )
            bounds = box_around(X)
            check_resolution(bounds, "the bounds of X")
        elif X is not None:
            if X.shape[1] != len(bounds):
                raise ValueError(
                    f"X has {X.shape[1]} features, but the domain given to the constructor has "
                    f"{len(bounds)} dimensions"
                )
            check_inside(X, bounds)
        self._begin_checks(len(bounds))
        self.bounds_ = bounds
        self.n_features_in_ = len(bounds)
        self._begin_loop()
        self._begin()

    def _begin_loop(self) -> None:
        """Forget what was asked and told."""
        self._round = 0
        # Evaluations that were given to fit.
        self._n_fitted = 0
        self._asked: list[Any] = []
        # What is being evaluated; with a number, what failed and when it may be asked again.
        self._pending: dict[Any, int | None] = {}
        # What run() is evaluating.
        self._batch: list[Any] = []
        self._history: list[tuple] = []
        self._failures: list[tuple[int, Any, str]] = []
        self._log: list[tuple] = []

    def _draw_seed(self) -> int:
        """Seed of everything random in a run; that of a loaded run is the one it had."""
        if "_replayed_seed" in self.__dict__:
            return self._replayed_seed
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _begin_checks(self, d: int) -> None:
        """Check parameters that depend on the dimension, before any state changes."""

    def _ensure_started(self) -> None:
        if not hasattr(self, "bounds_"):
            with unchanged_by_errors(self):
                validate_params(self)
                self._start(None)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of a run that has begun, which then checks them at once.

        Parameters
        ----------
        **params : dict
            Names and values. A run goes on with them where it looks at them again; those that
            only matter at its start have no effect before the next ``fit``.

        Returns
        -------
        self : BaseBanditOptimizer
        """
        if not hasattr(self, "bounds_"):
            return super().set_params(**params)
        with unchanged_by_errors(self):
            super().set_params(**params)
            validate_params(self)
        return self

    # -- the loop ---------------------------------------------------------------------------

    @locked
    def ask(self, n: int | None = None) -> Any:
        """Return the next query, or a list of n different ones for parallel evaluation.

        Asking again before a ``tell`` returns the same queries. Queries asked for and not yet
        told stay pending: later ones differ from them and assume that their answers will
        reduce the uncertainty, which the variance allows to compute exactly.

        Parameters
        ----------
        n : int, default=None
            Number of queries, at most 10,000; None for a single one, not in a list.

        Returns
        -------
        query : query or list of queries

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Where neither the parameters nor ``fit`` gave a domain.
        """
        count = check_count(n)
        self._ensure_started()
        while len(self._asked) < count:
            self._ask_for(self._choose)
        return self._asked[0] if n is None else self._asked[:count]

    def _ask_for(self, choose: Callable, *arguments: Any) -> Any:
        """Choose a query and remember that it was asked."""
        try:
            query = choose(*arguments)
        except ValueError:
            pending = self._pending
            evaluated = {each: None for each, until in pending.items() if until is None}
            if len(evaluated) == len(pending):
                raise
            # Nothing else is left than what has failed.
            self._pending = evaluated
            try:
                query = choose(*arguments)
            except BaseException:
                self._pending = pending
                raise
        self._asked.append(query)
        self._pending[query] = None
        self._log.append(("ask", query))
        return query

    @locked
    def tell(self, query: Any, reward: Any, alpha: Any = None) -> Self:
        """Report the reward of a query; nothing changes if anything is wrong with it.

        A reward of None says that the evaluation failed. It is recorded in ``failed_``, nothing
        is learned from it, and the query is left out of what is asked for a while: until 2
        further answers or failures were told, 4 after its second failure, 8 after its third.
        So a query that cannot be evaluated costs few evaluations, and one that was unlucky gets
        another chance. Meanwhile it counts as pending.

        Parameters
        ----------
        query : query, array-like of shape (d,) or (S, d), or list of queries
            What was evaluated: a query from :meth:`ask` (in any order, also after pickling),
            or points, of which the average was observed.
        reward : float or None, or array-like of shape (n,) for a list of n queries
            The noisy answer; None where there is none, because the evaluation failed.
        alpha : float, or array-like of shape (n,), default=None
            Noise variance of this answer; None for the parameter ``alpha``.

        Returns
        -------
        self : BaseBanditOptimizer

        Raises
        ------
        ValueError, TypeError
            For rewards that are not finite real numbers, negative noise variances, queries of
            another optimizer and points outside the bounds. The state is then as before.

        Warns
        -----
        LearningWarning
            Where the answer was taken, but learning hyperparameters from it failed: those in use
            are kept until learning is due again. So they are if it is interrupted (Ctrl-C), which
            then ends ``tell`` with KeyboardInterrupt.
        """
        if hasattr(self, "bounds_"):
            observations = self._checked_all(query, reward, alpha)
        else:
            with unchanged_by_errors(self):
                self._ensure_started()
                observations = self._checked_all(query, reward, alpha)
        for observation in observations:
            self._take(*observation)
        return self

    def _take(self, query: Any, target: Any, value: float | None, noise: float) -> None:
        """Take one validated answer or failure."""
        if value is None:
            self._fail(query, "told as failed")
            return
        self._update(target, value, noise)
        self._pending.pop(query, None)
        self._log.append(("tell", query, value, noise))
        self._told()
        try:
            if self._learning_is_due():
                self._learn_or_keep()
        finally:
            self._settle()

    def _learning_is_due(self) -> bool:
        """Whether hyperparameters are to be learned from what was told by now."""
        return False

    def _learn(self) -> None:
        """Learn hyperparameters; what changes is replaced, not changed in place."""

    def _settle(self) -> None:
        """Prepare the next round, the last answer being taken and learned from."""

    def _learn_or_keep(self) -> None:
        """Learn; where that fails or is interrupted keep the hyperparameters, not the answer."""
        when, n_events, failure = (len(self._history),), len(self._log), None
        replayed = bool(self.__dict__.get("_replayed_learning"))
        if when not in self.__dict__.get("_replayed_failures", ()):
            try:
                with unchanged_by_errors(self):
                    self._learn()
                return
            except BaseException as error:
                if replayed:  # what a file says was learned is at fault, not the learner
                    raise
                failure = error
        del self._log[n_events:]
        self._log.append(("unlearned", *when))
        # It is not tried again before it is due again.
        self._learned_at = self._round + self._n_fitted
        if isinstance(failure, Exception):
            warnings.warn(
                "learning the hyperparameters failed, those in use are kept: "
                f"{type(failure).__name__}: {failure}",
                LearningWarning,
                stacklevel=5,
            )
        elif failure is not None:
            raise failure

    def _fail(self, query: Any, reason: str) -> None:
        """Record a failure, and leave the query out for a while."""
        self._failures.append((len(self._history), query, reason))
        self._log.append(("fail", query, reason))
        if not isinstance(query, PointsQuery):
            times = sum(each == query for _, each, _ in self._failures)
            now = len(self._history) + len(self._failures)
            self._pending[query] = now + 2**times
        self._told()

    def _told(self) -> None:
        """Forget what was asked, and let those that failed long ago be asked again."""
        self._asked = []
        now = len(self._history) + len(self._failures)
        due = [query for query, until in self._pending.items() if until is not None]
        for query in due:
            if self._pending[query] <= now:
                del self._pending[query]

    def _checked_all(self, query: Any, reward: Any, alpha: Any) -> list[tuple]:
        if isinstance(query, list) and query and isinstance(query[0], self._query_type):
            return self._checked_list(query, reward, alpha)
        return [self._checked(query, reward, alpha)]

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple:
        value = None if reward is None else check_reward(reward)
        noise = self._told_noise() if alpha is None else check_noise_variance(alpha)
        if not isinstance(query, self._query_type):
            query = self._as_query(query)
        return query, self._resolve(query), value, noise

    def _checked_list(self, queries: list, rewards: Any, alphas: Any) -> list[tuple]:
        n = len(queries)
        rewards = check_one_each(rewards, n, "reward", "queries")
        alphas = check_one_each(alphas, n, "alpha", "queries", shared=True)
        return [self._checked(*each) for each in zip(queries, rewards, alphas, strict=True)]

    def _as_query(self, points: Any) -> Any:
        """Return the pending query with these points, or else the points themselves."""
        points = np.atleast_2d(check_numbers(points, "query", ensure_2d=False))
        if points.ndim != 2 or points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"a query must be one of this optimizer's queries or points of shape "
                f"({self.n_features_in_},) or (S, {self.n_features_in_}); got {points.shape}"
            )
        for query in self._pending:
            if np.array_equal(query.points, points):
                return query
        check_inside(points, self.bounds_)
        return PointsQuery(points)

    def _default_noise(self) -> float:
        """Noise variance that is expected of an answer."""
        return float(self.alpha)

    def _told_noise(self) -> float:
        """Noise variance of an answer told without its own, NaN for one that is learned."""
        return self._default_noise()

    @locked
    def recommend(self) -> Any:
        """Return the best query found so far, by the algorithm's own rule.

        Returns
        -------
        query : query

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before anything is known: an answer that was told, or evaluations given to ``fit``.
        """
        self._check_informed()
        return self._best()

    @property
    def _informed(self) -> bool:
        """Whether an answer was told, or evaluations were given to ``fit``."""
        return hasattr(self, "bounds_") and bool(self._history or self._n_fitted)

    def _check_informed(self) -> None:
        """Raise NotFittedError where nothing is known that a recommendation could rest on."""
        if self._informed:
            return
        if not hasattr(self, "bounds_"):
            # Should more be missing than answers, such as a domain, that is said first.
            clone(self)._ensure_started()
        raise NotFittedError(
            f"This {type(self).__name__} instance has no answer yet that a recommendation could "
            "rest on: tell it one, run it, or call fit(X, y)."
        )

    def run(
        self,
        objective: Callable[[Any], float],
        budget: int,
        callback: Callable[[Self], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        *,
        on_error: str = "record",
        checkpoint: str | os.PathLike | None = None,
    ) -> OptimizeResult:
        """Ask, evaluate and tell ``budget`` times, continuing from the present state.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy reward, or None where the evaluation failed.
        budget : int
            Number of evaluations, at least 1; failed ones count.
        callback : callable, default=None
            Called with the optimizer after every evaluation; returning True ends the run.
        progress : bool, default=False
            Whether to show a progress bar (needs tqdm: ``pip install skgpb[progress]``).
        n_jobs : int, default=None
            Queries asked for and evaluated side by side through joblib, whose backend the
            caller chooses with :func:`joblib.parallel_config`. Results depend on the number of
            jobs, not on their timing or on the backend. None means 1 unless in such a context,
            -1 as many as the backend has.
        on_error : {"record", "raise"}, default="record"
            What to do with an exception of the objective. "record" tells the query as failed,
            see :meth:`tell`, and goes on; the run ends with RuntimeError only when 10
            evaluations in a row have failed. "raise" ends the run. Whatever ends it, all that
            was told is kept, and the next run begins with what this one left unevaluated.
        checkpoint : path, default=None
            Where to save the run after every evaluation or batch, see :meth:`save`; also before
            the first. A process that was killed is resumed by ``run`` on what :meth:`load`
            returns, and goes on as if nothing had happened.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            ``x`` (the recommended query), ``fun`` (its posterior or empirical mean), ``nfev``,
            ``nfail`` (how many of these failed), ``history`` (see ``history_``), ``success``
            and ``message``. Where all evaluations failed and nothing was known before,
            ``success`` is False, ``x`` None and ``fun`` NaN.
        """
        if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 1:
            raise ValueError(f"budget must be an integer >= 1, got {budget!r}")
        return self._play(
            objective,
            int(budget),
            lambda done, most: self.ask(most),
            callback,
            progress,
            n_jobs,
            on_error,
            checkpoint,
        )

    def _play(
        self,
        objective: Callable[[Any], float],
        budget: int,
        ask: Callable[[int, int], list[Any]],
        callback: Callable[[Self], Any] | None,
        progress: bool,
        n_jobs: int | None,
        on_error: str = "record",
        checkpoint: str | os.PathLike | None = None,
    ) -> OptimizeResult:
        """Play the loop of ``run``; ``ask(done, most)`` returns at most so many queries."""
        if not callable(objective):
            raise TypeError(f"objective must be callable, got {objective!r}")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable or None, got {callback!r}")
        if on_error not in ("record", "raise"):
            raise ValueError(f"on_error must be 'record' or 'raise', got {on_error!r}")
        self._ensure_started()
        positive = isinstance(n_jobs, Integral) and n_jobs > 0
        # Not what a backend makes of a number of jobs: a batch is the same on all of them.
        size = int(n_jobs) if positive else effective_n_jobs(n_jobs)
        pool = Parallel(n_jobs=n_jobs)
        if checkpoint is not None:
            self.save(checkpoint)
        bar = progress_bar(budget) if progress else None
        done = failed = in_a_row = 0
        stopped = False
        while done < budget and not stopped:
            left = [each for each in self._batch if self._pending.get(each, 0) is None]
            self._batch = left or ask(done, min(size, budget - done))
            batch = self._batch[: budget - done]
            tasks = (delayed(_evaluate)(objective, query, on_error) for query in batch)
            if len(batch) == 1:
                answers = [_evaluate(objective, batch[0], on_error)]
            else:
                answers = pool(tasks)
            for query, (reward, error) in zip(batch, answers, strict=True):
                if error is None:
                    self.tell(query, reward)
                else:
                    with self._lock:
                        self._fail(query, error)
                done += 1
                in_a_row = in_a_row + 1 if reward is None else 0
                failed += reward is None
                if bar is not None:
                    bar.update()
                if checkpoint is not None and query is batch[-1]:
                    self.save(checkpoint)
                if callback is not None and callback(self) is True:
                    stopped = True
                    if checkpoint is not None:
                        self.save(checkpoint)
                    break
            if in_a_row >= MOST_FAILURES:
                raise RuntimeError(
                    f"the last {in_a_row} evaluations have failed, the last one with: "
                    f"{self._failures[-1][2]}; on_error='raise' shows where"
                )
        if bar is not None:
            bar.close()
        if failed:
            warnings.warn(
                f"{failed} of {done} evaluations failed, the last one with: "
                f"{self._failures[-1][2]}; failed_ has them all",
                EvaluationWarning,
                stacklevel=3,
            )
        best, message = None, f"nothing is known: all {done} evaluations failed"
        if self._informed:
            best = self._result(batch[-1])
            message = "stopped by the callback" if stopped else "the budget is spent"
        return OptimizeResult(
            x=best,
            fun=np.nan if best is None else self._value_of(best),
            nfev=done,
            nfail=failed,
            history=self.history_,
            success=best is not None,
            message=message,
        )

    def _result(self, last: Any) -> Any:
        """Return what a run recommends after its last query."""
        return self.recommend()

    # -- files ------------------------------------------------------------------------------

    @locked
    def save(self, path: str | os.PathLike, *, omit: Collection[str] = ()) -> None:
        """Write the run to a file from which :meth:`load` continues it identically.

        The file is a zip archive of JSON and NumPy arrays, in a versioned format that holds the
        parameters and everything asked and told, exactly. It replaces an older one in one step:
        a crash, whenever it comes, leaves a whole file. Links are followed, and the permissions of
        the older file are kept. See :mod:`skgpb.persistence`.

        Parameters
        ----------
        path : path
            Where to write.
        omit : collection of str, default=()
            Parameters left out, such as functions, which :meth:`load` is then to be given.

        Raises
        ------
        TypeError
            For parameters that are no data: functions, and kernels of classes that
            :func:`skgpb.persistence.register_kernel` does not know. Nothing is written then.
        ValueError
            For runs so large that :meth:`load` would refuse the file: of more than about 300,000
            rounds, or with arrays of more than a gigabyte, which ``omit`` leaves out.

        Examples
        --------
        >>> import tempfile, os
        >>> from skgpb import GPOOOptimizer
        >>> path = os.path.join(tempfile.mkdtemp(), "run.skgpb")
        >>> opt = GPOOOptimizer(bounds=[(0, 1)], random_state=0)
        >>> opt.tell(opt.ask(), 0.3).save(path)
        >>> resumed = GPOOOptimizer.load(path)
        >>> resumed.ask() == opt.ask()
        True
        """
        self._ensure_started()
        from skgpb import __version__

        writer = Writer()
        parameters = encode_parameters(writer, self.get_params(deep=False), omit)
        events = []
        for kind, *rest in self._log:
            if kind == "fit":
                events.append([kind, *(writer.encode(each, "X") for each in rest)])
            elif kind == "learned":
                events.append([kind, writer.encode(rest[0], "hyperparameters")])
            elif kind == "unlearned":
                events.append([kind, *rest])
            else:
                query, *numbers = rest
                numbers = [writer.encode(each, "reward") for each in numbers]
                events.append([kind, writer.query(query), *numbers])
        names = getattr(self, "feature_names_in_", None)
        document = {
            "format": FORMAT,
            "version": VERSION,
            "skgpb": __version__,
            "class": type(self).__name__,
            "parameters": parameters,
            "omitted": sorted(omit),
            "seed": getattr(self, "_seed", None),
            "feature_names": None if names is None else list(names),
            "events": events,
            "batch": [writer.query(query) for query in self._batch],
        }
        write(path, document, writer.arrays)

    @classmethod
    def load(cls, path: str | os.PathLike, **parameters: Any) -> Self:
        """Read a run that was saved, ready to go on as if it had never stopped.

        Nothing in the file is executed: it names classes of this library, parameters and
        numbers. The answers are taken again one by one, with the hyperparameters that were
        learned (learned anew for indirect queries), so that loading takes about the time that
        the run took without its evaluations, or less.

        Parameters
        ----------
        path : path
            A file of :meth:`save`, by an optimizer of this class or of one derived from it.
        **parameters
            Parameters that were omitted from the file, or that are to be others from now on.

        Returns
        -------
        optimizer : instance of the class that was saved

        Raises
        ------
        skgpb.exceptions.LoadError
            A ``ValueError``: the file is damaged, no saved run, one of another class or of a later
            version of the format, or lacks parameters that are not given.
        OSError
            Where it cannot be opened.

        Warns
        -----
        ReplayWarning
            Where queries come out otherwise than they did, which rounding on another machine or
            another version of the library may cause. What was told is exact all the same.
        """
        with opened(path) as (document, arrays):
            known = {each.__name__: each for each in _with_subclasses(cls)}
            if document["class"] not in known:
                raise ValueError(f"it holds a {document['class']}, not a {cls.__name__}")
            cls = known[document["class"]]
            kinds = [*_with_subclasses(cls._query_type), PointsQuery, Arm]
            reader = Reader(arrays, kinds, _with_subclasses(BaseBanditOptimizer))
            missing = sorted(set(document["omitted"]) - set(parameters))
            if missing:
                raise ValueError(
                    f"it was saved without {missing}: pass them to load, as in "
                    f"load(path, {missing[0]}=...)"
                )
            stored = {name: reader.decode(v) for name, v in document["parameters"].items()}
            optimizer = cls(**stored | parameters)
            with warnings.catch_warnings():
                # What the algorithm had to say it has said in the run itself.
                warnings.simplefilter("ignore")
                surprises = optimizer._replay(document, reader)
        if surprises:
            warnings.warn(
                f"{surprises} of {len(document['events'])} steps of {os.fspath(path)!r} came out "
                f"otherwise than they did in skgpb {document['skgpb']}; answers were taken as told",
                ReplayWarning,
                stacklevel=2,
            )
        return optimizer

    def _replay(self, document: dict[str, Any], reader: Reader) -> int:
        """Repeat the events of a saved run; how many queries came out otherwise."""
        surprises = 0
        events = document["events"]
        if document["seed"] is not None:
            self._replayed_seed = document["seed"]
        self._replayed_learning = [reader.decode(e[1]) for e in events if e[0] == "learned"][::-1]
        self._replayed_failures = {tuple(e[1:]) for e in events if e[0] == "unlearned"}
        if not events or events[0][0] != "fit":
            self._ensure_started()
        for kind, *rest in events:
            if kind == "fit":
                self._refit(*(reader.decode(each) for each in rest))
                names = document["feature_names"]
                if names is not None:
                    strings = isinstance(names, list) and all(isinstance(n, str) for n in names)
                    if not strings or len(names) != self.n_features_in_:
                        raise ValueError(
                            f"feature_names must be a list of {self.n_features_in_} names, "
                            f"got {names!r}"
                        )
                    self.feature_names_in_ = np.array(names, dtype=object)
            elif kind not in ("learned", "unlearned"):
                query, *numbers = reader.query(rest[0]), *map(reader.decode, rest[1:])
                surprises += self._repeat(kind, query, *numbers)
        del self._replayed_learning, self._replayed_failures
        self.__dict__.pop("_replayed_seed", None)
        self._batch = [reader.query(each) for each in document["batch"]]
        return surprises

    def _refit(self, X: np.ndarray, y: np.ndarray | None) -> None:
        self.fit(X, y)

    def _repeat(self, kind: str, query: Any, *numbers: Any) -> bool:
        """Repeat one ask, tell or failure; whether an ask came out otherwise."""
        if kind == "ask":
            if not isinstance(query, self._query_type):
                raise ValueError(f"no query of a {type(self).__name__}: {query!r}")
            chosen = self._ask_for(*self._choice_of(query))
            if chosen == query:
                return False
            del self._pending[chosen], self._asked[-1], self._log[-1]
            try:
                self._resolve(query)
            except ValueError:
                return True
            self._asked.append(query)
            self._pending[query] = None
            self._log.append(("ask", query))
            return True
        if kind == "fail":
            (reason,) = numbers
            query, *_ = self._checked_again(query, None, None)
            self._fail(query, str(reason))
            return False
        if kind != "tell":
            raise ValueError(f"not an event of a saved run: {kind!r}")
        value, noise = numbers
        self._take(*self._checked_again(query, value, _none_for_nan(noise)))
        return False

    def _checked_again(self, query: Any, reward: Any, alpha: Any) -> tuple:
        """Check what was told in a saved run."""
        if isinstance(query, self._query_type):
            try:
                return self._checked(query, reward, alpha)
            except ValueError:
                # Not what this version asks: but it is known which points were averaged.
                pass
        return self._checked(query.points, reward, alpha)

    def _choice_of(self, query: Any) -> tuple:
        """Return the function, and its arguments, by which a query was chosen."""
        return (self._choose,)

    @abstractmethod
    def _value_of(self, query: Any) -> float:
        """Return the estimated mean reward of a query."""

    def _descriptor(self, query: Any) -> np.ndarray:
        """Box [lower, upper] around what a query observes, shape (2 d,)."""
        return descriptors_of(np.asarray(query))

    @property
    @locked
    def failed_(self) -> np.ndarray:
        """Every failed evaluation since the start, a structured array.

        Fields: ``round``, the number of answers told before it, ``descriptor``, the box
        [lower, upper] around what was to be observed, and ``reason``, the message of the
        exception where there was one.
        """
        check_is_fitted(self, "bounds_")
        rows = [(i, self._descriptor(query), reason) for i, query, reason in self._failures]
        width = len(rows[0][1]) if rows else 2 * self.n_features_in_
        dtype = [("round", np.intp), ("descriptor", np.float64, (width,)), ("reason", object)]
        return np.array(rows, dtype=dtype)

    @property
    @locked
    def history_(self) -> np.ndarray:
        """Every observation told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 d,), the box [lower, upper] around what
        was observed, ``reward``, ``mean`` and ``std`` of the query before the observation, and
        ``expanded``, whether its cell was split. Where rewards are scaled nothing is known before
        the first: its ``mean`` is the reward itself.
        """
        check_is_fitted(self, "bounds_")
        d = self.n_features_in_
        dtype = [
            ("round", np.intp),
            ("descriptor", np.float64, (2 * d,)),
            ("reward", np.float64),
            ("mean", np.float64),
            ("std", np.float64),
            ("expanded", np.bool_),
        ]
        rows = [(i + 1, *row) for i, row in enumerate(self._history)]
        return np.array(rows, dtype=dtype)


class PointsQuery:
    """Points told from outside: the reward is their average.

    Attributes
    ----------
    points : ndarray of shape (S, d)
        The points.
    """

    __slots__ = ("points",)

    def __init__(self, points: np.ndarray) -> None:
        self.points = points

    def __reduce__(self) -> tuple:
        return PointsQuery, (self.points,)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.points, dtype=dtype)


def _evaluate(objective: Callable, query: Any, on_error: str) -> tuple[Any, str | None]:
    """Reward and None, or None and what went wrong; at module level, to be sent anywhere."""
    try:
        return objective(query), None
    except Exception as error:
        if on_error == "raise":
            raise
        return None, f"{type(error).__name__}: {error}"


def _none_for_nan(alpha: Any) -> Any:
    """Noise variances as they are told: None, not NaN, for one that is learned."""
    if isinstance(alpha, list):
        return [_none_for_nan(each) for each in alpha]
    return None if alpha != alpha else alpha


def _with_subclasses(cls: type) -> list[type]:
    return [cls, *(each for child in cls.__subclasses__() for each in _with_subclasses(child))]


def progress_bar(total: float, unit: str = "query") -> Any:
    """Return a bar of tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm, which is not installed: pip install skgpb[progress]"
        ) from error
    return tqdm(total=total, unit=unit)


def descriptors_of(points: np.ndarray) -> np.ndarray:
    """Box [lower, upper] around points (S, d), shape (2 d,)."""
    return np.concatenate([points.min(axis=0), points.max(axis=0)])
