"""Pairs of test functions over a unit cube, to be maximised: one of high and one of low fidelity.

References
----------
.. [Forrester2007] A. I. J. Forrester, A. Sóbester and A. J. Keane, "Multi-fidelity optimization via
   surrogate modelling", Proceedings of the Royal Society A 463, 2007. Equations of section 4, with
   A = 0.5, B = 10, C = -5; they are minimised there.
.. [Xiong2013] S. Xiong, P. Z. G. Qian and C. F. J. Wu, "Sequential design and analysis of
   high-accuracy and low-accuracy computer codes", Technometrics 55 (1), 2013. The functions of
   Currin and others (two dimensions) and of Park (four), with their low fidelities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


def forrester(x: np.ndarray) -> float:
    return -float((6.0 * x[0] - 2.0) ** 2 * np.sin(12.0 * x[0] - 4.0))


def cheap_forrester(x: np.ndarray) -> float:
    return 0.5 * forrester(x) - 10.0 * (float(x[0]) - 0.5) + 5.0


def currin(x: np.ndarray) -> float:
    a, b = map(float, x)
    damped = 1.0 if b == 0.0 else 1.0 - np.exp(-0.5 / b)
    above = 2300.0 * a**3 + 1900.0 * a**2 + 2092.0 * a + 60.0
    return float(damped * above / (100.0 * a**3 + 500.0 * a**2 + 4.0 * a + 20.0))


def cheap_currin(x: np.ndarray) -> float:
    a, b = map(float, x)
    low = max(0.0, b - 0.05)
    return 0.25 * sum(
        currin(np.array([c, e])) for c in (a + 0.05, a - 0.05) for e in (b + 0.05, low)
    )


def park(x: np.ndarray) -> float:
    a, b, c, e = map(float, x)
    a = max(a, 1e-9)
    first = 0.5 * a * (np.sqrt(1.0 + (b + c**2) * e / a**2) - 1.0)
    return float(first + (a + 3.0 * e) * np.exp(1.0 + np.sin(c)))


def cheap_park(x: np.ndarray) -> float:
    a, b, c, _ = map(float, x)
    return (1.0 + np.sin(a) / 10.0) * park(x) - 2.0 * a + b**2 + c**2 + 0.5


@dataclass
class Pair:
    """A function to maximise, at cost 1, and its low fidelity."""

    name: str
    d: int
    expensive: Callable[[np.ndarray], float]
    cheap: Callable[[np.ndarray], float]
    optimum: float
    #: Cost of a run, the first design included.
    budget: float
    #: Cost of the low fidelity.
    price: float = 0.2

    def answer(self, x: np.ndarray, task: int) -> float:
        """Value at high fidelity, task 0, or at low fidelity, task 1."""
        return (self.expensive, self.cheap)[task](x)

    def price_of(self, task: int) -> float:
        return (1.0, self.price)[task]


PAIRS = [
    Pair("Forrester", 1, forrester, cheap_forrester, 6.020740, 6.0),
    Pair("Currin", 2, currin, cheap_currin, 13.798722, 9.0),
    Pair("Park", 4, park, cheap_park, 25.589254, 13.0),
]
