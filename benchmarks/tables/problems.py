"""Tables to search: real tables, and tables with a planted group and unlimited rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeRegressor

FILE = Path("shared") / "data" / "california_housing.csv"
# In the parent folder of the checkout, or further up.
CALIFORNIA = next(
    (above / FILE for above in Path(__file__).parents if (above / FILE).exists()), FILE
)
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """A table whose best group is sought.

    Attributes
    ----------
    name : str
        Name of the table and of the target.
    columns : dict of str to ndarray
        The features; those of objects are categories.
    y : ndarray of shape (n_rows,)
        The target.
    """

    name: str
    columns: Columns
    y: np.ndarray

    def part(self, rows: np.ndarray) -> Problem:
        """Return the table of some rows."""
        return Problem(self.name, {k: v[rows] for k, v in self.columns.items()}, self.y[rows])

    def X_as(self, given: Problem) -> np.ndarray:
        """All features as numbers: each category that another table has is one of 0 and 1."""
        parts = []
        for name, values in self.columns.items():
            if values.dtype == object:
                labels = sorted(set(given.columns[name].tolist()))
                parts += [values == label for label in labels]
            else:
                parts.append(values)
        return np.column_stack(parts).astype(float)


def _columns(X: np.ndarray) -> Columns:
    return {f"x{j}": np.ascontiguousarray(column) for j, column in enumerate(np.asarray(X).T)}


def california() -> Iterator[Problem]:
    """Six questions about blocks of California in 1990, if the file is there."""
    if not CALIFORNIA.exists():
        return
    header = CALIFORNIA.open().readline().strip().split(",")
    numbers = np.genfromtxt(CALIFORNIA, delimiter=",", skip_header=1)[:, :-1]
    near = np.genfromtxt(CALIFORNIA, delimiter=",", skip_header=1, usecols=9, dtype=str)
    columns: Columns = {name: numbers[:, j] for j, name in enumerate(header[:-1])}
    columns["near"] = near.astype(object)
    value = columns.pop("median_house_value")
    places = {name: columns[name] for name in ("longitude", "latitude")}
    yield Problem("california value", columns, value)
    yield Problem("california value by place", places, value)
    yield Problem("california cheap", columns, -value)
    without = {k: v for k, v in columns.items() if k != "median_income"}
    yield Problem("california income", without, columns["median_income"])
    crowd = columns["population"] / columns["households"]
    few = {k: v for k, v in columns.items() if k not in ("population", "households")}
    yield Problem("california crowded", few, np.log(crowd))
    X = np.nan_to_num(numbers[:, [j for j in range(9) if j != 8]])
    loss = np.abs(cross_val_predict(LinearRegression(), X, value, cv=5) - value)
    yield Problem("california loss of a line", columns, loss)
    tree = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
    loss = np.abs(cross_val_predict(tree, X, value, cv=5) - value)
    yield Problem("california loss of a tree", columns, loss)
    yield Problem(
        "california age", {**places, "near": columns["near"]}, columns["housing_median_age"]
    )


def bundled() -> Iterator[Problem]:
    """Questions about tables that scikit-learn brings along."""
    data = datasets.load_diabetes(scaled=False)
    X, y = data.data, data.target
    yield Problem("diabetes", _columns(X), y)
    yield Problem("diabetes low", _columns(X), -y)
    yield Problem("diabetes s5", _columns(np.delete(X, 8, axis=1)), X[:, 8])
    yield Problem("diabetes bmi", _columns(np.delete(X, 2, axis=1)), X[:, 2])
    data = datasets.load_breast_cancer()
    X, y = data.data, data.target
    yield Problem("cancer", _columns(X[:, :10]), 1.0 - y)
    yield Problem("cancer worst concavity", _columns(X[:, :10]), X[:, 26])
    yield Problem("cancer error of area", _columns(X[:, :10]), X[:, 13])
    yield Problem("cancer fractal", _columns(X[:, 20:29]), X[:, 9])
    data = datasets.load_wine()
    X, y = data.data, data.target
    yield Problem("wine proline", _columns(X[:, :12]), X[:, 12])
    yield Problem("wine colour", _columns(np.delete(X, 9, axis=1)), X[:, 9])
    data = datasets.load_iris()
    X, y = data.data, data.target
    yield Problem("iris petals", _columns(X[:, :2]), X[:, 2])
    yield Problem("iris versicolor", _columns(X), (y == 1) * 1.0)
    data = datasets.load_digits()
    X, y = data.data, data.target
    for digit in (1, 3, 8, 9):
        yield Problem(f"digits {digit}", _columns(X), (y == digit) * 1.0)


def real() -> list[Problem]:
    """All real tables."""
    return [*california(), *bundled()]


def _box(rng: np.random.Generator, n: int, d: int, active: int, share: float) -> tuple:
    X = rng.random((n, d))
    half = 0.5 * share ** (1 / active)
    centre = rng.uniform(half, 1 - half, active)
    return X, (np.abs(X[:, :active] - centre) < half).all(axis=1)


def planted_box(rng: np.random.Generator, n: int, d: int, active: int, share: float) -> Problem:
    """A box with one and a half standard deviations more."""
    X, inside = _box(rng, n, d, active, share)
    y = 1.5 * inside + rng.normal(size=n)
    return Problem(f"box {active} of {d}, {share:.0%}, {n}", _columns(X), y)


def weak_box(rng: np.random.Generator, n: int, d: int, active: int, share: float) -> Problem:
    """A box with six tenths of a standard deviation more."""
    X, inside = _box(rng, n, d, active, share)
    y = 0.6 * inside + rng.normal(size=n)
    return Problem(f"weak box {active} of {d}, {share:.0%}, {n}", _columns(X), y)


def disc(rng: np.random.Generator, n: int, d: int) -> Problem:
    """A ball in the first three features."""
    X = rng.random((n, d))
    k = min(d, 3)
    far = np.linalg.norm(X[:, :k] - rng.uniform(0.2, 0.8, k), axis=1)
    y = 1.5 * (far < (0.25 if k == 2 else 0.35)) + rng.normal(size=n)
    return Problem(f"disc {d}, {n}", _columns(X), y)


def two_modes(rng: np.random.Generator, n: int, d: int) -> Problem:
    """A broad hill, and a higher one that is narrow."""
    X = rng.random((n, d))
    a, b = rng.uniform(0.1, 0.4, d), rng.uniform(0.6, 0.9, d)
    k = min(d, 3)
    hill = np.exp(-((X[:, :k] - a[:k]) ** 2).sum(axis=1) / (2 * 0.25**2))
    peak = 1.5 * np.exp(-((X[:, :k] - b[:k]) ** 2).sum(axis=1) / (2 * 0.1**2))
    return Problem(f"two modes {d}, {n}", _columns(X), 2 * (hill + peak) + rng.normal(size=n))


def heavy_tails(rng: np.random.Generator, n: int, d: int) -> Problem:
    """A box, and noise with three degrees of freedom."""
    X, inside = _box(rng, n, d, 2, 0.05)
    y = 1.5 * inside + rng.standard_t(3, size=n)
    return Problem(f"t3 {d}, {n}", _columns(X), y)


def skewed(rng: np.random.Generator, n: int, d: int) -> Problem:
    """Amounts: lognormal, twice as large in a box."""
    X, inside = _box(rng, n, d, 2, 0.08)
    return Problem(f"lognormal {d}, {n}", _columns(X), np.exp(0.7 * inside + rng.normal(size=n)))


def ridge(rng: np.random.Generator, n: int, d: int) -> Problem:
    """A sum of two features that are correlated with others."""
    Z = rng.normal(size=(n, d))
    X = Z + 0.7 * np.roll(Z, 1, axis=1)
    y = X[:, 0] + X[:, 1] + 0.5 * X[:, 2] ** 2 + 2 * rng.normal(size=n)
    return Problem(f"ridge {d}, {n}", _columns(X), y)


def rare(rng: np.random.Generator, n: int, d: int) -> Problem:
    """Yes or no: 3 % in the table, 30 % in a box."""
    X, inside = _box(rng, n, d, 3, 0.05)
    return Problem(f"rare {d}, {n}", _columns(X), (rng.random(n) < 0.03 + 0.27 * inside) * 1.0)


def categories(rng: np.random.Generator, n: int, d: int) -> Problem:
    """Some of many shops, on some weekdays, at some hours; values are missing."""
    shop = rng.choice([f"shop {i}" for i in range(40)], n)
    day = rng.choice(["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"], n)
    hour = rng.uniform(0, 24, n)
    good = rng.choice([f"shop {i}" for i in range(40)], 8, replace=False)
    inside = np.isin(shop, good) & np.isin(day, ["Sa", "Su"]) & (hour > 8)
    y = 1.2 * inside + rng.normal(size=n)
    hour[rng.random(n) < 0.05] = np.nan
    others = _columns(rng.random((n, d)))
    columns = {"shop": shop.astype(object), "day": day.astype(object), "hour": hour, **others}
    return Problem(f"categories {d + 3}, {n}", columns, y)


def interaction(rng: np.random.Generator, n: int, d: int) -> Problem:
    """Two opposite corners: no feature tells anything on its own."""
    X = rng.random((n, d))
    sign = np.sign((X[:, 0] - 0.5) * (X[:, 1] - 0.5))
    y = sign * (np.abs(X[:, :2] - 0.5).min(axis=1) > 0.2) + rng.normal(size=n)
    return Problem(f"corners {d}, {n}", _columns(X), y)


MAKERS: list[tuple[Callable[..., Problem], tuple]] = [
    (planted_box, (4000, 2, 2, 0.06)),
    (planted_box, (4000, 4, 2, 0.06)),
    (planted_box, (8000, 6, 3, 0.06)),
    (planted_box, (20000, 10, 3, 0.02)),
    (planted_box, (8000, 10, 4, 0.1)),
    (weak_box, (8000, 4, 2, 0.06)),
    (weak_box, (20000, 8, 2, 0.03)),
    (disc, (4000, 2)),
    (disc, (8000, 5)),
    (two_modes, (4000, 2)),
    (two_modes, (8000, 4)),
    (heavy_tails, (8000, 5)),
    (skewed, (8000, 4)),
    (ridge, (8000, 6)),
    (rare, (20000, 6)),
    (categories, (8000, 3)),
    (interaction, (8000, 5)),
]


def synthetic(seed: int = 0) -> list[Problem]:
    """Return all tables with a planted group; each seed draws different ones."""
    return [
        make(np.random.default_rng([seed, i]), *sizes) for i, (make, sizes) in enumerate(MAKERS)
    ]
