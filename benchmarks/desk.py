"""Whether the statements of an experiment hold, over whole campaigns as a person plays them.

    python -m benchmarks.desk [--runs 2] [--seed 0] [--names line-5 mixture-20]

Nineteen campaigns with random functions of their settings are played through ``Experiment``: one to
five numbers, lists, mixtures; limits on a number or on yes and no; failures, repeats, a range of
answers. Values have a range of about 100, and noise has a standard deviation of 0, 5 or 20. After
some answers the command ``best --stop-within 10`` is read, and predictions at ten random settings;
then ten more answers are told. Every interval, bound and probability is compared with the truth.

A row has the percentage of statements that hold, with its standard error, where a campaign is the
unit; the number of statements; and the percentage that is said. A bound on how much better another
setting is has its own row where it comes from the range of answers, where the sentence calls it a
rough guess, and where it says "95 % sure" alone; it is compared with the best of 8,000 random
settings. "You may stop" holds if ten more answers improve the recommendation by at most 10. A
second table has the improvement by ten more answers, as expected and as it came.
"""

from __future__ import annotations

import json
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import loguniform, randint, uniform

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from skgpb.lab.cli.commands import main as run_command
from skgpb.lab.experiments import Experiment

Setting = dict[str, Any]

#: Largest difference that does not matter to the person.
WITHIN = 10.0
#: Number of random settings at which predictions are read, and of answers after the verdict.
N_PREDICTIONS, N_MORE = 10, 10
#: Smaller differences of values do not count: settings are rounded to steps.
ROUNDING = 1e-3
#: Texts of the limits, with the largest number that is allowed.
LIMITS = {"temperature": "temperature <= {}", "clear": "clear = yes"}


class Statement(NamedTuple):
    """A statement, whether it holds, and the probability that is said, in per cent or NaN."""

    kind: str
    holds: bool
    said: float = np.nan


@dataclass
class Campaign:
    """A campaign.

    Attributes
    ----------
    sides : dict
        Sides as in ``bounds`` of an optimizer.
    noise : float
        Standard deviation of the noise.
    n_answers : int
        Number of answers before the recommendation is read.
    limits : tuple of str, default=()
        Outcomes with a limit, which 60 % of all settings keep: "temperature" is a number, "clear"
        is yes or no.
    repeat : int, default=0
        Every how many answers a setting is repeated; 0 for never.
    fails : bool, default=False
        Whether evaluations fail at 30 % of all settings.
    options : dict
        Further arguments of ``Experiment.create``.
    """

    sides: dict[str, Any]
    noise: float
    n_answers: int
    limits: tuple[str, ...] = ()
    repeat: int = 0
    fails: bool = False
    options: dict[str, Any] = field(default_factory=dict)


LINE: dict[str, Any] = {"time": (0.0, 10.0)}
PLANE = {**LINE, "heat": (20.0, 120.0)}
BOX = {**PLANE, "salt": loguniform(0.01, 10.0)}
FIVE = {**BOX, "steps": randint(1, 13), "pressure": (1.0, 5.0)}
LISTS = {"solvent": list("ABCDEF"), "base": list("uvwxy")}
MIXED = {**PLANE, "solvent": list("ABCD")}
PARTS = {"A": (0.0, 1.0), "B": (0.0, 1.0), "C": (0.0, 1.0)}
SUM = {"constraints": "A + B + C = 1"}

