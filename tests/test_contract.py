"""Every public optimizer keeps the laws of the loop, and so can one's own.

A new optimizer joins by being listed in ``skgpb.optimizers.__all__`` and in the cases here.
"""

from __future__ import annotations

import cases
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb.optimizers import (
    BaseUCBOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    GPZoomingOptimizer,
)
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.testing import OptimizerContract

# The default run checks each law for one case in sixteen, and different laws for different cases.
pytestmark = pytest.mark.one_in(16)


class TestTreesBallsAndArms(OptimizerContract):
    """Queries and what is sought live in one space."""

    @pytest.fixture(autouse=True, params=cases.some_slow(cases.CASES))
    def _case(self, request):
        self.name = request.param

    def make(self):
        return cases.make(self.name)

    def make_with_names(self, names):
        if self.make().bounds is None:
            return None
        return cases.make(self.name, bounds=names(cases.BOUNDS))

    def answer(self, query):
        return cases.answer(query)

    def outside(self, optimizer):
        return cases.POOL[:3] if cases.has_model(optimizer) else None

    def recommend(self, optimizer):
        self.best = optimizer.recommend()
        return self.best

    def read(self, optimizer, path):
        super().read(optimizer, path)
        parameters = cases.parameters_of(optimizer.recommend)
        if "caution" in parameters:
            optimizer.recommend("posterior", caution=1.0)
            optimizer.recommend("posterior", depth=2)
            optimizer.recommend("paper")
        if cases.has_model(optimizer):
            optimizer.predict_query([self.best, self.best], return_std=True)
            optimizer.predict(cases.GRID, return_cov=True)
            optimizer.sample_y(cases.GRID, 2)
        if hasattr(optimizer, "posterior") and hasattr(optimizer, "acquisition"):
            optimizer.acquisition(optimizer.posterior())
        optimizer.score(cases.GRID, cases.f(cases.GRID))
        if len(optimizer.history_) == 5:  # it takes as long as all the rest
            optimizer._repr_html_()

    def strangers(self, optimizer):
        cls, given = type(optimizer), optimizer.get_params(deep=False)
        if "arms" in given and given.get("queries") is None:
            return [cls(arms=cases.ARMS + 0.001).ask(), cls(arms=cases.ARMS[:, :1]).ask()]
        if "queries" in given:
            return [cls(queries=cases.ARMS + 0.001).ask(), cls(queries=cases.ARMS[:, :1]).ask()]
        # With a huge variation every cell is expanded at once, so that the last is not the root.
        mine = optimizer.get_params(deep=False) | {"variation": (1e3, 0.9), "max_depth": 5}
        if cls is GPZoomingOptimizer:
            mine = {"bounds": None}
        changes = [
            {"bounds": [(-1.0, 0.9), (0.0, 3.0)], "pool": None},
            {
                "bounds": [(-1.0, 1.0)],
                "pool": None,
                "n_representatives": None,
                "kernel": None,
                "feedback": "center",
            },
        ]
        if "n_children" in mine:
            changes.append({"n_children": mine["n_children"] + 3})
        if mine.get("feedback") == "average" and mine["pool"] is None:
            changes.append({"n_representatives": 4})
        others = [
            cls(**{k: v for k, v in (mine | change).items() if k in mine}) for change in changes
        ]
        return [cases.play(other, 3, lambda query: 0.5)[-1] for other in others]

    def test_a_refused_fit_leaves_no_trace(self):
        optimizer = self.make_and_play(6)
        before, X, y = self.exact_state(optimizer), cases.POOL[:5], np.arange(5.0)
        for arguments in [
            (None, y),
            (np.column_stack([X, y]), y),
            (X + 10.0, y),
            (X, y[:4]),
            (X[:, 0], y),
            (X, np.append(y[:4], np.nan)),
            (np.full_like(X, np.inf), y),
            (X, ["a"] * 5),
        ]:
            assert self.refuses(optimizer.fit, *arguments)
        assert self.exact_state(optimizer) == before


class TestIndirect(OptimizerContract):
    """Queries and what is sought live in two spaces."""

    @pytest.fixture(autouse=True, params=cases.some_slow(cases.INDIRECT))
    def _case(self, request):
        self.name = request.param
        # Functions are not written: they are left out of files and given again.
        settings = cases.INDIRECT[self.name][1]
        functions = ("location", "conditional") if "query_bounds" in settings else ()
        self.functions = {key: settings[key] for key in functions if key in settings}

    def make(self):
        return cases.make_indirect(self.name)

    def prepare(self, optimizer):
        pairs = len(cases.INDIRECT[self.name]) > 2
        return optimizer.fit(cases.POINTS, queries=cases.PAIRED) if pairs else optimizer

    def make_with_names(self, names):
        sides = {"bounds": names([(0, 1), (0, 1)])}
        if cases.make_indirect(self.name).query_bounds is not None:
            return cases.make_indirect(self.name, query_bounds={"asked": (0, 1)}, **sides)
        return cases.make_indirect(self.name, **sides) if self.name == "CMES-points" else None

    def answer(self, query):
        return cases.answer_indirect(query)

    def run(self, optimizer, objective, n, **options):
        """Queries of CMETS cost two thirds on average."""
        if isinstance(optimizer, CMETSOptimizer):
            return optimizer.run(objective, max_cost=0.7 * n, **options)
        return optimizer.run(objective, n, **options)

    def save(self, optimizer, path):
        optimizer.save(path, omit=list(self.functions))

    def load(self, cls, path, **options):
        return cls.load(path, **self.functions, **options)

    def where(self, optimizer):
        if self.name == "CMES-policies":
            return cases.POLICY_MEAN.arms
        return super().where(optimizer)

    def strangers(self, optimizer):
        return [[-0.5], [50.0], np.zeros(3), np.zeros((2, 1))]

    def predictions(self, optimizer):
        A = [self.ask(self.make()).a] * 2
        asked = optimizer.predict_query(np.array(A), return_std=True)
        return [
            *super().predictions(optimizer),
            *(part.tolist() for part in asked),
            optimizer.spent_,
        ]


