"""Scores of hyperparameter searches at equal numbers of fits.

    python -m benchmarks.search_cv [--runs 5] [--gp-runs 3] [--seed 0]
        [--n-iter 30] [--folds 3]
        [--half choosing|confirming|both|choosing-more|confirming-more]
        [--tasks NAME ...] [--methods NAME ...] [--output DIR]

Sixteen tasks of real data that scikit-learn has, with one to seven hyperparameters; in four of them
which there are depends on another one. Run r draws split, folds and the search from the seed
``--seed`` + r. Each method evaluates ``--n-iter`` settings by cross-validation on the few rows for
training; all methods see the same data and the same folds.

The *regret* after some settings is how far the best score so far is below the best that any method
has found in this run of the task, in units of the distance between that and the median score of
random settings, which therefore have 1 on average after one setting. *Held out* is the score of the
setting that a method chooses, fitted to all rows for training, on the rows that no search has seen,
by accuracy or by R squared: the table has the lead of BanditSearchCV over the others in the same
runs, in hundredths. BanditSearchCV is shown with both values of ``select``, for one and the same
search. Successive halving draws as many settings as give it the same number of fits, most of them
on fewer rows, so that it has no regret on the way. BayesSearchCV of scikit-optimize searches spaces
with a share of the settings each, one after the other. It and Optuna's samplers are compared where
they are installed, the one with a Gaussian process in ``--gp-runs`` runs only, since it takes
seconds a search.

The default rule of BanditSearchCV was chosen on the tasks of the first half and the seeds from
1,000 on. Twenty further tasks with other models, in two halves of their own, are in
:mod:`benchmarks.tuning_tasks`; nothing was chosen on them. Standard errors are those over tasks, of
the means of their runs.

Every run is kept in a file. What is there is not played again, so that a long benchmark can be
interrupted, or played in parts: delete the file to begin afresh.
"""

from __future__ import annotations

import csv
import importlib.util
import warnings
from collections.abc import Callable
from functools import partial
from math import ceil, floor, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from benchmarks import tuning_tasks
from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from benchmarks.tuning_tasks import Task
from skgpb.model_selection import BanditSearchCV

FACTOR = 3
#: Numbers of settings after which regrets are shown.
SHOWN = (10, 20, 30)
C, GAMMA = loguniform(1e-3, 1e4), loguniform(1e-6, 1e1)


class Row(NamedTuple):
    """What a method found in one run of a task: scores in their order, and of its choice."""

    task: str
    label: str
    seed: int
    held_out: float
    scores: tuple[float, ...]


def scaled(*steps: Any) -> Any:
    """A pipeline that begins with standardised features."""
    return make_pipeline(StandardScaler(), *steps)


def with_scaled_target(model: Any) -> TransformedTargetRegressor:
    """A model of standardised features and a standardised target."""
    return TransformedTargetRegressor(scaled(model), transformer=StandardScaler())


def step_of(model: Any, **parameters: Any) -> dict[str, Any]:
    """A space in which this model is the last step, of which these parameters are tuned."""
    named = {f"model__{name}": values for name, values in parameters.items()}
    return {"model": [model], **named}


