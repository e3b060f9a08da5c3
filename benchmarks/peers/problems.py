"""Problems of the comparison: noisy functions over the unit cube, to be maximised.

``value`` is f at points (n, d) of the unit cube and ``optimum`` its largest value. Aggregated
problems answer with the mean of f over the cell of side ``side`` around a point, cut off at the
border of the cube, under a grid of ``per_axis`` points along every axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.papers._branin import branin
from skgpb.kernels._boxes import representatives
from skgpb.problems import gpoo_function

HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN6_ARGMAX = np.array(
    [0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053]
)
HARTMANN4_ARGMAX = np.array([0.18739459, 0.19415197, 0.55791776, 0.26477986])
BRANIN_ARGMAX = np.array([(np.pi + 5.0) / 15.0, 2.275 / 15.0])


def hartmann(X: np.ndarray) -> np.ndarray:
    """Hartmann's function of d <= 6 coordinates in [0, 1], to be maximised, shape (n,)."""
    d = X.shape[1]
    square = (X[:, None] - HARTMANN_P[:, :d]) ** 2
    return np.exp(-np.einsum("nkd,kd->nk", square, HARTMANN_A[:, :d])) @ HARTMANN_WEIGHTS


def scaled_branin(X: np.ndarray) -> np.ndarray:
    """Branin's function over the unit square, to be maximised, shape (n,)."""
    return branin(np.column_stack([15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]]))


@dataclass(frozen=True)
class Problem:
    """One function and how it answers."""

    name: str
    d: int
    value: Callable[[np.ndarray], np.ndarray]
    optimum: float
    noise: float  # standard deviation
    side: float = 0.0  # side of the cells around points; 0 for point feedback
    per_axis: int = 1

    def cell_points(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Representatives of a box."""
        return representatives(lower, upper, self.per_axis)

    def answer(self, x: np.ndarray) -> float:
        """Noiseless answer to a point: f there, or the mean over the cell around it."""
        x = np.clip(np.asarray(x, dtype=np.float64), 0.0, 1.0)
        if self.side == 0.0:
            return float(self.value(x[None])[0])
        lower, upper = np.maximum(x - self.side / 2, 0.0), np.minimum(x + self.side / 2, 1.0)
        return self.average(self.cell_points(lower, upper))

    def average(self, points: np.ndarray) -> float:
        """Mean of f over points."""
        return float(self.value(points).mean())


def _range(function: Callable, d: int) -> float:
    values = function(np.random.default_rng(0).random((200_000, d)))
    return float(np.ptp(values))


def point_problems() -> list[Problem]:
    """Branin and Hartmann-6 with noise of 10 % of their range."""
    problems = []
    for name, function, argmax in (
        ("Branin", scaled_branin, BRANIN_ARGMAX),
        ("Hartmann-6", hartmann, HARTMANN6_ARGMAX),
    ):
        d = len(argmax)
        noise = 0.1 * _range(function, d)
        problems.append(Problem(name, d, function, float(function(argmax[None])[0]), noise))
    return problems


def aggregated_problems(side: float) -> list[Problem]:
    """Three functions that answer with averages, with noise of 10 % of their range."""
    first = gpoo_function(1)
    cases = (
        ("GPOO's first function", first.f, np.array([first.argmax]), 10),
        ("Branin", scaled_branin, BRANIN_ARGMAX, 5),
        ("Hartmann-4", hartmann, HARTMANN4_ARGMAX, 3),
    )
    problems = []
    for name, function, argmax, per_axis in cases:
        d = len(argmax)
        optimum, noise = float(function(argmax[None])[0]), 0.1 * _range(function, d)
        name = f"{name}, side {side:g}"
        problems.append(Problem(name, d, function, optimum, noise, side, per_axis))
    return problems
