"""A branch whose optimum is narrow is searched finely before it is given up."""

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.base import BaseEstimator

from skgpb import EIOptimizer, GPUCBOptimizer
from skgpb.model_selection import BanditSearchCV


def value(branch, x, center):
    return 0.5 if branch == "fair" else max(0.0, 1.0 - abs(x - center) / 0.1)


@pytest.mark.one_in(2)
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
