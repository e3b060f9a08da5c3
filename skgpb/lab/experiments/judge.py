"""The judge of an experiment: recommendation, predictions, typos among the answers, replicates.

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
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError

from skgpb import defaults
from skgpb.domains import Cell
from skgpb.domains.arms import Query
from skgpb.lab.experiments.answers import format_range, read_answer
from skgpb.lab.experiments.blocks import block_name, block_std, blocks_in
from skgpb.lab.experiments.entries import Entry, jsonable
from skgpb.lab.experiments.limits import format_limits
from skgpb.lab.experiments.notebook import Notebook
from skgpb.lab.experiments.reasons import reason, reason_before_answers
from skgpb.lab.experiments.records import number_or_text
from skgpb.lab.experiments.sides import format_estimate, format_percent, format_value
from skgpb.lab.experiments.stopping import BAND, Outlook, interval_caveat, verdict
from skgpb.lab.experiments.trade_offs import trade_offs
from skgpb.optimizers.search import Search
from skgpb.surrogate.criticism import leave_one_out_refit

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


class Judge:
    """All that is said of an experiment: its recommendation, predictions and doubts.

    Parameters
    ----------
    notebook : Notebook
        The experiment in its present state.
    """

    def __init__(self, notebook: Notebook) -> None:
        self._notebook, self._plan = notebook, notebook.plan
        self._optimizer = notebook.plan.optimizer
        self._answered = [entry for entry in notebook.entries if entry.answer is not None]
        self._answers = [float(each.answer) for each in self._answered if each.answer is not None]
        self._sign = -1.0 if self._optimizer.run_.params.direction == "minimize" else 1.0

    def best(self, side: Mapping[str, float] | None = None) -> dict[str, Any] | None:
        """Return the current recommendation and its uncertainty.

        In an experiment over regions the recommendation is no smaller than the smallest region with
        an answer.

        Parameters
        ----------
        side : dict, default=None
            For experiments over regions: the lengths of the sides of the recommended region, in the
            units of the sides, or as a share of a log scale; for a side of choices or whole numbers
            the number of its values, which is 1 if the side is missing.

        Returns
        -------
        best : dict or None
            None before the first answer. ``params``; ``mean`` and ``std``, the prediction of the
            answer there without its noise; ``interval_95``, a pair; ``beware``, a caveat of the
            interval as a sentence, empty if there is none; ``preferred``, the answered query with a
            better mean than the recommendation in the average over models, a dict with ``query``
            and ``mean``, None if there is none; ``noise``, the standard deviation of what the model
            takes for noise in an answer, given or learned; ``scatter``, the standard deviation of
            repeated answers, given or of the repeats, None if nothing was repeated;
            ``scatter_95``, its interval by their number, a pair, None if ``scatter`` is given or
            None; ``between_blocks``, the standard deviation of the shifts of
            blocks, None without blocks; ``n_answers``; ``best_answer``, the entry of the history
            with the best answer, preferably within all limits;
            ``goals`` and ``outcomes``, the predictions of goals and of outcomes with a limit, see
            :meth:`expect`; and ``within_limits``, the probability that all limits hold.
        """
        if side is not None and not self._plan.has_regions:
            raise ValueError(f"side is for experiments over regions, got side={side!r}")
        optimizer, answered = self._optimizer, self._answered
        try:
            if side is None and self._plan.is_tree:
                finest = smallest_region_depth(optimizer, [entry.query for entry in answered])
                query = optimizer.recommend(depth=finest)
            else:
                query = optimizer.recommend(side=None if side is None else dict(side))
        except NotFittedError:
            return None
        mean, std = (float(x[0]) for x in optimizer.predict_query([query], return_std=True))
        answers = [self._sign * y for y in self._answers]
        # Answers within all limits come first, then answers with a missing measurement.
        order = {True: 0, None: -1, False: -2}
        ranked = [(order[each.within_limits], y) for each, y in zip(answered, answers, strict=True)]
        expected, beware = self._clipped(mean, std), interval_caveat(answers, optimizer)
        if std > 0.0 and np.ptp(expected["interval_95"]) == 0.0:
            ends = format_range(self._notebook.range)
            beware = f"The results are beyond the answer range ({ends}): change it"
        return {
            "params": {name: jsonable(value) for name, value in query.params.items()},
            **expected,
            "beware": beware,
            "preferred": self._preferred(query),
            "between_blocks": block_std(optimizer),
            "n_answers": len(answered),
            "best_answer": answered[ranked.index(max(ranked))].as_dict(),
            **self._outcomes(query.params),
        }

    def gap(self, confidence: float = 0.95) -> float | None:
        """Return an upper bound on how much better than the recommendation the best setting is.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability, in (0, 1), that the bound holds. With fewer than 30 answers, or than
            30 (d - 1) for d sides, the bound is too optimistic: :ref:`stopping`.

        Returns
        -------
        gap : float or None
            In units of the answers; None before the first answer.
        """
        return float(self._optimizer.gap(1.0 - confidence)) if self._answered else None

    def may_stop(self, within: float | None = None, confidence: float = 0.95) -> dict[str, Any]:
        """Return whether to stop, with the reasons.

        Parameters
        ----------
        within : float, default=None
            Largest difference between two settings that does not matter, in units of the answers.
        confidence : float, default=0.95
            As for :meth:`gap`.

        Returns
        -------
        verdict : dict
            ``enough``, whether one may stop; ``gap``, see :meth:`gap`, None with a learned kernel
            and more than two settings: no realistic number of answers bounds the gap then;
            ``expected_gain``, the improvement of the recommendation to be expected of ten more
            answers, None for regions; ``n_answers``; ``least_answers``, the number of answers from
            which the gap can be relied on; and ``why``, all of it in sentences.
            With several goals ``gap`` and ``expected_gain`` are None.
            With fewer than four answers, if all are equal, or if no model predicts one from the
            others, the learned kernel is an assumption: ``gap`` and ``expected_gain`` are None.
            They are None as well, and ``enough`` is False,
            while the recommendation keeps its limits with a probability below 95 %. With more than
            two settings ``enough`` needs at least ten answers, and an expected gain of at most
            ``within``.
        """
        notebook, n_sides, outlook = self._notebook, len(self._plan.sides), None
        if self._answers:
            outlook = Outlook.of(
                self._optimizer, self._answers, n_sides, notebook.range, confidence
            )
        unit = notebook.labels["unit"] if notebook.score is None else ""
        return verdict(outlook, len(self._answers), n_sides, within, confidence, unit)

    def expect(self, at: Mapping[str, Any]) -> dict[str, Any]:
        """Predict the answer at a setting.

        Parameters
        ----------
        at : dict
            A value for every side, as a number or a text.

        Returns
        -------
        expected : dict
            ``params``; ``mean`` and ``std``, the prediction of the answer without its noise;
            ``interval_95``; ``noise``, ``scatter`` and ``scatter_95``, as in :meth:`best`;
            ``possible``, whether the setting satisfies all constraints; ``violates``, the
            constraints that it violates; ``goals``, a list of dicts with ``name``, ``mean`` and
            ``std`` of each goal but the first; ``outcomes``, a list of dicts with ``name``,
            ``limit``, a text, ``mean``, ``std`` and ``probability``, that the limit holds, None
            before the outcome was measured; and ``within_limits``, the probability that all limits
            hold, None without limits or while an outcome was never measured.
        """
        if not self._answered:
            raise ValueError("expect needs an answer, and there is none so far")
        optimizer, setting = self._optimizer, self._plan.setting(at)
        mean, std = (float(x[0]) for x in optimizer.predict([setting], return_std=True))
        violated = self._plan.violations(setting)
        return {
            "params": {name: jsonable(value) for name, value in setting.items()},
            **self._clipped(mean, std),
            "possible": not violated,
            "violates": violated,
            **self._outcomes(setting),
        }

    def why(self) -> list[dict[str, Any]]:
        """Return the reason for each pending query, according to the present model.

        Returns
        -------
        reasons : list of dicts
            ``query``, its number; ``mean`` and ``std``, the prediction of the answer without its
            noise; ``nearest``, the answered query with the most similar setting, a dict with
            ``query``, ``answer``, ``distance``, from 0 to 1, and ``differs``, the names of the
            sides with different values; and ``why``, a sentence without capital and full stop.
            Before the first answer ``mean``, ``std`` and ``nearest`` are None.
        """
        pending = [each for each in self._notebook.entries if each.status == "pending"]
        best = self.best() if pending else None
        if best is None:
            return [reason_before_answers(each, self._optimizer) for each in pending]
        known = self._optimizer, self._plan.sides, self._answered, best
        asked = [each.query for each in pending]
        moments = self._optimizer.predict_query(asked, return_std=True)
        pairs = zip(*(each.tolist() for each in moments), strict=True)
        return [reason(each, pair, *known) for each, pair in zip(pending, pairs, strict=True)]

    def surprise(
        self,
        answer: float | str | Sequence[float],
        query: int | None = None,
        *,
        at: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """Check an answer before it is told; return its expected range if it is probably a typo.

        A forgotten decimal point makes 645 of 64.5, a displaced one 7.37 of 73.7. An answer outside
        of its 95 % interval is questioned if one of these slips, or a wrong sign, is at least a
        tenth as probable as the answer itself. It is also questioned if it is far beyond all other
        answers. With fewer than five answers nothing is questioned.

        Parameters
        ----------
        answer, query, at
            As for :meth:`tell`, which also accepts answers that are questioned.

        Returns
        -------
        surprise : dict or None
            None if the answer is not questioned. ``expected``, a range [low, high]; and ``meant``,
            the number that was probably meant, or None.
        """
        value, alpha, *_ = read_answer(answer, None, unit=self._notebook.labels["unit"])
        if not self._answers or (self._plan.has_regions and at is not None):
            return None
        if at is not None:
            asked: Any = self._plan.setting(at)
        elif query is None:
            asked = self._notebook.pending_entry(None).query
        else:
            asked = self._notebook.entry(query).query
        mean, std = self._most_probable(asked)
        noise = self._optimizer.alpha_ if alpha is None else alpha
        shift = block_std(self._optimizer) or 0.0
        std = sqrt(std**2 + noise + shift**2)
        return surprise(self._answers, mean, std, value, ODDS_AT_ENTRY)

    def surprises(
        self, measured: Mapping[str, Any], query: int | None = None
    ) -> dict[str, dict[str, Any]]:
        """Return the expected ranges of measurements that are probably typos.

        Each measurement is compared with all others of its name; no model of the setting is used.

        Parameters
        ----------
        measured : dict
            As for :meth:`tell`. Only names in the score or with a limit are checked.
        query : int, default=None
            Number of the query, whose earlier measurements are excluded from the comparison.

        Returns
        -------
        surprises : dict of dicts
            By the names of the measurements, each as :meth:`surprise` returns it.
        """
        records = self._notebook.records.items()
        known = [each.measured for number, each in records if number != query]
        found: dict[str, dict[str, Any]] = {}
        for name in self._notebook.measurement_names():
            others = [x for each in known if isinstance(x := each.get(name), float)]
            value = number_or_text(str(measured.get(name, "")))
            if isinstance(self._plan.limits.get(name), bool):
                continue
            if isinstance(value, float) and len(others) >= MIN_ANSWERS:
                std = float(np.std(others, ddof=1)) * sqrt(1.0 + 1.0 / len(others))
                said = surprise(others, float(np.mean(others)), std, value)
                found |= {} if said is None else {name: said}
        return found

    def questionable(self) -> list[dict[str, Any]]:
        """Return the answers that are probably typos, given all other answers.

        :meth:`surprise` checks an answer when it is told; later answers may show more. Correct a
        wrong answer with :meth:`correct`: the model may have learned too much noise from it.

        Returns
        -------
        questionable : list of dicts
            ``query``, its number; ``answer``; ``expected``, a range [low, high], predicted from all
            others; and ``meant``, the number that was probably meant, or None.
        """
        optimizer = self._optimizer
        told = sorted(
            (e for e in self._notebook.entries if e.status == "answered"),
            key=lambda entry: entry.ended,
        )
        known = [*(entry for entry in self._notebook.entries if entry.status == "given"), *told]
        answers = [float(entry.answer or 0.0) for entry in known]
        process, functional = optimizer._model.process, optimizer._model.samples.functional
        if len(known) <= MIN_ANSWERS or len(known) != len(functional):
            return []
        sign = self._sign
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
        for _ in range(len(known) - MIN_ANSWERS):
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

    def replicates(self) -> list[dict[str, Any]]:
        """Return the settings that were measured several times.

        Returns
        -------
        replicates : list of dicts
            ``params``; ``queries``, their numbers; ``answers``, in the same order; their ``mean``;
            and their ``spread``, the standard deviation without the shifts of blocks.
        """
        shifts = {each["block"]: each["mean"] for each in self.blocks()}
        groups: dict[bytes, list[Entry]] = {}
        for entry in self._answered:
            columns = self._plan.space.columns(entry.query.points) + 0.0  # -0.0 becomes 0.0
            groups.setdefault(columns.tobytes(), []).append(entry)
        out = []
        for group in groups.values():
            if len(group) == 1:
                continue
            answers = [float(entry.answer) for entry in group if entry.answer is not None]
            blocks = [block_name(entry.record, self._notebook.block) for entry in group]
            alike = [y - shifts.get(block, 0.0) for y, block in zip(answers, blocks, strict=True)]
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

    def blocks(self) -> list[dict[str, Any]]:
        """Return the shift of each block from the average of all blocks so far.

        Returns
        -------
        blocks : list of dicts
            In order of first use: ``block``, its name; ``n_answers``; ``mean`` and ``std``, the
            prediction of its shift, in units of the answers. Empty if no answer has a block.
        """
        return blocks_in(self._optimizer)

    def trade_offs(self) -> dict[str, Any] | None:
        """Return the Pareto front of the goals, or of the measurements in the score.

        Returns
        -------
        trade_offs : dict or None
            ``names`` of the measurements; ``larger_is_better``, a list of bools, according to the
            goals or to the score; ``queries`` and their ``values``, a list of lists; ``beyond``,
            numbers of the queries with a measurement beyond a limit; ``best``, numbers of the
            queries that no other query dominates (the Pareto front), among the results within all
            limits, or, while there are none, among the results that lack a measurement;
            ``hypervolume``, the share of the box between the worst and the best of each measurement
            that the front dominates.
            None if fewer than two measurements have a direction in the score, or there are fewer
            than two results.
        """
        score, told = self._notebook.score, [entry.as_dict() for entry in self._answered]
        return None if score is None else trade_offs(score, self._notebook.goals, told)

    # -- predictions ------------------------------------------------------------------------

    def _clipped(self, mean: float, std: float) -> dict[str, Any]:
        """Return a prediction as a dict, with mean and interval clipped to the range of answers."""
        ends = mean, mean - BAND * std, mean + BAND * std
        numbers = [self._within_range(x) for x in ends]
        return {
            "mean": numbers[0],
            "std": std,
            "interval_95": numbers[1:],
            "noise": sqrt(self._optimizer.alpha_),
            **self._scatter(),
        }

    def _within_range(self, number: float) -> float:
        """Return a number clipped to the range of answers."""
        low, high = self._notebook.range
        number = number if low is None else max(number, low)
        return number if high is None else min(number, high)

    def _scatter(self) -> dict[str, Any]:
        """Return the items ``scatter`` and ``scatter_95`` of :meth:`best`.

        What the model takes for noise may be roughness of f while nothing is repeated.
        """
        if self._optimizer.alpha is not None:
            return {"scatter": sqrt(self._optimizer.alpha), "scatter_95": None}
        repeated = self.replicates()
        if not repeated:
            return {"scatter": None, "scatter_95": None}
        free = [len(each["answers"]) - 1 for each in repeated]
        n = sum(free)
        total = sum(m * each["spread"] ** 2 for m, each in zip(free, repeated, strict=True))
        ends = [sqrt(total / float(chi2.isf(p, n))) for p in (0.025, 0.975)]
        return {"scatter": sqrt(total / n), "scatter_95": ends}

    def _outcomes(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Return the items ``goals``, ``outcomes`` and ``within_limits`` of :meth:`expect`."""
        goals = self._optimizer._goals_at(setting) if self._notebook.goals else []
        found = self._optimizer._limits_at(setting)
        keys = ("name", "mean", "std", "probability", "n_answers")
        outcomes = [
            {"limit": limit, **{key: each[key] for key in keys}}
            for each, limit in zip(found, format_limits(self._plan.limits), strict=True)
        ]
        for each in outcomes:
            each["n_missing"] = self._optimizer.run_.n_observations - each["n_answers"]
        known = [each["probability"] for each in outcomes]
        within = prod(known) if known and None not in known else None
        return {"goals": goals, "outcomes": outcomes, "within_limits": within}

    def _most_probable(self, asked: Any) -> tuple[float, float]:
        """Return mean and standard deviation of an answer by the most probable model.

        Without noise. No average over models: the constants of :func:`slip` were chosen with this
        model, and its distribution allows for standard deviations that are too small.
        """
        optimizer = self._optimizer
        if isinstance(asked, dict):
            (point,) = optimizer._inputs.points([asked])
            rows = optimizer._functionals_at(point[np.newaxis])
        else:
            rows = optimizer._row_sets_of([asked])
        mean, std = (float(x[0]) for x in optimizer._model.process.moments(rows, std=True))
        return self._sign * mean, std

    def _preferred(self, best: Any) -> dict[str, Any] | None:
        """Return an answered query with a better mean than ``best``; None if none has."""
        asked, found = [entry.query for entry in self._answered], None
        if isinstance(self._optimizer, Search):
            found = self._optimizer._better_predicted_query(best, asked)
        if found is None:
            return None
        query, (mean, _) = found
        number = self._answered[asked.index(query)].number
        return {"query": number, "mean": self._within_range(float(mean))}


