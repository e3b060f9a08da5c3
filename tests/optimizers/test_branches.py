"""A branch whose optimum is narrow is searched finely before it is given up."""

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPUCBOptimizer
from skgpb.domains.space import ParameterSpace
from skgpb.model_selection import BanditSearchCV


def value(branch, x, center):
    return 0.5 if branch == "fair" else max(0.0, 1.0 - abs(x - center) / 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer])
def test_a_narrow_optimum_beside_a_level_of_a_list_is_found(cls):
    found = []
    for center in (0.15, 0.37, 0.62, 0.85):
        more = {"regret": "simple"} if cls is GPUCBOptimizer else {}
        opt = cls(bounds={"kind": ["fair", "narrow"], "x": (0, 1)}, random_state=0, **more)
        opt.run(lambda q, c=center: value(q.params["kind"], q.params["x"], c), budget=40)
        found.append(opt.history_["reward"].max())
    assert np.min(found) > 0.9


class Fake(BaseEstimator):
    def __init__(self, kind="fair", x=0.0, y=0.0):
        self.kind, self.x, self.y = kind, x, y

    def fit(self, X, y=None):
        return self

    def score(self, X=None, y=None):
        return value(self.kind, self.y, 0.37)


def test_each_branch_of_a_tuning_gets_its_share():
    spaces = [{"kind": ["fair"], "x": uniform(0, 1)}, {"kind": ["narrow"], "y": uniform(0, 1)}]
    one = [(np.arange(2), np.arange(2))]
    search = BanditSearchCV(Fake(), spaces, n_iter=40, cv=one, random_state=0, refit=False)
    search.fit(np.zeros((2, 1)), np.zeros(2))
    kinds = search.cv_results_["param_kind"].tolist()
    assert min(kinds.count("fair"), kinds.count("narrow")) >= 11


@pytest.mark.parametrize(
    ("of_one", "of_two", "neglected"),
    [(5, 7, 1), (3, 9, 0), (16, 29, 1), (15, 30, None), (4, 7, None)],
)
def test_the_branch_with_the_fewest_answers_for_each_of_its_numbers_is_filled(
    of_one, of_two, neglected
):
    """In every third round, until each number has 15 answers."""
    space = ParameterSpace(
        [
            {"kind": ["one"], "x": uniform(0, 1)},
            {"kind": ["two"], "y": uniform(0, 1), "z": uniform(0, 1)},
        ]
    )
    rng = np.random.default_rng(0)
    settings = [{"kind": "one", "x": float(x)} for x in rng.random(of_one)]
    settings += [{"kind": "two", "y": float(y), "z": float(z)} for y, z in rng.random((of_two, 2))]
    opt = GPUCBOptimizer(RBF(0.3), bounds=space.copy_for_search(), regret="simple", random_state=0)
    opt.tell(settings, rng.random(len(settings)))
    values = rng.random(len(opt.domain_.every_place()))
    slot = opt._slot_in_neglected_branch(None, values)
    if neglected is None:
        assert slot is None
        return
    branches = space.branches(opt.domain_.every_place())
    assert branches[slot] == neglected
    # The others can be left out, all of a branch as well.
    assert opt._slot_in_neglected_branch(np.flatnonzero(branches == 1 - neglected), values) is None
    values[slot] = -np.inf
    again = opt._slot_in_neglected_branch(None, values)
    assert again != slot and branches[again] == neglected
