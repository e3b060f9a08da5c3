"""The functions of the suite, over the unit cube and to be maximised, split into two halves.

Defaults are chosen on the half "choosing"; what is published is the half "confirming", on which
nothing was chosen. The split is by the order of the table, fixed before anything was measured:
functions of one kind come in pairs, one for each half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from benchmarks.peers.problems import hartmann, scaled_branin
from benchmarks.suite import bbob, engineering

HALVES = ("choosing", "confirming")
#: Points among which range and optimum are looked for, and how many of the best are improved.
N_LOOKED_AT, N_IMPROVED = 2**14, 6


@dataclass(frozen=True)
class Function:
    """A function of the unit cube and the noise of its values.

    Attributes
    ----------
    name, kind : str
        Name of the function, and its difficulty.
    d : int
        Dimensions.
    value : callable
        Points (n, d) to values (n,), in units in which the range is one and the optimum zero.
    noise : float
        Standard deviation of an answer, as a share of the range.
    spread : callable or None
        Points (n, d) to factors of that deviation, where it is not the same everywhere.
    """

    name: str
    kind: str
    d: int
    value: Callable[[np.ndarray], np.ndarray]
    noise: float
    spread: Callable[[np.ndarray], np.ndarray] | None = None

    def regret(self, x: np.ndarray) -> float:
        """Return how far f at a point (d,) is below the optimum, as a share of the range."""
        return -float(self.value(np.clip(x, 0.0, 1.0)[None])[0])

    def deviation(self, x: np.ndarray) -> float:
        """Standard deviation of an answer at a point (d,)."""
        factor = 1.0 if self.spread is None else float(self.spread(np.clip(x, 0.0, 1.0)[None])[0])
        return self.noise * factor


def scaled(X: np.ndarray, low: float, high: float) -> np.ndarray:
    """Points of the unit cube in a cube with these corners."""
    return low + (high - low) * X


# -- smooth -----------------------------------------------------------------------------------


def bowl(X: np.ndarray) -> np.ndarray:
    """A paraboloid whose middle is not the cube's, steeper along later axes."""
    d = X.shape[1]
    middle = 0.3 + 0.4 * np.arange(1, d + 1) / (d + 1)
    return -((X - middle) ** 2) @ np.linspace(1.0, 3.0, d)


def rosenbrock(X: np.ndarray) -> np.ndarray:
    """A bent valley."""
    Z = scaled(X, -2.0, 2.0)
    terms = 100.0 * (Z[:, 1:] - Z[:, :-1] ** 2) ** 2 + (1.0 - Z[:, :-1]) ** 2
    return -np.log1p(terms.sum(axis=1))


def styblinski_tang(X: np.ndarray) -> np.ndarray:
    """Two hills along every axis, one of them higher."""
    Z = scaled(X, -5.0, 5.0)
    return -0.5 * (Z**4 - 16.0 * Z**2 + 5.0 * Z).sum(axis=1)


def six_hump_camel(X: np.ndarray) -> np.ndarray:
    """Six hills, two of them highest."""
    x, y = scaled(X[:, 0], -2.0, 2.0), scaled(X[:, 1], -1.0, 1.0)
    return -((4.0 - 2.1 * x**2 + x**4 / 3.0) * x**2 + x * y + (4.0 * y**2 - 4.0) * y**2)


def goldstein_price(X: np.ndarray) -> np.ndarray:
    """Values over six orders of magnitude, not transformed."""
    x, y = scaled(X, -2.0, 2.0).T
    a = 19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2
    b = 18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2
    return -(1 + (x + y + 1) ** 2 * a) * (30 + (2 * x - 3 * y) ** 2 * b)


def forrester(X: np.ndarray) -> np.ndarray:
    """Two hills with a gap between them."""
    x = X[:, 0]
    return -((6.0 * x - 2.0) ** 2) * np.sin(12.0 * x - 4.0)