CAMPAIGNS = {
    "line-0": Campaign(LINE, 0, 12),
    "line-5": Campaign(LINE, 5, 15),
    "line-20": Campaign(LINE, 20, 30),
    "plane-0": Campaign(PLANE, 0, 20),
    "plane-5": Campaign(PLANE, 5, 30),
    "plane-20": Campaign(PLANE, 20, 40, options={"direction": "minimize"}),
    "box-5": Campaign(BOX, 5, 30),
    "five-20": Campaign(FIVE, 20, 40),
    "lists-5": Campaign(LISTS, 5, 20),
    "lists-20": Campaign(LISTS, 20, 40, repeat=4),
    "mixed-5": Campaign(MIXED, 5, 30),
    "mixture-5": Campaign(PARTS, 5, 20, options=SUM),
    "mixture-20": Campaign(PARTS, 20, 30, options=SUM),
    "limit-5": Campaign(PLANE, 5, 30, limits=("temperature",)),
    "yes-no-5": Campaign(MIXED, 5, 30, limits=("clear",)),
    "limits-20": Campaign(BOX, 20, 40, limits=("temperature", "clear")),
    "failures-5": Campaign(PLANE, 5, 30, fails=True),
    "range-5": Campaign(PLANE, 5, 20, options={"answer_range": "0:100", "unit": "%"}),
    "range-20": Campaign(PLANE, 20, 24, repeat=3, options={"answer_range": "0:100", "unit": "%"}),
}


def distribution(side: Any) -> Any:
    """Return the distribution of a side that is no list."""
    return uniform(side[0], side[1] - side[0]) if isinstance(side, tuple) else side


def draw(sides: dict[str, Any], n: int, rng: np.random.Generator) -> list[Setting]:
    """Return n random settings."""
    if sides is PARTS:
        cuts = np.sort(rng.integers(0, 1001, size=(n, 2)), axis=1)
        columns = (np.diff(cuts, prepend=0, append=1000) / 1000.0).T.tolist()
    else:
        columns = [
            [side[i] for i in rng.integers(len(side), size=n)]
            if isinstance(side, list)
            else distribution(side).rvs(n, random_state=rng).tolist()
            for side in sides.values()
        ]
    return [dict(zip(sides, row, strict=True)) for row in zip(*columns, strict=True)]


class Waves:
    """A random function of settings: a sum of 300 waves, which is between 0 and 100."""

    def __init__(self, sides: dict[str, Any], rng: np.random.Generator) -> None:
        self._sides = sides
        n_columns = sum(len(each) if isinstance(each, list) else 1 for each in sides.values())
        n_numbers = sum(not isinstance(each, list) for each in sides.values())
        lengths = np.exp(rng.uniform(np.log(0.2), np.log(0.6), n_columns))
        lengths *= np.sqrt(max(1, n_numbers))
        self._frequencies = rng.normal(size=(300, n_columns)) / lengths
        self._phases, self._weights = rng.uniform(0, 2 * np.pi, 300), rng.normal(size=300)
        self._low, self._width = 0.0, 1.0
        values = self(draw(sides, 2000, rng))
        # 2,000 settings do not have all values: leave a margin on either side.
        self._width = 1.04 * float(np.ptp(values)) / 100.0
        self._low = float(values.min()) - 2.0 * self._width

    def __call__(self, settings: list[Setting]) -> NDArray[np.float64]:
        """Return the values (n,) at settings."""
        columns = []
        for name, side in self._sides.items():
            values = [setting[name] for setting in settings]
            if isinstance(side, list):
                # Two entries are as far apart as two numbers of about half the side.
                columns += [[0.4 * (value == entry) for value in values] for entry in side]
            else:
                columns.append(distribution(side).cdf(values))
        waves = np.cos(np.array(columns, dtype=float).T @ self._frequencies.T + self._phases)
        result: NDArray[np.float64] = (waves @ self._weights - self._low) / self._width
        return result


