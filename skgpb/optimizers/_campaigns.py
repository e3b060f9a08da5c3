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
from skgpb.utils.roots import joint_draws
from skgpb.utils.validation import check_inside, check_numbers

# Limit: least number of answers of a campaign, for which a kernel can be learned.
LEAST_ANSWERS = 4


def read_campaigns(
    given: Any, space: ParameterSpace | None, bounds: np.ndarray, sign: Sign
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return points (n, d) and answers (n,), to be maximised, of each campaign by its name.

    Parameters
    ----------
    given : object
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
        If it is not a dict of pairs (settings, answers), a setting is not on the sides, or a
        campaign has too few answers, or equal ones.
    """
    name = "earlier_campaigns"
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dict {{name: (settings, answers)}}, got {given!r}")
    campaigns = {}
    for key, pair in given.items():
        where = f"{name}[{key!r}]"
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
        campaigns[str(key)] = points, sign.convert(answers)
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
    """Posterior of queries that are the targets, given earlier campaigns, as moments.

    Parameters
    ----------
    models : CampaignModels
        The models, given the answers and pending queries.
    rows : ndarray of shape (n, n_columns)
        Descriptors of the queries.
    """

    def __init__(self, models: CampaignModels, rows: np.ndarray) -> None:
        self._models, self.rows_of_targets = models, rows
        moments = models.scaled_moments(rows)
        super().__init__((models.offset, models.scale), moments, moments)

    @cached_property
    def _covariance(self) -> np.ndarray:
        return self._models.moments(self.rows_of_targets, cov=True)[1] / self.scale**2

    def covariance(self) -> np.ndarray:
        """Return posterior covariances (n, n) of all pairs."""
        return self._covariance

    def target_covariance(self, number: int) -> np.ndarray:
        """Return posterior covariances (n,) of one target with all targets."""
        return self._covariance[number]

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws (n_draws, n) of the targets."""
        return joint_draws(self.target_mean, self._covariance, n_draws, int(rng.integers(2**31))).T

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return :meth:`draws`: here the queries are the targets."""
        return self.draws(n_draws, rng)
