"""Regret when neither scale, noise nor length scales are known.

``python -m benchmarks.nothing_known [--runs 20] [--seed 0] [--budget 100] [--peers]
[--output DIR]``

plays Branin and Hartmann-6 with noise of 10 % of their range and prints, with standard errors over
runs, the mean regret of all evaluations and the regret of each method's own recommendation, and
the CPU time of a round. Ours is told the bounds and nothing else; the loop around scikit-learn's
GaussianProcessRegressor is told the noise and a fitting length scale. ``--peers`` adds what is
installed of BoTorch, Optuna, scikit-optimize, bayesian-optimization and PyXAB, which are told the
noise where they have a parameter for it. All see the same noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    write_csv,
)
from benchmarks.peers.measure import point_regret
from benchmarks.peers.methods import PEERS, Method, Skgpb, available, quiet, single_threaded
from benchmarks.peers.problems import point_problems
from skgpb import EIOptimizer, GPUCBOptimizer

LENGTH_SCALE, N_CANDIDATES, SQRT_BETA = 0.3, 1000, 2.0


class NothingKnown(Skgpb):
    """Return the search that the user guide recommends when nothing is known."""

    label = "skgpb GP-UCB"

    def begin(self) -> None:
        """Pass the bounds, and nothing else that has to do with the problem."""
        self.opt: Any = GPUCBOptimizer(bounds=[(0.0, 1.0)] * self.d, random_state=self.seed)


class NothingKnownEI(NothingKnown):
    """Expected improvement over the same model."""

    label = "skgpb EI"

    def begin(self) -> None:
        """Pass the bounds, and nothing else that has to do with the problem."""
        self.opt = EIOptimizer(bounds=[(0.0, 1.0)] * self.d, random_state=self.seed)


class ScikitLearnLoop(Method):
    """Refit a regressor that is told the truth, and take the best bound of 1,000 candidates."""

    label, package = "scikit-learn loop, told", "scikit-learn"

    def model(self) -> GaussianProcessRegressor:
        """Return the regressor for all observations, in units of their spread."""
        y = np.array(self.y)
        self.center, self.scale = float(y.mean()), max(float(y.std()), self.noise)
        model = GaussianProcessRegressor(
            RBF(LENGTH_SCALE), alpha=(self.noise / self.scale) ** 2, optimizer=None
        )
        return model.fit(np.array(self.X), (y - self.center) / self.scale)

    def ask(self) -> np.ndarray:
        """Return the candidate of the largest upper confidence bound."""
        candidates = self.rng.random((N_CANDIDATES, self.d))
        if not self.X:
            return candidates[0]
        mean, std = self.model().predict(candidates, return_std=True)
        return candidates[int(np.argmax(mean + SQRT_BETA * std))]

    def recommend(self) -> np.ndarray:
        """Return the observed point of the highest posterior mean."""
        return self.X[int(np.argmax(self.model().predict(np.array(self.X))))]


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and write every single run."""
    parser = argument_parser("nothing_known", __doc__, 20, budget=100)
    parser.add_argument("--peers", action="store_true", help="the installed ones too")
    options = parser.parse_args(arguments)
    path = options.output / "nothing_known.csv"
    quiet()
    single_threaded()
    methods: list[type[Method]] = [NothingKnown, NothingKnownEI, ScikitLearnLoop]
    if options.peers:
        present, missing = available(PEERS)
        methods += present
        if missing:
            print(f"not installed, skipped: {', '.join(missing)}")
    every = []
    for problem in point_problems():
        table = []
        for method in methods:
            rows = [
                row
                for seed in range(options.seed, options.seed + options.runs)
                for row in point_regret(method, problem, options.budget, [options.budget], seed)
            ]
            every += [(problem.name, method.label, *row.values()) for row in rows]
            runs = np.array([[row["per_round"], row["recommended"]] for row in rows])
            cells = [estimate(*each, 2) for each in zip(*mean_and_error(runs), strict=True)]
            ms = 1e3 * float(np.mean([row["seconds"] for row in rows]))
            table.append((method.label, [*cells, f"{ms:.2f}"]))
            write_csv(path, ("problem", "method", *rows[0]), every)
        title = (
            f"{problem.name}, {options.budget} evaluations, noise of 10 % of the range: regret, "
            f"mean (standard error) over {options.runs} runs, seed {options.seed}"
        )
        header = ["per round", "recommended", "ms a round"]
        print(format_table(title, header, table), end="\n\n", flush=True)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