TREE = {
    "max_depth": randint(1, 11),
    "min_samples_leaf": randint(1, 31),
    "ccp_alpha": loguniform(1e-4, 1e-1),
    "criterion": ["gini", "entropy"],
}
CLASSIFIERS = [
    step_of(SVC(), C=C, gamma=GAMMA),
    step_of(
        KNeighborsClassifier(),
        n_neighbors=randint(1, 31),
        weights=["uniform", "distance"],
        p=[1, 2],
    ),
    step_of(DecisionTreeClassifier(random_state=0), **TREE),
    step_of(LogisticRegression(max_iter=200), C=C),
]
REGRESSORS = [
    step_of(SVR(), C=loguniform(1e-1, 1e4), gamma=GAMMA),
    step_of(Ridge(), alpha=loguniform(1e-3, 1e4)),
    step_of(KNeighborsRegressor(), n_neighbors=randint(1, 51), weights=["uniform", "distance"]),
    step_of(ElasticNet(), alpha=loguniform(1e-3, 1e2), l1_ratio=uniform()),
]
BOOSTING = {
    "n_estimators": randint(5, 41),
    "learning_rate": loguniform(1e-2, 1.0),
    "max_depth": randint(1, 6),
    "subsample": uniform(0.3, 0.7),
}
digits, cancer, wine, diabetes = (
    partial(load, return_X_y=True)
    for load in (load_digits, load_breast_cancer, load_wine, load_diabetes)
)
CHOOSING = {
    "digits-svc": Task(digits, 200, scaled(SVC()), {"svc__C": C, "svc__gamma": GAMMA}),
    "diabetes-elastic-net": Task(
        diabetes,
        200,
        make_pipeline(PolynomialFeatures(2), StandardScaler(), ElasticNet(max_iter=300)),
        {"elasticnet__alpha": loguniform(1e-2, 1e2), "elasticnet__l1_ratio": uniform()},
    ),
    "cancer-tree": Task(cancer, 200, DecisionTreeClassifier(random_state=0), TREE),
    "wine-logistic": Task(
        wine, 90, scaled(LogisticRegression(max_iter=200)), {"logisticregression__C": C}
    ),
    "diabetes-boosting": Task(diabetes, 200, GradientBoostingRegressor(random_state=0), BOOSTING),
    "digits-neighbours": Task(
        digits,
        200,
        make_pipeline(PCA(random_state=0), KNeighborsClassifier()),
        {
            "pca__n_components": randint(1, 41),
            "pca__whiten": [False, True],
            "kneighborsclassifier__n_neighbors": randint(1, 15),
            "kneighborsclassifier__weights": ["uniform", "distance"],
            "kneighborsclassifier__p": [1, 2],
        },
    ),
    "digits-models": Task(
        digits, 200, Pipeline([("scaler", StandardScaler()), ("model", SVC())]), CLASSIFIERS
    ),
    "diabetes-kernels": Task(
        diabetes,
        200,
        with_scaled_target(SVR()),
        [
            {"regressor__svr__kernel": ["linear"], "regressor__svr__C": loguniform(1e-3, 1e1)},
            {
                "regressor__svr__kernel": ["rbf", "sigmoid"],
                "regressor__svr__C": loguniform(1e-3, 1e2),
                "regressor__svr__gamma": loguniform(1e-5, 1e1),
            },
        ],
    ),
}
CONFIRMING = {
    "cancer-svc": Task(
        cancer,
        100,
        scaled(SelectKBest(), SVC()),
        {"selectkbest__k": randint(1, 31), "svc__C": C, "svc__gamma": GAMMA},
    ),
    "diabetes-svr": Task(
        diabetes,
        200,
        with_scaled_target(SVR()),
        {
            "regressor__svr__C": loguniform(1e-3, 1e3),
            "regressor__svr__gamma": loguniform(1e-5, 1e1),
            "regressor__svr__epsilon": loguniform(1e-3, 1.0),
        },
    ),
    "wine-tree": Task(wine, 90, DecisionTreeClassifier(random_state=0), TREE),
    "digits-sgd": Task(
        digits,
        200,
        scaled(SGDClassifier(random_state=0, max_iter=20, tol=None)),
        {
            "sgdclassifier__loss": ["hinge", "log_loss", "modified_huber", "perceptron"],
            "sgdclassifier__penalty": ["l2", "l1", "elasticnet"],
            "sgdclassifier__alpha": loguniform(1e-6, 1.0),
            "sgdclassifier__l1_ratio": uniform(),
            "sgdclassifier__learning_rate": ["optimal", "constant", "invscaling", "adaptive"],
            "sgdclassifier__eta0": loguniform(1e-4, 1.0),
            "sgdclassifier__average": [False, True],
        },
    ),
    "cancer-boosting": Task(cancer, 150, GradientBoostingClassifier(random_state=0), BOOSTING),
    "diabetes-kernel-ridge": Task(
        diabetes,
        200,
        with_scaled_target(KernelRidge()),
        {
            "regressor__kernelridge__alpha": loguniform(1e-6, 1e2),
            "regressor__kernelridge__gamma": loguniform(1e-4, 1e1),
            "regressor__kernelridge__kernel": ["rbf", "laplacian"],
        },
    ),
    "cancer-models": Task(
        cancer, 100, Pipeline([("scaler", StandardScaler()), ("model", SVC())]), CLASSIFIERS
    ),
    "diabetes-models": Task(
        diabetes, 200, Pipeline([("scaler", StandardScaler()), ("model", Ridge())]), REGRESSORS
    ),
}
HALVES = {
    "choosing": CHOOSING,
    "confirming": CONFIRMING,
    "choosing-more": tuning_tasks.CHOOSING,
    "confirming-more": tuning_tasks.CONFIRMING,
}
TASKS = {name: task for half in HALVES.values() for name, task in half.items()}


