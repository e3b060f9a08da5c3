"""Campaigns that share a budget, in files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from skgpb.domains.allocations import Allocation
from skgpb.exceptions import LoadError
from skgpb.feedback import counts_in
from skgpb.lab.experiments.sides import Side, measured_number, number
from skgpb.lab.experiments.stopping import BAND
from skgpb.lab.experiments.texts import check_name
from skgpb.lab.file_lock import FileLock
from skgpb.optimizers import GPUCBOptimizer
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.utils.persistence import read_notes

# Limit: amounts of a campaign; more are probably a forgotten step.
MOST_AMOUNTS = 201


class Campaigns:
    """Campaigns that share a budget, in a file; every change is saved at once.

    A *split* of the budget gives each campaign an amount. :meth:`ask` returns a split. After a day
    or a week with these amounts, :meth:`tell` takes the answer of each campaign, such as its number
    of orders. The search maximizes the sum of the answers. Splits have numbers.
    :class:`~skgpb.CombinatorialBandit` chooses them, and its ``load`` opens the file as well.

    Parameters
    ----------
    path : path
        A file written by :meth:`create`.

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
        self.path: Path = Path(path)
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
        """Create the campaigns and write their file.

        Parameters
        ----------
        path : path
            The file, which must not exist.
        campaigns : list of str
            Names and possible amounts of the campaigns: ``"search=0:20:1"`` from 0 to 20 in steps
            of 1, or a list ``"search=0,5,10"``.
        budget : float
            Largest sum of the amounts of a split.
        answer : str, default=""
            Name of the answers, for display, such as "orders".
        seed : int, default=0
            The same seed and the same answers give the same splits.

        Returns
        -------
        campaigns : Campaigns
        """
        check_name(answer, "answer")
        sides = [Side.parse(each) for each in campaigns]
        optimizers = [(side.name, GPUCBOptimizer(arms=_campaign_amounts(side))) for side in sides]
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

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change the campaigns in a ``with`` block, holding the lock of the file."""
        with FileLock(self.path):
            self._read()
            yield
            self._write()

    @property
    def names(self) -> list[str]:
        """Names of the campaigns."""
        return list(self._bandit.named_optimizers_)

    @property
    def n_first(self) -> int:
        """Number of splits in the first design, in which the amounts of all campaigns vary."""
        return max(each._n_initial for each in self._bandit.optimizers_)

    def ask(self, budget: float | str | None = None) -> dict[str, Any]:
        """Return the next split; the same one until it is told.

        Parameters
        ----------
        budget : float, default=None
            The new budget; None to keep the present one. Another budget withdraws a split that was
            not told yet.

        Returns
        -------
        split : dict
            As in :meth:`history`.
        """
        with self._changing():
            if budget is not None and number(budget, "the budget") != self._bandit.budget:
                self._withdraw()
                self._bandit.set_params(budget=number(budget, "the budget"))
            self._bandit.ask()
            return self.history()[-1]

    def tell(
        self,
        answers: Mapping[str, float | str | None],
        *,
        spent: Mapping[str, float | str] | None = None,
    ) -> dict[str, Any]:
        """Tell the answers of the campaigns to the split that was asked.

        Parameters
        ----------
        answers : dict
            A number for each campaign by its name, or counts such as ``"12 of 300"``: 12 orders,
            with the noise of 12 successes among 300. Missing or None if a campaign has no answer.
        spent : dict, default=None
            Amounts by the names of campaigns, if they differ from the split; amounts of all
            campaigns if no split was asked.

        Returns
        -------
        split : dict
            As in :meth:`history`.
        """
        with self._changing():
            told = [_answer(answers.get(name), name) for name in self.names]
            amounts = (
                self._to_dict(self._pending_split.costs.tolist()) if self._pending_split else {}
            )
            for name in [*answers, *(spent or {})]:
                if name not in self.names:
                    raise ValueError(f"no campaign {name!r}; they are {', '.join(self.names)}")
            amounts |= {name: number(each, name) for name, each in (spent or {}).items()}
            for name, (low, high) in self._to_dict(self._bandit.bounds_.tolist()).items():
                if not low <= amounts.get(name, low) <= high:
                    raise ValueError(f"{name} gets {low:g} to {high:g}, not {amounts[name]:g}")
            if len(amounts) < len(self.names):
                raise ValueError("no split was asked: ask for one, or say what each campaign got")
            query: Any = self._pending_split
            if spent:
                query = [amounts[name] for name in self.names]
                self._withdraw()
            self._bandit.tell(query, told)
            return self.history()[-1]

    def undo(self) -> dict[str, Any]:
        """Undo the last ``tell``; its split is pending again if ``ask`` returned it.

        Returns
        -------
        split : dict
            The split before the change, as in :meth:`history`.
        """
        with self._changing():
            self._withdraw()
            events = self._bandit._events
            told = [i for i, event in enumerate(events) if event[0] == "tell"]
            if not told:
                raise ValueError("nothing was told yet that could be taken back")
            taken = self.history()[-1]
            self._bandit = self._bandit._repeat_events(events[: told[-1]])
            return taken

    def history(self) -> list[dict[str, Any]]:
        """Return all splits in order.

        Returns
        -------
        splits : list of dicts
            ``split``, its number; ``amounts`` and ``answers``, dicts by the names of the campaigns.
            The answer of a campaign is None if it was missing in ``tell``; ``answers`` is an empty
            dict before ``tell``.
        """
        rows: list[tuple[Any, list[Any]]] = []
        for kind, *rest in self._bandit._events:
            if kind == "ask" or (kind == "tell" and (rest[0], []) not in rows):
                rows.append((rest[0], []))
            if kind == "tell":
                rows[rows.index((rest[0], []))] = (rest[0], rest[1])
        return [
            {
                "split": i + 1,
                "amounts": self._to_dict(query.points[0].tolist()),
                "answers": self._to_dict(told) if told else {},
            }
            for i, (query, told) in enumerate(rows)
        ]

    def best(self) -> dict[str, Any] | None:
        """Return the split with the largest expected sum of answers.

        Returns
        -------
        best : dict or None
            None before :attr:`n_first` splits were told. ``amounts``; and ``mean``, ``std`` and
            ``interval_95``, the prediction of the sum of the answers without their noise.
        """
        if sum(event[0] == "tell" for event in self._bandit._events) < self.n_first:
            return None
        query = self._bandit.recommend()
        means, stds = self._bandit.predict_query([query], return_std=True)
        mean, std = float(means.sum()), float(np.linalg.norm(stds))
        ends = [mean - BAND * std, mean + BAND * std]
        amounts = self._to_dict(query.costs.tolist())
        return {"amounts": amounts, "mean": mean, "std": std, "interval_95": ends}

    def status(self) -> dict[str, Any]:
        """Return the definition and the progress of the campaigns.

        Returns
        -------
        status : dict
            ``file``; ``budget``; ``answer``, the name of the answers; ``campaigns``, a dict of the
            possible amounts of each; ``splits``, see :meth:`history`; and ``best``, see
            :meth:`best`.
        """
        amounts = [each.rows[:, 0].tolist() for each in self._bandit.domain_.campaigns]
        return {
            "file": str(self.path),
            "budget": self._bandit.budget,
            "answer": self.answer,
            "campaigns": self._to_dict(amounts),
            "splits": self.history(),
            "best": self.best(),
        }

    @property
    def _pending_split(self) -> Allocation | None:
        """The split that was asked and not told; None if there is none."""
        return next(iter(self._bandit.run_.pending), None)

    def _withdraw(self) -> None:
        """Withdraw the pending split, if there is one."""
        asked, events = self._pending_split, self._bandit._events
        if asked is not None:
            last = max(i for i, event in enumerate(events) if event[:2] == ("ask", asked))
            self._bandit = self._bandit._repeat_events([*events[:last], *events[last + 1 :]])

    def _to_dict(self, values: Iterable[Any]) -> dict[str, Any]:
        return dict(zip(self.names, values, strict=True))


def _campaign_amounts(side: Side) -> np.ndarray:
    """Return the possible amounts of a campaign, shape (n, 1)."""
    values = side.rounded_to_grid().with_value_list().bounds
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
    """Convert the answer of a campaign to an argument of ``tell`` of the bandit."""
    if given is None or (isinstance(given, str) and counts_in(given)):
        return given
    return measured_number(given, f"the answer of {name}")
