"""Reproduce Figure 1 of the IQBO paper: simple and instant regret on an indirect Branin.

``python -m benchmarks.papers.iqbo_fig1 [--runs 10] [--seed 0] [--rounds 100] [--variants]
[--methods CMES EI ...] [--n-jobs 1] [--output DIR]``

prints, for the linear (LT) and the nonlinear (NLT) transformation, the mean simple regret
(Definition 1: the best x recommended so far) and the mean instant regret (Definition 2: the best
query so far) with standard errors, and writes ``iqbo_fig1.csv`` and ``iqbo_fig1.png``.

Settings of the paper: tau^2 = 0.5, a 50 x 50 grid of queries. Not stated: 500 pairs, noise
standard deviation 0.5, three random queries to begin with, the same for all methods; length scales
and amplitudes by marginal likelihood for every method, answers standardised.

- "CMES" is the default but for its first queries, which are the three of all. p(x | a) is learned
  as a map plus clipped scatter where the pairs allow it, whose error is not counted as noise.
- "CMES, published" is eq. 7 with the conditional mean operator of eq. 5 and no noise of its own.
- EI, PI, UCB and MES choose queries by a Gaussian process on g and recommend by the posterior of f
  under eq. 5, as the paper describes them.
- "KG" and "IDS" are other rules on the model of the default CMES, the knowledge gradient and
  information-directed sampling. The paper does not have them.
- "..., default model" are the same queries, with the recommendation under the model of the default
  CMES. The paper does not have these rows; they say which part of a difference is the query.

``--variants`` plays CMES alone, from the published settings to the default one change at a time and
with other changes to the default, and writes ``iqbo_fig1_variants.csv``.

References
----------
M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian Optimization
with Integrated Feedback", 2025, section 7.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

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
from benchmarks.papers._branin import IndirectBranin
from skgpb.kernels.learned_window import learned_conditional
from skgpb.optimizers.cmes import CMESOptimizer
from skgpb.optimizers.indirect_baselines import (
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
from skgpb.optimizers.own_rule import IndirectTargetsOptimizer

N_PAIRS = 500
N_INITIAL = 3
TRANSFORMATIONS = {"LT": "linear", "NLT": "cosine"}
METHODS = {
    "CMES": CMESOptimizer,
    "CMES, published": CMESOptimizer,
    "EI": IndirectEIOptimizer,
    "PI": IndirectPIOptimizer,
    "UCB": IndirectUCBOptimizer,
    "MES": IndirectMESOptimizer,
    "KG": IndirectTargetsOptimizer,
    "IDS": IndirectTargetsOptimizer,
}
RULES = {"KG": "kg", "IDS": "ids"}
BASELINES = ("EI", "PI", "UCB", "MES")
# Rows of --variants: which model, and further parameters of CMESOptimizer.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "published: eq. 5, eq. 7": ("published", {}),
    "eq. 5 with its error as noise": ("published", {"model_noise": "auto"}),
    "default: learned window": ("default", {}),
    "default, f* on a 15 x 15 grid": ("default", {"n_points": 225}),
    "default, f* from a Gumbel law": ("default", {"max_values": "gumbel"}),
    "default, Appendix A": ("default", {"information": "noisy"}),
    "default, joint information": ("default", {"information": "joint"}),
}
REPORTED = (5, 10, 20, 30, 50, 70, 100)
GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 50)] * 2, indexing="ij"), -1).reshape(-1, 2)


def build(method: str, problem: IndirectBranin, models: dict[str, Any], seed: int) -> Any:
    """Return the optimizer of a row."""
    cls, settings = METHODS.get(method, CMESOptimizer), {}
    if method in VARIANTS:
        model, settings = VARIANTS[method]
    else:
        model = "default" if method == "CMES" or method in RULES else "published"
    if method in RULES:
        settings = {"rule": RULES[method], "n_points": 400}
    settings = {"model_noise": 0.0, **settings}
    return cls(
        conditional=models[model],
        bounds=problem.bounds,
        queries=GRID,
        alpha=problem.noise_std**2,
        n_initial=0,
        random_state=seed % 2**31,
        **settings,
    )


def regrets(
    label: str, seed: int, rounds: int, methods: tuple[str, ...]
) -> dict[str, NDArray[np.float64]]:
    """Return, for one replication, {row: (2, rounds)}: simple and instant regret."""
    problem = IndirectBranin(TRANSFORMATIONS[label])
    start, noise_seed = np.random.SeedSequence(seed).spawn(2)
    rng = np.random.default_rng(start)
    X, A = problem.pairs(N_PAIRS, rng)
    first = GRID[rng.integers(len(GRID), size=N_INITIAL)]
    models = {
        "published": learned_conditional(X, A, "embedding", None),
        "default": learned_conditional(X, A, "auto", None),
    }
    curves = {}
    for method in methods:
        noise = np.random.default_rng(noise_seed)
        optimizer = build(method, problem, models, seed)
        players = {method: optimizer}
        if method in BASELINES:
            players[f"{method}, default model"] = build("CMES", problem, models, seed)
        found: dict[str, list[float]] = {name: [] for name in players}
        for t in range(rounds):
            a = first[t] if t < N_INITIAL else optimizer.ask().a
            z = problem.observe(a, noise)
            for name, player in players.items():
                player.tell(a, z)
                found[name].append(float(problem.f(player.recommend()[np.newaxis])[0]))
        g = problem.g(optimizer.history_["a"])
        for name, values in found.items():
            best = np.maximum.accumulate([values, g], axis=1)
            curves[name] = problem.optimum - best
    return curves


def one_run(
    label: str, rounds: int, methods: tuple[str, ...], seed: int
) -> dict[str, NDArray[np.float64]]:
    """Run a replication on one thread."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jitter and early stops of the likelihood
        return regrets(label, seed, rounds, methods)


