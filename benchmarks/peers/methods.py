"""One face for every optimizer: ask for a point of the unit cube, tell the value, recommend.

A method is made for d dimensions, a noise standard deviation and a seed. With a length scale it is
*fixed*: the kernel is a squared exponential of that length scale, hyperparameters are not learned
and the noise is known, where the package allows it. Without one it runs as its documentation shows,
noise variances being passed where there is a parameter for them.
"""

from __future__ import annotations

import importlib.metadata
import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPOOOptimizer, GPTreeOptimizer

#: Points that methods without a start-up of their own evaluate at random first.
N_START = 10
#: Answers that a method which asks for their number may expect; a share of them is its design.
N_TRIALS = 100


class Method:
    """Ask and tell over the unit cube."""

    #: Whether a history can be told at once, in ``fill``.
    fillable = True
    #: Distributions to install in addition to ``package``.
    needs: tuple[str, ...] = ()

    def __init__(self, d: int, noise: float, seed: int, length_scale: float | None = None) -> None:
        self.d = d
        self.noise = noise
        self.seed = seed
        self.length_scale = length_scale
        self.rng = np.random.default_rng(seed)
        self.X: list[np.ndarray] = []
        self.y: list[float] = []
        self.begin()

    def begin(self) -> None:
        """Set up the optimizer."""

    def ask(self) -> np.ndarray:
        """Return the next point (d,)."""
        raise NotImplementedError

    def tell(self, x: np.ndarray, y: float) -> None:
        """Report the value at the point that was asked."""
        self.X.append(x)
        self.y.append(y)

    def fill(self, X: np.ndarray, y: np.ndarray) -> None:
        """Tell a history at once, as cheaply as the package allows."""
        self.X, self.y = list(X), list(y)

    def recommend(self) -> np.ndarray:
        """Return the method's own recommendation: the best point observed, unless it has one."""
        return self.X[int(np.argmax(self.y))]


class Random(Method):
    """Uniform points."""

    label, package = "random points", "numpy"

    def ask(self) -> np.ndarray:
        return self.rng.random(self.d)


# ---- skgpb ----


class Skgpb(Method):
    """Base of the optimizers of skgpb."""

    package = "skgpb"
    fillable = False

    def kernel(self) -> Any:
        return None if self.length_scale is None else RBF(self.length_scale)

    def common(self) -> dict:
        return {
            "bounds": [(0.0, 1.0)] * self.d,
            "alpha": self.noise**2,
            "random_state": self.seed,
        }

    def ask(self) -> np.ndarray:
        self.query = self.opt.ask()
        return self.query.points[0]

    def tell(self, x: np.ndarray, y: float) -> None:
        self.opt.tell(self.query, y)

    def recommend(self) -> np.ndarray:
        return self.opt.recommend().points[0]


class SkgpbEI(Skgpb):
    """Expected improvement over candidates that follow the posterior."""

    label = "skgpb EI"

    def begin(self) -> None:
        self.opt = EIOptimizer(self.kernel(), **self.common())


class SkgpbGPTree(Skgpb):
    """Adaptive discretization, the variation computed from the kernel."""

    label = "skgpb GPTree"

    def begin(self) -> None:
        self.opt = GPTreeOptimizer(self.kernel(), beta=4.0, n_children=3, **self.common())

    def recommend(self) -> np.ndarray:
        return self.opt.recommend("posterior").center


class SkgpbGPOO(Skgpb):
    """GPOO at the centres of cells."""

    label = "skgpb GPOO, centres"

    def begin(self) -> None:
        self.opt = GPOOOptimizer(self.kernel(), feedback="center", beta=4.0, **self.common())

    def recommend(self) -> np.ndarray:
        return self.opt.recommend("posterior").center


class SkgpbGPOONew(Skgpb):
    """GPOO with a delta(h) so wide that every query is new, the most a round can cost."""

    label = "skgpb GPOO, new queries"
    variation = (50.0, 0.9)

    def begin(self) -> None:
        self.opt = GPOOOptimizer(
            self.kernel(),
            feedback="center",
            variation=self.variation,
            max_depth=20,
            expansion="before",
            **self.common(),
        )


class SkgpbGPOORepeating(SkgpbGPOONew):
    """GPOO with a delta(h) that makes it ask cells again, as noise does in practice."""

    label = "skgpb GPOO, repeats"
    variation = (4.0, 0.5)


