"""The 24 functions of COCO's BBOB suite in two and five dimensions, over the unit cube.

Each is played with exact answers and with noise of 10 % of its range. Values of some functions
grow by many orders of magnitude towards a corner, so the range here is what nine of ten random
points are within of the optimum. The halves are the functions of odd and of even numbers, so that
both have functions of all five groups. This needs the package ``coco-experiment``.

References
----------
.. [Hansen2021] N. Hansen, A. Auger, R. Ros, O. Mersmann, T. Tušar and D. Brockhoff, "COCO: a
   platform for comparing continuous optimizers in a black-box setting", Optimization Methods and
   Software 36, 2021.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

DIMENSIONS = (2, 5)
#: Last number of each group, and what the functions of the group have in common.
GROUPS = (
    (5, "separable"),
    (9, "moderate"),
    (14, "ill-conditioned"),
    (19, "multimodal"),
    (24, "weak structure"),
)
#: Limits of BBOB's cube, the points among which the range is looked for, and how many are in it.
LOW, HIGH, N_LOOKED_AT, WITHIN = -5.0, 5.0, 2**14, 0.9
NOISE = 0.1
#: The instance of each function: where its optimum is, and how it is rotated.
INSTANCE = 1


def names(odd: bool, even: bool) -> list[str]:
    """Names of the functions with odd numbers, with even numbers, or with both."""
    numbers = [number for number in range(1, 25) if (odd if number % 2 else even)]
    return [f"f{n}-{d}d{noisy}" for n in numbers for d in DIMENSIONS for noisy in ("", "-noisy")]


def row(name: str) -> tuple[Any, ...]:
    """Return the kind of a function, its dimensions, its values and the noise."""
    number, d, *noisy = name.removeprefix("f").split("-")
    kind = next(kind for last, kind in GROUPS if int(number) <= last)
    dimensions = int(d.removesuffix("d"))
    return kind, dimensions, in_range(int(number), dimensions), NOISE * bool(noisy), None


def in_range(number: int, d: int) -> Any:
    """Return a function in units in which its range is one and its largest value zero."""
    try:
        import cocoex
    except ImportError as error:
        raise ImportError(
            "BBOB's functions need coco-experiment: python -m pip install coco-experiment"
        ) from error
    problem = cocoex.BareProblem("bbob", number, d, INSTANCE)
    best = problem.best_value()
    X = np.random.default_rng(0).random((N_LOOKED_AT, d))
    values = list(map(problem, LOW + (HIGH - LOW) * X))
    return partial(_scaled, problem, best, float(np.quantile(values, WITHIN)) - best)


def _scaled(problem: Any, best: float, span: float, X: np.ndarray) -> np.ndarray:
    return np.array([(best - problem(x)) / span for x in LOW + (HIGH - LOW) * X])