def gramacy_lee(X: np.ndarray) -> np.ndarray:
    """Ripples whose height falls."""
    x = scaled(X[:, 0], 0.5, 2.5)
    return -np.sin(10.0 * np.pi * x) / (2.0 * x) - (x - 1.0) ** 4


def product_of_sines(X: np.ndarray) -> np.ndarray:
    """Several hills along every axis, under a slope."""
    return np.sin(3.0 * np.pi * X).prod(axis=1) + 0.5 * X.mean(axis=1)


# -- multimodal -------------------------------------------------------------------------------


def ackley(X: np.ndarray) -> np.ndarray:
    """A funnel with ripples."""
    Z = scaled(X, -10.0, 12.0)
    root = np.sqrt((Z**2).mean(axis=1))
    return 20.0 * np.exp(-0.2 * root) + np.exp(np.cos(2.0 * np.pi * Z).mean(axis=1))


def levy(X: np.ndarray) -> np.ndarray:
    """A bowl with waves."""
    W = 1.0 + (scaled(X, -8.0, 10.0) - 1.0) / 4.0
    body = (W[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * W[:, :-1] + 1.0) ** 2)
    last = (W[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * W[:, -1]) ** 2)
    return -(np.sin(np.pi * W[:, 0]) ** 2 + body.sum(axis=1) + last)


def rastrigin(X: np.ndarray) -> np.ndarray:
    """A bowl with many equal hollows."""
    Z = scaled(X, -2.2, 2.8)
    return -(Z**2 - 5.0 * np.cos(2.0 * np.pi * Z)).sum(axis=1)


def griewank(X: np.ndarray) -> np.ndarray:
    """A shallow bowl with correlated waves."""
    Z = scaled(X, -12.0, 15.0)
    roots = np.sqrt(np.arange(1, X.shape[1] + 1))
    return np.cos(Z / roots).prod(axis=1) - (Z**2).sum(axis=1) / 200.0


def michalewicz(X: np.ndarray) -> np.ndarray:
    """Steep ridges at right angles, flat between them."""
    Z = scaled(X, 0.0, np.pi)
    axes = np.arange(1, X.shape[1] + 1)
    return (np.sin(Z) * np.sin(axes * Z**2 / np.pi) ** 10).sum(axis=1)


