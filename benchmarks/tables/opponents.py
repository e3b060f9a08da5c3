"""Alternative methods; each returns a function that tells which rows are in its group.

pysubgroup 0.9 asks for a NumPy older than 2, but works with a newer one: ``pip install --no-deps
pysubgroup statsmodels patsy``. sliceline 0.3 needs the older one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pandas as pd
from sklearn.neighbors import KDTree
from sklearn.tree import DecisionTreeRegressor

Group = Callable[[np.ndarray], np.ndarray]


def best_leaf(X: np.ndarray, y: np.ndarray, m: int) -> Group:
    """Return the leaf of a regression tree with the highest average."""
    tree = DecisionTreeRegressor(min_samples_leaf=m, random_state=0).fit(X, y)
    leaves = np.flatnonzero(tree.tree_.children_left < 0)
    best = leaves[tree.tree_.value[leaves, 0, 0].argmax()]
    return lambda new: tree.apply(new.astype(np.float32)) == best


def prim(X: np.ndarray, y: np.ndarray, m: int, alpha: float = 0.05) -> Group:
    """Peel and paste as Friedman and Fisher do (Statistics and Computing 9, 1999)."""
    X = np.nan_to_num(X)
    d = X.shape[1]
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    rows = np.arange(len(y))
    while True:
        best = None
        for j in range(d):
            x = X[rows, j]
            low, high = np.quantile(x, [alpha, 1 - alpha])
            for side, kept in ((0, x > low), (0, x >= low), (1, x < high), (1, x <= high)):
                n = np.count_nonzero(kept)
                if m <= n < len(rows):
                    mean = y[rows[kept]].mean()
                    if best is None or mean > best[0]:
                        best = mean, j, side, kept
        if best is None:
            break
        _, j, side, kept = best
        rows = rows[kept]
        (upper if side else lower)[j] = (np.max if side else np.min)(X[rows, j])
    mean = y[rows].mean()
    improved = True
    while improved:
        improved = False
        for j in range(d):
            for side in (0, 1):
                a, b = lower.copy(), upper.copy()
                (b if side else a)[j] = np.inf if side else -np.inf
                wide = np.flatnonzero(np.logical_and(a <= X, b >= X).all(axis=1))
                x = X[wide, j]
                beyond = np.sort(x[x > upper[j]]) if side else -np.sort(-x[x < lower[j]])
                if not len(beyond):
                    continue
                end = beyond[min(len(beyond) - 1, int(alpha * len(rows)))]
                kept = wide[x <= end] if side else wide[x >= end]
                if y[kept].mean() > mean:
                    rows, mean, improved = kept, y[kept].mean(), True
                    (upper if side else lower)[j] = end

    def inside(new: np.ndarray) -> np.ndarray:
        new = np.nan_to_num(new)
        return ((new >= lower) & (new <= upper)).all(axis=1)

    return inside


def best_of_boxes(n: np.ndarray, total: np.ndarray, m: int) -> tuple[float, int, int, int, int]:
    """Average and ends of the best box of a grid, from its counts and sums, shape (rows, columns).

    The box holds the rows from the first to below the second end, and the columns likewise.
    """
    n, total = (np.pad(each.cumsum(0).cumsum(1), ((1, 0), (1, 0))) for each in (n, total))
    best = -np.inf, 0, 0, 0, 0
    for i in range(len(n) - 1):
        for k in range(i + 1, len(n)):
            rows = n[k] - n[i]
            sums = total[k] - total[i]
            count = rows[None] - rows[:, None]
            mean = np.where(
                count >= m, (sums[None] - sums[:, None]) / np.maximum(count, 1), -np.inf
            )
            a, b = np.unravel_index(mean.argmax(), mean.shape)
            if mean[a, b] > best[0]:
                best = float(mean[a, b]), i, k, int(a), int(b)
    return best


def all_boxes(X: np.ndarray, y: np.ndarray, m: int, side: int = 40) -> Group | None:
    """Return the best of all boxes of a grid over two features; None where there are more."""
    if X.shape[1] != 2:
        return None
    edges = [np.unique(np.quantile(x, np.linspace(0, 1, side + 1)[1:-1])) for x in X.T]
    places = [np.searchsorted(e, x, "right") for e, x in zip(edges, X.T, strict=True)]
    shape = tuple(len(e) + 1 for e in edges)
    flat = np.ravel_multi_index(places, shape)
    size = int(np.prod(shape))
    n = np.bincount(flat, minlength=size).reshape(shape)
    total = np.bincount(flat, y, size).reshape(shape)
    _, i, k, a, b = best_of_boxes(n, total, m)

    def inside(new: np.ndarray) -> np.ndarray:
        u, v = (np.searchsorted(e, x, "right") for e, x in zip(edges, new.T, strict=True))
        return (u >= i) & (u < k) & (v >= a) & (v < b)

    return inside


def nearest(X: np.ndarray, y: np.ndarray, m: int) -> Group:
    """Return the ball of m rows around a row, on features in standard units, that averages most."""
    X = np.nan_to_num(X)
    centre, scale = X.mean(axis=0), X.std(axis=0) + 1e-300
    Z = (X - centre) / scale
    rng = np.random.default_rng(0)
    some = rng.choice(len(Z), min(len(Z), 500), replace=False)
    far, who = KDTree(Z).query(Z[some], k=m)
    best = y[who].mean(axis=1).argmax()
    middle, radius = Z[some[best]], far[best, -1]
    return lambda new: (
        np.linalg.norm((np.nan_to_num(new) - centre) / scale - middle, axis=1) <= radius
    )


def halving(X: np.ndarray, y: np.ndarray, m: int) -> Group:
    """Halve the widest feature at its median, again and again; the cell that averages most."""
    X = np.nan_to_num(X)
    scale = X.std(axis=0) + 1e-300
    cells = [(np.arange(len(y)), np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf))]
    best = -np.inf, cells[0]
    while cells:
        rows, lower, upper = cells.pop()
        if y[rows].mean() > best[0]:
            best = y[rows].mean(), (rows, lower, upper)
        for j in np.argsort(-np.ptp(X[rows], axis=0) / scale):
            cut = np.median(X[rows, j])
            left = X[rows, j] < cut
            if min(left.sum(), (~left).sum()) >= m:
                a, b = lower.copy(), upper.copy()
                a[j] = b[j] = cut
                cells += [(rows[left], lower, b), (rows[~left], a, upper)]
                break
    _, lower, upper = best[1]
    return lambda new: ((np.nan_to_num(new) >= lower) & (np.nan_to_num(new) < upper)).all(axis=1)


def beam(X: np.ndarray, y: np.ndarray, m: int) -> Group:
    """Return the rule of up to four conditions with the highest average, by pysubgroup."""
    import pysubgroup as ps

    def framed(rows: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(np.nan_to_num(rows)).rename(columns="x{}".format)

    frame = framed(X).assign(y=y)
    task = ps.SubgroupDiscoveryTask(
        frame,
        ps.NumericTarget("y"),
        ps.create_numeric_selectors(frame, nbins=10, intervals_only=False, ignore=["y"]),
        qf=ps.StandardQFNumeric(0.0),
        result_set_size=1,
        depth=4,
        constraints=[ps.MinSupportConstraint(m)],
    )
    ((_, rule),) = ps.BeamSearch(beam_width=20).execute(task).to_descriptions()
    return lambda new: np.asarray(rule.covers(framed(new)))


OPPONENTS: dict[str, Callable[..., Group | None]] = {
    "tree": best_leaf,
    "prim": prim,
    "all boxes": all_boxes,
    "nearest": nearest,
    "halving": halving,
}
if find_spec("pysubgroup") is not None:
    OPPONENTS["pysubgroup"] = beam