class TestContextual(OptimizerContract):
    """An action is asked for in a context."""

    context = [0.25]

    def make(self):
        domain = {"context_bounds": [(-1, 1)], "bounds": [(0, 3)]}
        return ContextualGPTreeOptimizer(
            RBF(0.7), alpha=0.01, variation=(3.0, 0.6), random_state=0, **domain
        )

    def make_with_names(self, names):
        both = names([(-1, 1), (0, 3)])
        sides = [dict([side]) for side in both.items()]
        return self.make().set_params(context_bounds=sides[0], bounds=sides[1])

    def ask(self, optimizer, n=None):
        return optimizer.ask(n, context=self.context)

    def recommend(self, optimizer):
        return optimizer.recommend(context=self.context)

    def run(self, optimizer, objective, n, **options):
        return optimizer.run(objective, contexts=[self.context] * n, **options)

    def strangers(self, optimizer):
        other = ContextualGPTreeOptimizer(context_bounds=[(-1, 1)], bounds=[(0, 2.9)])
        return [other.ask(context=self.context), np.array([0.5, 3.5])]

    def outside(self, optimizer):
        return cases.POOL[:3]


class TestArmsInContexts(OptimizerContract):
    """An arm, or a point of a box, is asked for in a context."""

    context = [0.25]

    @pytest.fixture(autouse=True, params=cases.some_slow(cases.IN_CONTEXTS))
    def _case(self, request):
        self.cls, settings = cases.IN_CONTEXTS[request.param]
        self.settings = {"context_bounds": [(-1, 1)], "random_state": 0} | settings

    def make(self):
        return self.cls(**self.settings)

    def make_with_names(self, names):
        if "bounds" not in self.settings:
            return None
        both = names([(-1, 1), (0, 3)])
        sides = [dict([side]) for side in both.items()]
        return self.make().set_params(context_bounds=sides[0], bounds=sides[1])

    def ask(self, optimizer, n=None):
        return optimizer.ask(n, context=self.context)

    def recommend(self, optimizer):
        return optimizer.recommend(context=self.context)

    def run(self, optimizer, objective, n, **options):
        return optimizer.run(objective, contexts=[self.context] * n, **options)

    def read(self, optimizer, path):
        super().read(optimizer, path)
        optimizer.recommend(context=[-0.75])
        optimizer.acquisition(optimizer.posterior())

    def strangers(self, optimizer):
        other = self.make().set_params(context_bounds=[(1.5, 2.5)])
        without = self.make().set_params(context_bounds=None)
        return [other.ask(context=[2.0]), without.ask(), np.array([0.5, 3.5])]

    def outside(self, optimizer):
        return cases.POOL[:3]


class TestCombinatorial(OptimizerContract):
    """Several campaigns answer at once."""

    def make(self):
        campaign = DAGPUCBOptimizer(RBF(0.7), arms=cases.ARMS[::8, :1], alpha=0.1)
        return CombinatorialBandit(
            [campaign, clone(campaign)], 3.0, cases.ARMS[::8, 1] + 1.0, random_state=0
        )

    def answer(self, query):
        return [float(np.sin(x + 1.0)) for x in query.points[0]]


class Farthest(BaseUCBOptimizer):
    """An optimizer of one's own: whatever is least known."""

    def acquisition(self, posterior):
        return posterior.std


class TestOnesOwn(OptimizerContract):
    """All that its author writes."""

    def make(self):
        return Farthest(RBF(0.2), arms=np.linspace(0, 1, 30)[:, None], alpha=0.01)

    def outside(self, optimizer):
        return np.array([[0.31], [0.32], [0.33]])


def test_every_public_optimizer_is_in_this_suite():
    assert {cls for cls, *_ in [*cases.CASES.values(), *cases.INDIRECT.values()]} == set(
        cases.OPTIMIZERS
    ) - cases.CONTEXTUAL


def test_the_contract_finds_what_breaks_it():
    """Not a test of everything: that its tests can fail at all."""

    class Forgetful(Farthest):
        def ask(self, n=None):
            self.start().run_.asked = []
            return super().ask(n)

    class Careless(Farthest):
        def tell(self, query, reward, alpha=None):
            self.start().run_.asked = []
            return super().tell(query, reward, alpha)

    class Broken(TestOnesOwn):
        def __init__(self, cls):
            self.cls = cls

        def make(self):
            return self.cls(RBF(0.2), arms=np.linspace(0, 1, 30)[:, None], alpha=0.01)

    with pytest.raises(AssertionError):
        Broken(Forgetful).test_ask_is_stable_until_tell()
    with pytest.raises(AssertionError):
        Broken(Careless).test_refused_answers_leave_no_trace("midway")
