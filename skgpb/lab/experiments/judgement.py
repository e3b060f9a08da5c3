"""Assessment of an experiment: implausible answers, replicates.

An answer is questioned if it is not within what was expected and a slip of the pen is more probable
than that it is right; while it can still be looked up, already if a slip is a tenth as probable.
What is expected has Student's distribution around the prediction, whose tails allow for a model
that is too sure of itself; a slip is a forgotten or displaced decimal point, or the wrong sign,
three times in a hundred answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, prod, sqrt
from typing import Any

import numpy as np

from skgpb import defaults
from skgpb.domains import Cell
from skgpb.domains.query import Query
from skgpb.lab.experiments.answers import AnswerRange
from skgpb.lab.experiments.entries import Entry, jsonable
from skgpb.lab.experiments.limits import written
from skgpb.lab.experiments.sides import in_percent, rounded, shown
from skgpb.optimizers.search import Search
from skgpb.surrogate.criticism import leave_one_out_refit
from skgpb.utils.typing import Limits

# Standard deviations on either side of the mean.
BAND = 1.96
# With fewer answers intervals depend mostly on assumptions of the program.
FEWEST_ANSWERS = 10
# Number of answers from which on implausible answers are questioned: those that are outside of the
# expected range by more than TIMES its width, and probable slips.
ENOUGH, TIMES = 5, 2.0
# By what to multiply what was typed for what was meant, and how often that happens. Where next to
# nothing is known of the answer none of them is more probable than that it is right.
# What was meant is at most MOST_DEVIATIONS standard deviations from what was expected.
MOST_DEVIATIONS = 10.0
SLIPS = {10.0: 0.01, 0.1: 0.01, -1.0: 0.003, 100.0: 0.003, 0.01: 0.003}
# Odds of a slip from which on an answer is asked about when it is entered: a look at it costs less
# than a slip that stays.
WORTH_ASKING = 0.1


def predicted(optimizer: Any, mean: float, std: float, ends: AnswerRange) -> dict[str, Any]:
    """Return a prediction as people read it: within the range of what answers can be."""
    low, high = ends
    numbers = [mean, mean - BAND * std, mean + BAND * std]
    numbers = [x if low is None else max(x, low) for x in numbers]
    numbers = [x if high is None else min(x, high) for x in numbers]
    return {
        "mean": numbers[0],
        "std": std,
        "interval_95": numbers[1:],
        "noise": sqrt(optimizer.alpha_),
    }


def expected(optimizer: Any, setting: dict[str, Any], ends: AnswerRange) -> dict[str, Any]:
    """Return the prediction of the answer at a setting."""
    mean, std = (float(x[0]) for x in optimizer.predict([setting], return_std=True))
    feasible = optimizer._run.space.feasible
    point = optimizer._run.space.point(setting)
    violated = [] if feasible is None else feasible.violations(point)
    return {
        "params": {name: jsonable(value) for name, value in setting.items()},
        **predicted(optimizer, mean, std, ends),
        "possible": not violated,
        "violates": violated,
    }


def outcomes_at(optimizer: Any, limits: Limits, setting: dict[str, Any]) -> dict[str, Any]:
    """Return what is expected at a setting of all that has a limit, and whether limits hold."""
    found = optimizer._limits_at(setting)
    keys = ("name", "mean", "std", "probability", "n_answers")
    outcomes = [
        {"limit": limit, **{key: each[key] for key in keys}}
        for each, limit in zip(found, written(limits), strict=True)
    ]
    for each in outcomes:
        each["n_missing"] = optimizer._run.n_known - each["n_answers"]
    known = [each["probability"] for each in outcomes]
    within = prod(known) if known and None not in known else None
    return {"outcomes": outcomes, "within_limits": within}


def limits_hold_in_words(found: dict[str, Any]) -> list[str]:
    """Return what is expected of all that has a limit, and how probable it is that limits hold."""
    lines = []
    for each in found["outcomes"]:
        if each["probability"] is None:
            lines.append(f"{each['limit']}: not known, it was not measured yet")
            continue
        n, n_missing = each["n_answers"], each["n_missing"]
        known = f"; known of {n} of {n + n_missing} results" if n_missing else ""
        mean, std = each["mean"], each["std"]
        lines.append(
            f"{each['limit']}: holds with probability {in_percent(each['probability'])} "
            f"(expected {rounded(mean, std)} \N{PLUS-MINUS SIGN} {shown(std, 2)}{known})"
        )
    if len(lines) > 1 and found["within_limits"] is not None:
        lines.append(f"all limits hold with probability {in_percent(found['within_limits'])}")
    return lines


def beside_limits(found: dict[str, Any]) -> str:
    """Return how the best answer stands to the limits, behind "best answer"; empty without any."""
    said = {
        True: "within the limits ",
        None: "(not every limit measured) ",
        False: "(beyond a limit) ",
    }
    return said[found["best_answer"]["within_limits"]] if found["outcomes"] else ""


def beside_answer(entry: Mapping[str, Any]) -> str:
    """Return how the answer of an entry stands to the limits, behind the answer."""
    if entry["answer"] is None or entry["within_limits"]:
        return ""
    is_known = entry["within_limits"] is not None
    return ", beyond a limit" if is_known else ", not every limit measured"


def most_probable(optimizer: Any, asked: Any) -> tuple[float, float]:
    """Return the prediction of an answer by the most probable model, without its noise.

    What is a slip of the pen was measured with it, and allows for a model that is too sure.
    """
    if isinstance(asked, dict):
        (point,) = optimizer._inputs.points([asked])
        blocks = optimizer._functionals_at(point[np.newaxis])
    else:
        blocks = optimizer._blocks_of([asked])
    mean, std = (float(x[0]) for x in optimizer._gp.moments(blocks, std=True))
    return (-mean if optimizer._params.direction == "minimize" else mean), std


def missing(answers: Sequence[float], knows_noise: bool) -> str:
    """Return what an interval lacks that rests on some answers, empty if nothing."""
    n = len(answers)
    if n > 1 and min(answers) == max(answers):
        return (
            "All results are equal, and do not show how much results vary: the interval is an "
            "assumption of the program"
        )
    if n >= defaults.FIRST_LEARNING:
        return ""
    unknown = "how much results vary" + ("" if knows_noise else " and scatter")
    return (
        f"{n} result{'' if n == 1 else 's'} do{'es' if n == 1 else ''} not show {unknown}: the "
        f"interval is an assumption of the program until there are {defaults.FIRST_LEARNING}"
    )


def preferred(optimizer: Any, best: Any, answered: Sequence[Entry]) -> dict[str, Any] | None:
    """Return the result of which more is expected than of the recommendation; None if of none."""
    found = None
    if isinstance(optimizer, Search):
        found = optimizer._preferred(best, [entry.query for entry in answered])
    if found is None:
        return None
    query, (mean, _) = found
    number = next(entry.number for entry in answered if entry.query == query)
    return {"query": number, "mean": float(mean)}


def preferred_in_words(best: Mapping[str, Any]) -> list[str]:
    """Say in a line where more is expected than at the recommended setting, or in no line."""
    found = best["preferred"]
    if found is None:
        return []
    mean, here = (rounded(each["mean"], best["std"]) for each in (found, best))
    return [
        f"more is expected at the setting of query {found['query']} ({mean}) than at the "
        f"recommended one ({here}) where several models are averaged; recommended is the best of "
        "the most probable model"
    ]


def finest_measured(optimizer: Any, queries: Sequence[Query]) -> int | None:
    """Return the depth in a tree of the smallest of some regions that were measured."""
    tree: Any = optimizer.domain_.tree
    low, high = np.split(tree.box(0, 1)[0], 2)

    def depth(query: Any) -> int:
        if isinstance(query, Cell):
            return int(query.depth)
        lower, upper = np.split(query.box, 2)
        long = high > low
        share = float(np.prod(((upper - lower) / np.where(long, high - low, 1.0))[long]))
        return int(log(max(1.0 / share, 1.0)) / log(tree.n_children)) if share > 0.0 else 0

    return max(map(depth, queries), default=None)


def surprise(
    answers: Sequence[float], mean: float, std: float, answer: float, odds: float = 1.0
) -> dict[str, Any] | None:
    """Return what was expected of an answer that is questioned; else None.

    Parameters
    ----------
    answers : sequence of float
        All others.
    mean, std : float
        Prediction of this one from them, noise included.
    answer : float
        What was typed.
    odds : float, default=1.0
        As for :func:`slip`.

    Returns
    -------
    surprise : dict or None
        ``expected``, a range [low, high], and ``meant``, what may have been meant, or None. Where a
        slip is probable the range contains the answer with 95 % probability. Else it covers all
        other answers as well, and this one is more than twice its width away.
    """
    if len(answers) < ENOUGH:
        return None
    low, high = mean - BAND * std, mean + BAND * std
    meant = slip(mean, std, answer, odds)
    if meant is not None:
        return {"expected": [low, high], "meant": meant}
    low, high = min(*answers, low), max(*answers, high)
    beyond = max(low - answer, answer - high)
    return {"expected": [low, high], "meant": None} if beyond > TIMES * (high - low) else None


def surprise_by_others(others: Sequence[float], value: float) -> dict[str, Any] | None:
    """Return the same for what no model predicts: by the others, wherever they were measured."""
    if len(others) < ENOUGH:
        return None
    std = float(np.std(others, ddof=1)) * sqrt(1.0 + 1.0 / len(others))
    return surprise(others, float(np.mean(others)), std, value)


def slip(mean: float, std: float, answer: float, odds: float = 1.0) -> float | None:
    """Return what was probably meant by an answer, None if that is what was typed.

    Parameters
    ----------
    mean, std : float
        Prediction of the answer, noise included.
    answer : float
        What was typed.
    odds : float, default=1.0
        How many times as probable a slip has to be as that the answer is right.

    Examples
    --------
    >>> from skgpb.lab.experiments.judgement import slip
    >>> slip(70.0, 5.0, 7.37), slip(70.0, 5.0, 61.0)
    (73.7, None)
    """
    if answer == 0.0 or not abs(answer - mean) > BAND * std > 0.0:
        return None

    def log_density(value: float) -> float:
        """Return that of Student's distribution with three degrees of freedom, but for a factor."""
        return -2.0 * log(1.0 + ((value - mean) / std) ** 2 / 3.0)

    # The density of what was typed: the slip has stretched that of what was meant.
    slips = {
        c: log(p * abs(c)) + log_density(c * answer)
        for c, p in SLIPS.items()
        if abs(c * answer - mean) <= MOST_DEVIATIONS * std
    }
    if not slips or max(slips.values()) <= log(odds) + log_density(answer):
        return None
    return float(f"{max(slips, key=slips.__getitem__) * answer:.12g}")


