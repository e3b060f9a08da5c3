"""Why a setting is suggested."""

from types import SimpleNamespace

import pytest

from skgpb.lab.experiments import Experiment, reasons
from skgpb.lab.experiments.sides import format_estimate

BOUNDS = {"temperature": (20.0, 80.0), "solvent": ["DMF", "THF", "water"]}


def told(path, answers, **parameters):
    """Return an experiment with some answers to what it asked, and the query that it asks next."""
    experiment = Experiment.create(path, BOUNDS, noise=1.0, **parameters)
    for value in answers:
        (query,) = experiment.ask()
        experiment.tell(value, query["query"])
    return experiment, experiment.ask()[0]


def test_before_the_first_answer_nothing_is_known(tmp_path):
    experiment, _ = told(tmp_path / "a.skgpb", [])
    (found,) = experiment.why()
    assert found["nearest"] is found["mean"] is None
    assert "nothing is known" in found["why"]


def test_the_nearest_is_the_one_with_the_smallest_mean_distance(tmp_path):
    """A third of the range apart, or another solvent: over two sides a sixth, or a half."""
    experiment = Experiment.create(tmp_path / "a.skgpb", BOUNDS, noise=1.0)
    experiment.tell(1.0, at={"temperature": 20.0, "solvent": "DMF"})
    experiment.tell(2.0, at={"temperature": 40.0, "solvent": "THF"})
    (query,) = experiment.ask()
    here = query["params"]
    (found,) = experiment.why()
    distances = {
        number: 0.5 * (abs(here["temperature"] - t) / 60.0 + (here["solvent"] != solvent))
        for number, (t, solvent) in {1: (20.0, "DMF"), 2: (40.0, "THF")}.items()
    }
    nearest = min(distances, key=distances.__getitem__)
    assert found["nearest"]["query"] == nearest
    assert found["nearest"]["distance"] == pytest.approx(distances[nearest])
    assert found["nearest"]["answer"] == float(nearest)
    solvent = {1: "DMF", 2: "THF"}[nearest]
    assert ("solvent" in found["nearest"]["differs"]) == (here["solvent"] != solvent)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("level", [-90.0, 0.0, 90.0])
def test_why_is_said_by_what_is_expected_and_possible(monkeypatch, direction, level):
    """Within a quarter of the standard deviation alike, within two of them possible."""
    near = {"differs": ["heat"], "query": 1, "answer": 1.0, "distance": 0.1}
    monkeypatch.setattr(reasons, "nearest", lambda *given: near)
    sign = -1.0 if direction == "minimize" else 1.0
    best, search = {"mean": level, "std": 8.0}, SimpleNamespace(direction=direction)
    for worse, said in (
        (0.2, "nearly as"),
        (1.0, "little is known"),
        (1.9, "little"),
        (2.1, "says"),
    ):
        entry = SimpleNamespace(number=3, cost=None if worse < 2 else 4.0)
        mean = level - sign * worse * 8.0
        found = reasons.reason(entry, (mean, 8.0), search, [], [], best)
        assert said in found["why"] and (found["mean"], found["std"]) == (mean, 8.0)
        assert ("it may be" in found["why"]) == (1 <= worse < 2)
        if said == "little":
            assert found["why"].endswith(f"it may be {format_estimate(mean + sign * 16.0, 8.0)}")
        assert ("for what it costs" in found["why"]) == (worse > 2)
    assert "as good" in reasons.reason(entry, (level, 8.0), search, [], [], best)["why"]
    near["differs"] = []
    assert "once more" in reasons.reason(entry, (level, 8.0), search, [], [], best)["why"]


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_each_sentence_fits_its_numbers(tmp_path, direction):
    """In twenty rounds: expected and best are compared in the direction that is sought."""
    sign = -1.0 if direction == "minimize" else 1.0
    experiment, query = told(tmp_path / "a.skgpb", [], direction=direction)
    sentences = set()
    for _ in range(20):
        here = query["params"]
        value = 50.0 - 0.02 * (here["temperature"] - 60.0) ** 2 + 5.0 * (here["solvent"] == "THF")
        (found,) = experiment.why()
        best = experiment.best()
        if best is not None:
            at = experiment.expect(here)
            assert found["mean"] == pytest.approx(at["mean"])
            assert found["std"] == pytest.approx(at["std"])
        why = found["why"]
        if "nearly" in why:
            assert sign * (best["mean"] - found["mean"]) <= 0.25 * found["std"]
            assert ("as much" in why) == (sign > 0.0)
        if "but little is known" in why:
            assert sign * (best["mean"] - found["mean"]) > 0.0
            assert sign * (found["mean"] - best["mean"]) + 2.0 * found["std"] > 0.0
            assert why.startswith("less" if sign > 0.0 else "more")
        if "asked before" in why:
            assert found["nearest"]["distance"] == 0.0
        sentences.add(why.split("(")[0])
        experiment.tell(sign * value, query["query"])
        (query,) = experiment.ask()
    assert len(sentences) >= 3


def test_every_pending_query_has_a_reason(tmp_path):
    experiment, _ = told(tmp_path / "a.skgpb", [1.0])
    pending = [each["query"] for each in experiment.ask(3)]
    assert [each["query"] for each in experiment.why()] == pending == [2, 3, 4]
    for number in pending:
        experiment.skip(number)
    assert experiment.why() == []


def test_reasons_change_no_file(tmp_path):
    experiment, _ = told(tmp_path / "a.skgpb", [1.0, 3.0])
    before = experiment.path.read_bytes()
    experiment.why()
    assert experiment.path.read_bytes() == before


def test_regions_have_reasons(tmp_path):
    experiment, _ = told(tmp_path / "a.skgpb", [1.0, 3.0], regions=True)
    assert experiment.why()[0]["nearest"]["query"] in (1, 2)


def test_the_distance_of_angles_is_the_shorter_way_round(tmp_path):
    experiment = Experiment.create(tmp_path / "a.skgpb", ["wind=0:360:periodic", "x=0:1"])
    experiment.tell(1.0, at={"wind": 355, "x": 0.5})
    experiment.tell(2.0, at={"wind": 100, "x": 0.5})
    (query,) = experiment.ask(fixed={"wind": 5})
    (found,) = experiment.why()
    away = abs(query["params"]["x"] - 0.5)
    assert found["nearest"]["query"] == 1
    assert found["nearest"]["distance"] == pytest.approx(0.5 * (10 / 360 + away))
