"""Algorithm 2 of Shekhar and Javidi (2018), the plain way.

Everything is recomputed from scratch whenever it is needed: the posterior by one solve, the
uncovered region by looking at every cell of the grid of all faces (sup norm) or at every centre
of every dyadic grid (Euclidean). Lengths are in units of the sides of the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .tree import TIE_TOLERANCE, tensor


@dataclass
class Ball:
    """A point of A_t with its radius diam * 2^-k."""

    center: np.ndarray
    k: int
    diameter: float

    @property
    def radius(self):
        return self.diameter / 2**self.k


def grid_oracle(balls, _shrunk):
    """Centre of the largest uncovered cell of the grid of faces; None if there is none.

    Ties go to the lexicographically smallest.
    """
    d = len(balls[0].center)
    faces = [
        sorted({0.0, 1.0} | {min(1.0, max(0.0, b.center[a] + s * b.radius))
                             for b in balls for s in (-1, 1)})
        for a in range(d)
    ]  # fmt: skip
    centers = tensor([[(low + up) / 2 for low, up in pairwise(cuts)] for cuts in faces])
    volumes = tensor([np.diff(cuts) for cuts in faces]).prod(axis=1)
    bare = np.ones(len(centers), dtype=bool)
    for ball in balls:
        bare &= np.abs(centers - ball.center).max(axis=1) > ball.radius
    if not bare.any():
        return None
    largest = bare & (volumes >= (1 - 1e-12) * volumes[bare].max())
    # The rows of a grid are in lexicographical order.
    return centers[np.flatnonzero(largest)[0]]


def subdivision_oracle(tolerance):
    """Euclidean oracle: the coarsest dyadic grid with an uncovered centre, the barest of them."""

    def oracle(balls, shrunk):
        d = len(balls[0].center)
        level = 0
        while True:
            centers = tensor([(np.arange(2**level) + 0.5) / 2**level] * d)
            clearance = np.min(
                [np.linalg.norm(centers - b.center, axis=1) - b.radius for b in balls], axis=0
            )
            # Small gaps that were passed over before stay so: only the old ball is looked at.
            outside = np.linalg.norm(centers - shrunk.center, axis=1) > 2 * shrunk.radius + 1e-9
            clearance[outside] = -np.inf
            if clearance.max() > 1e-9:
                return centers[np.flatnonzero(clearance >= clearance.max() - 1e-9)[0]]
            if np.sqrt(d) / 2**level <= 2 * tolerance * shrunk.radius:
                return None
            level += 1

    return oracle


@dataclass
class Round:
    """One evaluation and what led to it; balls by number, radii as halvings."""

    t: int
    ball: int
    k: int
    center: np.ndarray
    reward: float
    mean: float
    std: float
    n_balls: int
    shrunk: int
    recommendation: tuple


def gp_zooming(
    moments,
    oracle,
    n_evaluations,
    *,
    d,
    variation,
    beta,
    r_min,
    diameter=1.0,
    covering=grid_oracle,
):
    """Yield a Round for each evaluation.

    moments(balls, observed, y): posterior mean and std of what balls answer. oracle(ball, t): the
    noisy reward. variation: W(r). beta(t): factor of the variance.
    """
    balls = [Ball(np.full(d, 0.5), 0, diameter)]
    observed, y = [], []
    t, shrunk = 1, 0
    while t <= n_evaluations:
        # line 2
        mean, std = moments(balls, observed, np.asarray(y))
        width = np.sqrt(beta(t)) * std
        W = np.array([variation(b.radius) for b in balls])
        index = mean + width + W
        tied = np.flatnonzero(index >= index.max() - TIE_TOLERANCE * max(1.0, abs(index.max())))
        i = min(tied, key=lambda j: (balls[j].k, j))
        ball = balls[i]
        if width[i] <= W[i] and ball.radius >= r_min:  # lines 3 and 4
            ball.k += 1
            shrunk += 1
            # lines 11 to 13
            point = covering(balls, ball)
            if point is not None:
                balls.append(Ball(point, 0, diameter))
            continue
        # lines 7 to 9
        reward = oracle(ball, t)
        observed.append(Ball(ball.center, ball.k, diameter))
        y.append(reward)
        after, _ = moments(balls, observed, np.asarray(y))
        deepest = max(b.k for b in balls)
        candidates = [j for j, b in enumerate(balls) if b.k == deepest]
        top = max(after[candidates])
        best = next(j for j in candidates if after[j] >= top - TIE_TOLERANCE)
        yield Round(
            t, int(i), ball.k, ball.center, reward, mean[i], std[i], len(balls), shrunk,
            (best, deepest),
        )  # fmt: skip
        t, shrunk = t + 1, 0


def moments_of(kernel, alpha, bounds, per_axis=None):
    """Posterior of what balls answer: f at the centre, or its average over the ball's box."""
    bounds = np.asarray(bounds, dtype=float)
    lower, side = bounds[:, 0], bounds[:, 1] - bounds[:, 0]

    def points(ball):
        if per_axis is None:
            return lower + ball.center[None] * side
        low, up = (np.clip(ball.center + s * ball.radius, 0, 1) for s in (-1, 1))
        axes = [
            a + (np.arange(n) + 0.5) / n * (b - a)
            for a, b, n in zip(low, up, per_axis, strict=True)
        ]
        return lower + tensor(axes) * side

    def cross(one, other):
        return np.array([[kernel(a, b).mean() for b in other] for a in one])

    def moments(balls, observed, y):
        at = [points(ball) for ball in balls]
        if per_axis is None:
            prior = kernel.diag(np.concatenate(at))
        else:
            prior = np.array([kernel(a, a.copy()).mean() for a in at])
        if not observed:
            return np.zeros(len(at)), np.sqrt(prior)
        seen = [points(ball) for ball in observed]
        if per_axis is None:
            at, seen = np.concatenate(at), np.concatenate(seen)
            K, Q = kernel(at, seen), kernel(seen)
        else:
            K, Q = cross(at, seen), cross(seen, seen)
        M = np.linalg.solve(Q + alpha * np.eye(len(Q)), K.T).T
        return M @ y, np.sqrt(np.maximum(prior - (M * K).sum(axis=1), 0.0))

    moments.points = points
    return moments