def describe_outcomes(found: dict[str, Any]) -> list[str]:
    """Describe the outcomes of :meth:`Experiment.expect` in lines, one for each goal and limit."""
    lines = []
    for each in found["goals"]:
        mean, std = format_estimate(each["mean"], each["std"]), format_value(each["std"], 2)
        lines.append(f"{each['name']} there: expected {mean} \N{PLUS-MINUS SIGN} {std}")
    for each in found["outcomes"]:
        if each["probability"] is None:
            lines.append(f"{each['limit']}: not known, it was not measured yet")
            continue
        n, n_missing = each["n_answers"], each["n_missing"]
        known = f"; known of {n} of {n + n_missing} results" if n_missing else ""
        if each["mean"] is None:
            known = f" ({known.removeprefix('; ')})" if known else ""
        else:
            mean, std = format_estimate(each["mean"], each["std"]), format_value(each["std"], 2)
            known = f" (expected {mean} \N{PLUS-MINUS SIGN} {std}{known})"
        lines.append(
            f"{each['limit']}: holds with probability {format_percent(each['probability'])}{known}"
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


def scatter_interval(found: Mapping[str, Any]) -> str:
    """Return the interval of the scatter of repeats as text; empty if there is none."""
    ends = found["scatter_95"]
    if ends is None or not found["scatter"]:
        return ""
    low, high = (format_value(end, 2) for end in ends)
    return f", 95 %: {low} to {high}"


def describe_preferred_query(best: Mapping[str, Any]) -> list[str]:
    """Describe the preferred query of :meth:`Experiment.best` in a line.

    Return no line without one, or if the two means are equal to as many digits as are known.
    """
    found = best["preferred"]
    if found is None:
        return []
    mean, here = (format_estimate(each["mean"], best["std"]) for each in (found, best))
    if mean == here:
        return []
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
        share = float(np.prod((upper - lower) / (high - low)))
        return int(-log(share) / log(tree.n_children)) if share > 0.0 else 0

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
    >>> from skgpb.lab.experiments.judge import slip
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
