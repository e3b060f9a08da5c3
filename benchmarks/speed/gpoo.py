"""Seconds per ask+tell round of GPOO, against two ways of doing without an incremental posterior.

    python -m benchmarks.speed.gpoo [--rounds 2000] [--runs 1] [--seed 0]

One process, one thread, CPU time. At each t the three columns continue from the same t
observations:

skgpb    GPOOOptimizer: one ask and one tell
refit    scikit-learn's GaussianProcessRegressor(optimizer=None), refitted on the same
         aggregated kernel, and its mean and standard deviation at all leaves
NumPy    the posterior of all leaves recomputed from the representatives with NumPy

The last column of a row is what the round costs in units of the round at half of t. Two regimes
are shown: with a delta(h) that makes the search ask cells again, as it does in practice, and
with one so wide that every query is new, which is the most a round can cost.
"""

from __future__ import annotations

from itertools import product
from time import process_time

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, write_csv
from skgpb import GPOOOptimizer
from skgpb.kernels import CellAverage

REGIMES = {"queries repeat": (4.0, 0.7), "every query is new": (50.0, 0.9)}
TIMES = (50, 100, 200, 500, 1000, 2000)
LENGTH_SCALE, NOISE = 0.1, 0.1
# A NumPy round beyond this many covariances between points is left out: it takes minutes.
LARGEST = 3e8


def objective(points: np.ndarray) -> float:
    x, y = points.T
    return float(np.mean(np.sin(9 * x) * np.cos(7 * y) + 0.3 * np.sin(31 * x * y)))


def play(representatives: int, variation: tuple, rounds: int, seed: int) -> tuple[dict, dict]:
    """One run; the median seconds of the rounds around each t, and the data there."""
    rng = np.random.default_rng(seed)
    optimizer = GPOOOptimizer(
        RBF(LENGTH_SCALE),
        bounds=[(0, 1), (0, 1)],
        alpha=NOISE**2,
        n_representatives=representatives,
        variation=variation,
        max_depth=20,
        expansion="before",
    )
    seconds, data, answers = [], {}, []
    for t in range(1, rounds + 1):
        start = process_time()
        cell = optimizer.ask()
        asked = process_time() - start
        answers.append(objective(cell.points) + NOISE * rng.normal())
        start = process_time()
        optimizer.tell(cell, answers[-1])
        seconds.append(asked + process_time() - start)
        if t in TIMES:
            tree = optimizer.tree_
            leaves = (tree.children < 0).all(axis=1)
            boxes = np.hstack([tree.lower, tree.upper])[leaves]
            data[t] = optimizer.history_["descriptor"], np.array(answers), boxes
    windows = {t: seconds[int(0.9 * t) - 1 : int(1.1 * t)] for t in TIMES if t <= rounds}
    return {t: float(np.mean(window)) for t, window in windows.items()}, data


def refit(X: np.ndarray, y: np.ndarray, leaves: np.ndarray, representatives: int) -> None:
    kernel = CellAverage(RBF(LENGTH_SCALE), representatives)
    model = GaussianProcessRegressor(kernel, alpha=NOISE**2, optimizer=None).fit(X, y)
    model.predict(leaves, return_std=True)


