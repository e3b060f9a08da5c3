"""Figure 1 of the adaptive discretization paper: two constructed processes and the regret on them.

``python -m benchmarks.papers.gp_tree_toy [--runs 20] [--seed 0] [--n-jobs 1] [--output DIR]``

Both processes on [0, 1] are sums of independent Gaussians times fixed bumps (equations 1.6 and
1.7), with the amplitudes a_i of Appendix A for delta = 0.1, cut after 12 and 7 scales. Their
information gain grows linearly, which makes information-type bounds on the regret vacuous, while
the maximum is easy to find: the paper argues for a regret of O(1) on the first and of O(log n) on
the second. Printed is the mean cumulative regret (equation 1.2) after t = 10, 25, 50 and 100
evaluations, of

- "GPTree": Algorithm 1 with K = 3 and the exact kernel of the process, beta = 4, and V_h twice the
  largest standard deviation of f(x) - f(centre) within cells of depth h,
- "GPTree, theory": the same with the theory's beta_n and V_h,
- "GP-UCB": mean + 2 std over 729 grid points,
- "the paper's": the strategy in Appendix A, taken literally: one look at the middle of a cell for
  each scale, then the outer third on the side that the sign of the answer tells.

References
----------
S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive discretization", Electronic
Journal of Statistics 12, 2018, section 1.3 and Appendix A.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Kernel

from benchmarks.papers._common import (
    argument_parser,
    format_table,
    import_pyplot,
    mean_and_error,
    replicate,
    spawn_seeds,
    write_csv,
)
from skgpb.exceptions import RefinementWarning
from skgpb.metrics import cumulative_regret
from skgpb.optimizers import GPTreeOptimizer
from skgpb.surrogate import OnlineGaussianProcessRegressor

N = 100
REPORTED = (10, 25, 50, 100)
DELTA = 0.1
#: Scales kept of each process: what is left out is below rounding or noise.
N_SCALES = {1: 12, 2: 7}
#: Standard deviation of the noise; Appendix A.2 needs a_n / sqrt(2) for the second.
NOISE = {1: 0.1, 2: 0.01}
ALGORITHMS = ["GPTree", "GPTree, theory", "GP-UCB", "the paper's"]


def bump(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """phi: a parabola of height 1 on [0, 1], zero elsewhere."""
    return np.where((x >= 0) & (x <= 1), 1.0 - 4.0 * (x - 0.5) ** 2, 0.0)


def features(example: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a_i times the bumps of scale i, (n, n_scales): f = features @ X, X standard normal."""
    i = np.arange(1, N_SCALES[example] + 1)
    if example == 1:
        a = 1.0 / (2.0 * np.sqrt(2.0 * np.log(np.pi**2 * i**2 / (6.0 * DELTA))))
        a[0] = 1.0 / norm.ppf((1.0 + DELTA) / 2.0)
        y = x[:, None] * 3.0**i
        return a * (bump(y - 1.0) - bump(y - 2.0))
    a = 1.0 / (i**2 * np.sqrt(2.0 * np.log(np.pi**2 * i**2 / (3.0 * DELTA))))
    columns, where, inside = [], x.copy(), np.ones(len(x), dtype=bool)
    for scale in a:
        # phi_1 on the present cell, then the first and the last third are cells of the next scale.
        y = 3.0 * where
        columns.append(scale * inside * (bump(y) + bump(y - 1.0) - bump(y - 2.0)))
        inside &= (where <= 1.0 / 3.0) | (where >= 2.0 / 3.0)
        where = np.where(where >= 2.0 / 3.0, y - 2.0, y)
    return np.column_stack(columns)


class BumpKernel(Kernel):
    """Covariance of an example, exact: a sum of products of bumps."""

    def __init__(self, example: int = 1) -> None:
        self.example = example

    def __call__(self, X, Y=None, eval_gradient=False):
        """Return the covariances of rows of X and Y."""
        A = features(self.example, np.asarray(X)[:, 0])
        B = A if Y is None else features(self.example, np.asarray(Y)[:, 0])
        return (A @ B.T, np.empty((len(A), len(A), 0))) if eval_gradient else A @ B.T

    def diag(self, X):
        """Return the variances."""
        return (features(self.example, np.asarray(X)[:, 0]) ** 2).sum(axis=1)

    def is_stationary(self):
        """Return False."""
        return False


def variation(example: int, depth: int) -> float:
    """Twice the largest sd of f(x) - f(centre) within cells of a depth, for K = 3."""
    n = 3**depth
    centers = (np.arange(n) + 0.5) / n
    offsets = (np.arange(1, 82) / 82.0 - 0.5) / n
    F = features(example, np.concatenate([centers, (centers[:, None] + offsets).ravel()]))
    gaps = F[n:].reshape(n, len(offsets), -1) - F[:n, None]
    return 2.0 * float(np.sqrt((gaps**2).sum(axis=2).max()))


