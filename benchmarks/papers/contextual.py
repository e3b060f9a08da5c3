"""Contextual regret of Algorithm 3 of the adaptive discretization paper, section 5.2.

``python -m benchmarks.papers.contextual [--runs 10] [--seed 0] [--contexts 300] [--n-jobs 1]
[--methods KG IDS ...] [--output DIR]``

The paper has no experiment on contexts; this is ours. In each run f is a draw from a Gaussian
process over contexts and actions (RBF, length scale 0.5 of the side for contexts and 0.3 for
actions), on 1 + 1 or 2 + 2 dimensions, all sides [0, 1]. Contexts arrive uniformly at random, the
noise has standard deviation 0.1, and all algorithms of a run meet the same function, contexts and
noise. Printed are the mean cumulative contextual regret (equation 5.7) after t = 50, 100, ...,
300 contexts, its standard error, and the exponent p of a fit R_t = c t^p over t = 50..300, which is
1 for an algorithm that does not learn.

- "GPTree" is Algorithm 3 with the defaults, variation="kernel", h_max of equation 3.4 and the
  theory's beta_n; with beta = 4; and with beta = 4 and V_h = g_h, one prior standard deviation of
  f(x) - f(centre) within cells of depth h, which is no high-probability bound.
- "GP-UCB" is CGP-UCB of Krause and Ong: ``GPUCBOptimizer`` with ``context_bounds``, over a grid of
  actions, 100 in one dimension and 20 x 20 in two, with the theory's beta_t, and with beta = 4.
- The other rules are asked in contexts in the same way, over the same actions, with the defaults.
- "KG" and "IDS" are asked in contexts as well, with the actions as queries and as targets. Both
  count what an answer changes or tells of the decision and not what it earns.
- "no context" is GP-UCB with beta = 4 that sees rewards of actions and takes what contexts do for
  noise.

References
----------
S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive discretization", Electronic
Journal of Statistics 12, 2018. A. Krause and C. S. Ong, "Contextual Gaussian process bandit
optimization", NIPS 2011.
"""

from __future__ import annotations

import time
import warnings
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

from benchmarks._common import (
    argument_parser,
    draw_curve,
    estimate,
    estimates,
    format_table,
    import_pyplot,
    mean_and_error,
    replicate,
    save,
    spawn_seeds,
    write_csv,
)
from skgpb.domains.partition import sample_cells
from skgpb.exceptions import RefinementWarning
from skgpb.guarantee import Guarantee
from skgpb.optimizers import (
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IDSOptimizer,
    IGPUCBOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    URGPUCBOptimizer,
)
from skgpb.optimizers._trees import cell_deviations
from skgpb.problems.metrics import contextual_regret

REPORTED = (50, 100, 150, 200, 250, 300)
#: The exponent is fitted from here on.
FITTED_FROM = 50
NOISE = 0.1
FAILURE_PROBABILITY = 0.1
#: Number of contexts and of actions, and grid points per axis of the actions.
PROBLEMS = {"1 + 1": (1, 100), "2 + 2": (2, 20)}
RULES = {
    "GP-UCB, theory": (GPUCBOptimizer, {}),
    "GP-UCB, beta = 4": (GPUCBOptimizer, {"beta": 4.0}),
    "IGP-UCB": (IGPUCBOptimizer, {}),
    "GP-TS": (GPTSOptimizer, {}),
    "URGP-UCB": (URGPUCBOptimizer, {}),
    "DAGP-UCB": (DAGPUCBOptimizer, {}),
    "EI": (EIOptimizer, {}),
    "PI": (PIOptimizer, {}),
    "EST": (ESTOptimizer, {}),
    "MES": (MESOptimizer, {}),
}
#: Rules over queries and targets, here the actions.
OVER_TARGETS = {"KG": (KGOptimizer, {}), "IDS": (IDSOptimizer, {})}
TREES = ["GPTree, theory", "GPTree, beta = 4", "GPTree, V = g, beta = 4"]
ALGORITHMS = [*TREES, *RULES, *OVER_TARGETS, "no context"]


