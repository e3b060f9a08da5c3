"""Time and peak memory of rounds and of runs, and the regret that they end with."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import EIOptimizer, GPOOOptimizer, GPTreeOptimizer, OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage, CellIntegral
from skgpb.problems import gpoo_function

#: Makes every query new, or makes most of them repeat.
NEW, REPEATS = (50.0, 0.9), (4.0, 0.7)


def objective(points: np.ndarray) -> float:
    return float(np.sin(9 * points).mean())


def gpoo(d: int, representatives: int, variation: tuple) -> GPOOOptimizer:
    return GPOOOptimizer(
        RBF(0.1 * d**0.5),
        bounds=[(0, 1)] * d,
        alpha=0.01,
        n_representatives=representatives,
        variation=variation,
        max_depth=20,
        expansion="before",
    )


def play(optimizer: object, rounds: int, seed: int = 0) -> None:
    noise = 0.1 * np.random.default_rng(seed).normal(size=rounds)
    for t in range(rounds):
        query = optimizer.ask()
        optimizer.tell(query, objective(query.points) + noise[t])


class Rounds:
    """One hundred asks and tells of GPOO after t of them."""

    params = ([1, 2, 10], [1, 3], [100, 500, 1000], ["new", "repeats"])
    param_names = ("d", "representatives", "t", "queries")
    number = 1
    repeat = (2, 5, 5.0)

    def setup(self, d: int, representatives: int, t: int, queries: str) -> None:
        if representatives**d > 1000:
            raise NotImplementedError("more representatives than anybody asks for")
        self.optimizer = gpoo(d, representatives, NEW if queries == "new" else REPEATS)
        play(self.optimizer, t)

    def time_rounds(self, *parameters: object) -> None:
        play(self.optimizer, 100, seed=1)


class LongRun:
    """A run of 5,000 rounds, most of which repeat a query."""

    timeout = 120

    def time_run(self) -> None:
        play(gpoo(2, 5, REPEATS), 5000)

    def peakmem_run(self) -> None:
        play(gpoo(2, 5, REPEATS), 5000)


class Covariances:
    """Covariances of 300 with 300 cells."""

    params = (["average", "integral", "average, Matern"], [1, 2, 4])
    param_names = ("kernel", "d")

    def setup(self, kernel: str, d: int) -> None:
        rng = np.random.default_rng(0)
        lower = rng.random((300, d))
        self.boxes = np.hstack([lower, lower + 0.2 * rng.random((300, d))])
        self.kernel = {
            "average": CellAverage(RBF(0.3), 5),
            "integral": CellIntegral(RBF(0.3)),
            "average, Matern": CellAverage(Matern(0.3, nu=2.5), 2),
        }[kernel]

    def time_matrix(self, *parameters: object) -> None:
        self.kernel(self.boxes, self.boxes[:])

    def time_gradient(self, *parameters: object) -> None:
        self.kernel(self.boxes[:100], eval_gradient=True)


class Regression:
    """The online regressor: one more observation after a thousand, and predictions."""

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        X, self.grid = rng.random((1000, 3)), rng.random((2000, 3))
        self.x = rng.random((1, 3))
        regressor = OnlineGaussianProcessRegressor(RBF(0.5), alpha=0.01, optimizer=None)
        self.regressor = regressor.fit(X, X.sum(axis=1))

    def time_partial_fit(self) -> None:
        self.regressor.partial_fit(self.x, [1.0])

    def time_predict(self) -> None:
        self.regressor.predict(self.grid, return_std=True)


class Regret:
    """Mean regret after 60 noisy answers over 10 runs: to be tracked, not timed."""

    params = (["GPOO", "GPTree", "EI"], [1, 2])
    param_names = ("method", "function")
    unit = "regret"
    timeout = 300

    def _mean(self, method: str, function: int) -> tuple[float, float]:
        problem = gpoo_function(function)
        common = {"bounds": problem.bounds, "alpha": problem.noise_std**2}
        simple, per_round = [], []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            if method == "GPOO":
                opt = GPOOOptimizer(beta=4.0, **common)
            elif method == "GPTree":
                opt = GPTreeOptimizer(beta=4.0, n_children=3, **common)
            else:
                opt = EIOptimizer(random_state=seed, **common)
            values = []
            for _ in range(60):
                query = opt.ask()
                values.append(problem.average(query.points))
                opt.tell(query, values[-1] + problem.noise_std * rng.normal())
            best = opt.recommend() if method == "EI" else opt.recommend("posterior")
            simple.append(problem.optimum - problem.average(best.points))
            per_round.append(problem.optimum - np.mean(values))
        return float(np.mean(simple)), float(np.mean(per_round))

    def track_recommendation(self, method: str, function: int) -> float:
        return self._mean(method, function)[0]

    def track_per_round(self, method: str, function: int) -> float:
        return self._mean(method, function)[1]