class Truth:
    """The functions behind a campaign: of the answer, outcomes with a limit, and failures."""

    def __init__(self, campaign: Campaign, rng: np.random.Generator) -> None:
        self.campaign, self.rng = campaign, rng
        self.sign = -1.0 if campaign.options.get("direction") == "minimize" else 1.0
        self.every = draw(campaign.sides, 8000, rng)
        self.value, self._failing = (Waves(campaign.sides, rng) for _ in range(2))
        self._outcomes = {name: Waves(campaign.sides, rng) for name in campaign.limits}
        self.ends = {
            name: float(f"{np.quantile(outcome(self.every), 0.6):.6g}")
            for name, outcome in self._outcomes.items()
        }
        self._first_failure = np.quantile(self._failing(self.every), 0.7)

    def gain(self, settings: list[Setting], over: Setting) -> NDArray[np.float64]:
        """Return how much better settings are than another one."""
        return self.sign * (self.value(settings) - self.value([over]))

    def keeps_limits(self, settings: list[Setting]) -> NDArray[np.bool_]:
        """Return the mask of settings that keep all limits."""
        kept = np.ones(len(settings), dtype=bool)
        for name, end in self.ends.items():
            kept &= self._outcomes[name](settings) <= end
        return kept

    def fails(self, setting: Setting) -> bool:
        """Return whether the evaluation of a setting fails."""
        return self.campaign.fails and bool(self._failing([setting])[0] > self._first_failure)

    def measured(self, setting: Setting) -> dict[str, Any]:
        """Return the outcomes of a setting: the number has a third of the noise."""
        found: dict[str, Any] = {n: float(f([setting])[0]) for n, f in self._outcomes.items()}
        if "temperature" in found:
            found["temperature"] += 0.3 * self.campaign.noise * self.rng.normal()
        if "clear" in found:
            found["clear"] = "yes" if found["clear"] <= self.ends["clear"] else "no"
        return found


def take_answer(experiment: Experiment, truth: Truth, i: int) -> list[Statement]:
    """Ask, and tell answer i or a failure; return whether the answer is called unusual."""
    every = truth.campaign.repeat
    if every and i > every and i % every == 0:
        query = experiment.repeat(int(truth.rng.integers(1, i)))
    else:
        (query,) = experiment.ask()
    setting, number = query["params"], query["query"]
    if truth.fails(setting):
        experiment.fail(number)
        return []
    answer = float(truth.value([setting])[0] + truth.campaign.noise * truth.rng.normal())
    is_usual = experiment.surprise(answer, number) is None
    experiment.tell(answer, number, measured=truth.measured(setting) or None)
    return [Statement("answer not unusual when entered", is_usual)]


def read_best(path: Path) -> dict[str, Any]:
    """Return what the command ``best`` prints, as a dict."""
    with redirect_stdout(StringIO()) as printed:
        status = run_command(["best", str(path), "--stop-within", f"{WITHIN:g}", "--json"])
    if status:
        raise RuntimeError("the command best has failed")
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def check_prediction(found: dict[str, Any], truth: Truth, at: str) -> list[Statement]:
    """Compare a prediction of ``best`` or ``expect`` with the truth."""
    low, high = found["interval_95"]
    (value,) = truth.value([found["params"]])
    said = [Statement(f"interval at {at}", low - ROUNDING <= value <= high + ROUNDING, 95.0)]
    if found["within_limits"] is not None:
        (kept,) = truth.keeps_limits([found["params"]])
        said.append(Statement(f"limits at {at}", bool(kept), 100.0 * found["within_limits"]))
    return said


def check_best(best: dict[str, Any], truth: Truth) -> list[Statement]:
    """Compare all that ``best`` says of the recommendation with the truth."""
    said = check_prediction(best, truth, "the recommendation")
    if best["scatter_95"] is not None and truth.campaign.noise > 0:
        low, high = best["scatter_95"]
        said.append(Statement("scatter of repeats", low <= truth.campaign.noise <= high, 95.0))
    if best["gap"] is not None:
        # Only the sentences say what a bound rests on.
        kind = "better by up to, a rough guess"
        if "no average result is beyond" in best["why"]:
            kind = "better by up to, by the range"
        elif "a rough guess" not in best["why"]:
            kind = "better by up to, sure"
        gains = truth.gain(truth.every, best["params"])[truth.keeps_limits(truth.every)]
        said.append(Statement(kind, bool(gains.max() <= best["gap"] + ROUNDING), 95.0))
    return said


