"""Queries that are answered with several numbers at once: what is told, kept, and looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import block_diag
from sklearn.utils.validation import check_is_fitted

from skgpb.acquisition.blocks import inverse_root, log_block_gain, standard_draws
from skgpb.acquisition.entropy import LARGEST_SHARE
from skgpb.domains.blocks import BlockArm, Blocks
from skgpb.domains.query import Query
from skgpb.locks import locked
from skgpb.optimizers._posteriors import TargetsPosterior
from skgpb.surrogate.pairs import TrackedWithin
from skgpb.surrogate.samples import SharedNoise
from skgpb.surrogate.widths import NOISELESS
from skgpb.utils import (
    check_noise_covariances,
    check_noise_variance,
    check_numbers,
    check_one_each,
    check_reward,
)


class BlocksPosterior(TargetsPosterior):
    """Posterior of all rows of all queries, where an answer has a number for each of its rows.

    ``query_mean``, ``query_var``, ``query_noise`` and ``covariance`` have an entry for each row,
    those of a query behind those of the one before; ``cost`` has one for each query.

    Attributes
    ----------
    starts : ndarray of shape (n_queries + 1,)
        Where the rows of each query begin.
    noises : list of ndarray of shape (k, k)
        Covariance of the noise of each answer, diagonal where its numbers have no errors in common.
    """

    def __init__(self, within: TrackedWithin, shared: np.ndarray | None, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.starts = within.starts
        variances = np.split(self.query_noise, self.starts[1:-1])
        self.noises: list[np.ndarray] = [np.diag(each) for each in variances]
        if shared is not None:
            self.noises = [R + C for R, C in zip(self.noises, shared, strict=True)]
        pairs = zip(within.covariances(self._falls), self.noises, strict=True)
        self._answers = [K + R for K, R in pairs]

    @property
    def unknown(self) -> np.ndarray:
        """How unknown the queries are, shape (n_queries,): the sum over their rows."""
        return np.add.reduceat(self.query_var, self.starts[:-1])

    def log_rise(self) -> np.ndarray:
        """Logarithms of the expected rises of the largest target mean, shape (n_queries,)."""
        draws = standard_draws(int(np.diff(self.starts).max()), self.rng)
        parts = np.split(self.covariance, self.starts[1:-1])
        gains = [
            log_block_gain(self.target_mean, inverse_root(S) @ C, draws[:, : len(S)])
            for S, C in zip(self._answers, parts, strict=True)
        ]
        return np.array(gains)

    def information(self, covariance: np.ndarray, variance: float) -> np.ndarray:
        """Information (n_queries,) in nats about a functional, by answers to each query.

        Parameters
        ----------
        covariance : ndarray of shape (n_rows,)
            Posterior covariances of the functional with all rows.
        variance : float
            Its posterior variance.
        """
        if not variance > 0.0:
            return np.zeros(len(self._answers))
        parts = np.split(covariance, self.starts[1:-1])
        explained = [
            ((inverse_root(S) @ c) ** 2).sum() for S, c in zip(self._answers, parts, strict=True)
        ]
        share = np.array(explained) / variance
        return -0.5 * np.log1p(-np.minimum(share, LARGEST_SHARE))

    def information_of_all(self) -> np.ndarray:
        """Information (n_queries,) about f as a whole, by answers to each query."""
        pairs = zip(self._answers, self.noises, strict=True)
        return np.array([0.5 * _log_det_ratio(S, R) for S, R in pairs])


def _log_det_ratio(S: np.ndarray, R: np.ndarray) -> float:
    """Log det(S) - log det(R), at most what a noise of 1e-9 of the variances leaves."""
    noise = np.diag(R)
    if np.count_nonzero(R - np.diag(noise)):
        root = inverse_root(S)
        left = np.linalg.eigvalsh(root @ R @ root)[len(S) - np.linalg.matrix_rank(root) :]
        return -float(np.log(np.maximum(left, 1.0 - LARGEST_SHARE)).sum())
    noise = np.maximum(noise, (1.0 - LARGEST_SHARE) * np.diag(S))
    root = np.sqrt(np.where(noise > 0.0, noise, 1.0))
    return float(np.linalg.slogdet(S / np.outer(root, root))[1]) if (noise > 0.0).all() else 0.0


class OverBlocks:
    """What an optimizer over queries and targets does where ``queries`` are blocks."""

    # What it needs of the class that it is mixed into.
    alpha: Any
    domain_: Any

    @property
    def _has_blocks(self: Any) -> bool:
        return isinstance(self.queries, Blocks)

    def _check_blocks(self: Any) -> None:
        # Covariances of noise that parameters have, of one query or of each, by their names.
        self._covariances: dict[str, np.ndarray] = {}
        if not self._has_blocks:
            return
        if self.space_ is not None:
            raise ValueError("the sides of bounds must have no names where queries are Blocks")
        if self.targets is None:
            raise ValueError("targets must be given where queries are Blocks")
        if getattr(self, "regret", "decision") == "query":
            raise ValueError(
                "regret must be 'decision' where queries are Blocks: their answers are no rewards"
            )

    def _block_posterior(self: Any, *arguments: Any) -> BlocksPosterior:
        return BlocksPosterior(self._in_blocks, self._expected_covariances(), *arguments)

    # -- noise ------------------------------------------------------------------------------

    def _numbers_per_row(self: Any, name: str, given: Any, default: float) -> np.ndarray:
        """Check noise that may differ from query to query, or from row to row."""
        starts = self.domain_.starts
        sizes = np.diff(starts)
        n, k = len(sizes), int(sizes[0])
        if given is None:
            return np.full(starts[-1], default)
        covariances = self._covariances_given(name, given)
        if covariances is not None:
            if not (sizes == k).all():
                raise ValueError(
                    f"{name} must have no covariances where queries have different numbers of "
                    f"rows, {sorted(set(sizes.tolist()))}: tell each answer with its own"
                )
            self._covariances[name] = np.broadcast_to(
                check_noise_covariances(covariances, (n, k, k), name), (n, k, k)
            )
            numbers = np.diagonal(self._covariances[name], axis1=1, axis2=2).ravel()
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

    def _covariances_given(self: Any, name: str, given: Any) -> np.ndarray | None:
        """Covariances (n or 1, k, k) that a parameter has; None where it has variances."""
        if not self._has_blocks or np.ndim(given) not in (2, 3):
            return None
        numbers, sizes = np.asarray(given), {len(block) for block in self.queries.rows}
        if numbers.ndim == 3:
            return numbers
        n, k = len(self.queries.rows), len(numbers)
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

    @property
    def _has_noise(self: Any) -> bool:
        covariances = self._covariances_given("alpha", self.alpha)
        if covariances is None:
            return super()._has_noise  # type: ignore[misc]
        values = np.linalg.eigvalsh(covariances)
        return bool((values[:, 0] > NOISELESS * values[:, -1]).all())

    def _expected_covariances(self: Any) -> np.ndarray | None:
        """Covariances (n, k, k) of noise beside the diagonals, in units of the process; or None."""
        name = "alpha" if self._alpha_differs else "relative_noise"
        whole = self._covariances.get(name)
        if whole is None:
            return None
        level = 1.0 if self._alpha_differs else self._default_noise()
        return whole * (1.0 - np.eye(whole.shape[1])) * (level / self._gp.scale**2)

    def _row_shares(self: Any, query: BlockArm) -> np.ndarray:
        """Factors of the noise variances of the rows of a query."""
        return self._shares[self.domain_.slots(query.index)]

    def _row_noises(self: Any, query: BlockArm) -> np.ndarray:
        """Noise variances (k,) that are expected of the rows of a query, or covariance (k, k)."""
        if not self._alpha_differs:
            shares = self._covariances.get("relative_noise")
            shares = self._row_shares(query) if shares is None else shares[query.index]
            return self._default_noise() * shares
        if "alpha" in self._covariances:
            return self._covariances["alpha"][query.index]
        return self._alphas[self.domain_.slots(query.index)]

    def _pending_rows(self: Any, pending: list[Any]) -> tuple[list[np.ndarray], Any]:
        """Functionals that pending queries will tell, and the variances of their noise.

        In a matrix, the covariance, where some have noise in common.
        """
        blocks, noises = [], []
        for query in pending:
            if isinstance(query, BlockArm):
                blocks += [row[np.newaxis] for row in query.descriptor]
                noises.append(self._row_noises(query))
            else:
                blocks.append(self._block(query))
                noises.append(np.array(self._noises_of([query])))
        if any(each.ndim == 2 for each in noises):
            return blocks, block_diag(
                *(each if each.ndim == 2 else np.diag(each) for each in noises)
            )
        return blocks, np.concatenate(noises) if noises else []

    # -- telling ----------------------------------------------------------------------------

    def _found(self: Any, query: Any) -> Any:
        """Return the block that an array stands for, or what was given."""
        if self._has_blocks and not isinstance(query, Query):
            return self.domain_.found(query) or query
        return query

    def _rows_told(self: Any, query: Any, rewards: Any) -> list[Any] | None:
        if isinstance(self._found(query), BlockArm):
            return None
        return super()._rows_told(query, rewards)  # type: ignore[misc]

    def _checked_block(self: Any, query: BlockArm, reward: Any, alpha: Any) -> tuple[Any, ...]:
        """Check an answer of one number for each row."""
        k, known = len(query.descriptor), self._resolve(query)
        noises = np.full(k, np.nan)
        if alpha is not None and np.ndim(alpha) == 2:
            noises = check_noise_covariances(np.asarray(alpha)[np.newaxis], (1, k, k), "alpha")[0]
        elif alpha is not None:
            alphas = check_one_each(alpha, k, "alpha", "rows of the query", shared=True)
            noises = np.array([check_noise_variance(each) for each in alphas])
        elif self._known_noise is not None:
            noises = self._row_noises(query)
        if reward is None:
            return query, known, None, noises
        rewards = check_one_each(reward, k, "reward", "rows of the query")
        return query, known, np.array([check_reward(each) for each in rewards]), noises

    def _update_block(self: Any, query: BlockArm, rewards: np.ndarray, alphas: np.ndarray) -> None:
        """Condition on all numbers of an answer in one step."""
        gp = self._gp
        if not len(self._samples):
            self._first_units(float(rewards.mean()))
        if self.domain_.slot_of(query) < 0:  # in another context than what is tracked
            mean, std = gp.moments(query.descriptor, std=True)
        else:
            slots = self.domain_.slots(query.index)
            mean, std = (each[slots] for each in gp.tracked_moments())
        # What is known of all pairs is computed again.
        self._across.observing(-1, 0.0)
        self._take_numbers(query, rewards, alphas)
        self._spent += self._price_of(query)
        self._round += 1
        self._history.append((self._descriptor(query), rewards, mean, std, False))

    def _take_numbers(self: Any, query: BlockArm, rewards: np.ndarray, alphas: np.ndarray) -> None:
        """Observe the numbers of an answer; ``alphas`` (k,) are NaN where noise is learned."""
        gp, samples, shares = self._gp, self._samples, self._row_shares(query)
        given = alphas if alphas.ndim == 2 else self._covariances.get("relative_noise")
        if alphas.ndim == 1 and (given is None or not np.isnan(alphas[0])):
            noises = [
                self._noise_of(float(a), float(s)) for a, s in zip(alphas, shares, strict=True)
            ]
            first = len(gp.observed)
            gp.observe_all(query.descriptor, rewards, np.array(noises))
            for i, row in enumerate(query.descriptor):
                number = first + i if gp.white else gp.number_of(row[np.newaxis])
                samples.append(number, float(rewards[i]), float(alphas[i]), float(shares[i]))
            return
        # What noise they have in common, in the user's units or in those of what is learned.
        level = 1.0
        if alphas.ndim == 2:
            alphas = np.diag(alphas)
        else:
            given, level = given[query.index], self._noise_of(np.nan)
        numbers = gp.observe_together(query.descriptor, rewards, level * given)
        samples.shared.append(SharedNoise.of(given, len(samples)))
        for number, reward, alpha, share in zip(numbers, rewards, alphas, shares, strict=True):
            samples.append(int(number), float(reward), float(alpha), float(share))

    # -- what users read ----------------------------------------------------------------------

    @property
    @locked
    def history_(self: Any) -> np.ndarray:
        """Every observation told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 d,), the box [lower, upper] around what
        was observed, ``reward``, ``mean`` and ``std`` of the query before the observation, and
        ``expanded``, which is False. With :class:`~skgpb.domains.Blocks` ``reward``, ``mean`` and
        ``std`` have shape (k,), for the most numbers that a query has; NaN stands behind fewer.
        """
        if not self._has_blocks:
            return super().history_  # type: ignore[misc]
        check_is_fitted(self, "bounds_")
        k, d = int(np.diff(self.domain_.starts).max()), self.n_features_in_
        numbers = [(name, np.float64, (k,)) for name in ("reward", "mean", "std")]
        dtype = [("round", np.intp), ("descriptor", np.float64, (2 * d,)), *numbers]
        out = np.zeros(len(self._history), dtype=[*dtype, ("expanded", np.bool_)])
        out["round"] = np.arange(1, len(out) + 1)
        for i, (descriptor, *values, _) in enumerate(self._history):
            out["descriptor"][i] = descriptor
            for name, value in zip(("reward", "mean", "std"), values, strict=True):
                out[name][i] = np.nan
                out[name][i, : np.size(value)] = value
        return self._signed_history(out)