def hills(seed: int, widths: tuple[float, float], n: int = 12) -> Callable:
    """Return a function with n hills of several heights and widths, drawn from a seed."""

    def value(X: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(seed)
        centers, heights = rng.random((n, X.shape[1])), rng.uniform(0.3, 1.0, size=n)
        width = rng.uniform(*widths, size=n)
        square = ((X[:, None] - centers) ** 2).sum(axis=2) / X.shape[1]
        return (heights * np.exp(-0.5 * square / width**2)).max(axis=1)

    return value


def needle(X: np.ndarray) -> np.ndarray:
    """A wide hill, and a narrow one that is a third higher."""
    wide = np.exp(-(((X - 0.3) / 0.25) ** 2).sum(axis=1))
    return wide + 1.33 * np.exp(-(((X - 0.78) / 0.07) ** 2).sum(axis=1))


# -- rough, flat, sparse, skewed ----------------------------------------------------------------


def rough(seed: int) -> Callable:
    """Return a smooth hill with a Weierstrass curve along every axis."""

    def value(X: np.ndarray) -> np.ndarray:
        phase = np.random.default_rng(seed).random((6, X.shape[1]))
        out = bowl(X)
        for k in range(6):
            out = out + 0.08 * 0.6**k * np.cos(2.0 * np.pi * (3.0**k * X + phase[k])).mean(axis=1)
        return out

    return value


def plateaus(X: np.ndarray) -> np.ndarray:
    """A bowl in steps."""
    low = bowl(np.zeros((1, X.shape[1])))[0]
    return np.floor(8.0 * (1.0 - bowl(X) / low)) / 8.0


def cliff(X: np.ndarray) -> np.ndarray:
    """A lowest plateau over half of the cube, and a hill right at the edge of the cliff."""
    return np.where(X[:, 0] < 0.55, -1.0, bowl(X) - (X[:, 0] - 0.6) ** 2)


def sparse(inner: Callable, active: tuple[int, ...]) -> Callable:
    """Return a function that depends on a few of its coordinates."""
    return lambda X: inner(X[:, active])


def skewed(inner: Callable, power: float) -> Callable:
    """Return exp(power f): almost all values are near the lowest."""
    return lambda X: np.exp(power * inner(X))


def noisy_above(X: np.ndarray) -> np.ndarray:
    """Factors of the noise, from a tenth to about twice, growing along the first axis."""
    return 0.1 + 1.9 * X[:, 0]


def noisy_middle(X: np.ndarray) -> np.ndarray:
    """Factors of the noise: large in the middle."""
    return 0.2 + 2.0 * np.exp(-4.0 * ((X - 0.5) ** 2).sum(axis=1))


#: Coordinate, the same along every axis, at which a function is largest, or the point.
LARGEST_AT: dict[Callable, float | list[float]] = {
    **engineering.LARGEST_AT,
    rosenbrock: 0.75,
    styblinski_tang: 0.5 - 0.29035340,
    ackley: 10.0 / 22.0,
    levy: 0.5,
    rastrigin: 0.44,
    griewank: 12.0 / 27.0,
    needle: 0.78,
}


def in_range(function: Callable, d: int) -> Callable:
    """Return a function in units in which its range is one and its largest value zero."""
    X = np.random.default_rng(0).random((N_LOOKED_AT, d))
    if function in LARGEST_AT:
        X[0] = LARGEST_AT[function]
    values = function(X)
    best, most = X[np.argsort(-values)[:N_IMPROVED]], float(values.max())
    for start in best:
        found = minimize(
            lambda x: -float(function(np.clip(x, 0.0, 1.0)[None])[0]), start, method="Nelder-Mead"
        )
        most = max(most, -float(found.fun))
    span = most - float(values.min())
    return lambda X: (function(X) - most) / span


#: Name, kind, dimensions, function, noise and its shape; pairs of a kind, one for either half.
TABLE: tuple[tuple, ...] = (
    ("forrester", "multimodal", 1, forrester, 0.1, None),
    ("gramacy-lee", "multimodal", 1, gramacy_lee, 0.1, None),
    ("needle-1", "narrow", 1, needle, 0.01, None),
    ("needle-2", "narrow", 2, needle, 0.1, None),
    ("rough-1", "rough", 1, rough(1), 0.1, None),
    ("rough-2", "rough", 2, rough(2), 0.1, None),
    ("branin", "smooth", 2, scaled_branin, 0.0, None),
    ("camel", "smooth", 2, six_hump_camel, 0.0, None),
    ("goldstein-price", "skewed", 2, goldstein_price, 0.01, None),
    ("exp-hartmann-3", "skewed", 3, skewed(hartmann, 1.5), 0.01, None),
    ("hartmann-3", "smooth", 3, hartmann, 0.1, None),
    ("rosenbrock-3", "smooth", 3, rosenbrock, 0.1, None),
    ("sines-2", "multimodal", 2, product_of_sines, 0.3, None),
    ("hills-2", "multimodal", 2, hills(1, (0.08, 0.2)), 0.3, None),
    ("plateaus-2", "plateaus", 2, plateaus, 0.1, None),
    ("plateaus-4", "plateaus", 4, plateaus, 0.1, None),
    ("hills-4", "multimodal", 4, hills(2, (0.1, 0.25)), 0.1, None),
    ("hartmann-4", "multimodal", 4, hartmann, 0.1, None),
    ("cliff-3", "rough", 3, cliff, 0.1, None),
    ("cliff-5", "rough", 5, cliff, 0.1, None),
    ("rastrigin-2", "multimodal", 2, rastrigin, 0.01, None),
    ("griewank-3", "multimodal", 3, griewank, 0.01, None),
    ("ackley-5", "multimodal", 5, ackley, 0.1, None),
    ("levy-5", "multimodal", 5, levy, 0.1, None),
    ("michalewicz-4", "rough", 4, michalewicz, 0.01, None),
    ("styblinski-4", "multimodal", 4, styblinski_tang, 0.01, None),
    ("camel-uneven", "heteroscedastic", 2, six_hump_camel, 0.1, noisy_above),
    ("branin-uneven", "heteroscedastic", 2, scaled_branin, 0.1, noisy_middle),
    ("sparse-hartmann-8", "sparse", 8, sparse(hartmann, (1, 4, 6)), 0.1, None),
    ("sparse-branin-8", "sparse", 8, sparse(scaled_branin, (2, 5)), 0.1, None),
    ("hartmann-6", "smooth", 6, hartmann, 0.1, None),
    ("bowl-6", "smooth", 6, bowl, 0.3, None),
    ("bowl-8", "smooth", 8, bowl, 0.1, None),
    ("levy-8", "multimodal", 8, levy, 0.1, None),
    ("styblinski-10", "multimodal", 10, styblinski_tang, 0.1, None),
    ("rosenbrock-10", "smooth", 10, rosenbrock, 0.1, None),
    ("sparse-sines-12", "sparse", 12, sparse(product_of_sines, (0, 7)), 0.1, None),
    ("bowl-12", "smooth", 12, bowl, 0.0, None),
)


#: The same for what has many dimensions: pairs of a kind again, and the split fixed before a run.
MANY_DIMENSIONS: tuple[tuple, ...] = (
    ("bowl-10", "smooth", 10, bowl, 0.1, None),
    ("bowl-15", "smooth", 15, bowl, 0.1, None),
    ("rosenbrock-8", "smooth", 8, rosenbrock, 0.1, None),
    ("rosenbrock-20", "smooth", 20, rosenbrock, 0.1, None),
    ("ackley-8", "multimodal", 8, ackley, 0.1, None),
    ("ackley-12", "multimodal", 12, ackley, 0.1, None),
    ("griewank-15", "multimodal", 15, griewank, 0.01, None),
    ("levy-20", "multimodal", 20, levy, 0.01, None),
    ("styblinski-12", "multimodal", 12, styblinski_tang, 0.01, None),
    ("styblinski-16", "multimodal", 16, styblinski_tang, 0.01, None),
    ("sparse-camel-20", "sparse", 20, sparse(six_hump_camel, (4, 13)), 0.1, None),
    ("sparse-hartmann-20", "sparse", 20, sparse(hartmann, (1, 5, 8, 11, 16, 19)), 0.1, None),
)


#: Models from engineering, of which none was in the suite when its defaults were chosen.
ENGINEERING: tuple[tuple, ...] = (
    ("borehole-8", "smooth", 8, engineering.borehole, 0.1, None),
    ("robot-arm-8", "multimodal", 8, engineering.robot_arm, 0.1, None),
    ("trid-10", "smooth", 10, engineering.trid, 0.1, None),
    ("wing-weight-10", "smooth", 10, engineering.wing_weight, 0.1, None),
    ("welch-20", "sparse", 20, engineering.welch, 0.1, None),
    ("rover-20", "rough", 20, engineering.rover, 0.1, None),
    ("lander-12", "rough", 12, engineering.lander, 0.1, None),
)
#: The functions by what they have in common.
TABLES = {"suite": TABLE, "many-dimensions": MANY_DIMENSIONS, "engineering": ENGINEERING}


def names(half: str = "both", table: str = "suite") -> list[str]:
    """Names of the functions of a half, "choosing" or "confirming", or of both."""
    every = [row[0] for row in TABLES[table]]
    return every if half == "both" else every[HALVES.index(half) :: 2]


def function(name: str) -> Function:
    """Return a function of the suite, or of BBOB, by its name."""
    if name in bbob.names(odd=True, even=True):
        return Function(name, *bbob.row(name))
    (row,) = (row for table in TABLES.values() for row in table if row[0] == name)
    _, kind, d, value, noise, spread = row
    return Function(name, kind, d, in_range(value, d), noise, spread)
