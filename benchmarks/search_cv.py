"""BanditSearchCV against RandomizedSearchCV and HalvingRandomSearchCV at equal numbers of fits.

    python -m benchmarks.search_cv [--space svc|mixed --runs 10 --seed 0 --n-iter 30 --folds 5
        --samples N --output DIR]

A pipeline with an SVC on the digits data. "svc" tunes C and gamma on logarithmic scales after a
StandardScaler; "mixed" also the scaler (categories), the number of principal components (an
integer) and the kernel, whose degree and offset exist for one kernel only. A quarter of the data is
held out. For each method: the mean and the best over the runs of the cross-validated score of its
best setting and of the accuracy on the data held out, and standard errors. All methods see the same
folds; run r has the seed ``--seed`` + r, which is that of the search. Successive halving draws as
many settings as give it the same number of fits, most of them on fewer samples; its best setting is
scored on all.
"""

from __future__ import annotations

import time
from math import ceil, floor, log
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    write_csv,
)
from skgpb.model_selection import BanditSearchCV

C, GAMMA = loguniform(1e-3, 1e4), loguniform(1e-6, 1e1)
COMMON = {
    "scaler": [StandardScaler(), MinMaxScaler(), "passthrough"],
    "pca__n_components": randint(5, 61),
    "svc__C": C,
    "svc__gamma": GAMMA,
}
SPACES = {
    "svc": {"svc__C": C, "svc__gamma": GAMMA},
    "mixed": [
        {**COMMON, "svc__kernel": ["rbf"]},
        {**COMMON, "svc__kernel": ["poly"], "svc__degree": randint(2, 6), "svc__coef0": uniform()},
    ],
}
FACTOR = 3
# A polynomial of large features may not converge at all; the other settings need a few thousand.
MAX_ITER = 20_000


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


def searches(space_name: str, n_iter: int, common: dict[str, Any]) -> dict[str, Any]:
    """The methods to compare, as functions of a seed and the number of samples."""
    n_first = halving_candidates(n_iter)
    space = SPACES[space_name]
    steps = [("scaler", StandardScaler()), ("pca", PCA()), ("svc", SVC(max_iter=MAX_ITER))]
    pipeline = Pipeline(steps if space_name == "mixed" else [steps[0], steps[2]])
    n_rounds = 1 + floor(log(n_first) / log(FACTOR) + 1e-9)
    return {
        "BanditSearchCV": lambda seed, n: BanditSearchCV(
            pipeline, space, n_iter=n_iter, random_state=seed, **common
        ),
        "RandomizedSearchCV": lambda seed, n: RandomizedSearchCV(
            pipeline, space, n_iter=n_iter, random_state=seed, **common
        ),
        "HalvingRandomSearchCV": lambda seed, n: HalvingRandomSearchCV(
            pipeline,
            space,
            n_candidates=n_first,
            factor=FACTOR,
            min_resources=n // FACTOR ** (n_rounds - 1),
            random_state=seed,
            **common,
        ),
    }


def main(arguments: list[str] | None = None) -> None:
    """Print every search, then the table."""
    parser = argument_parser("search_cv", __doc__, 10, n_jobs=True, n_iter=30, folds=5)
    parser.add_argument("--space", choices=list(SPACES), default="svc", help="default svc")
    parser.add_argument("--samples", type=positive_int, help="of the digits; all by default")
    options = parser.parse_args(arguments)

    X, y = load_digits(return_X_y=True)
    X, y = X[: options.samples], y[: options.samples]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    cv = StratifiedKFold(options.folds, shuffle=True, random_state=0)
    common = {"cv": cv, "n_jobs": options.n_jobs}
    print(f"{len(X)} samples, {options.n_iter} settings x {options.folds} folds", flush=True)
    print("method                 seed  fits  cv score  held out  seconds  setting")
    table: dict[str, list[tuple[float, float, float]]] = {}
    for name, make in searches(options.space, options.n_iter, common).items():
        for seed in range(options.seed, options.seed + options.runs):
            start = time.perf_counter()
            search = make(seed, len(X)).fit(X, y)
            seconds = time.perf_counter() - start
            best = cross_val_score(search.best_estimator_, X, y, cv=cv).mean()
            row = best, search.score(X_test, y_test), seconds
            table.setdefault(name, []).append(row)
            fits = len(search.cv_results_["params"]) * search.n_splits_
            setting = ", ".join(
                f"{key.split('__')[-1]}={value:.3g}"
                if isinstance(value, float)
                else f"{key.split('__')[-1]}={value}"
                for key, value in search.best_params_.items()
            )
            print(
                f"{name:22} {seed:4d} {fits:5d}  {row[0]:.5f}   {row[1]:.5f}  {seconds:7.1f}  "
                f"{setting}",
                flush=True,
            )
    cells = {}
    for name, rows in table.items():
        scores = np.array(rows)[:, :2]
        best = [f"{each:.5f}" for each in scores.max(axis=0)]
        means = [estimate(*each, 5) for each in zip(*mean_and_error(scores), strict=True)]
        cells[name] = [means[0], best[0], means[1], best[1]]
    title = (
        f"{options.space}: score, mean (standard error) over {options.runs} runs, "
        f"seed {options.seed}"
    )
    header = ["folds", "best, folds", "held out", "best, held out"]
    print("\n" + format_table(title, header, cells.items()), end="\n\n")
    path = options.output / f"search_cv_{options.space}.csv"
    every = [
        (name, options.seed + r, *row) for name, rows in table.items() for r, row in enumerate(rows)
    ]
    write_csv(path, ("method", "seed", "cv_score", "held_out", "seconds"), every)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