class SkgpbAverages(Skgpb):
    """GPOO asking for averages over cells of any size."""

    label = "skgpb GPOO, averages"
    #: Representatives of a cell along every axis, set by the benchmark.
    per_axis = 1
    #: Number of times an axis may be halved, None for any number of times.
    finest: int | None = None

    def begin(self) -> None:
        # The leaves of the tree are one level below max_depth.
        depth = None if self.finest is None else self.finest * self.d - 1
        self.opt = GPOOOptimizer(
            n_representatives=self.per_axis,
            beta=4.0,
            max_depth=depth,
            **self.common(),
        )

    def recommended_cell(self) -> Any:
        """Return the recommended cell."""
        return self.opt.recommend("posterior")


class SkgpbCoarseAverages(SkgpbAverages):
    """GPOO asking for, and recommending, no smaller cells than the peers get."""

    label = "skgpb GPOO, no finer cells"


# ---- peers ----


class ScikitOptimize(Method):
    """``skopt.Optimizer``."""

    label, package = "scikit-optimize", "scikit-optimize"

    def begin(self) -> None:
        from skopt import Optimizer

        estimator = "GP"
        if self.length_scale is not None:
            from skopt.learning import GaussianProcessRegressor
            from skopt.learning.gaussian_process.kernels import RBF as SkoptRBF

            estimator = GaussianProcessRegressor(
                SkoptRBF(self.length_scale), alpha=self.noise**2, optimizer=None, normalize_y=False
            )
        # EI alone: the default hedges between three rules and takes three times as long.
        self.opt = Optimizer(
            [(0.0, 1.0)] * self.d,
            base_estimator=estimator,
            acq_func="EI",
            n_initial_points=N_START,
            random_state=self.seed,
        )

    def ask(self) -> np.ndarray:
        self.x = self.opt.ask()
        return np.array(self.x)

    def tell(self, x: np.ndarray, y: float) -> None:
        self.opt.tell(self.x, -y)

    def fill(self, X: np.ndarray, y: np.ndarray) -> None:
        self.opt.tell(X.tolist(), (-y).tolist())

    def recommend(self) -> np.ndarray:
        return np.array(self.opt.get_result().x)


