"""Figure 1 of the adaptive discretization paper: two constructed processes and the regret on them.

``python -m benchmarks.papers.gp_tree_toy [--runs 20] [--seed 0] [--n-jobs 1] [--output DIR]``

Both processes on [0, 1] are sums of independent Gaussians times fixed bumps (equations 1.6 and
1.7), with the amplitudes a_i of Appendix A for delta = 0.1, cut after 12 and 7 scales. The paper
argues that their information gain grows linearly, which makes information-type bounds on the regret
vacuous, while the maximum is easy to find: a regret of O(1) on the first and of O(log n) on the
second. Printed is the mean cumulative regret (equation 1.2) after t = 10, 25, 50 and 100
evaluations, of

- "GPTree": Algorithm 1 with K = 3 and the exact kernel of the process, beta = 4, and V_h twice the
  largest standard deviation of f(x) - f(centre) within cells of depth h,
- "GPTree, theory": the same with the theory's beta_n and V_h,
- "GP-UCB": mean + 2 std over 729 grid points,
- "the paper's": the strategy in Appendix A, taken literally: one look at the middle of a cell for
  each scale, then the outer third on the side that the sign of the answer tells.

Below stands what the paper sets against it: the maximum information gain gamma_n (equation 1.5), in
nats, and the information-type bound sqrt(n gamma_n log n) of equation 1.4 with a constant of 1.
gamma_n is computed for the whole process with n scales, since the scales cut off are what makes it
large: evaluations are chosen greedily among one point for each scale. On the first example, whose
scales are independent and each largest there, that is gamma_n; on the second it is a lower bound.
Appendix A.2 assumes noise below a_n there, hence the row with a noise of a_100. "as played" is the
gain of the process that is cut and of the noise that the algorithms meet.

References
----------
S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive discretization", Electronic
Journal of Statistics 12, 2018, section 1.3 and Appendix A.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Kernel

from benchmarks._common import (
    argument_parser,
    draw_curve,
    estimates,
    format_table,
    import_pyplot,
    mean_and_error,
    replicate,
    save,
    spawn_seeds,
    write_csv,
)
from skgpb.exceptions import RefinementWarning
from skgpb.optimizers import GPTreeOptimizer
from skgpb.problems.metrics import cumulative_regret
from skgpb.surrogate import OnlineGaussianProcessRegressor

N = 100
REPORTED = (10, 25, 50, 100)
DELTA = 0.1
#: Scales kept of each process: what is left out is below rounding or noise.
N_SCALES = {1: 12, 2: 7}
#: Standard deviation of the noise; Appendix A.2 needs a_n / sqrt(2) for the second.
NOISE = {1: 0.1, 2: 0.01}
#: Colour, line style and width of each algorithm; on the first example all curves coincide.
STYLES = {
    "GPTree": ("#0b5394", "-", 5.0),
    "GPTree, theory": ("#6fa8dc", "-", 3.0),
    "GP-UCB": ("#d1600a", "--", 2.0),
    "the paper's": ("#2a9d56", ":", 2.0),
}
ALGORITHMS = list(STYLES)


def bump(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """phi: a parabola of height 1 on [0, 1], zero elsewhere."""
    return np.where((x >= 0) & (x <= 1), 1.0 - 4.0 * (x - 0.5) ** 2, 0.0)


def amplitudes(example: int, n_scales: int) -> NDArray[np.float64]:
    """Return a_1, ..., a_n of Appendix A."""
    i = np.arange(1, n_scales + 1)
    if example == 2:
        return 1.0 / (i**2 * np.sqrt(2.0 * np.log(np.pi**2 * i**2 / (3.0 * DELTA))))
    a = 1.0 / (2.0 * np.sqrt(2.0 * np.log(np.pi**2 * i**2 / (6.0 * DELTA))))
    a[0] = 1.0 / norm.ppf((1.0 + DELTA) / 2.0)
    return a


def features(
    example: int, x: NDArray[np.float64], n_scales: int | None = None
) -> NDArray[np.float64]:
    """Return a_i times the bumps of scale i, (n, n_scales): f = features @ X, X standard normal."""
    a = amplitudes(example, n_scales or N_SCALES[example])
    if example == 1:
        y = x[:, None] * 3.0 ** np.arange(1, len(a) + 1)
        return a * (bump(y - 1.0) - bump(y - 2.0))
    columns, where, inside = [], x.copy(), np.ones(len(x), dtype=bool)
    for scale in a:
        # phi_1 on the present cell, then the first and the last third are cells of the next scale.
        y = 3.0 * where
        columns.append(scale * inside * (bump(y) + bump(y - 1.0) - bump(y - 2.0)))
        inside &= (where <= 1.0 / 3.0) | (where >= 2.0 / 3.0)
        where = np.where(where >= 2.0 / 3.0, y - 2.0, y)
    return np.column_stack(columns)


def information_gains(example: int, n_scales: int, noise: float) -> NDArray[np.float64]:
    """Information gain of 1, ..., N evaluations at the points where one scale each is largest."""
    i = np.arange(1, n_scales + 1)
    # Next to 0, where numbers are dense enough for any scale.
    F = features(example, 1.5 * 3.0**-i, n_scales) / noise
    gains, precision = np.empty(N), np.eye(n_scales)
    for t in range(N):
        information = 0.5 * np.log1p(np.einsum("ij,ji->i", F, np.linalg.solve(precision, F.T)))
        best = int(np.argmax(information))
        precision += np.outer(F[best], F[best])
        gains[t] = information[best]
    return np.cumsum(gains)


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
        horizon=N,
        n_children=3,
        variation="theory" if theory else V.__getitem__,
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
    parser = argument_parser("papers.gp_tree_toy", __doc__, 20, n_jobs=True)
    options = parser.parse_args(arguments)

    start = time.perf_counter()
    cases = [(example, algorithm) for example in (1, 2) for algorithm in ALGORITHMS]
    results = replicate(one_run, cases, spawn_seeds(options.seed, options.runs), options.n_jobs)
    curves, rows = dict(zip(cases, results, strict=True)), []
    gains = {
        1: {
            "gamma_n": information_gains(1, N, NOISE[1]),
            "gamma_n, as played": information_gains(1, N_SCALES[1], NOISE[1]),
        },
        2: {
            "gamma_n": information_gains(2, N, NOISE[2]),
            "gamma_n, noise a_100": information_gains(2, N, amplitudes(2, N)[-1]),
            "gamma_n, as played": information_gains(2, N_SCALES[2], NOISE[2]),
        },
    }
    t = np.arange(1, N + 1)
    print(
        f"Cumulative regret, mean (standard error) over {options.runs} runs, seed {options.seed}\n"
    )
    for example in (1, 2):
        table = []
        for algorithm in ALGORITHMS:
            runs = curves[example, algorithm]
            table.append((algorithm, estimates(runs, REPORTED, 2)))
            mean, error = mean_and_error(runs)
            rows += [[example, algorithm, *each] for each in zip(t, mean, error, strict=True)]
        for name, gain in gains[example].items():
            table.append((name, [f"{gain[n - 1]:.1f}" for n in REPORTED]))
            rows += [[example, name, n, gain[n - 1], np.nan] for n in t]
        bound = np.sqrt(t * gains[example]["gamma_n"] * np.log(t))
        table.append(("sqrt(n gamma_n log n)", [f"{bound[n - 1]:.1f}" for n in REPORTED]))
        header = [f"t = {n}" for n in REPORTED]
        print(format_table(f"Example {example}", header, table), end="\n\n")
    path = options.output / "gp_tree_toy.csv"
    write_csv(path, ["example", "quantity", "t", "mean", "standard_error"], rows)
    print(f"Written: {path}")
    save_figure(path.with_suffix(".png"), curves, gains, options.seed)
    print(f"{len(cases) * options.runs} runs in {time.perf_counter() - start:.1f} s")


def save_figure(path: Path, curves: dict, gains: dict, seed: int) -> None:
    """Draw one function, the regrets and the gains of each example, where there is matplotlib."""
    plt = import_pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(3, 2, figsize=(12, 11), layout="constrained")
    x, t = np.linspace(0.0, 1.0, 6001), np.arange(1, N + 1)
    for (top, middle, bottom), example in zip(axes.T, (1, 2), strict=True):
        X = np.random.default_rng(seed + 3).normal(size=N_SCALES[example])
        top.plot(x, features(example, x) @ X, color="0.2")
        top.set(title=f"Example {example}: one draw", xlabel="x", ylabel="f(x)", xlim=(0, 1))
        for algorithm, (color, style, width) in STYLES.items():
            line = {"color": color, "ls": style, "lw": width, "label": algorithm}
            runs = curves[example, algorithm]
            if example == 2 or algorithm == ALGORITHMS[0]:
                draw_curve(middle, t, runs, **line)
            else:  # the same band as the draws
                middle.plot(t, runs.mean(axis=0), **line)
        middle.set(xlabel="evaluations t", ylabel="cumulative regret", xlim=(1, N))
        if example == 1:
            middle.set_ylim(bottom=0)
        else:  # some methods lose many times what others lose
            middle.set_yscale("log")
        colors = ("#0b5394", "#d1600a", "#2a9d56")
        for (name, gain), color in zip(gains[example].items(), colors, strict=False):
            style = "--" if name.endswith("played") else "-"
            bottom.plot(t, gain, style, color=color, label=name)
        bottom.set(xlabel="evaluations n", ylabel="information gain in nats", xlim=(1, N))
        if example == 1:
            bottom.set_ylim(bottom=0)
        else:
            bottom.set_yscale("log")
        bottom.legend(frameon=False)
        for axis in (middle, bottom):
            axis.grid(alpha=0.3)
    figure.legend(
        *axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    save(plt, figure, path)


if __name__ == "__main__":
    main()
