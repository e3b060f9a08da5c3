"""Held-out scores of hyperparameter searches at equal numbers of fits.

    python -m benchmarks.search_cv [--runs 20] [--gp-runs 5] [--seed 0]
        [--n-iter 30] [--folds 3] [--tasks NAME ...] [--methods NAME ...] [--output DIR]

Eight tasks of small data and two to four hyperparameters. Run r draws data, split, folds and the
search from the seed ``--seed`` + r. Each method evaluates ``--n-iter`` settings by cross-validation
on the few rows for training, its best setting is fitted to all of them and scored on the rows that
no search has seen: by accuracy, or by R squared in regression. All methods see the same data and
the same folds. BanditSearchCV is shown with both values of ``select``, for one and the same search.
Successive halving draws as many settings as give it the same number of fits, most of them on
fewer rows. Optuna's samplers are compared where they are installed, the one with a Gaussian process
in ``--gp-runs`` runs only, since it takes seconds a search.

The default rule of BanditSearchCV was chosen on tasks like the first four, with five folds and
other seeds; the last four confirm. The output is its lead over the others in the same runs, in
hundredths. Standard errors are those over runs, the tasks being given; "error over tasks" is
that of the same mean as if the tasks had been drawn, too.

Every run is kept in a file. What is there is not played again, so that a long benchmark can be
interrupted, or played in parts: delete the file to begin afresh.
"""

from __future__ import annotations

import csv
import importlib.util
import warnings
from collections.abc import Callable
from math import ceil, floor, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_friedman1,
    make_friedman3,
    make_gaussian_quantiles,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from skgpb.model_selection import BanditSearchCV

FACTOR = 3
SVM = {"svc__C": loguniform(1e-3, 1e4), "svc__gamma": loguniform(1e-6, 1e1)}


class Row(NamedTuple):
    """Scores of what a method chose in one run of a task."""

    task: str
    label: str
    seed: int
    cv_score: float
    held_out: float


class Task(NamedTuple):
    """Data of a seed, how many rows are for training, and what is tuned over which space."""

    data: Callable[[int], tuple[np.ndarray, np.ndarray]]
    n_train: int
    estimator: Any
    space: dict[str, Any]


