"""Earlier campaigns of a search: how they are read, and the posterior that they give."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from skgpb.domains.space import ParameterSpace
from skgpb.optimizers._inputs import Sign
from skgpb.optimizers.round import QueryTargetPosterior
from skgpb.surrogate.campaigns import CampaignModels
from skgpb.utils.validation import check_inside, check_numbers

# Limit: least number of answers of a campaign, for which a kernel can be learned.
LEAST_ANSWERS = 4


def read_campaigns(
    given: Any, space: ParameterSpace | None, bounds: np.ndarray, sign: Sign
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return points (n, d) and answers (n,), to be maximised, of each campaign.

    Parameters
    ----------
    given : dict
        The parameter ``earlier_campaigns``.
    space : ParameterSpace or None
        The sides; None if they have no names.
    bounds : ndarray of shape (d, 2)
        The box.
    sign : Sign
        Sign of the answers.

    Raises
    ------
    TypeError, ValueError
        If an entry is not a pair (settings, answers), a setting is not on the sides, or a
        campaign has too few answers, or equal ones.
    """
    campaigns = []
    for key, pair in given.items():
        where = f"earlier_campaigns[{key!r}]"
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise TypeError(f"{where} must be a pair (settings, answers), got {pair!r}")
        X, y = pair
        if hasattr(X, "columns"):
            raise TypeError(
                f"{where} must have settings as a list of dicts or an array, got a table: pass "
                "table.to_dict('records')"
            )
        answers = check_numbers(y, f"answers of {where}", ensure_2d=False)
        if answers.ndim != 1 or len(answers) < LEAST_ANSWERS or np.ptp(answers) == 0.0:
            raise ValueError(
                f"{where} must have at least {LEAST_ANSWERS} answers that are not all equal, got "
                f"{y!r}"
            )
        points = _points(X, space, bounds, where)
        if len(points) != len(answers):
            raise ValueError(
                f"{where} must have one answer for each setting, got {len(points)} settings and "
                f"{len(answers)} answers"
            )
        campaigns.append((points, sign.convert(answers)))
    return campaigns


def _points(X: Any, space: ParameterSpace | None, bounds: np.ndarray, where: str) -> np.ndarray:
    """Return the points (n, d) of the settings of a campaign, or raise ValueError."""
    if space is None:
        points = check_numbers(X, f"settings of {where}")
        if points.shape[1] != len(bounds):
            raise ValueError(
                f"{where} must have settings with {len(bounds)} numbers, got {points.shape[1]}"
            )
        return check_inside(points, bounds)
    if not isinstance(X, np.ndarray):
        X = [space.earlier_setting(each) if isinstance(each, Mapping) else each for each in X]
    try:
        return np.asarray(space.points(X))
    except ValueError as error:
        raise ValueError(
            f"{where}: {error}. Where the campaign had other sides, name them, or the value of a "
            "side that it did not have: bounds=Box(sides, earlier={name: side or value})"
        ) from None


class CampaignPosterior(QueryTargetPosterior):
    """Posterior of queries and targets given earlier campaigns, as moments.

    Parameters
    ----------
    models : CampaignModels
        The models, given the answers and pending queries.
    queries, targets : ndarray of shape (n_queries, n_columns) and (n_targets, n_columns)
        Descriptors; one object if the queries are the targets.
    """

    def __init__(self, models: CampaignModels, queries: np.ndarray, targets: np.ndarray) -> None:
        self._models, self._queries, self.rows_of_targets = models, queries, targets
        are_one = queries is targets
        # The targets are the last rows.
        self._rows = queries if are_one else np.concatenate([queries, targets])
        self._first = 0 if are_one else len(queries)
        mean, var = models.scaled_moments(self._rows)
        n, first = len(queries), self._first
        moments = (mean[:n], var[:n]), (mean[first:], var[first:])
        super().__init__((models.offset, models.scale), *moments)

    @cached_property
    def _every(self) -> np.ndarray:
        """Covariances of all rows."""
        return self._models.moments(self._rows, cov=True)[1] / self.scale**2

    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n_queries, n_targets) of queries and targets."""
        return self._every[: len(self._queries), self._first :]

    def target_covariance(self, number: int) -> np.ndarray:
        """Return posterior covariances (n_targets,) of one target with all targets."""
        return self._every[self._first + number, self._first :]

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_targets) of the targets, each by one of the models."""
        return self._draws(self.rows_of_targets, n_draws, rng)

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n_queries) of the functionals that the queries observe."""
        return self._draws(self._queries, n_draws, rng)

    def _draws(self, rows: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        state = np.random.RandomState(int(rng.integers(2**31)))
        values = self._models.draws(rows, n_draws, state)
        return (values - self.offset) / self.scale
