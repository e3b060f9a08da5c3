"""The groups that ``python -m skgpb search`` recommends, on tables of many shapes.

    python -m benchmarks.region [--budget 150 --noise 0.1 --runs 10 --seed 0 --output DIR]
        [--csv FILE A B TARGET]

For each table: the share of the gain that the best of the finest groups has over the table's
mean, the mean and the worst of the runs, and how often the 95 % interval held the true average.
The noise is given in standard deviations of the column.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._common import argument_parser, write_csv
from skgpb.cli.region import GROUPS, N_CHILDREN, GroupAverages, find_region, group_size
from skgpb.datasets import read_table
from skgpb.domains import PoolPartition

Table = tuple[str, np.ndarray, np.ndarray]


def tables(seed: int = 0) -> Iterator[Table]:
    """Features and a column: smooth, clustered, narrow, rough, few rows, one to four features."""
    rng = np.random.default_rng(seed)

    X = rng.random((5000, 2)) * [10, 3]
    f = np.sin(0.6 * X[:, 0]) + np.cos(1.5 * X[:, 1]) + 0.1 * X[:, 0]
    yield "smooth", X, f + 0.5 * rng.normal(size=len(X))

    centers, cluster = rng.random((12, 2)), rng.integers(12, size=5000)
    X = centers[cluster] + 0.05 * rng.normal(size=(5000, 2))
    f = rng.normal(50, 15, size=12)[cluster] + 10 * np.sin(8 * X[:, 0])
    yield "clusters", X, f + 20 * rng.normal(size=len(X))

    X = rng.random((500, 1))
    f = np.sin(13 * X[:, 0]) * np.sin(27 * X[:, 0])
    yield "1-D, 500 rows", X, f + 0.3 * rng.normal(size=len(X))

    X = np.exp(0.7 * rng.normal(size=(5000, 3)))
    f = 100 * np.exp(-((np.log(X) - [0.4, -0.3, 0.2]) ** 2).sum(axis=1)) + 3 * X[:, 0]
    yield "3-D, skewed", X, f + 30 * rng.normal(size=len(X))

    X = rng.random((20000, 2))
    f = 5 * np.exp(-((X - [0.83, 0.21]) ** 2).sum(axis=1) / (2 * 0.05**2)) + np.sin(3 * X[:, 0])
    yield "narrow peak", X, f + rng.normal(size=len(X))

    X = rng.random((500, 2))
    yield "2-D, 500 rows", X, 10 * X[:, 0] - 20 * (X[:, 1] - 0.3) ** 2 + 2 * rng.normal(size=500)

    X = rng.random((8000, 2))
    board = rng.normal(size=(8, 8))
    f = board[(8 * X[:, 0]).astype(int), (8 * X[:, 1]).astype(int)]
    yield "checkerboard", X, f + rng.normal(size=len(X))

    X = rng.random((4000, 2))
    f = 5 * np.sin(17 * X[:, 0]) + 8 * X[:, 0]
    yield "one feature matters", X, f + 3 * rng.normal(size=len(X))

    X = rng.random((6000, 4))
    f = 4 * np.exp(-((X - [0.2, 0.7, 0.5, 0.3]) ** 2 * [8, 8, 1, 0]).sum(axis=1))
    yield "4-D", X, f + rng.normal(size=len(X))


def best_group(X: np.ndarray, y: np.ndarray) -> float:
    """Highest true average of the finest groups."""
    low, side = X.min(axis=0), np.ptp(X, axis=0)
    partition = PoolPartition((X - low) / np.where(side > 0, side, 1.0), N_CHILDREN, 8)
    depth = round(np.log2(GROUPS))
    return max(y[partition.cell_at(depth, i).members].mean() for i in range(GROUPS))


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("region", __doc__, 10, budget=150)
    parser.add_argument(
        "--noise",
        type=float,
        default=0.1,
        help="in standard deviations of the column (default 0.1)",
    )
    parser.add_argument("--csv", nargs="+", help="a table of your own: file, features, target")
    options = parser.parse_args(arguments)
    chosen = list(tables())
    if options.csv:
        path, *features, target = options.csv
        columns = read_table(path, [*features, target])
        chosen.append((path, columns[:, :-1], columns[:, -1]))
    print(f"{options.budget} questions, noise of {options.noise:.0%} of the standard deviation")
    print(f"{'table':24s} {'rows':>6s} {'group':>6s} {'mean':>6s} {'worst':>6s} {'covered':>8s}")
    everything, rows = [], []
    for name, X, y in chosen:
        noise, best, shares, covered = options.noise * y.std(), best_group(X, y), [], []
        for seed in range(options.seed, options.seed + options.runs):
            oracle = GroupAverages(y, noise, seed)
            found = find_region(X, oracle, options.budget, seed=seed)
            true = y[found.group.members].mean()
            shares.append((true - y.mean()) / (best - y.mean()))
            covered.append(found.interval[0] <= true <= found.interval[1])
            rows.append((name, seed, shares[-1], int(covered[-1])))
        everything += shares
        size = group_size(len(X), None)
        print(
            f"{name[-24:]:24s} {len(X):6d} {size:6d} {np.mean(shares):6.3f} {min(shares):6.3f} "
            f"{np.mean(covered):8.2f}",
            flush=True,
        )
    print(f"{'all':38s} {np.mean(everything):6.3f} {min(everything):6.3f}")
    path = options.output / "region.csv"
    write_csv(path, ("table", "seed", "share_of_gain", "covered"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
