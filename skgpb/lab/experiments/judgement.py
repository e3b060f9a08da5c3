"""Assessment of an experiment: predictions, typos among the answers, replicates.

An answer is questioned if it is outside of its 95 % interval and a typo is more probable than a
correct entry; when it is entered, already if a typo is a tenth as probable, because it can still be
looked up. Correct answers have Student's distribution around the prediction: its tails allow for a
model whose standard deviations are too small. A typo is a forgotten or displaced decimal point or a
wrong sign, three times in a hundred answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, prod, sqrt
from typing import Any

import numpy as np

from skgpb import defaults
from skgpb.domains import Cell
from skgpb.domains.arms import Query
from skgpb.lab.experiments.answers import AnswerRange
from skgpb.lab.experiments.entries import Entry, jsonable
from skgpb.lab.experiments.limits import format_limits
from skgpb.lab.experiments.sides import format_estimate, format_percent, format_value
from skgpb.optimizers.search import Search
from skgpb.surrogate.criticism import leave_one_out_refit
from skgpb.utils.typing import Limits

# Standard deviations on either side of the mean.
BAND = 1.96
# With fewer answers intervals depend mostly on assumptions of the program.
FEWEST_ANSWERS = 10
# Number of answers from which on answers are questioned: probable typos, and answers that are
# outside of the range of all others by more than MAX_WIDTHS times its width.
MIN_ANSWERS, MAX_WIDTHS = 5, 2.0
# Prior probabilities of typos, by the factor from the typed to the intended number. The sum is so
# small that with a very uncertain prediction no typo is more probable than a correct entry.
SLIPS = {10.0: 0.01, 0.1: 0.01, -1.0: 0.003, 100.0: 0.003, 0.01: 0.003}
# Largest distance of an intended number from its prediction, in standard deviations.
MOST_DEVIATIONS = 10.0
# Odds of a typo from which on an answer is questioned when it is entered: checking the notes costs
# less than a typo that stays.
ODDS_AT_ENTRY = 0.1


def clipped_prediction(
    optimizer: Any, mean: float, std: float, ends: AnswerRange
) -> dict[str, Any]:
    """Return a prediction as a dict, with mean and interval clipped to the range of answers."""
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


def predict_setting(optimizer: Any, setting: dict[str, Any], ends: AnswerRange) -> dict[str, Any]:
    """Return the prediction of the answer at a setting, and the constraints that it violates."""
    mean, std = (float(x[0]) for x in optimizer.predict([setting], return_std=True))
    feasible = optimizer.run_.space.feasible
    point = optimizer.run_.space.point(setting)
    violated = [] if feasible is None else feasible.violations(point)
    return {
        "params": {name: jsonable(value) for name, value in setting.items()},
        **clipped_prediction(optimizer, mean, std, ends),
        "possible": not violated,
        "violates": violated,
    }


def predict_outcomes(optimizer: Any, limits: Limits, setting: dict[str, Any]) -> dict[str, Any]:
    """Return the prediction of each outcome with a limit, and the probability that all limits hold.

    Returns
    -------
    found : dict
        ``outcomes``, a list of dicts, and ``within_limits``, see :meth:`Experiment.expect`.
    """
    found = optimizer._limits_at(setting)
    keys = ("name", "mean", "std", "probability", "n_answers")
    outcomes = [
        {"limit": limit, **{key: each[key] for key in keys}}
        for each, limit in zip(found, format_limits(limits), strict=True)
    ]
    for each in outcomes:
        each["n_missing"] = optimizer.run_.n_observations - each["n_answers"]
    known = [each["probability"] for each in outcomes]
    within = prod(known) if known and None not in known else None
    return {"outcomes": outcomes, "within_limits": within}


def describe_outcomes(found: dict[str, Any]) -> list[str]:
    """Describe the result of :func:`predict_outcomes` in lines, one for each limit."""
    lines = []
    for each in found["outcomes"]:
        if each["probability"] is None:
            lines.append(f"{each['limit']}: not known, it was not measured yet")
            continue
        n, n_missing = each["n_answers"], each["n_missing"]
        known = f"; known of {n} of {n + n_missing} results" if n_missing else ""
        mean, std = format_estimate(each["mean"], each["std"]), format_value(each["std"], 2)
        lines.append(
            f"{each['limit']}: holds with probability {format_percent(each['probability'])} "
            f"(expected {mean} \N{PLUS-MINUS SIGN} {std}{known})"
        )
    if len(lines) > 1 and found["within_limits"] is not None:
        lines.append(f"all limits hold with probability {format_percent(found['within_limits'])}")
    return lines


def limits_remark(found: dict[str, Any]) -> str:
    """Return a remark whether the best answer is within the limits; empty without limits."""
    said = {
        True: "within the limits ",
        None: "(not every limit measured) ",
        False: "(beyond a limit) ",
    }
    return said[found["best_answer"]["within_limits"]] if found["outcomes"] else ""


def answer_remark(entry: Mapping[str, Any]) -> str:
    """Return a remark if an answer is not within all limits; otherwise an empty text."""
    if entry["answer"] is None or entry["within_limits"]:
        return ""
    is_known = entry["within_limits"] is not None
    return ", beyond a limit" if is_known else ", not every limit measured"


def most_probable_prediction(optimizer: Any, asked: Any) -> tuple[float, float]:
    """Return mean and standard deviation of an answer by the most probable model, without noise.

    No average over models: the constants of :func:`slip` were chosen with this model, and its
    distribution allows for standard deviations that are too small.
    """
    if isinstance(asked, dict):
        (point,) = optimizer._inputs.points([asked])
        blocks = optimizer._functionals_at(point[np.newaxis])
    else:
        blocks = optimizer._row_sets_of([asked])
    mean, std = (float(x[0]) for x in optimizer._model.process.moments(blocks, std=True))
    return (-mean if optimizer.run_.params.direction == "minimize" else mean), std


def interval_caveat(answers: Sequence[float], knows_noise: bool) -> str:
    """Return a caveat of an interval that rests on these answers; empty if there is none."""
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


def preferred_query(optimizer: Any, best: Any, answered: Sequence[Entry]) -> dict[str, Any] | None:
    """Return an answered query with a better mean than the recommendation; None if none has."""
    found = None
    if isinstance(optimizer, Search):
        found = optimizer._better_predicted_query(best, [entry.query for entry in answered])
    if found is None:
        return None
    query, (mean, _) = found
    number = next(entry.number for entry in answered if entry.query == query)
    return {"query": number, "mean": float(mean)}


def describe_preferred_query(best: Mapping[str, Any]) -> list[str]:
    """Describe the preferred query of :meth:`Experiment.best` in a line; no line without one."""
    found = best["preferred"]
    if found is None:
        return []
    mean, here = (format_estimate(each["mean"], best["std"]) for each in (found, best))
    return [
        f"more is expected at the setting of query {found['query']} ({mean}) than at the "
        f"recommended one ({here}) where several models are averaged; recommended is the best of "
        "the most probable model"
    ]


def smallest_region_depth(optimizer: Any, queries: Sequence[Query]) -> int | None:
    """Return the depth in the tree of the smallest region among queries; None without queries."""
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
    """Return the expected range of an answer if it is questioned; None if it is plausible.

    Parameters
    ----------
    answers : sequence of float
        All other answers.
    mean, std : float
        Prediction of the answer from the others, noise included.
    answer : float
        The typed number.
    odds : float, default=1.0
        As for :func:`slip`.

    Returns
    -------
    surprise : dict or None
        ``expected``, a range [low, high], and ``meant``, the number of :func:`slip`, or None. With
        ``meant`` the range is the 95 % interval of the answer. Without it the range also covers all
        other answers, and the answer is more than twice its width away.
    """
    if len(answers) < MIN_ANSWERS:
        return None
    low, high = mean - BAND * std, mean + BAND * std
    meant = slip(mean, std, answer, odds)
    if meant is not None:
        return {"expected": [low, high], "meant": meant}
    low, high = min(*answers, low), max(*answers, high)
    beyond = max(low - answer, answer - high)
    return {"expected": [low, high], "meant": None} if beyond > MAX_WIDTHS * (high - low) else None


def surprise_by_others(others: Sequence[float], value: float) -> dict[str, Any] | None:
    """Return :func:`surprise` for a measurement without a model, predicted by all others."""
    if len(others) < MIN_ANSWERS:
        return None
    std = float(np.std(others, ddof=1)) * sqrt(1.0 + 1.0 / len(others))
    return surprise(others, float(np.mean(others)), std, value)


def slip(mean: float, std: float, answer: float, odds: float = 1.0) -> float | None:
    """Return the number that was probably meant; None if the typed number is plausible.

    Parameters
    ----------
    mean, std : float
        Prediction of the answer, noise included.
    answer : float
        The typed number.
    odds : float, default=1.0
        Smallest ratio of the probabilities of a typo and of a correct entry.

    Examples
    --------
    >>> from skgpb.lab.experiments.judgement import slip
    >>> slip(70.0, 5.0, 7.37), slip(70.0, 5.0, 61.0)
    (73.7, None)
    """
    if answer == 0.0 or not abs(answer - mean) > BAND * std > 0.0:
        return None

    def log_density(value: float) -> float:
        """Return the log density of Student's t with 3 degrees of freedom, up to a constant."""
        return -2.0 * log(1.0 + ((value - mean) / std) ** 2 / 3.0)

    # Change of variables: the typed number is the intended one divided by c.
    slips = {
        c: log(p * abs(c)) + log_density(c * answer)
        for c, p in SLIPS.items()
        if abs(c * answer - mean) <= MOST_DEVIATIONS * std
    }
    if not slips or max(slips.values()) <= log(odds) + log_density(answer):
        return None
    return float(f"{max(slips, key=slips.__getitem__) * answer:.12g}")


