"""The history records exactly what was asked, told, corrected, undone and reopened."""

import random

import pytest

from skgpb.lab.experiments import Experiment

POINTS = ["x=0:1", "kind=A,B", "n=1:6:int"]
REGIONS = ["x=0:1", "y=1:10"]
STEPS = ["ask", "ask", "tell", "tell", "tell", "fail", "own", "set", "correct", "undo", "reopen"]
OPERATORS = ["", "Ann", "Bob", "Cid"]


class Walk:
    """An experiment, and what its history should be: a status and an answer for each number."""

    def __init__(self, path, regions, seed, block=""):
        self.rng = random.Random(seed)
        self.regions, self.block = regions, block
        self.experiment = Experiment.create(
            path,
            REGIONS if regions else POINTS,
            regions=regions,
            noise=self.rng.choice([None, 0]),
            block=block,
        )
        self.known = {}
        self.told = []

    def some(self, *statuses):
        return self.rng.choice([k for k, v in self.known.items() if v[0] in statuses] or [None])

    def at(self):
        x = self.rng.random()
        if self.regions:
            return {"x": x, "y": 2.5}
        return {"x": repr(x), "kind": self.rng.choice("AB"), "n": self.rng.randint(1, 6)}

    def ask(self):
        n, another = self.rng.randint(1, 3), self.rng.random() < 0.3
        for entry in self.experiment.ask(n, another=another):
            self.known.setdefault(entry["query"], ("pending", None))

    def tell(self, own=False, setting=False):
        number, value = None if own else self.some("pending"), self.rng.gauss(0, 1)
        if own or number is not None:
            at = self.at() if own or setting else None
            operator = self.rng.choice(OPERATORS) if self.block else None
            entry = self.experiment.tell(value, number, at=at, operator=operator)
            assert own or entry["query"] == number
            self.known[entry["query"]] = ("answered", value)
            # An asked query is pending again when its answer is taken back, anything else is gone.
            self.told.append((entry["query"], at is None))

    def own(self):
        self.tell(own=True)

    def set(self):
        self.tell(setting=True)

    def fail(self):
        number = self.some("pending")
        if number is not None:
            self.experiment.fail(number)
            self.known[number] = ("failed", None)
            self.told.append((number, True))

    def correct(self):
        number = self.some("answered", "failed")
        if number is not None:
            value = self.rng.choice([None, self.rng.gauss(0, 1)])
            self.experiment.correct(number, value)
            self.known[number] = ("failed" if value is None else "answered", value)

    def undo(self):
        if self.told:
            number, asked = self.told.pop()
            assert self.experiment.undo()["query"] == number
            del self.known[number]
            if asked:
                self.known[number] = ("pending", None)

    def annotate(self):
        number = self.some("answered", "failed", "pending")
        if number is not None:
            self.experiment.annotate(number, operator=self.rng.choice(OPERATORS))

    def change(self):
        self.block = "" if self.block else "operator"
        self.experiment.change(block=self.block)

    def reopen(self):
        self.experiment = Experiment(self.experiment.path)


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.RefinementWarning")
@pytest.mark.parametrize("regions", [False, True])
@pytest.mark.parametrize(
    ("seed", "n_steps"),
    [
        (0, 25),
        *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in range(1, 2)),
        *(pytest.param(seed, 60, marks=pytest.mark.exhaustive) for seed in range(2, 11)),
    ],
)
def test_the_history_is_what_was_done(tmp_path, regions, seed, n_steps):
    walk = Walk(tmp_path / "run.skgpb", regions, seed)
    for _ in range(n_steps):
        getattr(walk, walk.rng.choice(STEPS))()
        history = walk.experiment.history()
        assert {e["query"]: (e["status"], e["answer"]) for e in history} == walk.known


def learned(experiment):
    """What the model has seen: the setting, the block and the answer of each, in any order."""
    optimizer = experiment.optimizer
    names = {number: name for name, number in optimizer.run_.blocks.items()} | {0: ""}
    observed, samples = optimizer._model.process.observed, optimizer._model.samples
    rows, strata = optimizer.domain_.places_of(observed.rows), observed.strata
    return sorted(
        (*rows[i].round(9), names[strata[i]], round(reward, 9))
        for i, reward in zip(samples.functional, samples.reward, strict=True)
    )


@pytest.mark.parametrize(
    ("seed", "n_steps"),
    [
        (0, 25),
        *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in range(1, 3)),
        *(pytest.param(seed, 60, marks=pytest.mark.exhaustive) for seed in range(3, 11)),
    ],
)
def test_the_model_knows_the_operator_of_each_answer(tmp_path, seed, n_steps):
    walk = Walk(tmp_path / "run.skgpb", False, seed, "operator")
    for _ in range(n_steps):
        getattr(walk, walk.rng.choice([*STEPS, "annotate", "change"]))()
        history = walk.experiment.history()
        assert {e["query"]: (e["status"], e["answer"]) for e in history} == walk.known
        space = walk.experiment.optimizer.run_.space
        assert learned(walk.experiment) == sorted(
            (
                *space.point(e["params"]).round(9),
                e["operator"] if walk.block else "",
                round(e["answer"], 9),
            )
            for e in history
            if e["answer"] is not None
        )