def expectation(surprise: Mapping[str, Any]) -> str:
    """Return what was expected of an answer that is questioned, in a sentence."""
    low, high = (shown(value, 3) for value in surprise["expected"])
    meant = surprise["meant"]
    perhaps = "" if meant is None else f"; perhaps {shown(meant)} was meant"
    return f"The expected range is {low} to {high}{perhaps}."


def questionable(optimizer: Any, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the answers that all others make improbable, as ``Experiment.questionable`` does."""
    told = sorted((e for e in entries if e.status == "answered"), key=lambda entry: entry.ended)
    known = [*(entry for entry in entries if entry.status == "given"), *told]
    answers = [float(entry.answer or 0.0) for entry in known]
    process, functional = optimizer._gp, optimizer._model.samples.functional
    if len(known) <= ENOUGH or len(known) != len(functional):
        return []
    sign = -1.0 if optimizer._params.direction == "minimize" else 1.0
    y = (sign * np.array(answers) - process.offset) / process.scale
    K = process.covariance(process.observed, process.observed)[np.ix_(functional, functional)]
    usual, own = optimizer.alpha_, [entry.alpha for entry in known]
    noise = np.array([usual if each is None else each for each in own]) / process.scale**2
    prior, spreads = optimizer._model.prior, [0.0, 0.0]
    if prior is not None:
        # The level of f is not known either.
        K = (K * exp(-process.kernel.theta[0]) + 1.0) * exp(prior.center[0])
        spreads[0] = defaults.AMPLITUDE_SPREAD
    if optimizer.alpha is None and None in own:
        noise *= defaults.NOISE * process.scale**2 / usual
        spreads[1] = defaults.NOISE_SPREAD
    found, left = dict[int, dict[str, Any]](), np.arange(len(known))
    while len(left) > ENOUGH:
        errors, variances = leave_one_out_refit(
            K[np.ix_(left, left)], noise[left], y[left], spreads
        )
        # The most improbable one counts no longer when the others are judged.
        for k in np.argsort(-(errors**2) / variances, kind="stable"):
            i, std = int(left[k]), process.scale * sqrt(variances[k])
            mean = sign * (process.offset + process.scale * float(y[i] - errors[k]))
            said = surprise([answers[j] for j in left if j != i], mean, std, answers[i])
            if said is not None:
                found[i], left = said, np.delete(left, k)
                break
        else:
            break
    return [{"query": known[i].number, "answer": answers[i], **found[i]} for i in sorted(found)]


def replicates(entries: Sequence[Entry], shifts: Mapping[int, float]) -> list[dict[str, Any]]:
    """Return repeated settings, with mean and standard deviation of their answers.

    The standard deviation is without the ``shifts`` of blocks, by the numbers of the entries.
    """
    groups: dict[bytes, list[Entry]] = {}
    for entry in entries:
        if entry.answer is not None:
            groups.setdefault(entry.query.points.tobytes(), []).append(entry)
    out = []
    for group in groups.values():
        if len(group) > 1:
            answers = [float(entry.answer) for entry in group if entry.answer is not None]
            alike = [y - shifts[entry.number] for entry, y in zip(group, answers, strict=True)]
            out.append(
                {
                    "params": group[0].as_dict()["params"],
                    "queries": [entry.number for entry in group],
                    "answers": answers,
                    "mean": float(np.mean(answers)),
                    "spread": float(np.std(alike, ddof=1)),
                }
            )
    return out
