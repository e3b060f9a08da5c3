"""Every public estimator with settings that work, and how it is played."""

from __future__ import annotations

import inspect
import pickle
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge

import skgpb
from fuzz.harness import check_finite
from skgpb.kernels import PolicyMean, WindowMean
from skgpb.model_selection import BanditSearchCV
from skgpb.optimizers._base import BaseBanditOptimizer

PUBLIC = [
    value
    for value in [*(getattr(skgpb, name) for name in skgpb.__all__), BanditSearchCV]
    # A guarantee is a parameter of others; BaseEstimator gives it parameters of its own.
    if inspect.isclass(value) and issubclass(value, BaseEstimator) and value is not skgpb.Guarantee
]

SQUARE = [(0.0, 1.0), (0.0, 1.0)]
ARMS = np.array([[x, y] for x in np.linspace(0, 1, 5) for y in np.linspace(0, 1, 4)])
POLICIES = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.25, 0.75], [0.25, 0.25, 0.25, 0.25]]
POOL = np.random.default_rng(7).uniform(size=(60, 2))


def along(A: np.ndarray) -> np.ndarray:
    """Points of the square's diagonal, for queries that are numbers."""
    return np.hstack([A, 1.0 - A])


class Setup:
    """An optimizer, what its calls take, and what its answers are."""

    #: Fields of the history for every answer.
    fields: tuple[str, ...] = ("reward", "mean", "std")
    #: Parameters that files cannot hold.
    omit: tuple[str, ...] = ()
    n_columns = 2
    #: Further arguments of ``ask`` and ``recommend``.
    place: ClassVar[dict[str, Any]] = {}

    def __init__(self, cls: type, **parameters: Any) -> None:
        self.cls = cls
        self.parameters = {"random_state": 0, **parameters}

    def new(self, **changes: Any) -> Any:
        return self.cls(**{**self.parameters, **changes})

    def names(self) -> list[str]:
        """Constructor parameters."""
        return [name for name in inspect.signature(self.cls).parameters if name != "self"]

    def ask(self, optimizer: Any, n: int | None = None) -> Any:
        return optimizer.ask(n, **self.place)

    def reward(self, value: Any) -> Any:
        """One answer in the form that ``tell`` takes."""
        return value

    def answer(self, query: Any) -> Any:
        return self.reward(float(np.sin(3.0 * np.asarray(query)).mean()))

    def run(self, optimizer: Any, objective: Callable) -> None:
        optimizer.run(objective, 3)

    def fit(self, optimizer: Any, X: Any, y: Any) -> None:
        optimizer.fit(X, y)

    def recommend(self, optimizer: Any) -> Any:
        return optimizer.recommend(**self.place)

    def predict(self, optimizer: Any) -> list:
        """Posterior at points of the domain that it has."""
        return list(optimizer.predict(self.points(optimizer), return_std=True))

    def points(self, optimizer: Any) -> np.ndarray:
        """A few points of the domain."""
        lower, upper = optimizer.bounds_.T
        return lower + (upper - lower) * np.linspace(0.1, 0.9, 4)[:, None]

    def play(self, optimizer: Any) -> None:
        """A short run, with a batch; everything that is read is finite."""
        for n in (None, None, 2, None, None):
            queries = self.ask(optimizer, n)
            for query in queries if n else [queries]:
                optimizer.tell(query, self.answer(query))
        self.check(optimizer)

    def check(self, optimizer: Any) -> None:
        """Check that every readable result of a run with answers is finite."""
        history = optimizer.history_
        check_finite([history[name] for name in self.fields])
        check_finite(np.asarray(self.recommend(optimizer)))
        check_finite(self.predict(optimizer))

    def saved(self, optimizer: Any) -> dict[str, bytes]:
        """Members of the file that the run is saved to."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "run"
            optimizer.save(path, omit=self.omit)
            with zipfile.ZipFile(path) as archive:
                return {name: archive.read(name) for name in archive.namelist()}

    def loaded(self, path: Path, optimizer: Any = None) -> Any:
        """The run in a file, with what it lacks."""
        source = self.new() if optimizer is None else optimizer
        return self.cls.load(path, **{name: getattr(source, name) for name in self.omit})

    def behaviour(self, optimizer: Any) -> list:
        """All that can be seen of a run and of how it goes on; the run itself is left alone."""
        copy = pickle.loads(pickle.dumps(optimizer))
        seen: list[Any] = [self.saved(copy), exact(copy.history_), exact(copy.failed_)]
        for read in (
            partial(self.recommend, copy),
            partial(self.predict, copy),
            partial(self.ask, copy, 2),
            partial(self._goes_on, copy),
            partial(self.predict, copy),
        ):
            try:
                seen.append(exact(read()))
            except Exception as error:
                seen.append(repr(error))
        return seen

    def _goes_on(self, optimizer: Any) -> Any:
        query = self.ask(optimizer)
        optimizer.tell(query, self.answer(query))
        return self.ask(optimizer, 2)


class StochasticSetup(Setup):
    """Without a posterior, and with rewards in the unit interval."""

    # Nothing is known of a cell before its first answer.
    fields = ("reward",)

    def answer(self, query: Any) -> Any:
        return float(np.sin(3.0 * np.asarray(query)).mean() ** 2)

    def predict(self, optimizer: Any) -> list:
        return [optimizer.predict(self.points(optimizer))]


class ContextualSetup(Setup):
    """Asked for a context."""

    place: ClassVar[dict[str, Any]] = {"context": [0.3]}

    def run(self, optimizer: Any, objective: Callable) -> None:
        optimizer.run(objective, contexts=[0.1, 0.9, 0.4])


class IndirectSetup(Setup):
    """Queries of one column, points of two."""

    n_columns = 1

    def __init__(self, cls: type, **parameters: Any) -> None:
        given = {"bounds": SQUARE, "n_points": 25, "alpha": 1e-3, "query_bounds": [(0, 1)]}
        super().__init__(cls, **{**given, **parameters})


class WindowSetup(IndirectSetup):
    """An optimizer whose queries have known averages, given by a function."""

    omit = ("conditional",)

    def __init__(self, cls: type, **parameters: Any) -> None:
        conditional = WindowMean(scale=0.1, location=along)
        super().__init__(cls, conditional=conditional, n_candidates=15, **parameters)


class PoliciesSetup(IndirectSetup):
    """Agents that choose among four arms."""

    def __init__(self, cls: type) -> None:
        conditional = PolicyMean(policies=POLICIES, arms=ARMS[:4])
        super().__init__(cls, bounds=None, query_bounds=None, conditional=conditional)

    def points(self, optimizer: Any) -> np.ndarray:
        return ARMS[:4]


class TreeSetup(IndirectSetup):
    """A tree over queries."""

    omit = ("location",)

    def __init__(self, cls: type, **parameters: Any) -> None:
        super().__init__(cls, location=along, max_depth=4, **parameters)


class CampaignsSetup(Setup):
    """Two campaigns under one budget."""

    def __init__(self, *optimizers: Any) -> None:
        super().__init__(skgpb.CombinatorialBandit, optimizers=list(optimizers), budget=6)

    def reward(self, value: Any) -> Any:
        return [value, 0.25]


class RegressorSetup(Setup):
    """The posterior alone."""

    def names(self) -> list[str]:
        # A function that learns is trusted, as scikit-learn trusts it: its errors are the user's.
        return [name for name in super().names() if name != "optimizer"]

    def play(self, regressor: Any) -> None:
        X = POOL[:8]
        regressor.fit(X, X.sum(axis=1)).partial_fit(X[:2] + 0.1, [0.5, 0.75])
        check_finite(regressor.predict(X, return_std=True))
        check_finite(regressor.predict(X[:3], return_cov=True))
        check_finite([regressor.sample_y(X[:3], 2), regressor.score(X, X.sum(axis=1))])


class SearchSetup(Setup):
    """The search over parameters of another estimator."""

    def play(self, search: Any) -> None:
        search.fit(POOL[:12], POOL[:12].sum(axis=1))
        check_finite([search.cv_results_["mean_test_score"]])


def exact(value: Any) -> Any:
    """Return the data to compare bit by bit; a query becomes the data that it consists of."""
    if isinstance(value, (list, tuple)):
        return [exact(each) for each in value]
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [exact(value[name]) for name in value.dtype.names]
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if hasattr(value, "points"):
        return type(value).__name__, exact(value.__reduce__()[1])
    return repr(value)


PLAIN = {"kernel": RBF(0.3), "alpha": 0.01}
_ON_ARMS = {"arms": ARMS, **PLAIN}
_ON_A_BOX = {"bounds": SQUARE, "n_candidates": 40}

SETUPS = {
    "GPOO": Setup(skgpb.GPOOOptimizer, bounds=SQUARE, n_representatives=3, **PLAIN),
    "GPOO-defaults": Setup(skgpb.GPOOOptimizer, bounds=SQUARE),
    "GPOO-integral": Setup(skgpb.GPOOOptimizer, bounds=SQUARE, feedback="integral", **PLAIN),
    "GPOO-pool": Setup(skgpb.GPOOOptimizer, pool=POOL),
    "StoOO": StochasticSetup(skgpb.StoOOOptimizer, bounds=SQUARE),
    "StoOO-pool": StochasticSetup(skgpb.StoOOOptimizer, pool=POOL, feedback="average"),
    "GPTree": Setup(skgpb.GPTreeOptimizer, bounds=SQUARE, horizon=30),
    "zooming": Setup(skgpb.GPZoomingOptimizer, bounds=SQUARE, horizon=30, **PLAIN),
    "contextual": ContextualSetup(
        skgpb.ContextualGPTreeOptimizer,
        context_bounds=[(0, 1)],
        bounds=[(0, 1)],
        horizon=30,
        **PLAIN,
    ),
    "GP-UCB": Setup(skgpb.GPUCBOptimizer, **_ON_ARMS),
    "GP-UCB-box": Setup(skgpb.GPUCBOptimizer, **_ON_A_BOX),
    "IGP-UCB": Setup(skgpb.IGPUCBOptimizer, **_ON_ARMS),
    "GP-TS": Setup(skgpb.GPTSOptimizer, **_ON_ARMS),
    "GP-TS-box": Setup(skgpb.GPTSOptimizer, **_ON_A_BOX),
    "URGP-UCB": Setup(skgpb.URGPUCBOptimizer, **_ON_ARMS),
    "DAGP-UCB": Setup(skgpb.DAGPUCBOptimizer, **_ON_ARMS),
    "DAGP-UCB-box": Setup(skgpb.DAGPUCBOptimizer, **_ON_A_BOX),
    "EI": Setup(skgpb.EIOptimizer, **_ON_ARMS),
    "EI-box": Setup(skgpb.EIOptimizer, **_ON_A_BOX),
    "PI": Setup(skgpb.PIOptimizer, **_ON_ARMS),
    "EST": Setup(skgpb.ESTOptimizer, **_ON_ARMS),
    "MES": Setup(skgpb.MESOptimizer, **_ON_ARMS),
    "MES-box": Setup(skgpb.MESOptimizer, **_ON_A_BOX),
    "KG": Setup(skgpb.KGOptimizer, queries=ARMS, **PLAIN),
    "KG-box": Setup(skgpb.KGOptimizer, **_ON_A_BOX),
    "IDS": Setup(skgpb.IDSOptimizer, queries=ARMS, **PLAIN),
    "IDS-box": Setup(skgpb.IDSOptimizer, **_ON_A_BOX),
    "CMES": WindowSetup(skgpb.CMESOptimizer),
    "CMES-policies": PoliciesSetup(skgpb.CMESOptimizer),
    "CMETS": TreeSetup(skgpb.CMETSOptimizer),
    "own-rule": Setup(skgpb.TargetsOptimizer, queries=ARMS, **PLAIN),
    "own-rule-indirect": WindowSetup(skgpb.IndirectTargetsOptimizer, rule="ids"),
    "indirect-EI": WindowSetup(skgpb.IndirectEIOptimizer),
    "indirect-PI": WindowSetup(skgpb.IndirectPIOptimizer),
    "indirect-UCB": WindowSetup(skgpb.IndirectUCBOptimizer),
    "indirect-MES": WindowSetup(skgpb.IndirectMESOptimizer),
    "campaigns": CampaignsSetup(
        *[skgpb.GPUCBOptimizer(RBF(2.0), arms=np.arange(6.0)[:, None], alpha=0.1)] * 2
    ),
    "campaigns-EI": CampaignsSetup(
        *[skgpb.EIOptimizer(RBF(2.0), arms=np.arange(6.0)[:, None], alpha=0.1)] * 2
    ),
    "regressor": RegressorSetup(skgpb.OnlineGaussianProcessRegressor, **PLAIN),
    "search": SearchSetup(
        BanditSearchCV,
        estimator=Ridge(),
        param_distributions={"alpha": loguniform(1e-3, 1e3), "max_iter": randint(1, 50)},
        n_iter=4,
        cv=2,
    ),
}

#: Setups with the loop of ask and tell.
LOOPS = {name: each for name, each in SETUPS.items() if issubclass(each.cls, BaseBanditOptimizer)}
