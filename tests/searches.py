"""Code shared by the tests of searches: data, a small search, a known score."""

from __future__ import annotations

import numpy as np
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_regression
from sklearn.svm import SVC

from skgpb.model_selection import BanditSearchCV

X, Y = make_classification(120, 6, n_informative=4, random_state=0)
XR, YR = make_regression(80, 5, noise=5.0, random_state=0)
SPACE = {"C": loguniform(1e-3, 1e3), "gamma": loguniform(1e-5, 1e1)}


def search(estimator=None, space=None, **parameters):
    defaults = {"n_iter": 6, "cv": 3, "random_state": 0}
    return BanditSearchCV(estimator or SVC(), space or SPACE, **defaults | parameters)


class Quadratic(ClassifierMixin, BaseEstimator):
    """No data: the score of a setting is known, plus what a fold adds to all settings."""

    def __init__(self, x=0.0, n=0, kind="a", y=0.0, fail=False):
        self.x, self.n, self.kind, self.y, self.fail = x, n, kind, y, fail

    def fit(self, X, y):
        if self.fail:
            raise ValueError("cannot fit this")
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))

    def score(self, X, y):
        return self.value() + 0.5 * float(X[:, 0].mean())

    def value(self):
        best_y = {"a": 0.0, "b": 0.7, "c": 0.2}[self.kind]
        height = {"a": 0.0, "b": 0.5, "c": 0.1}[self.kind]
        return height - (self.x - 0.3) ** 2 - 0.02 * (self.n - 7) ** 2 - (self.y - best_y) ** 2