def play(name: str, seed: int, path: Path) -> tuple[list[Statement], tuple[float, float] | None]:
    """Play a campaign; return its statements, and the gain of more answers, expected and real."""
    campaign = CAMPAIGNS[name]
    truth = Truth(campaign, np.random.default_rng([seed, list(CAMPAIGNS).index(name)]))
    limits = [LIMITS[outcome].format(end) for outcome, end in truth.ends.items()]
    experiment = Experiment.create(
        path, campaign.sides, limits=limits, seed=seed, **campaign.options
    )
    said: list[Statement] = []
    for i in range(campaign.n_answers):
        said += take_answer(experiment, truth, i)
    best = read_best(path)
    said += check_best(best, truth)
    for setting in draw(campaign.sides, N_PREDICTIONS, truth.rng):
        said += check_prediction(experiment.expect(setting), truth, "random settings")
    unusual = {each["query"] for each in experiment.questionable()}
    answered = [each["query"] for each in experiment.history() if each["answer"] is not None]
    said += [
        Statement("answer not unusual at the end", number not in unusual) for number in answered
    ]
    for i in range(campaign.n_answers, campaign.n_answers + N_MORE):
        said += take_answer(experiment, truth, i)
    after = experiment.best()
    assert after is not None
    gain = float(truth.gain([after["params"]], best["params"])[0])
    if best["enough"]:
        said.append(Statement("you may stop", gain <= WITHIN))
    return said, None if best["expected_gain"] is None else (best["expected_gain"], gain)


def cells(statements: list[Statement], runs: list[int]) -> list[str]:
    """Return the percentage that holds with its error, the number, and the percentage said."""
    holds = np.array([each.holds for each in statements], dtype=float)
    # Statements of one campaign are not independent: the error is that of a ratio of two sums.
    sums = np.bincount(runs, holds - holds.mean())
    error = np.linalg.norm(sums) / len(holds) if len(set(runs)) > 1 else np.nan
    said = float(np.mean([each.said for each in statements]))
    share = estimate(100.0 * float(holds.mean()), 100.0 * float(error), 1)
    return [share, str(len(holds)), estimate(said, np.nan, 0)]


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argument_parser("desk", __doc__, 2)
    every = list(CAMPAIGNS)
    parser.add_argument("--names", nargs="+", choices=every, default=every, help="default all")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    seeds = range(options.seed, options.seed + options.runs)
    campaigns = [(name, seed) for seed in seeds for name in options.names]
    with TemporaryDirectory() as folder:
        played = [play(*each, Path(folder) / f"{i}.skgpb") for i, each in enumerate(campaigns)]
    said = [(i, each) for i, (statements, _) in enumerate(played) for each in statements]
    table = []
    for kind in sorted({each.kind for _, each in said}):
        runs, statements = zip(*(pair for pair in said if pair[1].kind == kind), strict=True)
        table.append((kind, cells(list(statements), list(runs))))
    n_campaigns = f"{len(campaigns)} campaigns, seed {options.seed}"
    print(format_table(f"Statements, {n_campaigns}", ["hold, %", "number", "said, %"], table))
    title = f"Gain of {N_MORE} more answers, {n_campaigns}"
    gains = np.array([gain for _, gain in played if gain is not None]).reshape(-1, 2)
    means, errors = mean_and_error(gains)
    improved = [
        (label, [estimate(float(means[i]), float(errors[i]), 2)])
        for i, label in enumerate(("expected", "real"))
    ]
    print("\n" + format_table(title, ["mean"], improved))
    path = options.output / "desk.csv"
    header = ["campaign", "seed", "statement", "holds", "said"]
    write_csv(path, header, [(*campaigns[i], *each) for i, each in said])
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()
