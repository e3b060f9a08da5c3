"""What is said of stopping, over all that an outlook can be."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from skgpb.lab.experiments import stopping
from skgpb.lab.experiments.stopping import Outlook, verdict

GIVEN = {"end": 100.0, "scatter": 1.0}


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("n_sides", [1, 2, 3])
def test_sentences_fit_the_numbers(learned, n_sides):
    for gap, gain, room, n, within in itertools.product(
        (None, 0.5, 3.0), (None, 0.01, 2.0), (None, 3.0), (1, 9, 10, 29, 30, 59, 60), (1.0, 5.0)
    ):
        outlook = Outlook(gap, gain, room, learned=learned, is_known=True, **GIVEN)
        found = verdict(outlook, n, n_sides, within, 0.9, "mm")
        why = found["why"]
        least = None
        if gap is not None:
            least = 30 * max(1, n_sides - 1) if learned else 1
        assert (found["gap"], found["expected_gain"], found["least_answers"]) == (gap, gain, least)
        assumed = (gap is not None or gain is not None) and learned and n < 10
        early = least is not None and n < least
        assert ("this is mostly an assumption" in why) == assumed
        assert ("this is a rough guess" in why) == (early and not assumed)
        assert (f"rely on it from about {least} results on" in why) == early
        results = f"With {n} result{'' if n == 1 else 's'} "
        assert (results in why) == (assumed or early)
        assert ("may always lie where nothing was tried" in why) == (gap is None)
        capped = gap is not None and gap == room
        assert ("(90 % sure)" in why) == (gap is not None or room is not None)
        assert ("no average result is beyond 100" in why) == (capped or (gap is None and room == 3))
        assert ("Ten more results are expected" in why) == (gain is not None)
        assert ("by less than 0.05 mm" in why) == (gain == 0.01)
        enough = room is not None and room <= within
        if gap is not None:
            enough |= gap <= within and n >= least
        else:
            enough |= gain is not None and gain <= within and n >= 10
        assert found["enough"] == enough
        unclear = gap is None and gain is None
        assert ("Whether to stop cannot be said" in why) == unclear
        assert ("you may stop" in why) == (enough and not unclear)
        assert why.endswith(("go on.", "stop.", "goals."))


@pytest.mark.parametrize("room", [None, 3.0])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_before_results_vary_nothing_is_known(room, n):
    outlook = Outlook(None, None, room, learned=True, is_known=False, **GIVEN)
    why = verdict(outlook, n, 2, 1.0, 0.9)["why"]
    does = "result does" if n == 1 else "results do"
    assert why.startswith(f"{n} {does} not show how much better another setting may be.")
    assert ("Nothing is better by more than 3 (90 % sure):" in why) == (room is not None)
    assert why.endswith("So go on.")
    if room is not None:
        assert verdict(outlook, n, 2, 5.0, 0.9)["enough"]
    assert verdict(None, 0, 2, 1.0, 0.9)["why"] == "There is no result yet."


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("is_search", [False, True])
@pytest.mark.parametrize("keeps_limits", [None, True, False])
def test_an_outlook_reaches_no_further_than_the_range_of_answers(
    monkeypatch, direction, learns, is_search, keeps_limits
):
    class Fake:
        run_ = SimpleNamespace(params=SimpleNamespace(direction=direction))
        diagnosis = SimpleNamespace(shows_nothing=False)
        _model, alpha, alpha_ = SimpleNamespace(learns=learns, diagnosis=diagnosis), None, 4.0
        _gap_averages = staticmethod(lambda: "averaged over windows of 2")

        def recommend(self):
            return "best"

        def predict_query(self, queries, return_std):
            assert queries == ["best"] and return_std
            return [60.0], [1.0]

        def gap(self, delta):
            assert delta == pytest.approx(0.1)
            return 7.0

        def _comparison(self, best):
            def expected_gain(noise, n):
                assert (best, noise, n) == ("best", 4.0, 10)
                return 3.0

            return SimpleNamespace(expected_gain=expected_gain, keeps_limits=keeps_limits)

    monkeypatch.setattr(stopping, "Search", Fake if is_search else str)
    limits = {} if keeps_limits is None else {"pH": (None, 7.0)}
    monkeypatch.setattr(stopping, "outcome_limits", lambda optimizer: limits)
    sign = 1 if direction == "maximize" else -1
    for n_sides, (answers, beyond) in itertools.product(
        (2, 3),
        [
            *(([1, 2, 3, 4], beyond) for beyond in (None, 5.0, -3.0)),
            *(([1, 2, 3], 2.0), ([5] * 9, -1.0)),
        ],
    ):
        end = None if beyond is None else 60.0 + sign * beyond
        ends = (None, end) if sign > 0 else (end, None)
        found = Outlook.of(Fake(), answers, n_sides, ends, 0.9)
        is_known = not learns or answers == [1, 2, 3, 4]
        # An end that the prediction contradicts counts as open.
        # Averages beyond the end do not exist: a tenth of the others is further from it.
        room = None if beyond in (None, -3.0) else beyond + norm.isf(0.1 * norm.cdf(beyond))
        most = 1e9 if room is None else room
        says = is_known and keeps_limits is not False
        gap = min(7.0, most) if says and (not learns or n_sides == 2) else None
        gain = min(3.0, most) if says and is_search else None
        known = gap, gain, room, end, 2.0, learns, is_known, keeps_limits, Fake._gap_averages()
        assert found == Outlook(*(pytest.approx(x) if type(x) is float else x for x in known))


@pytest.mark.parametrize("mean", [-3.0, -1.0, 0.0, 2.0, 9.0])
def test_the_end_of_a_range_is_as_far_as_said_at_most_as_often_as_said(mean):
    drawn = np.random.default_rng(0).normal(mean, 2.0, 400_000)
    kept = drawn[drawn >= 0.0]
    for confidence in (0.5, 0.9):
        bound = stopping.distance_from_end(mean, 2.0, confidence)
        error = 4.0 * (confidence * (1.0 - confidence) / len(kept)) ** 0.5
        assert np.mean(kept <= bound) == pytest.approx(confidence, abs=error)
    assert stopping.distance_from_end(mean, 0.0, 0.9) == max(0.0, mean)


@pytest.mark.parametrize("is_known", [True, False])
def test_while_no_setting_keeps_the_limits_one_goes_on(is_known):
    outlook = Outlook(None, None, 0.0, learned=True, is_known=is_known, keeps_limits=False, **GIVEN)
    found = verdict(outlook, 40, 3, 1.0, 0.9)
    assert not found["enough"] and found["why"].endswith("So go on.")
    said = "No setting is known to keep all limits with 95 % or more."
    assert (said in found["why"]) == is_known
    better = Outlook(0.5, 0.1, None, learned=True, is_known=True, keeps_limits=True, **GIVEN)
    why = verdict(better, 40, 2, 1.0, 0.9)["why"]
    assert why.startswith("Another setting within all limits could still be better by up to 0.5")
