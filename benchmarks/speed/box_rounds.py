"""Milliseconds of a round in a box after a thousand rounds, for every rule over candidates.

    python -m benchmarks.speed.box_rounds [--rules EI GPUCB] [--dimensions 2 6 10] [--around 1000]
        [--runs 1] [--seed 0]

One process, one thread, CPU time of one ask and one tell. The columns are means over the rounds
from 50 before to 50 after ``--around``:

given    with kernel and noise given, where nothing is learned
learned  with nothing given, rounds that learn left out
all      with these: hyperparameters are learned whenever the number of answers has doubled
learning such a round, spread over the rounds since the one before
"""

from __future__ import annotations

from time import process_time

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern
from threadpoolctl import threadpool_limits

import skgpb
from benchmarks._common import argument_parser, positive_int, write_csv

NOISE = 0.1
RULES = ("EI", "PI", "GPUCB", "MES", "EST", "GPTS")


def objective(x: np.ndarray) -> float:
    """Value of a smooth hill with a ripple along the first axis."""
    return float(np.exp(-3.0 * ((x - 0.4) ** 2).sum()) + 0.3 * np.sin(9.0 * x[0]))


def play(rule: str, d: int, n_rounds: int, given: bool, seed: int) -> tuple[np.ndarray, list[int]]:
    """Milliseconds of every round, and which of them learned."""
    settings: dict = {"bounds": [(0, 1)] * d, "random_state": seed}
    if given:
        settings["kernel"] = ConstantKernel(0.1) * Matern([0.3 * np.sqrt(d)] * d, nu=2.5)
        settings["alpha"] = NOISE**2
    optimizer, rng = getattr(skgpb, f"{rule}Optimizer")(**settings), np.random.default_rng(seed)
    taken, learned = np.empty(n_rounds), []
    for t in range(n_rounds):
        before = optimizer.surrogate_.kernel_ if t else None
        start = process_time()
        arm = optimizer.ask()
        asked = process_time() - start
        reward = objective(arm.points.ravel()) + NOISE * rng.standard_normal()
        start = process_time()
        optimizer.tell(arm, reward)
        taken[t] = 1e3 * (process_time() - start + asked)
        if before is not None and optimizer.surrogate_.kernel_ is not before:
            learned.append(t)
    return taken, learned


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.box_rounds", __doc__, 1, around=1000)
    parser.add_argument(
        "--rules", nargs="+", choices=RULES, default=RULES[:4], help="default the first four"
    )
    parser.add_argument(
        "--dimensions", type=positive_int, nargs="+", default=(2, 6, 10), help="default 2 6 10"
    )
    options = parser.parse_args(arguments)
    rows = []
    print(f"{'ms per round':16}{'given':>9}{'learned':>9}{'all':>9}{'learning':>10}")
    with threadpool_limits(1):
        for rule in options.rules:
            for d in options.dimensions:
                found = []
                for seed in range(options.seed, options.seed + options.runs):
                    last = slice(max(0, options.around - 50), options.around + 50)
                    given, _ = play(rule, d, last.stop, True, seed)
                    taken, learned = play(rule, d, last.stop, False, seed)
                    usual = np.delete(np.arange(last.stop), learned)
                    usual = usual[usual >= last.start]
                    spread = (
                        taken[learned[-1]] / (learned[-1] - learned[-2])
                        if len(learned) > 1
                        else np.nan
                    )
                    found.append(
                        (given[last].mean(), taken[usual].mean(), taken[last].mean(), spread)
                    )
                figures = np.mean(found, axis=0)
                label = f"{rule}, d = {d}"
                print(
                    f"{label:16}"
                    + "".join(f"{x:9.2f}" for x in figures[:3])
                    + f"{figures[3]:10.2f}",
                    flush=True,
                )
                rows.append((rule, d, *figures))
    path = options.output / "speed_box_rounds.csv"
    write_csv(path, ("rule", "d", "given_ms", "learned_ms", "all_ms", "learning_ms"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