def clusters(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters in six of twenty dimensions, a tenth of the labels being wrong."""
    shape = {"n_samples": 3000, "n_features": 20, "n_informative": 6, "n_redundant": 4}
    return make_classification(**shape, flip_y=0.1, random_state=seed)


def with_scaled_target(model: Any) -> TransformedTargetRegressor:
    """A model of standardised features and a standardised target."""
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), model), transformer=StandardScaler()
    )


CHOOSING = {
    "digits-svc": Task(
        lambda seed: load_digits(return_X_y=True),
        200,
        make_pipeline(StandardScaler(), SVC()),
        SVM,
    ),
    "diabetes-elastic-net": Task(
        lambda seed: load_diabetes(return_X_y=True),
        200,
        make_pipeline(PolynomialFeatures(2), StandardScaler(), ElasticNet(max_iter=300)),
        {"elasticnet__alpha": loguniform(1e-2, 1e2), "elasticnet__l1_ratio": uniform()},
    ),
    "friedman1-boosting": Task(
        lambda seed: make_friedman1(3000, noise=1.0, random_state=seed),
        100,
        GradientBoostingRegressor(random_state=0),
        {
            "n_estimators": randint(5, 31),
            "learning_rate": loguniform(1e-2, 1.0),
            "max_depth": randint(1, 6),
            "subsample": uniform(0.3, 0.7),
        },
    ),
    "cancer-tree": Task(
        lambda seed: load_breast_cancer(return_X_y=True),
        200,
        DecisionTreeClassifier(random_state=0),
        {
            "max_depth": randint(1, 11),
            "min_samples_leaf": randint(1, 31),
            "ccp_alpha": loguniform(1e-4, 1e-1),
            "criterion": ["gini", "entropy"],
        },
    ),
}
CONFIRMING = {
    "clusters-svc": Task(
        clusters,
        200,
        make_pipeline(StandardScaler(), SelectKBest(), SVC()),
        {"selectkbest__k": randint(1, 21), **SVM},
    ),
    "diabetes-svr": Task(
        lambda seed: load_diabetes(return_X_y=True),
        200,
        with_scaled_target(SVR()),
        {
            "regressor__svr__C": loguniform(1e-3, 1e3),
            "regressor__svr__gamma": loguniform(1e-5, 1e1),
            "regressor__svr__epsilon": loguniform(1e-3, 1.0),
        },
    ),
    "shells-neighbours": Task(
        lambda seed: make_gaussian_quantiles(
            n_samples=3000, n_features=6, n_classes=3, random_state=seed
        ),
        200,
        make_pipeline(PCA(), KNeighborsClassifier()),
        {
            "pca__n_components": randint(1, 7),
            "kneighborsclassifier__n_neighbors": randint(1, 15),
            "kneighborsclassifier__weights": ["uniform", "distance"],
            "kneighborsclassifier__p": [1, 2],
        },
    ),
    "friedman3-kernel-ridge": Task(
        lambda seed: make_friedman3(3000, noise=0.2, random_state=seed),
        200,
        with_scaled_target(KernelRidge()),
        {
            "regressor__kernelridge__alpha": loguniform(1e-6, 1e2),
            "regressor__kernelridge__gamma": loguniform(1e-4, 1e1),
            "regressor__kernelridge__kernel": ["rbf", "laplacian"],
        },
    ),
}
TASKS = CHOOSING | CONFIRMING


class Problem(NamedTuple):
    """A task of one seed, for a method to search."""

    estimator: Any
    space: dict[str, Any]
    X: np.ndarray
    y: np.ndarray
    cv: Any
    n_iter: int
    seed: int

    def searched(self, cls: type, **parameters: Any) -> Any:
        """Run one of the searches in scikit-learn's terms, without the last fit."""
        search = cls(
            self.estimator,
            self.space,
            cv=self.cv,
            random_state=self.seed,
            refit=False,
            **parameters,
        )
        return search.fit(self.X, self.y)


def bandit(problem: Problem) -> list[dict]:
    """BanditSearchCV, and what it would have chosen by the observed scores."""
    search = problem.searched(BanditSearchCV, n_iter=problem.n_iter)
    observed = int(np.nanargmax(search.cv_results_["mean_test_score"]))
    return [search.best_params_, search.cv_results_["params"][observed]]


def random_search(problem: Problem) -> list[dict]:
    """RandomizedSearchCV."""
    search = problem.searched(RandomizedSearchCV, n_iter=problem.n_iter)
    return [search.best_params_]


def halving_candidates(n_iter: int) -> int:
    """Settings with which successive halving evaluates n_iter in all its rounds."""
    n, total = 0, 0
    while total < n_iter:
        n, total, left = n + 1, 0, n + 1
        while True:
            total += left
            if left <= FACTOR:
                break
            left = ceil(left / FACTOR)
    return n


def halving(problem: Problem) -> list[dict]:
    """HalvingRandomSearchCV, whose last settings are evaluated on all rows."""
    n_first = halving_candidates(problem.n_iter)
    n_rounds = 1 + floor(log(n_first) / log(FACTOR) + 1e-9)
    search = problem.searched(
        HalvingRandomSearchCV,
        n_candidates=n_first,
        factor=FACTOR,
        min_resources=len(problem.X) // FACTOR ** (n_rounds - 1),
    )
    return [search.best_params_]


def optuna_distribution(values: Any) -> Any:
    """Return the same distribution in Optuna's terms."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(values, list):
        return CategoricalDistribution(values)
    low, high = values.support()
    if hasattr(values, "pmf"):
        return IntDistribution(int(low), int(high))
    return FloatDistribution(low, high, log=values.dist.name == "loguniform")


def optuna_best(problem: Problem, sampler: Any) -> dict:
    """Return the setting of the best score that a sampler of Optuna found."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {name: optuna_distribution(values) for name, values in problem.space.items()}
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(problem.n_iter):
        trial = study.ask(space)
        model = clone(problem.estimator).set_params(**trial.params)
        study.tell(trial, cross_val_score(model, problem.X, problem.y, cv=problem.cv).mean())
    return study.best_params


def optuna_tpe(problem: Problem) -> list[dict]:
    """Optuna's default."""
    from optuna.samplers import TPESampler

    return [optuna_best(problem, TPESampler(seed=problem.seed))]


def optuna_gp(problem: Problem) -> list[dict]:
    """Optuna's Gaussian process."""
    from optuna.samplers import GPSampler

    return [optuna_best(problem, GPSampler(seed=problem.seed))]


class Method(NamedTuple):
    """A function that searches, the labels of what it returns, and what has to be installed."""

    search: Callable[[Problem], list[dict]]
    labels: tuple[str, ...]
    needs: tuple[str, ...] = ()


OURS, OBSERVED = "BanditSearchCV", "BanditSearchCV, observed"
METHODS = {
    "bandit": Method(bandit, (OURS, OBSERVED)),
    "random": Method(random_search, ("RandomizedSearchCV",)),
    "halving": Method(halving, ("HalvingRandomSearchCV",)),
    "tpe": Method(optuna_tpe, ("Optuna TPE",), ("optuna",)),
    "gp": Method(optuna_gp, ("Optuna GP",), ("optuna", "torch")),
}


def played(name: str, method: str, seed: int, n_iter: int, folds: int) -> list[Row]:
    """Search one task of one seed; a row for each of the method's choices."""
    task = TASKS[name]
    X, y = task.data(seed)
    classes = y if is_classifier(task.estimator) else None
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=task.n_train, stratify=classes, random_state=seed
    )
    cv_class = KFold if classes is None else StratifiedKFold
    cv = cv_class(folds, shuffle=True, random_state=seed)
    problem = Problem(task.estimator, task.space, X, y, cv, n_iter, seed)
    found = METHODS[method].search(problem)
    rows = []
    for label, setting in zip(METHODS[method].labels, found, strict=True):
        model = clone(task.estimator).set_params(**setting)
        cv_score = float(cross_val_score(model, X, y, cv=cv).mean())
        held_out = float(model.fit(X, y).score(X_test, y_test))
        rows.append(Row(name, label, seed, cv_score, held_out))
    return rows


