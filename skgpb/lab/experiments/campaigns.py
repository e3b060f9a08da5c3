"""Campaigns that share a budget, in a file: asked, answered, taken back and looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from skgpb.domains.allocations import Allocation
from skgpb.exceptions import LoadError
from skgpb.feedback import counts_in
from skgpb.lab.experiments.judgement import BAND
from skgpb.lab.experiments.sides import Side, measured_number, number
from skgpb.lab.experiments.texts import check_name
from skgpb.lab.file_lock import FileLock
from skgpb.optimizers import GPUCBOptimizer
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.utils.persistence import read_notes

# Limit: amounts of a campaign; more are taken for a forgotten step.
MOST_AMOUNTS = 201


class Campaigns:
    """Campaigns that share a budget, in a file; every change is saved at once.

    A *split* of the budget gives each campaign an amount. It is asked for, tried for a day or a
    week, and told with what came back from each campaign; what is sought is the split from which
    most comes back. Splits have numbers. :class:`~skgpb.CombinatorialBandit` chooses them, and
    its ``load`` opens the file as well.

    Parameters
    ----------
    path : path
        A file that :meth:`create` has made.

    Examples
    --------
    >>> import tempfile, os
    >>> from skgpb.lab.experiments.campaigns import Campaigns
    >>> path = os.path.join(tempfile.mkdtemp(), "ads.skgpb")
    >>> ads = Campaigns.create(path, ["search=0:20:1", "video=0:20:1"], budget=20)
    >>> split = ads.ask()
    >>> split["split"], sum(split["amounts"].values()) <= 20
    (1, True)
    >>> ads.tell({"search": "12 of 300", "video": 4})["answers"]
    {'search': 12.0, 'video': 4.0}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._read()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        campaigns: Iterable[str],
        budget: float | str,
        *,
        answer: str = "",
        seed: int = 0,
    ) -> Self:
        """Begin, and write the file.

        Parameters
        ----------
        path : path
            The file, which must not exist.
        campaigns : list of str
            Names of the campaigns and what each may get: ``"search=0:20:1"`` from 0 to 20 in steps
            of 1, or a list ``"search=0,5,10"``.
        budget : float
            What all of them may get together.
        answer : str, default=""
            What comes back, for display, such as "orders".
        seed : int, default=0
            The same seed and the same answers give the same splits.

        Returns
        -------
        campaigns : Campaigns
        """
        check_name(answer, "answer")
        sides = [Side.parse(each) for each in campaigns]
        optimizers = [(side.name, GPUCBOptimizer(arms=_amounts_of(side))) for side in sides]
        total = number(budget, "the budget")
        bandit = CombinatorialBandit(optimizers, total, random_state=seed).start()
        self = cls.__new__(cls)
        self.path, self.answer, self._bandit = Path(path), answer, bandit
        with FileLock(self.path):
            if self.path.exists():
                raise ValueError(f"{self.path} exists already: choose another name")
            self._write()
        return self

    def _read(self) -> None:
        bandit: Any = BaseBanditOptimizer.load(self.path)
        if not isinstance(bandit, CombinatorialBandit):
            raise LoadError(
                f"{str(self.path)!r} holds no campaigns but a {type(bandit).__name__}: open it "
                "with Experiment, or in the shell by skgpb show"
            )
        self._bandit: Any = bandit
        self.answer: str = str(read_notes(self.path).get("answer", ""))

    def _write(self) -> None:
        self._bandit.save(self.path, notes={"answer": self.answer})

    @property
    def names(self) -> list[str]:
        """Names of the campaigns."""
        return list(self._bandit.named_optimizers_)

    @property
    def n_first(self) -> int:
        """Number of the first splits, which give every campaign more and less."""
        return max(each._n_initial for each in self._bandit.optimizers_)

    def ask(self, budget: float | str | None = None) -> dict[str, Any]:
        """Return the next split, the same one until it is told.

        Parameters
        ----------
        budget : float, default=None
            What all campaigns may get together from now on; None for what it was. Another budget
            takes back a split that was not told yet.

        Returns
        -------
        split : dict
            As in :meth:`history`.
        """
        with FileLock(self.path):
            self._read()
            if budget is not None and number(budget, "the budget") != self._bandit.budget:
                self._withdraw()
                self._bandit.set_params(budget=number(budget, "the budget"))
            self._bandit.ask()
            self._write()
            return self.history()[-1]

    def tell(
        self,
        answers: Mapping[str, float | str | None],
        *,
        spent: Mapping[str, float | str] | None = None,
    ) -> dict[str, Any]:
        """Report what came back from the split that was asked.

        Parameters
        ----------
        answers : dict
            A number for each campaign by its name, or counts such as ``"12 of 300"``: 12 orders,
            with the noise of 12 successes among 300. None, or left out, for no report.
        spent : dict, default=None
            What campaigns really got, where that is not what was asked; of all of them if no split
            was asked.

        Returns
        -------
        split : dict
            As in :meth:`history`.
        """
        with FileLock(self.path):
            self._read()
            told = [_answer(answers.get(name), name) for name in self.names]
            amounts = self._by_name(self._asked.costs.tolist()) if self._asked else {}
            for name in [*answers, *(spent or {})]:
                if name not in self.names:
                    raise ValueError(f"no campaign {name!r}; they are {', '.join(self.names)}")
            amounts |= {name: number(each, name) for name, each in (spent or {}).items()}
            for name, (low, high) in self._by_name(self._bandit.bounds_.tolist()).items():
                if not low <= amounts.get(name, low) <= high:
                    raise ValueError(f"{name} gets {low:g} to {high:g}, not {amounts[name]:g}")
            if len(amounts) < len(self.names):
                raise ValueError("no split was asked: ask for one, or say what each campaign got")
            query: Any = self._asked
            if spent:
                query = [amounts[name] for name in self.names]
                self._withdraw()
            self._bandit.tell(query, told)
            self._write()
            return self.history()[-1]

    def undo(self) -> dict[str, Any]:
        """Take back what was told last; ``ask`` returns its split again if it was one.

        Returns
        -------
        split : dict
            What was taken back, as in :meth:`history`.
        """
        with FileLock(self.path):
            self._read()
            self._withdraw()
            events = self._bandit._events
            told = [i for i, event in enumerate(events) if event[0] == "tell"]
            if not told:
                raise ValueError("nothing was told yet that could be taken back")
            taken = self.history()[-1]
            self._bandit = self._bandit._repeated(events[: told[-1]])
            self._write()
            return taken

    def history(self) -> list[dict[str, Any]]:
        """Return every split in its order.

        Returns
        -------
        splits : list of dicts
            ``split``, its number; ``amounts``, what each campaign gets, and ``answers``, what came
            back from each, dicts by the names of the campaigns: None where there was no report,
            and an empty dict before it was told.
        """
        rows: list[tuple[Any, list[Any]]] = []
        for kind, *rest in self._bandit._events:
            if kind == "ask":
                rows.append((rest[0], []))
            elif kind == "tell":
                if (rest[0], []) not in rows:
                    rows.append((rest[0], []))
                rows[rows.index((rest[0], []))] = (rest[0], rest[1])
        return [
            {
                "split": i + 1,
                "amounts": self._by_name(query.points[0].tolist()),
                "answers": self._by_name(told) if told else {},
            }
            for i, (query, told) in enumerate(rows)
        ]

    def best(self) -> dict[str, Any] | None:
        """Return the split from which most is expected.

        Returns
        -------
        best : dict or None
            None before the first splits were told, :attr:`n_first` of them. ``amounts``; and
            ``mean``, ``std`` and ``interval_95`` of what is expected of all campaigns together,
            without the noise of one answer.
        """
        if sum(event[0] == "tell" for event in self._bandit._events) < self.n_first:
            return None
        query = self._bandit.recommend()
        means, stds = self._bandit.predict_query([query], return_std=True)
        mean, std = float(means.sum()), float(np.linalg.norm(stds))
        ends = [mean - BAND * std, mean + BAND * std]
        amounts = self._by_name(query.costs.tolist())
        return {"amounts": amounts, "mean": mean, "std": std, "interval_95": ends}

    def status(self) -> dict[str, Any]:
        """Return what the campaigns are and how far they are.

        Returns
        -------
        status : dict
            ``file``; ``budget``; ``answer``, what comes back; ``campaigns``, a dict of the amounts
            that each may get; ``splits``, see :meth:`history`; and ``best``, see :meth:`best`.
        """
        amounts = [each.rows[:, 0].tolist() for each in self._bandit.domain_.campaigns]
        return {
            "file": str(self.path),
            "budget": self._bandit.budget,
            "answer": self.answer,
            "campaigns": self._by_name(amounts),
            "splits": self.history(),
            "best": self.best(),
        }

    @property
    def _asked(self) -> Allocation | None:
        """The split that waits for its answers."""
        return next(iter(self._bandit._run.pending), None)

    def _withdraw(self) -> None:
        """Take back the split that waits for its answers."""
        asked, events = self._asked, self._bandit._events
        if asked is not None:
            last = max(i for i, event in enumerate(events) if event[:2] == ("ask", asked))
            self._bandit = self._bandit._repeated([*events[:last], *events[last + 1 :]])

    def _by_name(self, values: Iterable[Any]) -> dict[str, Any]:
        return dict(zip(self.names, values, strict=True))


def _amounts_of(side: Side) -> np.ndarray:
    """Return the amounts that a campaign may get, shape (n, 1)."""
    values = side.rounded_to_grid().listed().bounds
    if side.kind not in ("range", "integer", "choice") or not side.is_ordered:
        raise ValueError(f"{side.name}: a campaign gets amounts, such as 0:20:1, got {side}")
    if side.kind == "integer":
        values = range(int(side.ends[0]), int(side.ends[1]) + 1)
    if len(values) > MOST_AMOUNTS:
        raise ValueError(
            f"{side.name} has {len(values)} amounts, and a campaign has at most {MOST_AMOUNTS}: "
            "give a larger step, as in 0:1000:50"
        )
    return np.array(values, dtype=np.float64)[:, np.newaxis]


def _answer(given: float | str | None, name: str) -> float | str | None:
    """Return what came back from a campaign, as ``tell`` of the bandit takes it."""
    if given is None or (isinstance(given, str) and counts_in(given)):
        return given
    return measured_number(given, f"the answer of {name}")