class Problem(NamedTuple):
    """A task of one seed, for a method to search."""

    estimator: Any
    space: Any
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


class Found(NamedTuple):
    """Scores in the order of evaluation, and the settings that a method chooses."""

    scores: np.ndarray
    chosen: list[dict[str, Any]]


def bandit(problem: Problem) -> Found:
    """BanditSearchCV, and what it would have chosen by the observed scores."""
    search = problem.searched(BanditSearchCV, n_iter=problem.n_iter)
    scores = search.cv_results_["mean_test_score"]
    observed = int(np.nanargmax(scores))
    return Found(scores, [search.best_params_, search.cv_results_["params"][observed]])


def random_search(problem: Problem) -> Found:
    """RandomizedSearchCV."""
    search = problem.searched(RandomizedSearchCV, n_iter=problem.n_iter)
    return Found(search.cv_results_["mean_test_score"], [search.best_params_])


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


def halving(problem: Problem) -> Found:
    """HalvingRandomSearchCV, whose last settings are evaluated on all rows."""
    n_first = halving_candidates(problem.n_iter)
    n_rounds = 1 + floor(log(n_first) / log(FACTOR) + 1e-9)
    search = problem.searched(
        HalvingRandomSearchCV,
        n_candidates=n_first,
        factor=FACTOR,
        min_resources=len(problem.X) // FACTOR ** (n_rounds - 1),
    )
    return Found(np.empty(0), [search.best_params_])


def suggested(trial: Any, name: str, values: Any) -> Any:
    """Return the value of one parameter that a trial of Optuna suggests."""
    if isinstance(values, list):
        # Optuna's choices are numbers and texts.
        return values[trial.suggest_categorical(name, list(range(len(values))))]
    low, high = values.support()
    if hasattr(values, "pmf"):
        return trial.suggest_int(name, int(low), int(high))
    return trial.suggest_float(name, low, high, log=values.dist.name == "loguniform")


def found_by_optuna(problem: Problem, sampler: Any) -> Found:
    """Return what a sampler of Optuna found; a parameter is suggested where there is one."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    spaces = problem.space if isinstance(problem.space, list) else [problem.space]
    study = optuna.create_study(direction="maximize", sampler=sampler)
    settings, scores = [], []
    for _ in range(problem.n_iter):
        trial = study.ask()
        number = trial.suggest_categorical("space", list(range(len(spaces))))
        space = spaces[number]
        # Of several dicts the same distribution of a name is the same parameter.
        shared = {
            name: min(i for i, each in enumerate(spaces) if each.get(name) is values)
            for name, values in space.items()
        }
        setting = {
            name: suggested(trial, f"{name} {shared[name]}", values)
            for name, values in space.items()
        }
        model = clone(problem.estimator).set_params(**cloned(setting))
        score = cross_val_score(model, problem.X, problem.y, cv=problem.cv).mean()
        study.tell(trial, score)
        settings.append(setting)
        scores.append(score)
    return Found(np.array(scores), [settings[int(np.nanargmax(scores))]])


def cloned(setting: dict[str, Any]) -> dict[str, Any]:
    """Return a setting with estimators of its own."""
    return {name: clone(value, safe=False) for name, value in setting.items()}


def optuna_tpe(problem: Problem) -> Found:
    """Optuna's default."""
    from optuna.samplers import TPESampler

    return found_by_optuna(problem, TPESampler(seed=problem.seed))


