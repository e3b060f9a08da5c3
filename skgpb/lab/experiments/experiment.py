"""Experiments in files, which several people and programs can use at the same time.

An :class:`Experiment` has three parts: its notebook, the file and all that people write into it;
its plan, the search that suggests queries; and its judge, who says what follows from the answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from math import sqrt
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from skgpb.lab.experiments.answers import format_range, noise_variance, read_range
from skgpb.lab.experiments.blocks import read_block
from skgpb.lab.experiments.costs import read_costs
from skgpb.lab.experiments.judge import Judge
from skgpb.lab.experiments.limits import format_limits, read_limits
from skgpb.lab.experiments.notebook import Notebook, parse_sides
from skgpb.lab.experiments.plan import Plan, read_earlier_campaigns
from skgpb.lab.experiments.scores import read_score
from skgpb.lab.experiments.sides import Side
from skgpb.lab.experiments.texts import check_name, quote
from skgpb.lab.experiments.trade_offs import format_goals, read_goals

__all__ = ["Experiment"]

# Every status of a query that is no longer pending.
FINAL_STATUSES = ("answered", "given", "failed", "skipped")
# Parameters that cannot be combined with regions=True, and the reasons.
NOT_OF_REGIONS = {
    "goals": "is for single settings, not for regions",
    "score": "is for single settings, not for regions",
    "block": "is for single settings, not for regions",
    "limits": "are for single settings: an average over a region may be within a limit that "
    "settings in it violate",
    "constraints": "are between sides of single settings: an average over a region would violate "
    "them",
    "costs": "are of single settings, not of regions",
    "earlier_campaigns": "are for single settings, not for regions",
}

P = ParamSpec("P")
T = TypeVar("T")


def _said(method: Callable[Concatenate[Judge, P], T]) -> Callable[Concatenate[Experiment, P], T]:
    """Return a method of the judge as a method of the experiment, which reads the file first."""

    @wraps(method)
    def call(self: Experiment, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._notebook.reading():
            return method(Judge(self._notebook), *args, **kwargs)

    return call


def _written(
    method: Callable[Concatenate[Notebook, P], T],
) -> Callable[Concatenate[Experiment, P], T]:
    """Return a method of the notebook as a method of the experiment."""

    @wraps(method)
    def call(self: Experiment, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self._notebook, *args, **kwargs)

    return call


class Experiment:
    """An experiment in a file; every change is saved at once.

    Several windows, programs and people may have the same file open. They take turns: each change
    applies to the present contents of the file, so that nothing is lost. The file has the format of
    an optimizer's ``save``, and ``GPUCBOptimizer.load`` opens it as well.

    Queries have numbers. Users pass the number of a query to answer it, in any order, to correct it
    or to look it up. All methods return JSON types: dicts, lists, strings, numbers and None.

    Parameters
    ----------
    path : path
        A file written by :meth:`create`, or by ``save`` of an optimizer over a box with named
        sides: one over arms, or ``GPOOOptimizer``.

    Raises
    ------
    skgpb.exceptions.LoadError
        A ``ValueError``, if the file holds no such optimizer.
    OSError
        If the file cannot be opened.

    Notes
    -----
    Every method raises ``ValueError`` for an invalid argument, in one line with the value given and
    the values accepted, and ``OSError`` if the file cannot be written. In both cases the experiment
    does not change.

    After an answer is corrected or undone, the experiment repeats its run from the start with the
    present answers. All queries so far remain part of the run. ``load`` of an optimizer then
    warns with a ReplayWarning that ``ask`` would now return other queries.

    :meth:`create` searches for single settings with ``GPUCBOptimizer(regret="simple")``, because
    only the recommendation at the end counts. With limits it uses ``EIOptimizer``, and
    ``EIOptimizer.load`` opens the file. A file that was saved with other parameters keeps them,
    also after corrections and changes of its limits.

    Examples
    --------
    >>> import tempfile, os
    >>> from skgpb.lab.experiments import Experiment
    >>> path = os.path.join(tempfile.mkdtemp(), "run.skgpb")
    >>> oven = Experiment.create(path, ["temperature=20:90", "catalyst=A,B"], direction="minimize")
    >>> query = oven.ask()[0]
    >>> query["query"], sorted(query["params"])
    (1, ['catalyst', 'temperature'])
    >>> oven.tell(0.37, query=1)["status"]
    'answered'
    >>> oven.correct(1, 0.73)["answer"]
    0.73
    >>> Experiment(path).history() == oven.history()
    True
    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        sides: Iterable[Side | str] | Mapping[str, Any],
        *,
        constraints: str | Iterable[str] = (),
        limits: str | Iterable[str] = (),
        costs: str | Iterable[str] = (),
        block: str = "",
        answer_range: str | tuple[float | None, float | None] = "",
        score: str = "",
        goals: str | Iterable[str] = (),
        direction: str = "maximize",
        noise: float | None = None,
        regions: bool = False,
        title: str = "",
        answer: str = "",
        unit: str = "",
        data: str | os.PathLike[str] | None = None,
        skip_outside: bool = False,
        earlier_campaigns: Iterable[str | os.PathLike[str]] = (),
        seed: int = 0,
    ) -> Self:
        """Create an experiment and write its file.

        Parameters
        ----------
        path : path
            The file, which must not exist.
        sides : list of str or Side, or dict
            Names and ranges of the settings. A list of ``"temperature=20:90"``,
            ``"salt=1e-4:0.1:log"``, ``"n=1:10:int"``, ``"time=0:60:5"`` (in steps of 5),
            ``"wind=0:360:periodic"``, ``"catalyst=A,B"``. Numbers have three significant digits of
            their range unless a step is given; ``"temperature=20:90:any"`` allows any number of
            digits. Or a dict of names and sides, each a text such as ``"20:90"``, a pair
            ``(low, high)``, a list of values, a distribution of ``scipy.stats`` or a dict of
            :meth:`Side.as_dict`, see :meth:`Side.of`.
        constraints : str or list of str, default=()
            Linear equations and inequalities between sides that are numbers: ``"A + B <= 100"``,
            ``"A + B + C = 1"``. All queries and recommendations satisfy them. See
            :class:`~skgpb.domains.Box`.
        limits : str or list of str, default=()
            Limits on outcomes, quantities that are measured besides the answer:
            ``"peak temperature < 80"``, ``"6 <= pH <= 8"``. Pass their values to :meth:`tell` as
            ``measured``; each outcome has a model of its own. A setting that was measured beyond a
            limit is never recommended, and a setting that probably is beyond one is rarely asked;
            see ``limits`` of :class:`~skgpb.EIOptimizer`.
        costs : str or list of str, default=()
            Costs of one experiment, amounts that add up: ``"20 + 0.5*time"``, and for one value of
            a list ``"100 if catalyst = Pd"``. ``ask`` divides the score of a query by its cost;
            recommendations do not depend on costs. See :ref:`experiment-costs`.
        block : str, default=""
            Field that names the block of an answer: ``"operator"``, ``"date"``, or a measurement
            passed to :meth:`tell` as ``measured``, such as ``"batch"``. All answers of a block
            share a random shift. The standard deviation of these shifts is learned, separately from
            the noise. New blocks may come at any time. Predictions and recommendations are for an
            average block. See :ref:`blocks`.
        answer_range : str or pair of floats, default=""
            Range of the average of answers at a setting: ``"0:100"`` of a yield in per cent,
            ``"0:"`` of a cost. Predictions and gaps are clipped to it. Single answers may leave it
            by their noise.
        score : str, default=""
            Formula of the answer, if it is computed from several measurements:
            ``"0.7*yield - 0.3*cost"``. It is arithmetic of names in ``measured`` and of settings
            that are numbers, with ``desirability(yield, 60, 90)``, which is 0 up to the first
            number and 1 from the second on, min, max, sqrt, log, exp and abs. Names of several
            words stand between quotes. See :ref:`scores`.
        goals : str or list of str, default=()
            Two to four measurements of which the best compromises are sought: ``"large yield"``,
            ``"small cost"``. Pass their values to :meth:`tell` as ``measured``; there is no other
            answer. See :ref:`goals-of-experiments`.
        direction : {"maximize", "minimize"}, default="maximize"
            Whether the search maximizes or minimizes the answer.
        noise : float, default=None
            Standard deviation of the noise in an answer; None if it is unknown, and to be learned.
        regions : bool, default=False
            Whether answers are averages over regions of settings. Then the ``params`` of a query
            are pairs [low, high], or lists of the whole numbers or choices in the region.
        title, answer, unit : str, default=""
            Names of the experiment and of the answer, and its unit; for display only. With
            ``data``, ``answer`` is also the name of the column of answers.
        data : path, default=None
            A table of past settings and answers, see :meth:`add_table`. If ``export`` wrote the
            table, the numbers of its queries are kept, and its pending queries stay pending.
        skip_outside : bool, default=False
            Whether to leave out rows of ``data`` that are not within the sides, with a warning.
        earlier_campaigns : list of paths, default=()
            Tables of settings and answers of earlier campaigns, which may have other units and
            another level, unlike ``data``. How much each is like this one is learned, see
            :doc:`/user_guide/transfer`. Their answers are no queries of the notebook. Rows that are
            not within the sides are left out, with a warning.
        seed : int, default=0
            The same seed and the same answers give the same queries.

        Returns
        -------
        experiment : Experiment
        """
        every = parse_sides(sides)
        if skip_outside and data is None:
            raise ValueError("skip_outside is about rows of data, got skip_outside=True, data=None")
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction must be 'maximize' or 'minimize', got {direction!r}")
        for name, text in (("title", title), ("answer", answer), ("unit", unit)):
            check_name(text, name)
        constraints = [constraints] if isinstance(constraints, str) else list(constraints)
        taken = [side.name for side in every] + [answer] * bool(answer)
        limited = read_limits(limits, taken)
        block, ends = read_block(block, [*taken, *limited]), read_range(answer_range)
        sought = read_goals(goals, every)
        if sought and (score or direction == "minimize"):
            raise ValueError(
                "goals have directions of their own and no score; got "
                f"score={score!r} and direction={direction!r}"
            )
        if sought:
            score, direction = quote(next(iter(sought))), next(iter(sought.values()))
        scored = read_score(score, every)
        cost = read_costs(costs, every)
        tables = list(earlier_campaigns)
        one = ("goals", str(format_goals(sought))) if sought else ("score", score)
        for name, text in (one, ("block", block)) if tables else ():
            if text:
                raise ValueError(
                    f"{name} is for experiments without earlier_campaigns, got {text!r}"
                )
        asked: dict[str, Any] = {"goals": format_goals(sought), "score": score, "block": block}
        asked |= {"limits": format_limits(limited), "earlier_campaigns": tables}
        for name, given in {**asked, "constraints": constraints, "costs": cost and costs}.items():
            if regions and given:
                raise ValueError(f"{name} {NOT_OF_REGIONS[name]}; got regions=True and {given!r}")
        every = [side.with_value_list() if regions else side.rounded_to_grid() for side in every]
        more: dict[str, Any] = {"goals": dict([*sought.items()][1:])} if sought else {}
        if tables:
            given = read_earlier_campaigns(tables, every, constraints, answer)
            more["earlier_campaigns"] = given
        plan = Plan.create(
            every,
            constraints,
            limited,
            regions,
            cost=cost,
            alpha=noise_variance(noise),
            direction=direction,
            random_state=seed,
            **more,
        )
        notes = {"title": title, "answer": answer, "unit": unit, "block": block}
        written = {**notes, "answer_range": ends, "score": scored.text if scored else ""}
        self = cls.__new__(cls)
        self._notebook = Notebook.create(path, plan, written, data, skip_outside)
        return self

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._notebook = Notebook(path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._notebook.path

    # -- the notebook -----------------------------------------------------------------------

    exclusive: Final = _written(Notebook.exclusive)
    ask: Final = _written(Notebook.ask)
    tell: Final = _written(Notebook.tell)
    fail: Final = _written(Notebook.fail)
    skip: Final = _written(Notebook.skip)
    repeat: Final = _written(Notebook.repeat)
    add_table: Final = _written(Notebook.add_table)
    annotate: Final = _written(Notebook.annotate)
    correct: Final = _written(Notebook.correct)
    undo: Final = _written(Notebook.undo)
    change: Final = _written(Notebook.change)
    history: Final = _written(Notebook.history)
    pending: Final = _written(Notebook.pending)
    changes: Final = _written(Notebook.changes)
    left_out: Final = _written(Notebook.left_out)

    # -- the judge --------------------------------------------------------------------------

    best: Final = _said(Judge.best)
    gap: Final = _said(Judge.gap)
    may_stop: Final = _said(Judge.may_stop)
    expect: Final = _said(Judge.expect)
    why: Final = _said(Judge.why)
    surprise: Final = _said(Judge.surprise)
    surprises: Final = _said(Judge.surprises)
    questionable: Final = _said(Judge.questionable)
    replicates: Final = _said(Judge.replicates)
    blocks: Final = _said(Judge.blocks)
    trade_offs: Final = _said(Judge.trade_offs)

    # -- the definition ---------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Return the definition and the progress of the experiment.

        Returns
        -------
        status : dict
            ``file``, ``title``, ``answer``, ``unit``, ``direction``, ``noise``, its standard
            deviation, None if it is learned, ``regions``, ``sides``, a list of
            :meth:`Side.as_dict`, ``constraints``, ``limits`` and ``costs``, lists of texts,
            ``earlier_campaigns``, a dict of names and numbers of answers,
            ``spent``, the total cost of answered and failed queries, None without costs, ``block``,
            the field that names blocks, ``answer_range`` and ``score``, texts that may be empty,
            ``goals``, a list of texts; the first goal is the score as well,
            ``not_used``, names of measurements that no limit, score or block uses, ``n_answered``,
            ``n_given``, ``n_failed``, ``n_skipped``, ``pending`` and ``best``, see the methods of
            this name.
        """
        with self._notebook.reading():
            notebook, plan = self._notebook, self._notebook.plan
            goals = format_goals(notebook.goals)
            optimizer = plan.optimizer
            states = [entry.status for entry in notebook.entries]
            tried = [e for e in notebook.entries if e.status in ("answered", "failed")]
            paid = [entry.cost for entry in tried if entry.cost is not None]
            return {
                "file": str(notebook.path),
                **notebook.labels,
                **({} if notebook.score is None else {"answer": "score", "unit": ""}),
                **({"answer": next(iter(notebook.goals))} if notebook.goals else {}),
                "direction": optimizer.run_.params.direction,
                "noise": None if optimizer.alpha is None else sqrt(optimizer.alpha),
                "regions": plan.has_regions,
                "sides": [side.as_dict() for side in plan.sides],
                "constraints": plan.constraints,
                "limits": format_limits(plan.limits),
                "costs": plan.costs,
                "earlier_campaigns": plan.earlier_campaigns,
                "spent": sum(paid) if plan.costs else None,
                "block": notebook.block,
                "answer_range": format_range(notebook.range),
                "score": "" if notebook.score is None else notebook.score.text,
                "goals": goals,
                "not_used": notebook.not_used(),
                **{f"n_{each}": states.count(each) for each in FINAL_STATUSES},
                "pending": notebook.pending(),
                "best": Judge(notebook).best(),
            }

    @property
    def sides(self) -> list[Side]:
        """The settings and their ranges."""
        with self._notebook.reading():
            return list(self._notebook.plan.sides)

    @property
    def earlier_sides(self) -> dict[str, Side]:
        """Ranges of earlier queries, by name, that were wider than the present ones."""
        with self._notebook.reading():
            return self._notebook.plan.earlier_sides

    @property
    def counted(self) -> list[str]:
        """Names of the measurements that the limits and the score need."""
        with self._notebook.reading():
            return self._notebook.measurement_names()

    @property
    def optimizer(self) -> Any:
        """The optimizer, for pictures; answers told to it directly are not saved."""
        with self._notebook.reading():
            return self._notebook.plan.optimizer
