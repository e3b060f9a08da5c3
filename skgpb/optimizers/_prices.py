"""Costs and noise of answers: one number for each query or size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.blocks import Blocks
from skgpb.domains.query import PointsQuery
from skgpb.utils import check_noise_covariances, check_numbers

#: Parameters that may differ between queries: what stands for None, which is also the least that a
#: number is above, or 0 for one that may be 0.
DEFAULTS = {"cost": 1.0, "alpha": 0.0}


def differs(alpha: Any) -> bool:
    """Return whether noise variances differ between queries."""
    if alpha is None or isinstance(alpha, float):  # a round asks nine times
        return False
    return np.ndim(alpha) > 0


@dataclass
class Prices:
    """Costs and noise variances of the queries of a set.

    Parameters
    ----------
    queries : ArmSet
        The set. Where it stands for all of some sizes there is a number for each of these.
    given : Any
        ``queries`` as the user gave them.
    cost, alpha : number, array-like or None
        As the user gave them.
    """

    queries: ArmSet
    given: Any
    cost: Any
    alpha: Any

    def __post_init__(self) -> None:
        # Covariances (n, k, k) of the noise of answers of several numbers, by parameter.
        self.covariances: dict[str, np.ndarray] = {}
        self._costs = self._numbers("cost", self.cost)
        self._alphas = self._numbers("alpha", self.alpha) if differs(self.alpha) else None
        #: Whether queries differ in cost.
        self.differ: bool = bool(np.ptp(self._costs) > 0.0)

    # -- of all queries -------------------------------------------------------------------------

    @property
    def are_usual(self) -> bool:
        """True if every answer is one number, costs 1 and has the usual noise."""
        given = (self.cost, self._alphas, self.queries.starts)
        return all(each is None for each in given)

    @property
    def least(self) -> float:
        """Cost of the cheapest answer."""
        return float(self._costs.min())

    @property
    def of_kinds(self) -> np.ndarray:
        """Costs of queries, or of the sizes of cells."""
        return self._costs

    @property
    def typical_noise(self) -> float | None:
        """Return a typical noise variance; None if only one is given."""
        return None if self._alphas is None else float(np.median(self._alphas))

    def of_round(self, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the costs of all queries and what noise is expected of their answers.

        Parameters
        ----------
        level : float
            The usual noise variance.

        Returns
        -------
        costs : ndarray of shape (n_queries,)
        noises : ndarray of shape (n_rows,)
            Noise variances.
        shared : ndarray of shape (n_queries, k, k) or None
            Covariances of the noise; None if only variances are known.
        """
        costs, shared = self.queries.of_each(self._costs), self.covariances.get("alpha")
        if self._alphas is None:
            noises = np.full(len(self.queries.rows), level)
        else:
            noises = self.queries.of_each(self._alphas)
        if shared is not None:
            shared = shared * (1.0 - np.eye(shared.shape[1]))
        return costs, noises, shared

    # -- of one query ---------------------------------------------------------------------------

    def cost_of(self, query: Arm | PointsQuery) -> float:
        """Return the cost of an answer to a query; 0 if it is none of the queries."""
        found = self._of(query, self._costs)
        return 0.0 if found is None else found

    def noise_of(self, query: Arm | PointsQuery, level: float) -> float:
        """Noise variance that is expected of an answer; ``level`` is the usual one."""
        found = None if self._alphas is None else self._of(query, self._alphas)
        return level if found is None else found

    def functionals_of(
        self, pending: Sequence[Any], level: float
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return functionals that pending queries will tell, and the variances of their noise.

        A query with several rows tells a functional for each. ``level`` is the usual noise.

        Returns
        -------
        blocks : list of ndarray of shape (n_rows, n_columns)
        noises : ndarray of shape (k,) or (k, k)
            In a matrix, the covariance, where some have noise in common.
        """
        if not pending:
            return [], np.empty(0)
        blocks: list[np.ndarray] = []
        noises: list[np.ndarray] = []
        for query in pending:
            if query.has_parts:
                blocks += [row[np.newaxis] for row in query.descriptor]
                noises.append(self.noise_of_block(query, level))
            else:
                blocks.append(self.queries.block_of(query))
                noises.append(np.array([self.noise_of(query, level)]))
        if any(each.ndim == 2 for each in noises):
            parts = (each if each.ndim == 2 else np.diag(each) for each in noises)
            return blocks, block_diag(*parts)
        return blocks, np.concatenate(noises)

    def noise_of_block(self, query: Arm, level: float) -> np.ndarray:
        """Noise variances (k,) of the numbers of an answer, or their covariance (k, k)."""
        if self._alphas is None:
            return np.full(len(query.descriptor), level)
        if "alpha" in self.covariances:
            return self.covariances["alpha"][query.index]
        return self._alphas[self.queries.slots(query.index)]

    def _of(self, query: Arm | PointsQuery, numbers: np.ndarray) -> float | None:
        """Return the number of a query, given those of the kinds; None if there is none."""
        kind = self.queries.kind_of(query)
        return float(numbers[kind]) if kind >= 0 else None

    # -- what was given -------------------------------------------------------------------------

    def _numbers(self, name: str, given: Any) -> np.ndarray:
        """Check a parameter with a number for every query, or for every size of cells."""
        queries, default = self.queries, DEFAULTS[name]
        if queries.starts is not None and name != "cost":
            return self._numbers_of_rows(name, given, queries.starts)
        n = queries.n_kinds
        if given is None:
            return np.full(n, default)
        numbers = check_numbers(given, name, ensure_2d=False)
        if numbers.shape != (n,) or not (numbers >= 0.0).all() or (default and not numbers.all()):
            least = "above 0" if default else ">= 0"
            raise ValueError(
                f"{name} must have one finite number {least} for each {queries.kind}, {n} of them; "
                f"got {given!r}"
            )
        return numbers.astype(np.float64)

    def _numbers_of_rows(self, name: str, given: Any, starts: np.ndarray) -> np.ndarray:
        """Check noise that may differ from query to query, or from row to row."""
        sizes, default = np.diff(starts), DEFAULTS[name]
        n, k = len(sizes), int(sizes[0])
        if given is None:
            return np.full(starts[-1], default)
        covariances = covariances_given(name, given, self.given)
        if covariances is not None:
            if not (sizes == k).all():
                raise ValueError(
                    f"{name} must have no covariances where queries have different numbers of "
                    f"rows, {sorted(set(sizes.tolist()))}: tell each answer with its own"
                )
            self.covariances[name] = np.broadcast_to(
                check_noise_covariances(covariances, (n, k, k), name), (n, k, k)
            )
            numbers = np.diagonal(self.covariances[name], axis1=1, axis2=2).ravel()
            if default and not (numbers > 0.0).all():
                raise ValueError(f"{name} must have variances above 0, got {given!r}")
            return numbers.astype(np.float64)
        numbers = check_numbers(given, name, ensure_2d=False)
        of_rows = numbers.ndim == 2 and (sizes == k).all() and numbers.shape in ((n, k), (1, k))
        least = numbers > 0.0 if default else numbers >= 0.0
        if not (of_rows or numbers.shape == (n,)) or not least.all():
            raise ValueError(
                f"{name} must have one finite number {'above 0' if default else '>= 0'} for each "
                f"of {n} queries, or for each of their rows, (n, k) or (1, k) where all have k, or "
                f"covariances of noise, (n, k, k), (1, k, k) or (k, k); got {given!r}"
            )
        if of_rows:
            return np.broadcast_to(numbers, (n, k)).ravel().astype(np.float64)
        return np.repeat(numbers.astype(np.float64), sizes)


def covariances_given(name: str, given: Any, queries: Any) -> np.ndarray | None:
    """Return the covariances (n or 1, k, k) of a parameter; None if it has variances."""
    if not isinstance(queries, Blocks) or np.ndim(given) not in (2, 3):
        return None
    numbers, sizes = np.asarray(given), {len(block) for block in queries.rows}
    if numbers.ndim == 3:
        return numbers
    n, k = len(queries.rows), len(numbers)
    if numbers.shape != (k, k) or sizes != {k} or k == 1:
        return None
    if n != k:
        return numbers[np.newaxis]
    if np.array_equal(numbers, numbers.T):
        raise ValueError(
            f"{name} of shape ({k}, {k}) may be variances of the {k} rows of {n} queries, or "
            f"the covariance of {k} rows: give (1, {k}, {k}) for a covariance, and for "
            f"variances (1, {k}), or (n, {k}, {k}) of diagonal matrices; got {given!r}"
        )
    return None
