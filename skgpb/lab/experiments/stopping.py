"""Stopping of an experiment: a bound on the gap, or the expected gain, in numbers and sentences.

With one or two settings the posterior bounds how much better any other setting is, from some number
of results on. With more settings and a learned kernel, no realistic number of results gives such a
bound. Then the expected gain of the next ten results is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from scipy.special import ndtr, ndtri

from skgpb import defaults
from skgpb.lab.experiments.answers import AnswerRange, is_percent
from skgpb.lab.experiments.plan import outcome_limits
from skgpb.lab.experiments.sides import format_value
from skgpb.optimizers.search import Search

# Standard deviations on either side of the mean.
BAND = 1.96
# Number of further experiments whose expected gain is reported.
TRIES, TRIES_IN_WORDS = 10, "Ten"
# Gains below this share of the noise's standard deviation are reported as "less than".
NEGLIGIBLE_GAIN = 0.05
# With fewer answers intervals depend mostly on assumptions of the program.
FEWEST_ANSWERS = 10
# Largest number of settings for which a bound on the gap is reported with a learned kernel.
MOST_SIDES = 2


@dataclass(frozen=True)
class Outlook:
    """Possible improvements over the recommendation, in units of the answers.

    Attributes
    ----------
    gap : float or None
        Bound on how much better the best setting is, with some confidence; None without a bound,
        and with several goals.
    gain : float or None
        Expected improvement of the recommendation by ``TRIES`` more experiments; None over regions,
        and with several goals.
    room : float or None
        Bound on the distance from the recommendation to the best end of the range of answers, with
        the same confidence; None if that end is open.
    end : float or None
        The best end of the range of answers.
    scatter : float
        Standard deviation of the noise in an answer.
    learned : bool
        Whether the hyperparameters were learned from the answers.
    is_known : bool
        Whether the answers show how much settings differ; if not, ``gap`` and ``gain`` are None.
    keeps_limits : bool or None, default=None
        Whether the recommendation is known to keep all limits; if not, ``gap`` and ``gain`` are
        None. None without limits.
    averages : str, default=""
        Averages that ``gap`` compares, as text; empty if it compares settings.
    """

    gap: float | None
    gain: float | None
    room: float | None
    end: float | None
    scatter: float
    learned: bool
    is_known: bool
    keeps_limits: bool | None = None
    averages: str = ""

    @classmethod
    def of(
        cls,
        optimizer: Any,
        answers: Sequence[float],
        n_sides: int,
        ends: AnswerRange,
        confidence: float,
    ) -> Outlook:
        """Compute the outlook from an optimizer and the answers told so far."""
        best, learned = optimizer.recommend(), optimizer._model.learns
        low, high = ends
        downwards = optimizer.run_.params.direction == "minimize"
        end, room = low if downwards else high, None
        if end is not None:
            mean, std = (float(x[0]) for x in optimizer.predict_query([best], return_std=True))
            room = mean - end if downwards else end - mean
            # Far beyond its end the range is wrong, and says nothing.
            room = None if room < -BAND * std else distance_from_end(room, std, confidence)
        gap = gain = None
        is_known = not learned or not interval_caveat(answers, optimizer)
        keeps_limits, has_goals = None, bool(getattr(optimizer.run_.params, "goals", None))
        if outcome_limits(optimizer):
            keeps_limits = optimizer._comparison(best).keeps_limits
        # With several goals there is no best setting, and so no gap.
        can_be_said = is_known and keeps_limits is not False and not has_goals
        if can_be_said and (not learned or n_sides <= MOST_SIDES):
            gap = float(optimizer.gap(1.0 - confidence))
        if can_be_said and isinstance(optimizer, Search):
            gain = optimizer._comparison(best).expected_gain(optimizer.alpha_, TRIES)
        if room is not None:
            gap, gain = (None if each is None else min(each, room) for each in (gap, gain))
        scatter = sqrt(optimizer.alpha_)
        averages = optimizer._gap_averages()
        return cls(gap, gain, room, end, scatter, learned, is_known, keeps_limits, averages)

    def least_answers(self, n_sides: int) -> int | None:
        """Return the number of answers from which ``gap`` can be relied on; None without a gap."""
        if self.gap is None:
            return None
        return defaults.FIRST_STOP * max(1, n_sides - 1) if self.learned else 1

    def is_enough(self, n_answers: int, n_sides: int, within: float) -> bool:
        """Return whether one may stop if a difference of ``within`` does not matter."""
        least = self.least_answers(n_sides)
        if self.keeps_limits is False:
            return False
        if self.room is not None and self.room <= within:
            return True
        if self.gap is not None and least is not None:
            return self.gap <= within and n_answers >= least
        return self.gain is not None and self.gain <= within and n_answers >= FEWEST_ANSWERS


def distance_from_end(mean: float, std: float, confidence: float) -> float:
    """Return a bound on how far f is from the end of a range, by its posterior within the range.

    The mean may be at the end, or beyond it, by chance: f is then not known to be there.

    Parameters
    ----------
    mean : float
        Posterior mean of the distance, below zero beyond the end.
    std : float
    confidence : float
        Probability that the bound holds.
    """
    if std == 0.0:
        return max(0.0, mean)
    beyond = (1.0 - confidence) * ndtr(mean / std)
    return mean - std * float(ndtri(beyond))


def interval_caveat(answers: Sequence[float], optimizer: Any) -> str:
    """Return a caveat of an interval that rests on these answers; empty if there is none."""
    n, assumed = len(answers), "the interval is an assumption of the program"
    if n > 1 and min(answers) == max(answers):
        return f"All results are equal, and do not show how much results vary: {assumed}"
    if n < defaults.FIRST_LEARNING:
        unknown = "how much results vary" + ("" if optimizer.alpha is not None else " and scatter")
        return (
            f"{n} result{'' if n == 1 else 's'} do{'es' if n == 1 else ''} not show {unknown}: "
            f"{assumed} until there are {defaults.FIRST_LEARNING}"
        )
    if optimizer._model.diagnosis.shows_nothing:
        return f"The results do not show that settings differ, beside their scatter: {assumed}"
    return ""


def verdict(
    outlook: Outlook | None,
    n_answers: int,
    n_sides: int,
    within: float | None,
    confidence: float,
    unit: str = "",
) -> dict[str, Any]:
    """Return whether one may stop, in numbers and in sentences.

    Parameters
    ----------
    outlook : Outlook or None
        None before the first answer.
    n_answers, n_sides : int
    within : float or None
        Largest difference that does not matter to the user.
    confidence : float
        Confidence of the gap.
    unit : str, default=""
        Unit of the answers.
    """
    if outlook is None:
        nothing = dict.fromkeys(("gap", "expected_gain", "least_answers"))
        why = "There is no result yet."
        return {**nothing, "n_answers": n_answers, "enough": False, "why": why}
    # A difference between percentages is no percentage.
    unit = f" {'points' if is_percent(unit) else unit}" if unit else ""
    enough = within is not None and outlook.is_enough(n_answers, n_sides, within)
    said = list(_gap_sentences(outlook, n_answers, n_sides, confidence, unit))
    if within is not None:
        said.append(_advice(outlook, n_answers, n_sides, within, unit, enough))
    return {
        "gap": outlook.gap,
        "expected_gain": outlook.gain,
        "n_answers": n_answers,
        "least_answers": outlook.least_answers(n_sides),
        "enough": enough,
        "why": " ".join(said),
    }


def _gap_sentences(
    outlook: Outlook, n_answers: int, n_sides: int, confidence: float, unit: str
) -> Iterator[str]:
    """Yield sentences on gap, gain and room, and on how far they can be relied on."""
    gap, room, least = outlook.gap, outlook.room, outlook.least_answers(n_sides)
    results = f"{n_answers} result{'' if n_answers == 1 else 's'}"
    settings = f"{n_sides} setting{'' if n_sides == 1 else 's'}"
    beyond = f"no average result is beyond {format_value(outlook.end)}" if room is not None else ""
    sure = f"({100.0 * confidence:g} % sure)"
    if not outlook.is_known:
        do = "result does" if n_answers == 1 else "results do"
        yield f"{n_answers} {do} not show how much better another setting may be."
        if room is not None:
            yield f"Nothing is better by more than {room:.3g}{unit} {sure}: {beyond}."
        return
    if outlook.keeps_limits is False:
        yield f"No setting is known to keep all limits with {100.0 * defaults.SURE:g} % or more."
        return
    other = "Another setting" + (" within all limits" if outlook.keeps_limits else "")
    if gap is not None and gap == room:
        yield f"{other} could still be better by up to {room:.3g}{unit} {sure}: {beyond}."
    elif gap is not None:
        over = f", {outlook.averages}," if outlook.averages else ""
        yield f"{other} could still be better by up to {gap:.3g}{unit}{over} {sure}."
    if outlook.gain is not None:
        least_gain = NEGLIGIBLE_GAIN * outlook.scatter
        gain = f"{outlook.gain:.2g}" if outlook.gain > least_gain else f"less than {least_gain:.1g}"
        yield (
            f"{TRIES_IN_WORDS} more results are expected to improve the recommendation by "
            f"{gain}{unit}."
        )
    known = gap is not None or outlook.gain is not None
    if known and outlook.learned and n_answers < FEWEST_ANSWERS:
        yield f"With {results} this is mostly an assumption of the program."
    elif least is not None and n_answers < least:
        yield f"With {results} this is a rough guess."
    if least is not None and n_answers < least:
        yield f"With {settings}, rely on it from about {least} results on."
    if gap is None:
        yield f"With {settings} something much better may always lie where nothing was tried."
        if room is not None:
            yield f"But nothing is better by more than {room:.3g}{unit} {sure}: {beyond}."


def _advice(
    outlook: Outlook, n_answers: int, n_sides: int, within: float, unit: str, enough: bool
) -> str:
    """Return the advice to stop or to go on, if differences up to ``within`` do not matter."""
    least = outlook.least_answers(n_sides)
    limit = f"{within:g}{unit}"
    if (not outlook.is_known and not enough) or outlook.keeps_limits is False:
        return "So go on."
    if outlook.is_known and outlook.gap is None and outlook.gain is None:
        return (
            "Whether to stop cannot be said: what more results bring is not known over regions, or "
            "with several goals."
        )
    if outlook.gap is None and not (outlook.room is not None and outlook.room <= within):
        assert outlook.gain is not None
        if n_answers < FEWEST_ANSWERS:
            return "So go on."
        if enough:
            return f"Ten more are expected to bring less than {limit}: you may stop."
        return f"Ten more are expected to bring more than {limit}: go on."
    if enough:
        return f"That is within {limit}: you may stop."
    if least is not None and n_answers < least:
        return "So go on."
    return f"That is more than {limit}: go on."
