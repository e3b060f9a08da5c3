"""Assessment of an experiment: when to stop, implausible answers, replicates."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod, sqrt
from typing import Any

import numpy as np

from skgpb.experiments.entries import Entry, jsonable
from skgpb.experiments.limits import Limits, written
from skgpb.optimizers._limits import probability_between
from skgpb.optimizers._stop import first_where_learned

# Standard deviations on either side of the mean.
BAND = 1.96
# With fewer answers intervals depend mostly on assumptions of the program.
FEW = 10
# Number of answers from which on implausible answers are questioned: those that are outside of the
# expected range by more than TIMES its width.
ENOUGH, TIMES = 5, 2.0


def expected(optimizer: Any, setting: dict[str, Any]) -> dict[str, Any]:
    """Return the prediction of the answer at a setting."""
    mean, std = (float(x[0]) for x in optimizer.predict([setting], return_std=True))
    feasible = optimizer._space.feasible
    point = optimizer._space.point(setting)
    violated = [] if feasible is None else feasible.violated(point)
    return {
        "params": {name: jsonable(value) for name, value in setting.items()},
        "mean": mean,
        "std": std,
        "interval_95": [mean - BAND * std, mean + BAND * std],
        "noise": sqrt(optimizer.alpha_),
        "possible": not violated,
        "violates": violated,
    }


def outcomes_at(optimizer: Any, limits: Limits, setting: dict[str, Any]) -> dict[str, Any]:
    """Return what is expected at a setting of all that has a limit, and whether limits hold."""
    outcomes = []
    for (name, (low, high)), limit in zip(limits.items(), written(limits), strict=True):
        each: dict[str, Any] = {"name": name, "limit": limit}
        each |= dict.fromkeys(("mean", "std", "probability"))
        if optimizer._model_of(name).n_answers:
            mean, std = optimizer._predict_outcome(name, [setting])
            ends = -inf if low is None else low, inf if high is None else high
            probability = probability_between(*ends, mean, std)
            numbers = (float(x[0]) for x in (mean, std, probability))
            each |= zip(("mean", "std", "probability"), numbers, strict=True)
        outcomes.append(each)
    known = [each["probability"] for each in outcomes]
    within = prod(known) if known and None not in known else None
    return {"outcomes": outcomes, "within_limits": within}


def surprise(answers: Sequence[float], belief: dict[str, Any], answer: float) -> list[float] | None:
    """Return the expected range of an answer that is far outside it; else None.

    The range covers all answers so far and the interval that contains this one with 95 %
    probability, its noise included. Far is more than twice its width away.
    """
    if len(answers) < ENOUGH:
        return None
    half = BAND * sqrt(belief["std"] ** 2 + belief["noise"] ** 2)
    low = min(*answers, belief["mean"] - half)
    high = max(*answers, belief["mean"] + half)
    beyond = max(low - answer, answer - high)
    return [low, high] if beyond > TIMES * (high - low) else None


def replicates(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return repeated settings, with mean and standard deviation of their answers."""
    groups: dict[bytes, list[Entry]] = {}
    for entry in entries:
        if entry.answer is not None:
            groups.setdefault(entry.query.points.tobytes(), []).append(entry)
    out = []
    for group in groups.values():
        if len(group) > 1:
            answers = [float(entry.answer) for entry in group if entry.answer is not None]
            out.append(
                {
                    "params": group[0].as_dict()["params"],
                    "queries": [entry.number for entry in group],
                    "answers": answers,
                    "mean": float(np.mean(answers)),
                    "spread": float(np.std(answers, ddof=1)),
                }
            )
    return out


def verdict(
    gap: float | None,
    n_answers: int,
    n_sides: int,
    within: float | None,
    confidence: float,
    unit: str = "",
) -> dict[str, Any]:
    """Return whether one may stop, in numbers and in sentences.

    Parameters
    ----------
    gap : float or None
        Bound on how much better another setting may be.
    n_answers, n_sides : int
    within : float or None
        Largest difference that does not matter to the user.
    confidence : float
        Confidence of the gap.
    unit : str, default=""
        Unit of the answers.
    """
    least = first_where_learned(n_sides)
    out: dict[str, Any] = {"gap": gap, "n_answers": n_answers, "least_answers": least}
    if gap is None:
        return {**out, "enough": False, "why": "There is no result yet."}
    enough = within is not None and gap <= within and n_answers >= least
    # A difference between percentages is no percentage.
    unit = f" {'points' if unit == '%' else unit}" if unit else ""
    said = [
        f"Another setting could still be better by up to {gap:.3g}{unit} "
        f"({100.0 * confidence:g} % sure)."
    ]
    results = f"{n_answers} result{'' if n_answers == 1 else 's'}"
    settings = f"{n_sides} setting{'' if n_sides == 1 else 's'}"
    if n_answers < FEW:
        said.append(f"With {results} this is mostly an assumption of the program.")
    elif n_answers < least:
        said.append(f"With {results} this is a rough guess.")
    else:
        said.append(f"This takes what {results} showed of the scatter as certain.")
    if n_answers < least:
        said.append(f"With {settings}, rely on it from about {least} results on.")
    if within is not None:
        if enough:
            said.append(f"That is within {within:g}{unit}: you may stop.")
        elif n_answers < least:
            said.append("So go on.")
        else:
            said.append(f"That is more than {within:g}{unit}: go on.")
    return {**out, "enough": enough, "why": " ".join(said)}
