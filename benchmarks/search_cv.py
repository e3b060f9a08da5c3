"""BanditSearchCV against RandomizedSearchCV and HalvingRandomSearchCV at equal numbers of fits.

    python -m benchmarks.search_cv [--seeds 10 --n-iter 30 --folds 5]

A pipeline of a StandardScaler and an SVC on the digits data, C and gamma on a logarithmic scale. A
quarter of the data is held out. For each method: the mean and the best over the seeds of the best
cross-validated score and of the accuracy on the data held out, each with its standard error, and
seconds. All methods see the same folds; the seed is that of the search. Successive halving draws
as many settings as give it the same number of fits, most of them on fewer samples.
"""

from __future__ import annotations

import argparse
import time
from math import ceil, floor, log
from typing import Any

import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skgpb.model_selection import BanditSearchCV

SPACE = {"svc__C": loguniform(1e-3, 1e4), "svc__gamma": loguniform(1e-6, 1e1)}
FACTOR = 3


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


def searches(n_iter: int, common: dict[str, Any]) -> dict[str, Any]:
    """The methods to compare, as functions of a seed and the number of samples."""
    n_first = halving_candidates(n_iter)
    pipeline = make_pipeline(StandardScaler(), SVC())
    n_rounds = 1 + floor(log(n_first) / log(FACTOR) + 1e-9)
    return {
        "BanditSearchCV": lambda seed, n: BanditSearchCV(
            pipeline, SPACE, n_iter=n_iter, random_state=seed, **common
        ),
        "RandomizedSearchCV": lambda seed, n: RandomizedSearchCV(
            pipeline, SPACE, n_iter=n_iter, random_state=seed, **common
        ),
        "HalvingRandomSearchCV": lambda seed, n: HalvingRandomSearchCV(
            pipeline,
            SPACE,
            n_candidates=n_first,
            factor=FACTOR,
            min_resources=n // FACTOR ** (n_rounds - 1),
            random_state=seed,
            **common,
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--n-iter", type=int, default=30)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=None, help="of the digits; all by default")
    parser.add_argument("--n-jobs", type=int, default=1)
    arguments = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    X, y = X[: arguments.samples], y[: arguments.samples]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    cv = StratifiedKFold(arguments.folds, shuffle=True, random_state=0)
    common = {"cv": cv, "n_jobs": arguments.n_jobs}
    print(f"{len(X)} samples, {arguments.n_iter} settings x {arguments.folds} folds", flush=True)
    print("method                 seed  fits  cv score  held out  seconds  C          gamma")
    table: dict[str, list[tuple[float, float, float]]] = {}
    for name, make in searches(arguments.n_iter, common).items():
        for seed in range(arguments.seeds):
            start = time.perf_counter()
            search = make(seed, len(X)).fit(X, y)
            seconds = time.perf_counter() - start
            row = search.best_score_, search.score(X_test, y_test), seconds
            table.setdefault(name, []).append(row)
            fits = len(search.cv_results_["params"]) * search.n_splits_
            C, gamma = search.best_params_["svc__C"], search.best_params_["svc__gamma"]
            print(
                f"{name:22} {seed:4d} {fits:5d}  {row[0]:.5f}   {row[1]:.5f}  {seconds:7.1f}  "
                f"{C:<9.3g}  {gamma:.3g}",
                flush=True,
            )
    print("\nmethod                 cv score: mean (s.e.)   best     held out: mean (s.e.)  best")
    for name, rows in table.items():
        scores = np.array(rows)
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else [0, 0]
        mean, best = scores.mean(axis=0), scores.max(axis=0)
        print(
            f"{name:22} {mean[0]:.5f} ({error[0]:.5f})      {best[0]:.5f}  "
            f"{mean[1]:.5f} ({error[1]:.5f})     {best[1]:.5f}"
        )


if __name__ == "__main__":
    main()