def describe_surprise(surprise: Mapping[str, Any]) -> str:
    """Describe the result of :func:`surprise` in a sentence."""
    low, high = (format_value(value, 3) for value in surprise["expected"])
    meant = surprise["meant"]
    perhaps = "" if meant is None else f"; perhaps {format_value(meant)} was meant"
    return f"The expected range is {low} to {high}{perhaps}."


def questionable(optimizer: Any, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the answers that are improbable given all others, see ``Experiment.questionable``."""
    told = sorted((e for e in entries if e.status == "answered"), key=lambda entry: entry.ended)
    known = [*(entry for entry in entries if entry.status == "given"), *told]
    answers = [float(entry.answer or 0.0) for entry in known]
    process, functional = optimizer._model.process, optimizer._model.samples.functional
    if len(known) <= MIN_ANSWERS or len(known) != len(functional):
        return []
    sign = -1.0 if optimizer.run_.params.direction == "minimize" else 1.0
    y = (sign * np.array(answers) - process.offset) / process.scale
    K = process.covariance(process.observed, process.observed)[np.ix_(functional, functional)]
    usual, own = optimizer.alpha_, [entry.alpha for entry in known]
    noise = np.array([usual if each is None else each for each in own]) / process.scale**2
    prior, spreads = optimizer._model.prior, [0.0, 0.0]
    if prior is not None:
        # Like the amplitude, the level of f has a prior.
        K = (K * exp(-process.kernel.theta[0]) + 1.0) * exp(prior.center[0])
        spreads[0] = defaults.AMPLITUDE_SPREAD
    if optimizer.alpha is None and None in own:
        noise *= defaults.NOISE * process.scale**2 / usual
        spreads[1] = defaults.NOISE_SPREAD
    found, left = dict[int, dict[str, Any]](), np.arange(len(known))
    while len(left) > MIN_ANSWERS:
        errors, variances = leave_one_out_refit(
            K[np.ix_(left, left)], noise[left], y[left], spreads
        )
        # Leave out the most improbable answer before judging the others: it would mask them.
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
    """Return the settings with several answers, with their mean and standard deviation.

    ``shifts`` are the shifts of blocks by the numbers of the entries; they are subtracted before
    the standard deviation is computed.
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
