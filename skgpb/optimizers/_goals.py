"""Several goals: the reward and further outcomes, their models, and the front of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgpb import defaults
from skgpb.acquisition.volume import dominated_volume, log_expected_volume, pareto_mask
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.model import Model
from skgpb.utils.validation import check_numbers

# Mathematics: factor that turns a goal into one to be maximised.
SIGNS = {"maximize": 1.0, "minimize": -1.0}
# Limit: number of goals beside the reward; the boxes of a front are many in more dimensions.
MOST_FURTHER_GOALS = 3


def checked_goals(goals: Any, reference: Any = None) -> dict[str, float]:
    """Return the sign of each goal beside the reward, or raise ValueError.

    ``reference`` is the reference point as given: a value of the reward and of each goal, or None.
    """
    if not (goals is None or isinstance(goals, Mapping)):
        raise ValueError(f"goals must be a dict or None, got {goals!r}")
    wrong = [
        (name, each)
        for name, each in (goals or {}).items()
        if not (isinstance(name, str) and isinstance(each, str) and each in SIGNS)
    ]
    if wrong or len(goals or {}) > MOST_FURTHER_GOALS:
        raise ValueError(
            "goals must have 'maximize' or 'minimize' for each outcome, and at most "
            f"{MOST_FURTHER_GOALS} outcomes beside the reward; got {goals!r}"
        )
    signs = {name: SIGNS[each] for name, each in (goals or {}).items()}
    if reference is not None and check_numbers(reference, "reference", ensure_2d=False).shape != (
        1 + len(signs),
    ):
        raise ValueError(
            "reference must have a number for the reward and for each of goals, "
            f"{1 + len(signs)} of them; got {reference!r}"
        )
    return signs


def reference_point(Y: np.ndarray) -> np.ndarray:
    """Return a reference point (m,) for goals Y (n, m), which are to be maximised.

    It is below the worst values of the rows that are not dominated, by a multiple of their range,
    or of that of all rows in a goal in which they do not differ. NaN without rows.

    Examples
    --------
    >>> import numpy as np
    >>> reference_point(np.array([[1.0, 3.0], [3.0, 1.0], [0.0, 0.0]]))
    array([-1., -1.])
    """
    if not len(Y):
        return np.full(Y.shape[1], np.nan)
    front = Y[pareto_mask(Y)]
    width, of_all = np.ptp(front, axis=0), np.ptp(Y, axis=0)
    width = np.where(width > 0.0, width, np.where(of_all > 0.0, of_all, 1.0))
    return front.min(axis=0) - defaults.REFERENCE_MARGIN * width


@dataclass(frozen=True)
class Front:
    """Answers that no other one dominates, among those within all limits.

    An answer dominates another if it is at least as good in all goals and better in one.

    Attributes
    ----------
    queries : list of queries
        Queries of the front, the best by the reward first.
    values : ndarray of shape (n, n_goals)
        Their goals, in the user's units; the first column is the reward.
    others : ndarray of shape (n_others, n_goals)
        Goals of all other answers.
    names : list of str
        Names of the goals, of which the first is "reward".
    directions : list of str
        "maximize" or "minimize" for each goal.
    reference : ndarray of shape (n_goals,)
        The reference point of the volume.
    volume : float
        Dominated volume: that of all values better than the reference point that some answer of the
        front dominates, in the product of the units of the goals.
    """

    queries: list[Any]
    values: np.ndarray
    others: np.ndarray
    names: list[str]
    directions: list[str]
    reference: np.ndarray
    volume: float

    @classmethod
    def of(
        cls,
        queries: Sequence[Any],
        Y: np.ndarray,
        within: np.ndarray,
        names: list[str],
        signs: np.ndarray,
        reference: np.ndarray | None,
    ) -> Front:
        """Return the front of goals Y (n, m), to be maximised, of queries.

        ``within`` is a mask (n,) of the queries within all limits, and ``reference`` the reference
        point (m,), to be maximised; None for the automatic one.
        """
        best = within.copy()
        best[within] = pareto_mask(Y[within])
        order = np.flatnonzero(best)[np.argsort(-Y[best, 0], kind="stable")]
        if reference is None:
            reference = reference_point(Y[within] if within.any() else Y)
        return cls(
            [queries[i] for i in order],
            Y[order] * signs,
            Y[~best] * signs,
            names,
            ["maximize" if sign > 0.0 else "minimize" for sign in signs],
            reference * signs,
            dominated_volume(Y[order] - reference),
        )

    @property
    def compromise(self) -> Any:
        """The query whose worst goal is best, as a share of the way from reference to best value.

        None if the front is empty.
        """
        if not self.queries:
            return None
        above = (self.values - self.reference) * [SIGNS[each] for each in self.directions]
        top = above.max(axis=0)
        shares = above / np.where(top > 0.0, top, 1.0)
        return self.queries[int(np.argmax(shares.min(axis=1)))]


class Goals:
    """Models of the reward and of the further goals, all of them to be maximised.

    Parameters
    ----------
    models : list of Model
        Models of the goals, the reward first.
    processes : list of GaussianProcess
        Their posteriors, given the expected answers to pending queries.
    signs : ndarray of shape (m,)
        1 or -1 for each goal; the model of the reward has its sign already.
    """

    def __init__(
        self, models: list[Model], processes: list[GaussianProcess], signs: np.ndarray
    ) -> None:
        self.models, self._processes, self._signs = models, processes, signs

    @property
    def noises(self) -> np.ndarray:
        """Noise variances (m,) of an answer."""
        return np.array([model.alpha + model.model_noise for model in self.models])

    def moments(self, row_sets: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations (n, m) of the goals at n functionals."""
        each = [process.moments(row_sets, std=True) for process in self._processes]
        means, stds = (np.column_stack(every) for every in zip(*each, strict=True))
        return means * self._signs, stds

    def measured(self, row_sets: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean answers (n, m) at n functionals, NaN for goals not measured there."""
        out = np.full((len(row_sets), len(self.models)), np.nan)
        for i, model in enumerate(self.models):
            process = model.process
            targets = process.posterior.targets() * process.scale + process.offset
            pairs = zip(process.observed, targets, strict=True)
            known = {rows.tobytes(): value for rows, value in pairs}
            out[:, i] = [known.get(rows.tobytes(), np.nan) for rows in row_sets]
        return out * self._signs


class GoalImprovement:
    """Expected improvement of the volume that posterior means dominate, by an answer.

    An answer moves the mean of its query, by a normal variable that has the variance of the goal
    times its share in the variance of an answer. So a query is repeated only as far as that helps.

    Parameters
    ----------
    goals : Goals
        Models of the goals.
    answered : list of ndarray
        Rows of the functionals that were answered and may be recommended.
    pending : list of ndarray
        Rows of the functionals of pending queries, which count with their expected values.
    within : ndarray of shape (n_answered,)
        Mask of the answered ones within all limits.
    reference : ndarray of shape (m,) or None
        Reference point; None for the automatic one.
    """

    def __init__(
        self,
        goals: Goals,
        answered: list[np.ndarray],
        pending: list[np.ndarray],
        within: np.ndarray,
        reference: np.ndarray | None,
    ) -> None:
        means, _ = goals.moments([*answered, *pending])
        known = means[: len(answered)]
        if reference is None:
            reference = reference_point(known[within] if within.any() else known)
        self._goals, self._reference = goals, reference
        # Rows at which a second answer would be the same.
        exact = all(model.diagnosis.noise == "none" for model in goals.models)
        self._exact = {(rows + 0.0).tobytes() for rows in answered} if exact else set[bytes]()
        kept = np.append(within, np.ones(len(pending), dtype=bool))
        self._front = means[kept] - reference

    def log_values(self, rows: np.ndarray) -> np.ndarray:
        """Return the logarithm (n,) of the expected improvement at rows (n, n_columns)."""
        means, stds = self._goals.moments(rows)
        total = np.sqrt(stds**2 + self._goals.noises)
        changes = np.divide(stds**2, total, out=np.zeros_like(stds), where=total > 0.0)
        found = log_expected_volume(means - self._reference, changes, self._front)
        return np.where([row.tobytes() in self._exact for row in rows + 0.0], -np.inf, found)