def optuna_gp(problem: Problem) -> Found:
    """Optuna's Gaussian process."""
    from optuna.samplers import GPSampler

    return found_by_optuna(problem, GPSampler(seed=problem.seed))


def bayes_search_space(space: dict[str, Any]) -> dict[str, Any]:
    """A space in the terms of scikit-optimize."""
    from skopt.space import Categorical, Integer, Real

    out = {}
    for name, values in space.items():
        if isinstance(values, list):
            out[name] = Categorical(values)
            continue
        low, high = values.support()
        if hasattr(values, "pmf"):
            out[name] = Integer(int(low), int(high))
        else:
            prior = "log-uniform" if values.dist.name == "loguniform" else "uniform"
            out[name] = Real(low, high, prior)
    return out


def bayes_search(problem: Problem) -> Found:
    """BayesSearchCV of scikit-optimize; of several dicts each has its share of the settings."""
    from skopt import BayesSearchCV

    spaces = problem.space if isinstance(problem.space, list) else [problem.space]
    shares = [len(each) for each in np.array_split(np.arange(problem.n_iter), len(spaces))]
    search = BayesSearchCV(
        problem.estimator,
        [(bayes_search_space(each), n) for each, n in zip(spaces, shares, strict=True)],
        cv=problem.cv,
        random_state=problem.seed,
        refit=False,
    )
    search.fit(problem.X, problem.y)
    return Found(search.cv_results_["mean_test_score"], [search.best_params_])


def gp_bandit_sampler(problem: Problem) -> Found:
    """The sampler of skgpb for Optuna."""
    from skgpb.integrations.optuna import GPBanditSampler

    return found_by_optuna(problem, GPBanditSampler(seed=problem.seed))


class Method(NamedTuple):
    """A function that searches, the labels of what it chooses, and what has to be installed."""

    search: Callable[[Problem], Found]
    labels: tuple[str, ...]
    needs: tuple[str, ...] = ()


OURS, OBSERVED = "BanditSearchCV", "BanditSearchCV, observed"
RANDOM = "RandomizedSearchCV"
METHODS = {
    "bandit": Method(bandit, (OURS, OBSERVED)),
    "sampler": Method(gp_bandit_sampler, ("GPBanditSampler",), ("optuna",)),
    "random": Method(random_search, (RANDOM,)),
    "halving": Method(halving, ("HalvingRandomSearchCV",)),
    "tpe": Method(optuna_tpe, ("Optuna TPE",), ("optuna",)),
    "bayes": Method(bayes_search, ("BayesSearchCV",), ("skopt",)),
    "gp": Method(optuna_gp, ("Optuna GP",), ("optuna", "torch")),
}


def played(name: str, method: str, seed: int, n_iter: int, folds: int) -> list[Row]:
    """Search one task of one seed; a row for each of the method's choices."""
    task = TASKS[name]
    X, y = task.data()
    classes = y if is_classifier(task.estimator) else None
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=task.n_train, stratify=classes, random_state=seed
    )
    cv_class = KFold if classes is None else StratifiedKFold
    cv = cv_class(folds, shuffle=True, random_state=seed)
    found = METHODS[method].search(Problem(task.estimator, task.space, X, y, cv, n_iter, seed))
    rows = []
    for label, setting in zip(METHODS[method].labels, found.chosen, strict=True):
        model = clone(task.estimator).set_params(**cloned(setting))
        held_out = float(model.fit(X, y).score(X_test, y_test))
        rows.append(Row(name, label, seed, held_out, tuple(found.scores.tolist())))
    return rows


def known_rows(path: Path) -> list[Row]:
    """Read what has been played, and begin the file if there is none."""
    if not path.exists():
        write_csv(path, Row._fields, [])
    with path.open(newline="", encoding="utf-8") as stream:
        lines = list(csv.reader(stream))[1:]
    return [
        Row(task, label, int(seed), float(held_out), tuple(map(float, scores.split())))
        for task, label, seed, held_out, scores in lines
    ]


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
                        csv.writer(stream).writerows(
                            (*row[:-1], " ".join(map(repr, row.scores))) for row in new
                        )
                    rows |= zip(keys, new, strict=True)
                asked += [rows[key] for key in keys]
    return asked