def papers_strategy(example: int, f, noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Appendix A: one look decides for each scale; f at the points played, (N,)."""
    values = np.empty(N)
    low, width, best, known = 0.0, 1.0, None, 0
    for t in range(N):
        if example == 1:
            x = 0.5 if t == 0 else best
            values[t] = f(np.array([x]))[0]
            if t == 0:
                best = 0.5 if values[0] + noise[0] > 0 else 5.0 / 6.0
            continue
        if known < N_SCALES[2]:
            x = low + 0.5 * width  # the middle third shows the sign of this scale
            values[t] = f(np.array([x]))[0]
            known += 1
            low += 0.0 if values[t] + noise[t] > 0 else 2.0 * width / 3.0
            width /= 3.0
        else:
            values[t] = f(np.array([low + 0.5 * width]))[0]
    return values


def one_run(example: int, algorithm: str, seed: int) -> NDArray[np.float64]:
    """Return the cumulative regret after each evaluation, (N,)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=N_SCALES[example])
    noise = NOISE[example] * rng.normal(size=N)

    def f(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return features(example, x) @ X

    grid = (np.arange(3**9) + 0.5) / 3**9
    optimum = float(f(grid).max())
    if algorithm == "the paper's":
        return cumulative_regret(optimum, papers_strategy(example, f, noise))
    kernel, alpha, values = BumpKernel(example), NOISE[example] ** 2, np.empty(N)
    if algorithm == "GP-UCB":
        points = ((np.arange(729) + 0.5) / 729)[:, None]
        model = OnlineGaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).track(points)
        for t in range(N):
            mean, std = model.predict_tracked(return_std=True)
            best = int(np.argmax(mean + 2.0 * std))
            values[t] = f(points[best])[0]
            model.partial_fit(points[[best]], [values[t] + noise[t]])
        return cumulative_regret(optimum, values)
    theory = algorithm.endswith("theory")
    V = [variation(example, h) for h in range(8)]
    optimizer = GPTreeOptimizer(
        kernel,
        bounds=[(0.0, 1.0)],
        alpha=alpha,
        budget=N,
        n_children=3,
        diameter="theory" if theory else V.__getitem__,
        beta="theory" if theory else 4.0,
        max_depth=6,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefinementWarning)
        for t in range(N):
            cell = optimizer.ask()
            values[t] = f(cell.points[:, 0])[0]
            optimizer.tell(cell, values[t] + noise[t])
    return cumulative_regret(optimum, values)


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    options = argument_parser("gp_tree_toy", __doc__, 20).parse_args(arguments)

    start = time.perf_counter()
    cases = [(example, algorithm) for example in (1, 2) for algorithm in ALGORITHMS]
    results = replicate(one_run, cases, spawn_seeds(options.seed, options.runs), options.n_jobs)
    curves, rows = dict(zip(cases, results, strict=True)), []
    print(f"Cumulative regret, mean (standard error) over {options.runs} runs\n")
    for example in (1, 2):
        table = []
        for algorithm in ALGORITHMS:
            mean, error = mean_and_error(curves[example, algorithm])
            cells = [f"{mean[t - 1]:.2f} ({error[t - 1]:.2f})" for t in REPORTED]
            table.append((algorithm, cells))
            rows += [[example, algorithm, t + 1, mean[t], error[t]] for t in range(N)]
        print(format_table(f"Example {example}", [f"t = {t}" for t in REPORTED], table), "\n")
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "gp_tree_toy.csv"
    write_csv(path, ["example", "algorithm", "t", "mean", "standard_error"], rows)
    print(f"Written: {path}")
    plt = import_pyplot()
    if plt is not None:
        figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
        x = np.linspace(0.0, 1.0, 6001)
        for (top, bottom), example in zip(axes.T, (1, 2), strict=True):
            X = np.random.default_rng(options.seed + 3).normal(size=N_SCALES[example])
            top.plot(x, features(example, x) @ X, color="0.2")
            top.set(title=f"Example {example}: one draw", xlabel="x", ylabel="f(x)", xlim=(0, 1))
            for algorithm in ALGORITHMS:
                mean, error = mean_and_error(curves[example, algorithm])
                t = np.arange(1, N + 1)
                bottom.plot(t, mean, label=algorithm)
                bottom.fill_between(t, mean - error, mean + error, alpha=0.15, lw=0)
            bottom.set(xlabel="evaluations t", ylabel="cumulative regret", xlim=(1, N))
        axes[1, 0].legend(frameon=False)
        figure.savefig(path.with_suffix(".png"), dpi=120)
        plt.close(figure)
        print(f"Written: {path.with_suffix('.png')}")
    print(f"{len(cases) * options.runs} runs in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
