"""Twenty more tasks of :mod:`benchmarks.search_cv`, with models that its sixteen tasks lack.

They are splines, multi-layer perceptrons, forests, approximate kernels, texts, and spaces of many
branches. All data come with scikit-learn or are simulated; the texts are docstrings of functions,
and the class is the package of the function.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_circles,
    make_friedman1,
    make_moons,
    make_sparse_uncorrelated,
)
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    OrthogonalMatchingPursuit,
    Ridge,
    RidgeClassifier,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


class Task(NamedTuple):
    """Data, how many rows are for training, and what is tuned over which space."""

    data: Any
    n_train: int
    estimator: Any
    space: Any


@cache
def docstrings() -> tuple[np.ndarray, np.ndarray]:
    """First lines of public docstrings of four packages, and the number of the package."""
    modules = [
        ("numpy", "numpy.linalg", "numpy.ma"),
        ("scipy.stats", "scipy.special"),
        ("scipy.signal", "scipy.ndimage", "scipy.optimize", "scipy.linalg"),
        ("sklearn.metrics", "sklearn.utils", "sklearn.datasets", "sklearn.preprocessing"),
    ]
    texts: dict[str, int] = {}
    for number, names in enumerate(modules):
        for module in map(importlib.import_module, names):
            for name in sorted(dir(module)):
                text = inspect.getdoc(getattr(module, name)) or ""
                lines = [line for line in text.split("\n")[:12] if line.strip()]
                if not name.startswith("_") and len(text) > 100 and len(lines) > 3:
                    texts.setdefault(" ".join(lines[1:]), number)
    return np.array(list(texts), dtype=object), np.array(list(texts.values()))


digits, cancer, wine, diabetes = (
    partial(load, return_X_y=True)
    for load in (load_digits, load_breast_cancer, load_wine, load_diabetes)
)
friedman = partial(make_friedman1, 1200, noise=1.0, random_state=0)
moons = partial(make_moons, 1200, noise=0.3, random_state=0)
circles = partial(make_circles, 1200, noise=0.15, factor=0.7, random_state=0)
sparse = partial(make_sparse_uncorrelated, 1000, 20, random_state=0)


def spline(**others: Any) -> dict[str, Any]:
    """A space of splines and the penalty of their coefficients."""
    return {
        "splines__n_knots": randint(2, 13),
        "splines__degree": [1, 2, 3],
        "splines__knots": ["uniform", "quantile"],
        "model__alpha": loguniform(1e-4, 1e4),
        **others,
    }


def perceptron(name: str) -> dict[str, Any]:
    """A space of multi-layer perceptrons."""
    return {
        f"{name}__hidden_layer_sizes": [(5,), (20,), (60,), (10, 10)],
        f"{name}__activation": ["relu", "tanh"],
        f"{name}__alpha": loguniform(1e-6, 1e1),
        f"{name}__learning_rate_init": loguniform(1e-4, 1e-1),
    }


def branch(model: Any, **parameters: Any) -> dict[str, Any]:
    """A space in which this model is the last step, of which these parameters are tuned."""
    return {"model": [model], **{f"model__{name}": each for name, each in parameters.items()}}


def words(**others: Any) -> dict[str, Any]:
    """A space of ways to count words."""
    return {
        "tfidf__ngram_range": [(1, 1), (1, 2)],
        "tfidf__min_df": randint(1, 8),
        "tfidf__sublinear_tf": [False, True],
        "tfidf__norm": ["l1", "l2"],
        **others,
    }


C, GAMMA = loguniform(1e-3, 1e4), loguniform(1e-5, 1e1)
SPLINES = Pipeline(
    [
        ("scaler", StandardScaler()),
        ("splines", SplineTransformer(extrapolation="linear")),
        ("model", Ridge()),
    ]
)
LAST = Pipeline([("scaler", StandardScaler()), ("model", Ridge())])
TEXTS = Pipeline([("tfidf", TfidfVectorizer()), ("model", LogisticRegression(max_iter=100))])
REGRESSION = [
    branch(Lasso(), alpha=loguniform(1e-4, 1e2)),
    branch(HuberRegressor(max_iter=50), alpha=loguniform(1e-5, 1e3), epsilon=uniform(1.0, 2.0)),
    branch(KernelRidge(kernel="rbf"), alpha=loguniform(1e-5, 1e2), gamma=loguniform(1e-4, 1e1)),
    branch(DecisionTreeRegressor(random_state=0), max_depth=randint(1, 11)),
    branch(SVR(), C=loguniform(1e-2, 1e4), gamma=GAMMA, epsilon=loguniform(1e-3, 1.0)),
    branch(KNeighborsRegressor(), n_neighbors=randint(1, 41), weights=["uniform", "distance"]),
]
CLASSIFICATION = [
    branch(LinearDiscriminantAnalysis(solver="lsqr"), shrinkage=uniform()),
    branch(GaussianNB(), var_smoothing=loguniform(1e-9, 1e1)),
    branch(KNeighborsClassifier(), n_neighbors=randint(1, 31), p=[1, 2]),
    branch(LogisticRegression(max_iter=100), C=loguniform(1e-4, 1e4)),
    branch(SVC(), C=C, gamma=GAMMA),
    branch(DecisionTreeClassifier(random_state=0), max_depth=randint(1, 11)),
]

CHOOSING = {
    "diabetes-splines": Task(diabetes, 150, SPLINES, spline()),
    "friedman-perceptron": Task(
        friedman,
        150,
        make_pipeline(StandardScaler(), MLPRegressor(max_iter=60, random_state=0)),
        perceptron("mlpregressor"),
    ),
    "docstrings-logistic": Task(docstrings, 250, TEXTS, words(model__C=loguniform(1e-2, 1e4))),
    "moons-forest": Task(
        moons,
        150,
        RandomForestClassifier(random_state=0),
        {
            "n_estimators": randint(3, 25),
            "max_features": uniform(0.01, 0.99),
            "min_samples_leaf": randint(1, 21),
            "max_depth": randint(1, 13),
        },
    ),
    "cancer-nystroem": Task(
        cancer,
        150,
        make_pipeline(StandardScaler(), Nystroem(random_state=0), RidgeClassifier()),
        {
            "nystroem__gamma": loguniform(1e-5, 1e1),
            "nystroem__n_components": randint(5, 81),
            "ridgeclassifier__alpha": loguniform(1e-6, 1e3),
        },
    ),
    "digits-branches": Task(digits, 200, LAST, CLASSIFICATION),
    "wine-perceptron": Task(
        wine,
        80,
        make_pipeline(StandardScaler(), MLPClassifier(max_iter=40, random_state=0)),
        perceptron("mlpclassifier"),
    ),
    "friedman-branches": Task(friedman, 150, LAST, REGRESSION),
    "sparse-selections": Task(
        sparse,
        60,
        LAST,
        [
            branch(ElasticNet(), alpha=loguniform(1e-4, 1e2), l1_ratio=uniform()),
            branch(OrthogonalMatchingPursuit(), n_nonzero_coefs=randint(1, 20)),
            branch(Ridge(), alpha=loguniform(1e-4, 1e4)),
        ],
    ),
    "circles-kernels": Task(
        circles,
        150,
        SVC(),
        [
            {"kernel": ["rbf"], "C": C, "gamma": GAMMA},
            {
                "kernel": ["poly"],
                "C": loguniform(1e-3, 1e2),
                "degree": [2, 3, 4],
                "coef0": uniform(0.0, 2.0),
                "gamma": loguniform(1e-3, 1.0),
            },
        ],
    ),
}
CONFIRMING = {
    "friedman-splines": Task(friedman, 150, SPLINES, spline()),
    "diabetes-perceptron": Task(
        diabetes,
        200,
        Pipeline(
            [("scaler", StandardScaler()), ("model", MLPRegressor(max_iter=60, random_state=0))]
        ),
        perceptron("model") | {"model__learning_rate_init": loguniform(1e-2, 1.0)},
    ),
    "docstrings-bayes": Task(
        docstrings,
        250,
        TEXTS,
        [
            words(model=[ComplementNB()], model__alpha=loguniform(1e-4, 1e2)),
            words(model=[LinearSVC()], model__C=loguniform(1e-3, 1e3)),
            {
                "tfidf__min_df": randint(1, 8),
                "model": [BernoulliNB()],
                "model__alpha": loguniform(1e-4, 1e2),
            },
        ],
    ),
    "friedman-extra-trees": Task(
        friedman,
        150,
        ExtraTreesRegressor(random_state=0),
        {
            "n_estimators": randint(3, 25),
            "max_features": uniform(0.05, 0.95),
            "min_samples_leaf": randint(1, 21),
            "bootstrap": [False, True],
        },
    ),
    "wine-nystroem": Task(
        wine,
        80,
        make_pipeline(StandardScaler(), Nystroem(random_state=0), LogisticRegression()),
        {
            "nystroem__kernel": ["rbf", "laplacian"],
            "nystroem__gamma": loguniform(1e-5, 1e1),
            "nystroem__n_components": randint(5, 51),
            "logisticregression__C": C,
        },
    ),
    "moons-branches": Task(moons, 150, LAST, CLASSIFICATION),
    "cancer-perceptron": Task(
        cancer,
        120,
        make_pipeline(StandardScaler(), MLPClassifier(max_iter=40, random_state=0)),
        perceptron("mlpclassifier"),
    ),
    "diabetes-branches": Task(diabetes, 150, LAST, REGRESSION),
    "docstrings-characters": Task(
        docstrings,
        200,
        Pipeline(
            [
                ("tfidf", TfidfVectorizer(analyzer="char_wb", max_features=2000)),
                ("model", RidgeClassifier()),
            ]
        ),
        {
            "tfidf__ngram_range": [(1, 1), (1, 2), (2, 2), (2, 3)],
            "tfidf__sublinear_tf": [False, True],
            "tfidf__min_df": randint(1, 8),
            "model__alpha": loguniform(1e-4, 1e3),
        },
    ),
    "digits-reductions": Task(
        digits,
        200,
        Pipeline([("reduce", PCA()), ("model", SVC())]),
        [
            {"reduce": [PCA(random_state=0)], "reduce__n_components": randint(2, 41)}
            | branch(KNeighborsClassifier(), n_neighbors=randint(1, 11)),
            {"reduce": [SelectKBest()], "reduce__k": randint(2, 61)}
            | branch(LogisticRegression(max_iter=50), C=loguniform(1e-5, 1e2)),
            {"reduce": [PCA(random_state=0)], "reduce__n_components": randint(2, 41)}
            | branch(GaussianNB(), var_smoothing=loguniform(1e-9, 1e1)),
        ],
    ),
}