def averaged_covariance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Averages (n, m) of the covariances between representatives (n, S, d) and (m, S, d)."""
    out = np.empty((len(A), len(B)))
    for i, points in enumerate(A):  # one row at a time keeps S = 25 within memory
        square = ((points[:, None, None, :] - B[None]) ** 2).sum(-1)
        out[i] = np.exp(-square / (2 * LENGTH_SCALE**2)).mean(axis=(0, 2))
    return out


def recompute(X: np.ndarray, y: np.ndarray, leaves: np.ndarray, representatives: int) -> None:
    offsets = (np.arange(representatives) + 0.5) / representatives
    grid = np.stack(np.meshgrid(offsets, offsets, indexing="ij"), -1).reshape(-1, 2)

    def points(boxes: np.ndarray) -> np.ndarray:
        return boxes[:, None, :2] + grid * (boxes[:, None, 2:] - boxes[:, None, :2])

    observed, wanted = points(X), points(leaves)
    Q = averaged_covariance(observed, observed) + NOISE**2 * np.eye(len(X))
    K = averaged_covariance(wanted, observed)
    prior = np.array([averaged_covariance(p[None], p[None])[0, 0] for p in wanted])
    solved = np.linalg.solve(Q, np.column_stack([y, K.T]))
    mean, var = K @ solved[:, 0], prior - np.einsum("ij,ji->i", K, solved[:, 1:])
    (mean + np.sqrt(np.maximum(var, 0))).argmax()


def seconds_of(function, *arguments) -> float:
    best = np.inf
    for _ in range(2):
        start = process_time()
        function(*arguments)
        best = min(best, process_time() - start)
        if best > 5.0:
            break
    return best


def whole_run(rounds: int = 80, repeats: int = 20) -> float:
    """CPU seconds of all asks and tells of the paper's run in 1-D with S = 10, the median."""
    rng = np.random.default_rng(0)
    totals = []
    for _ in range(repeats):
        noise = NOISE * rng.normal(size=rounds)
        optimizer = GPOOOptimizer(
            0.1 * RBF(0.05),
            bounds=[(0, 1)],
            alpha=NOISE**2,
            n_representatives=10,
            variation=(14.0, 0.5),
            max_depth=10,
            expansion="before",
        )
        total = 0.0
        for t in range(rounds):
            start = process_time()
            cell = optimizer.ask()
            total += process_time() - start
            reward = 0.5 + 0.4 * np.sin(13 * cell.points).mean() + noise[t]
            start = process_time()
            optimizer.tell(cell, reward)
            total += process_time() - start
        totals.append(total)
    return float(np.median(totals))


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.gpoo", __doc__, 1, rounds=2000)
    options = parser.parse_args(arguments)
    if options.rounds < TIMES[0]:
        parser.error(f"rounds must be at least {TIMES[0]}")
    rows = []
    with threadpool_limits(1):
        print(f"whole run, N = 80, S = 10, d = 1: {1e3 * whole_run():.2f} ms of CPU\n")
        for regime, representatives in product(REGIMES, (1, 5)):
            variation = REGIMES[regime]
            play(representatives, variation, min(options.rounds, 100), options.seed)  # warm up
            plays = [
                play(representatives, variation, options.rounds, options.seed + run)
                for run in range(options.runs)
            ]
            # All runs are timed; what others would need is measured on the data of the first.
            data = plays[0][1]
            seconds = {t: float(np.mean([each[t] for each, _ in plays])) for t in data}
            print(f"d = 2, S = {representatives} x {representatives}, {regime}: ms per round")
            print("     t  distinct  leaves    skgpb    refit  ratio     NumPy   ratio  growth")
            for t, ours in seconds.items():
                X, y, leaves = data[t]
                S = representatives**2
                theirs = seconds_of(refit, X, y, leaves, representatives)
                row = f"{t:6d}  {len(np.unique(X, axis=0)):8d}  {len(leaves):6d}  {1e3 * ours:7.3f}"
                row += f"  {1e3 * theirs:7.1f}  {theirs / ours:5.0f}"
                numpy = np.nan
                if t * (t + len(leaves)) * S * S <= LARGEST:
                    numpy = seconds_of(recompute, X, y, leaves, representatives)
                    row += f"  {1e3 * numpy:8.1f}  {numpy / ours:6.0f}"
                else:
                    row += "         -       -"
                growth = f"  {ours / seconds[t // 2]:6.2f}" if t // 2 in seconds else ""
                print(row + growth, flush=True)
                rows.append((regime, S, t, 1e3 * ours, 1e3 * theirs, 1e3 * numpy))
            print()
    path = options.output / "speed_gpoo.csv"
    write_csv(path, ("regime", "S", "t", "skgpb_ms", "refit_ms", "numpy_ms"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