class Draw:
    """A function over [context, action] from a Gaussian process, by random Fourier features."""

    def __init__(self, d: int, rng: np.random.Generator, n_features: int = 500) -> None:
        self.length_scale = np.array([0.5] * d + [0.3] * d)
        self._frequencies = rng.normal(size=(2 * d, n_features)) / self.length_scale[:, None]
        self._phases = rng.uniform(0, 2 * np.pi, n_features)
        self._weights = rng.normal(size=n_features) * np.sqrt(2.0 / n_features)

    def __call__(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return f at rows [context, action], shape (n,)."""
        return np.cos(X @ self._frequencies + self._phases) @ self._weights


def grid_of(d: int, per_axis: int) -> NDArray[np.float64]:
    axis = np.linspace(0.0, 1.0, per_axis)
    return np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)


def beside(context: NDArray[np.float64], actions: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([np.tile(context, (len(actions), 1)), actions])


def drawn(d: int, T: int, seed: int) -> tuple[Draw, NDArray[np.float64], NDArray[np.float64]]:
    """Return the function of a run, its contexts and the noise."""
    rng = np.random.default_rng(seed)
    return Draw(d, rng), rng.uniform(size=(T, d)), NOISE * rng.normal(size=T)


@cache
def best_values(problem: str, T: int, seed: int) -> NDArray[np.float64]:
    """Return the value of the best action in each context of a run, over a fine grid."""
    d, _ = PROBLEMS[problem]
    f, contexts, _ = drawn(d, T, seed)
    fine = grid_of(d, 1001 if d == 1 else 61)
    return np.array([f(beside(context, fine)).max() for context in contexts])


def one_run(problem: str, algorithm: str, T: int, seed: int) -> NDArray[np.float64]:
    """Return the cumulative contextual regret after each of T contexts, and the seconds spent."""
    d, per_axis = PROBLEMS[problem]
    f, contexts, noise = drawn(d, T, seed)
    kernel, box = RBF(f.length_scale), [(0.0, 1.0)] * d
    values, spent = np.empty(T), 0.0
    actions = grid_of(d, per_axis)
    if algorithm.startswith("GPTree"):
        both = np.array(box * 2)
        g = cell_deviations(kernel, lambda h: sample_cells(both, 2, h, everywhere=False), 64)
        player = ContextualGPTreeOptimizer(
            kernel,
            context_bounds=box,
            bounds=box,
            alpha=NOISE**2,
            horizon=T,
            guarantee=Guarantee(failure_probability=FAILURE_PROBABILITY),
            beta="theory" if algorithm.endswith("theory") else 4.0,
            variation=g.__getitem__ if "V = g" in algorithm else "kernel",
        )
    elif algorithm != "no context":
        cls, parameters = (RULES | OVER_TARGETS)[algorithm]
        player = cls(
            kernel,
            **{"arms" if algorithm in RULES else "queries": actions},
            context_bounds=box,
            alpha=NOISE**2,
            random_state=seed,
            **parameters,
        )
    else:
        # Contexts vary f by about its own variance.
        player = GPUCBOptimizer(RBF(f.length_scale[d:]), arms=actions, alpha=1.0, beta=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefinementWarning)
        for t, context in enumerate(contexts):
            start = time.process_time()
            known = algorithm != "no context"
            query = player.ask(context=context) if known else player.ask()
            point = query.points if known else beside(context, query.points)
            spent += time.process_time() - start
            values[t] = f(point)[0]
            reward = values[t] + noise[t]
            start = time.process_time()
            player.tell(query, reward)
            spent += time.process_time() - start
    optima = np.maximum(best_values(problem, T, seed), values)
    return np.append(contextual_regret(optima, values), spent)


def exponent(curve: NDArray[np.float64]) -> float:
    """Slope of log regret against log t, NaN where the run is too short for one."""
    t = np.arange(FITTED_FROM, len(curve) + 1)
    if len(t) < 2:
        return np.nan
    return float(np.polyfit(np.log(t), np.log(curve[t - 1]), 1)[0])


def main(arguments: list[str] | None = None) -> None:
    """Run the comparison from the command line."""
    parser = argument_parser("papers.contextual", __doc__, 10, n_jobs=True, contexts=300)
    parser.add_argument("--methods", nargs="+", choices=ALGORITHMS, help="these rows alone")
    options = parser.parse_args(arguments)
    T, algorithms = options.contexts, options.methods or ALGORITHMS
    reported = [t for t in REPORTED if t <= T] or [T]

    start = time.perf_counter()
    cases = [(problem, algorithm) for problem in PROBLEMS for algorithm in algorithms]
    arguments = [(*case, T) for case in cases]
    results = replicate(one_run, arguments, spawn_seeds(options.seed, options.runs), options.n_jobs)
    curves = {case: runs[:, :T] for case, runs in zip(cases, results, strict=True)}
    seconds = {case: runs[:, T].mean() for case, runs in zip(cases, results, strict=True)}
    rows = []
    for problem in PROBLEMS:
        table = []
        for algorithm in algorithms:
            mean, error = mean_and_error(curves[problem, algorithm])
            cells = estimates(curves[problem, algorithm], reported, 1)
            cells += [estimate(exponent(mean), np.nan, 2), f"{seconds[problem, algorithm]:.1f}"]
            table.append((algorithm, cells))
            rows += [[problem, algorithm, t + 1, mean[t], error[t]] for t in range(T)]
        header = [f"t = {t}" for t in reported] + ["exponent", "seconds"]
        title = (
            f"{problem} dimensions of contexts and actions: cumulative contextual regret, "
            f"mean (standard error) over {options.runs} runs, seed {options.seed}"
        )
        print(format_table(title, header, table), end="\n\n")
    path = options.output / "contextual.csv"
    write_csv(path, ["problem", "algorithm", "t", "mean", "standard_error"], rows)
    print(f"Written: {path}")
    plt = import_pyplot()
    if plt is not None:
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
        for ax, problem in zip(axes, PROBLEMS, strict=True):
            for algorithm in algorithms:
                runs = curves[problem, algorithm]
                draw_curve(ax, np.arange(1, T + 1), runs, label=algorithm)
            ax.set(title=f"{problem} dimensions", xlabel="contexts t", xlim=(1, T))
            ax.set(ylabel="cumulative contextual regret")
        axes[0].legend(frameon=False)
        save(plt, figure, path.with_suffix(".png"))
    print(f"{len(cases) * options.runs} runs in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