def known_rows(path: Path) -> list[Row]:
    """Read what has been played, and begin the file if there is none."""
    if not path.exists():
        write_csv(path, Row._fields, [])
    with path.open(newline="", encoding="utf-8") as stream:
        lines = list(csv.reader(stream))[1:]
    return [Row(task, label, int(seed), *map(float, rest)) for task, label, seed, *rest in lines]


def play(options: Any, path: Path) -> list[Row]:
    """Run the requested cases that the file lacks, and return all requested rows."""
    rows = {(row.task, row.label, row.seed): row for row in known_rows(path)}
    asked = []
    for name in options.methods:
        method = METHODS[name]
        missing = [need for need in method.needs if not importlib.util.find_spec(need)]
        if missing:
            print(f"{name}: not installed, skipped: {', '.join(missing)}", flush=True)
            continue
        n_runs = min(options.runs, options.gp_runs) if name == "gp" else options.runs
        for seed in range(options.seed, options.seed + n_runs):
            for task in options.tasks:
                keys = [(task, label, seed) for label in method.labels]
                if any(key not in rows for key in keys):
                    new = played(task, name, seed, options.n_iter, options.folds)
                    with path.open("a", newline="", encoding="utf-8") as stream:
                        csv.writer(stream).writerows(new)
                    rows |= zip(keys, new, strict=True)
                asked += [rows[key] for key in keys]
    return asked


def gains(rows: list[Row], score: str, label: str, tasks: list[str]) -> list[np.ndarray]:
    """For each task the points by which BanditSearchCV is above another method, run by run."""
    of = {(row.task, row.label, row.seed): 100 * getattr(row, score) for row in rows}
    seeds = sorted({seed for _, other, seed in of if other == label})
    return [np.array([of[t, OURS, s] - of[t, label, s] for s in seeds]) for t in tasks]


def error_over_tasks(runs: list[np.ndarray]) -> str:
    """Standard error of the mean over tasks as if they had been drawn; of one it is not known."""
    _, error = mean_and_error(np.array([each.mean() for each in runs]))
    return "-" if np.isnan(error) else f"{error:.2f}"


def over_tasks(runs: list[np.ndarray]) -> str:
    """Mean over tasks, with the standard error over runs."""
    if not runs:
        return "-"
    means, errors = zip(*(mean_and_error(each) for each in runs), strict=True)
    return estimate(float(np.mean(means)), sqrt(np.square(errors).sum()) / len(runs), 2)


def main(arguments: list[str] | None = None) -> None:
    """Print how far BanditSearchCV is above the others, and the scores of every task."""
    parser = argument_parser("search_cv", __doc__, 20, gp_runs=5, n_iter=30, folds=3)
    for option, names in (("--tasks", list(TASKS)), ("--methods", list(METHODS))):
        explained = f"of {', '.join(names)} (default all)"
        parser.add_argument(
            option, nargs="+", choices=names, default=names, metavar="NAME", help=explained
        )
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    path = options.output / f"search_cv_{options.n_iter}x{options.folds}.csv"
    rows = play(options, path)

    labels = list(dict.fromkeys(row.label for row in rows))
    table = []
    for label in labels if OURS in labels else []:
        if label != OURS:
            held_out = gains(rows, "held_out", label, options.tasks)
            halves = [
                [each for name, each in zip(options.tasks, held_out, strict=True) if name in half]
                for half in (CHOOSING, CONFIRMING)
            ]
            cells = [*map(over_tasks, [*halves, held_out]), error_over_tasks(held_out)]
            folds = gains(rows, "cv_score", label, options.tasks)
            table.append((label, [*cells, over_tasks(folds), str(len(held_out[0]))]))
    if table:
        title = (
            "Points by which BanditSearchCV is above others on data held out, mean (standard "
            f"error), seed {options.seed}"
        )
        header = ["first tasks", "last tasks", "all tasks", "error over tasks", "folds", "runs"]
        print(format_table(title, header, table), end="\n\n")
    table = []
    for task in options.tasks:
        of_task = [
            [100 * row.held_out for row in rows if (row.task, row.label) == (task, label)]
            for label in labels
        ]
        table.append((task, [estimate(*mean_and_error(np.array(each)), 2) for each in of_task]))
    title = f"Score on data held out, hundredths, mean (standard error), seed {options.seed}"
    print(format_table(title, labels, table), end="\n\n")
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