def print_tables(results: dict[str, dict[str, NDArray[np.float64]]], rounds: int) -> None:
    """Print mean (standard error) of both regrets, per transformation."""
    reported = [t for t in REPORTED if t <= rounds]
    header = [f"t = {t}" for t in reported]
    for label, curves in results.items():
        for which, title in enumerate(("simple regret", "instant regret")):
            rows = []
            for name, runs in curves.items():
                if which and name.endswith("default model"):
                    continue
                rows.append((name, estimates(runs[:, which], reported)))
            print(format_table(f"{label}, {title}", header, rows), end="\n\n")


def print_verdict(results: dict[str, dict[str, NDArray[np.float64]]], rounds: int) -> None:
    """Compare the default with the best baseline at t = 20, 50, 100."""
    for title, suffix in (
        ("the best baseline, recommending by eq. 5", ""),
        ("the best baseline, recommending by CMES's model", ", default model"),
    ):
        print(f"Simple regret of the default CMES against {title}:")
        for label, curves in results.items():
            for t in (20, 50, 100):
                if t > rounds:
                    continue
                rivals = {n: curves[n + suffix][:, 0, t - 1] for n in BASELINES}
                best = min(rivals, key=lambda name: rivals[name].mean())
                ours = curves["CMES"][:, 0, t - 1]
                gap = ours - rivals[best]
                print(
                    f"  {label:3s} t = {t:3d}: {ours.mean():.3f} against "
                    f"{rivals[best].mean():.3f} ({best}), paired difference "
                    f"{estimate(*mean_and_error(gap))}"
                )
        print()


def save_csv(path: Path, results: dict[str, dict[str, NDArray[np.float64]]]) -> None:
    """Write mean, standard error and median of every round."""
    rows = []
    for label, curves in results.items():
        for name, runs in curves.items():
            for which, kind in enumerate(("simple", "instant")):
                mean, error = mean_and_error(runs[:, which])
                middle = np.median(runs[:, which], axis=0)
                rows += [
                    [label, name, kind, t + 1, len(runs), mean[t], error[t], middle[t]]
                    for t in range(runs.shape[2])
                ]
    header = ["transformation", "method", "regret", "t", "n_runs", "mean", "standard_error"]
    write_csv(path, [*header, "median"], rows)


COLORS = {
    "CMES": "#0b5394",
    "CMES, published": "#6fa8dc",
    "EI": "#d1600a",
    "PI": "#8e44ad",
    "UCB": "#2a9d56",
    "MES": "#7f7f7f",
    "KG": "#c0392b",
    "IDS": "#17becf",
}


def save_figure(path: Path, results: dict[str, dict[str, NDArray[np.float64]]]) -> None:
    """Draw simple (left) and instant (right) regrets, where there is matplotlib."""
    plt = import_pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), sharex=True, layout="constrained")
    for row, (label, curves) in zip(axes, results.items(), strict=False):
        for name, color in COLORS.items():
            for which, ax in enumerate(row):
                runs = curves[name][:, which]
                draw_curve(ax, np.arange(1, runs.shape[1] + 1), runs, color=color, label=name)
        for ax, kind in zip(row, ("simple regret", "instant regret"), strict=True):
            ax.set(title=f"{label}, {kind}", yscale="log", ylabel=kind)
            ax.grid(alpha=0.3)
    for ax in axes[-1]:
        ax.set_xlabel("round t")
    axes[0, 0].legend(frameon=False)
    save(plt, figure, path)


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    parser = argument_parser("papers.iqbo_fig1", __doc__, 10, n_jobs=True, rounds=100)
    parser.add_argument("--variants", action="store_true", help="compare variants of CMES")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="these rows alone")
    options = parser.parse_args(arguments)
    if options.rounds <= N_INITIAL:
        parser.error(f"rounds must be more than {N_INITIAL}")

    start = time.perf_counter()
    seeds = spawn_seeds(options.seed, options.runs)
    labels = list(TRANSFORMATIONS)
    methods = tuple(options.methods or (VARIANTS if options.variants else METHODS))
    whole = methods == tuple(METHODS)
    cases = [(label, options.rounds, methods) for label in labels]
    runs = replicate(one_run, cases, seeds, options.n_jobs)
    results = {
        label: {name: np.array([run[name] for run in each]) for name in each[0]}
        for label, each in zip(labels, runs, strict=True)
    }
    print(f"Regret, mean (standard error) over {options.runs} runs, seed {options.seed}\n")
    print_tables(results, options.rounds)
    if whole:
        print_verdict(results, options.rounds)
    name = "iqbo_fig1_variants" if options.variants else "iqbo_fig1"
    table, picture = options.output / f"{name}.csv", options.output / f"{name}.png"
    save_csv(table, results)
    print(f"Written: {table}")
    if whole:
        save_figure(picture, results)
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