def regrets(rows: list[Row]) -> dict[tuple[str, str, int], np.ndarray]:
    """Regret after each setting, by task, method and seed, in units of what random ones lack."""
    out = {}
    for task, seed in dict.fromkeys((row.task, row.seed) for row in rows):
        there = [row for row in rows if (row.task, row.seed) == (task, seed) and row.scores]
        found = {row.label: np.fmax.accumulate(row.scores) for row in there}
        best = max(np.nanmax(each) for each in found.values())
        typical = np.nanmedian(
            [each for row in there if row.label == RANDOM for each in row.scores]
        )
        for label, each in found.items():
            out[task, label, seed] = (best - each) / max(best - typical, 1e-12)
    return out


def over_tasks(runs: dict[str, list[float]], digits: int) -> str:
    """Mean over tasks of the means of their runs, with the standard error over tasks."""
    means = np.array([np.mean(each) for each in runs.values()])
    return estimate(*mean_and_error(means), digits) if len(means) else "-"


def by_task(values: dict[tuple[str, str, int], float], label: str) -> dict[str, list[float]]:
    """Values of a method, run by run, for each task."""
    out: dict[str, list[float]] = {}
    for (task, other, _), value in values.items():
        if other == label:
            out.setdefault(task, []).append(value)
    return out


def leads(values: dict[tuple[str, str, int], float], label: str) -> dict[str, list[float]]:
    """How far BanditSearchCV is above another method, run by run, for each task."""
    above = {
        (task, other, seed): values[task, OURS, seed] - value
        for (task, other, seed), value in values.items()
        if other == label and (task, OURS, seed) in values
    }
    return by_task(above, label)


def main(arguments: list[str] | None = None) -> None:
    """Print regrets, leads over other methods, and the scores of every task."""
    parser = argument_parser("search_cv", __doc__, 5, gp_runs=3, n_iter=30, folds=3)
    parser.add_argument("--half", choices=[*HALVES, "both"], default="both", help="of the tasks")
    for option, names, default in (
        ("--tasks", list(TASKS), []),
        ("--methods", list(METHODS), list(METHODS)),
    ):
        explained = f"of {', '.join(names)} (default {'all' if default else 'those of --half'})"
        parser.add_argument(
            option, nargs="+", choices=names, default=default, metavar="NAME", help=explained
        )
    options = parser.parse_args(arguments)
    options.tasks = options.tasks or [*HALVES.get(options.half, CHOOSING | CONFIRMING)]
    warnings.filterwarnings("ignore")
    path = options.output / f"search_cv_{options.n_iter}x{options.folds}.csv"
    rows = play(options, path)
    labels = list(dict.fromkeys(row.label for row in rows))
    times = [n for n in SHOWN if n <= options.n_iter] or [options.n_iter]

    if RANDOM in labels:
        of_all = regrets(rows)
        table = []
        for label in labels:
            if label == OBSERVED or not any(key[1] == label for key in of_all):
                continue
            cells = []
            for n in times:
                at = {key: float(each[min(n, len(each)) - 1]) for key, each in of_all.items()}
                behind = {key: -value for key, value in at.items()}
                cells += [over_tasks(by_task(at, label), 3), over_tasks(leads(behind, label), 3)]
            table.append((label, cells))
        header = [each for n in times for each in (f"at {n}", f"ours less at {n}")]
        title = "Regret of the best score so far, mean (standard error over tasks), seed"
        print(format_table(f"{title} {options.seed}", header, table), end="\n\n")
    if OURS in labels:
        held_out = {(row.task, row.label, row.seed): 100 * row.held_out for row in rows}
        table = []
        for label in labels:
            if label != OURS:
                runs = leads(held_out, label)
                n_runs = max(map(len, runs.values()))
                table.append((label, [over_tasks(runs, 2), str(n_runs)]))
        title = (
            f"Points by which BanditSearchCV is above others on data held out, seed {options.seed}"
        )
        print(format_table(title, ["all tasks", "runs"], table), end="\n\n")
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