class BoTorch(Method):
    """The loop of BoTorch's tutorials.

    Its acquisition is the upper confidence bound where hyperparameters are fixed, the log noisy
    expected improvement where they are learned. It recommends the observed point of the highest
    posterior mean.
    """

    label, package = "BoTorch", "botorch"

    def model(self) -> Any:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.kernels import RBFKernel
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(np.array(self.X), dtype=torch.float64)
        Y = torch.tensor(np.array(self.y), dtype=torch.float64)[:, None]
        noise = torch.full_like(Y, self.noise**2)
        if self.length_scale is None:
            model = SingleTaskGP(X, Y, noise, outcome_transform=Standardize(1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        else:
            kernel = RBFKernel()
            kernel.lengthscale = self.length_scale
            model = SingleTaskGP(X, Y, noise, covar_module=kernel, outcome_transform=None)
            model.eval()
        return model, X

    def ask(self) -> np.ndarray:
        import torch
        from botorch.acquisition import UpperConfidenceBound
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf

        if len(self.X) < N_START:
            return self.rng.random(self.d)
        torch.manual_seed(self.seed + len(self.X))
        model, X = self.model()
        if self.length_scale is None:
            acquisition = qLogNoisyExpectedImprovement(model, X, prune_baseline=True)
        else:
            acquisition = UpperConfidenceBound(model, beta=4.0)
        cube = torch.tensor([[0.0] * self.d, [1.0] * self.d], dtype=torch.float64)
        x, _ = optimize_acqf(acquisition, cube, q=1, num_restarts=4, raw_samples=64)
        return x[0].numpy()

    def recommend(self) -> np.ndarray:
        import torch

        if len(self.X) < N_START:
            return super().recommend()
        model, X = self.model()
        with torch.no_grad():
            return X[model.posterior(X).mean.argmax()].numpy()


class OptunaGP(Method):
    """Optuna's ``GPSampler``, whose hyperparameters are always learned."""

    label, package, needs = "Optuna GPSampler", "optuna", ("torch",)

    def sampler(self) -> Any:
        import optuna

        return optuna.samplers.GPSampler(
            seed=self.seed, n_startup_trials=N_START, deterministic_objective=False
        )

    def begin(self) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.space = {f"x{a}": optuna.distributions.FloatDistribution(0, 1) for a in range(self.d)}
        self.study = optuna.create_study(direction="maximize", sampler=self.sampler())

    def ask(self) -> np.ndarray:
        self.trial = self.study.ask(self.space)
        return np.array([self.trial.params[name] for name in self.space])

    def tell(self, x: np.ndarray, y: float) -> None:
        self.study.tell(self.trial, y)

    def fill(self, X: np.ndarray, y: np.ndarray) -> None:
        import optuna

        names = list(self.space)
        for x, value in zip(X.tolist(), y.tolist(), strict=True):
            params = dict(zip(names, x, strict=True))
            self.study.add_trial(
                optuna.trial.create_trial(params=params, distributions=self.space, value=value)
            )

    def recommend(self) -> np.ndarray:
        best = self.study.best_params
        return np.array([best[name] for name in self.space])


class OptunaTPE(OptunaGP):
    """Optuna's ``TPESampler``, its default."""

    label, package, needs = "Optuna TPESampler", "optuna", ()

    def sampler(self) -> Any:
        import optuna

        return optuna.samplers.TPESampler(seed=self.seed)


class CMAES(Method):
    """The cmaes package from the middle of the cube, a population at a time.

    It recommends the mean of the distribution that it samples.
    """

    label, package = "CMA-ES", "cmaes"
    fillable = False

    def begin(self) -> None:
        from cmaes import CMA

        bounds = np.array([[0.0, 1.0]] * self.d)
        # A distribution over one dimension has no covariances that could be adapted.
        mean, n = np.full(max(self.d, 2), 0.5), max(self.d, 2)
        self.opt = CMA(mean, 0.25, bounds=np.resize(bounds, (n, 2)), seed=self.seed)
        self.told: list[tuple[np.ndarray, float]] = []

    def ask(self) -> np.ndarray:
        self.x = self.opt.ask()
        return self.x[: self.d]

    def tell(self, x: np.ndarray, y: float) -> None:
        self.told.append((self.x, -y))
        if len(self.told) == self.opt.population_size:
            self.opt.tell(self.told)
            self.told = []

    def recommend(self) -> np.ndarray:
        return np.clip(self.opt.mean[: self.d], 0.0, 1.0)


class BayesianOptimization(Method):
    """The bayesian-optimization package."""

    label, package = "bayesian-optimization", "bayesian-optimization"

    def begin(self) -> None:
        from bayes_opt import BayesianOptimization as Optimizer
        from bayes_opt.acquisition import UpperConfidenceBound

        self.names = [f"x{a:02d}" for a in range(self.d)]
        self.opt = Optimizer(
            None,
            dict.fromkeys(self.names, (0.0, 1.0)),
            acquisition_function=UpperConfidenceBound(random_state=self.seed),
            random_state=self.seed,
            allow_duplicate_points=True,
            verbose=0,
        )
        if self.length_scale is not None:
            self.opt.set_gp_params(
                kernel=RBF(self.length_scale),
                alpha=self.noise**2,
                optimizer=None,
                normalize_y=False,
            )

    def ask(self) -> np.ndarray:
        if len(self.opt.space) < N_START:
            return self.rng.random(self.d)
        if self.length_scale is None:
            # The targets are normalised, and so is alpha.
            variance = max(float(np.var(self.opt.space.target)), self.noise**2)
            self.opt.set_gp_params(alpha=self.noise**2 / variance)
        suggestion = self.opt.suggest()
        return np.array([suggestion[name] for name in self.names])

    def tell(self, x: np.ndarray, y: float) -> None:
        self.opt.register(dict(zip(self.names, x.tolist(), strict=True)), y)

    def fill(self, X: np.ndarray, y: np.ndarray) -> None:
        for x, value in zip(X, y.tolist(), strict=True):
            self.tell(x, value)

    def recommend(self) -> np.ndarray:
        best = self.opt.max["params"]
        return np.array([best[name] for name in self.names])


class SMAC(Method):
    """SMAC3's facade for hyperparameters: random forests, and repeated queries if there is noise.

    It recommends its incumbent.
    """

    label, package = "SMAC3", "smac"
    fillable = False

    def begin(self) -> None:
        from ConfigSpace import ConfigurationSpace, Float
        from smac import HyperparameterOptimizationFacade, Scenario

        self.names = [f"x{a:02d}" for a in range(self.d)]
        space = ConfigurationSpace(seed=self.seed)
        space.add([Float(name, (0.0, 1.0)) for name in self.names])
        self.directory = tempfile.TemporaryDirectory()
        scenario = Scenario(
            space,
            deterministic=self.noise == 0.0,
            n_trials=N_TRIALS,
            seed=self.seed,
            output_directory=Path(self.directory.name),
        )
        self.opt = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=logging.ERROR
        )

    def point(self, config: Any) -> np.ndarray:
        """Coordinates of one of its configurations."""
        return np.array([config[name] for name in self.names])

    def ask(self) -> np.ndarray:
        self.trial = self.opt.ask()
        return self.point(self.trial.config)

    def tell(self, x: np.ndarray, y: float) -> None:
        from smac.runhistory.dataclasses import TrialValue

        self.opt.tell(self.trial, TrialValue(cost=-y))

    def recommend(self) -> np.ndarray:
        return self.point(self.opt.intensifier.get_incumbent())


class BayBE(Method):
    """A campaign of BayBE with its recommender and its random initial design.

    It recommends the observed point of the highest posterior mean.
    """

    label, package = "BayBE", "baybe"
    fillable = False

    def begin(self) -> None:
        from baybe import Campaign
        from baybe.parameters import NumericalContinuousParameter
        from baybe.recommenders import (
            BotorchRecommender,
            RandomRecommender,
            TwoPhaseMetaRecommender,
        )
        from baybe.searchspace import SearchSpace
        from baybe.targets import NumericalTarget
        from baybe.utils.random import set_random_seed

        set_random_seed(self.seed)
        self.names = [f"x{a:02d}" for a in range(self.d)]
        self.opt = Campaign(
            SearchSpace.from_product(
                [NumericalContinuousParameter(name, (0.0, 1.0)) for name in self.names]
            ),
            NumericalTarget("y").to_objective(),
            TwoPhaseMetaRecommender(
                initial_recommender=RandomRecommender(),
                recommender=BotorchRecommender(),
                switch_after=N_START,
            ),
        )

    def ask(self) -> np.ndarray:
        self.asked = self.opt.recommend(batch_size=1)[self.names]
        return self.asked.to_numpy(dtype=np.float64)[0]

    def tell(self, x: np.ndarray, y: float) -> None:
        super().tell(x, y)
        self.opt.add_measurements(self.asked.assign(y=y))

    def recommend(self) -> np.ndarray:
        if len(self.X) < N_START:
            return super().recommend()
        told = self.opt.measurements[self.names]
        mean = self.opt.posterior_stats(told, ["mean"])["y_mean"]
        return told.to_numpy(dtype=np.float64)[int(np.argmax(mean))]


class PyXAB(Method):
    """Hierarchical optimistic optimization by PyXAB: a tree without a Gaussian process.

    Its confidence widths are for rewards in [0, 1]: they get values scaled by the range, which
    the noise is 10 % of.
    """

    label, package = "PyXAB HOO", "PyXAB"
    fillable = False

    def begin(self) -> None:
        from PyXAB.algos.HOO import T_HOO
        from PyXAB.partition.BinaryPartition import BinaryPartition

        np.random.seed(self.seed)  # noqa: NPY002 - what PyXAB draws from, now and later
        self.algo = T_HOO(
            nu=1, rho=0.75, rounds=1000, domain=[[0, 1]] * self.d, partition=BinaryPartition
        )
        self.t = 0
        self.scale = 0.1 / self.noise

    def ask(self) -> np.ndarray:
        self.t += 1
        return np.array(self.algo.pull(self.t), dtype=np.float64)

    def tell(self, x: np.ndarray, y: float) -> None:
        self.algo.receive_reward(self.t, y * self.scale)

    def recommend(self) -> np.ndarray:
        return np.array(self.algo.get_last_point(), dtype=np.float64)


OURS_TIMED: list[type[Method]] = [SkgpbGPOONew, SkgpbGPOORepeating, SkgpbGPTree, SkgpbEI]
OURS: list[type[Method]] = [SkgpbGPTree, SkgpbGPOO, SkgpbEI]
OURS_AVERAGES: list[type[Method]] = [SkgpbAverages, SkgpbCoarseAverages]
PEERS: list[type[Method]] = [BoTorch, BayesianOptimization, OptunaGP, ScikitOptimize, PyXAB]
#: Peers with a Gaussian process.
GAUSSIAN = {"botorch", "bayesian-optimization", "optuna", "scikit-optimize"}


def version_of(package: str) -> str | None:
    """Return the version of an installed package, None where it is missing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def available(methods: list[type[Method]]) -> tuple[list[type[Method]], list[str]]:
    """Split methods into those whose package is installed and the labels of the others."""
    present = [
        m
        for m in methods
        if m.package in ("numpy", "skgpb") or all(map(version_of, (m.package, *m.needs)))
    ]
    return present, [m.label for m in methods if m not in present]


def quiet() -> None:
    """Silence what the packages say about convergence: it is not what is measured."""
    warnings.filterwarnings("ignore")
    logging.getLogger("bayes_opt").setLevel(logging.ERROR)


def single_threaded() -> None:
    """Keep PyTorch to one thread, like everything else."""
    if version_of("torch"):
        import torch

        torch.set_num_threads(1)
