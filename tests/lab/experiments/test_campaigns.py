"""Campaigns that share a budget: asked, told, taken back, by calls and by commands."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb.exceptions import AllocationWarning, LoadError
from skgpb.feedback import from_counts, successes_in
from skgpb.lab.cli import main
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.campaigns import Campaigns
from skgpb.optimizers.combinatorial import CombinatorialBandit

CAMPAIGNS = ["search=0:20:1", "social media=0:20:1", "video=0,5,10,20"]
RATES = {"search": (0.3, 60), "social media": (0.1, 40), "video": (0.05, 30)}


@pytest.fixture
def ads(tmp_path):
    return Campaigns.create(tmp_path / "ads.skgpb", CAMPAIGNS, 20, answer="orders")


def orders(amounts):
    """Expected orders of each campaign."""
    return {name: top * (1 - np.exp(-rate * amounts[name])) for name, (rate, top) in RATES.items()}


def clicks(amounts, rng):
    """What is reported: orders among clicks, of which one in ten orders at most."""
    out = {}
    for name, mean in orders(amounts).items():
        n = int(10 * mean) + 20
        out[name] = f"{rng.binomial(n, mean / n)} of {n}"
    return out


@pytest.mark.slow
def test_the_best_split_is_found_and_all_of_it_is_in_the_file(ads, tmp_path):
    rng = np.random.default_rng(0)
    for day in range(25):
        assert (ads.best() is None) == (day < ads.n_first)
        split = ads.ask()
        assert split == Campaigns(ads.path).ask() == ads.history()[-1]
        assert sum(split["amounts"].values()) <= 20 and split["answers"] == {}
        told = ads.tell(clicks(split["amounts"], rng))
        assert told["split"] == day + 1
    best = ads.best()
    every = [
        sum(orders({"search": a, "social media": b, "video": c}).values())
        for c in (0, 5, 10, 20)
        for a in range(21 - c)
        for b in range(21 - c - a)
    ]
    assert sum(orders(best["amounts"]).values()) > 0.97 * max(every)
    low, high = best["interval_95"]
    assert low < sum(orders(best["amounts"]).values()) < high
    assert Campaigns(ads.path).status() == ads.status() == json.loads(json.dumps(ads.status()))
    bandit = CombinatorialBandit.load(ads.path)
    assert bandit.recommend().costs.tolist() == list(best["amounts"].values())


def test_counts_are_orders_with_their_noise(ads):
    ads.ask()
    told = ads.tell({"search": "12 of 300", "video": 4.5})
    assert told["answers"] == {"search": 12.0, "social media": None, "video": 4.5}
    (event,) = (each for each in ads._bandit._events if each[0] == "tell")
    share, alpha = from_counts(12, 300, stabilize=False)
    assert_allclose((event[2][0], event[3][0]), (300 * share, 300**2 * alpha))
    assert np.isnan(event[3][1:]).all()
    assert successes_in("0 of 0") == successes_in("0 of 1") != (0.0, 0.0)


def test_the_bandit_takes_counts_alone_and_in_lists():
    arms = np.arange(5.0)[:, None]
    from skgpb import GPUCBOptimizer

    one, other = (
        CombinatorialBandit([GPUCBOptimizer(arms=arms)] * 2, budget=4, random_state=0)
        for _ in range(2)
    )
    queries = one.ask(2)
    one.tell(queries, [["1 of 30", 2.0], ["0 of 9", None]])
    reward, alpha = zip(successes_in("1 of 30"), successes_in("0 of 9"), strict=True)
    other.ask(2)
    other.tell(queries[0], [reward[0], 2.0], [alpha[0], None])
    other.tell(queries[1], [reward[1], None], [alpha[1], None])
    assert one.ask() == other.ask()
    n = len(one._events)
    for told, message in (
        (["5 of 3", 1.0], "successes must be from 0 to trials"),
        (["many", 1.0], "reward must be a number, or counts such as '12 of 300', got 'many'"),
    ):
        with pytest.raises(ValueError, match=message):
            one.tell([[1.0, 2.0]], told)
    with pytest.raises(ValueError, match="the noise of '1 of 3' follows from it"):
        one.tell([[1.0, 2.0]], ["1 of 3", 1.0], alpha=0.1)
    assert len(one._events) == n


def test_another_budget_takes_back_what_was_asked(ads):
    first = ads.ask()
    ads.tell({"search": 1.0})
    second = ads.ask()
    smaller = ads.ask(9)
    assert smaller["split"] == 2 and sum(smaller["amounts"].values()) <= 9
    assert [each["amounts"] for each in ads.history()] == [first["amounts"], smaller["amounts"]]
    assert ads.ask() == smaller and Campaigns(ads.path).status()["budget"] == 9.0
    assert ads.ask(20)["amounts"] == second["amounts"]


def test_what_was_really_spent_counts_and_is_taken_back(ads):
    asked = ads.ask()
    with pytest.warns(AllocationWarning, match="more than the budget"):
        told = ads.tell({"search": 3, "video": "1 of 8"}, spent={"search": "20", "video": 5})
    assert told["split"] == 1
    assert told["amounts"] == asked["amounts"] | {"search": 20.0, "video": 5.0}
    assert not ads._bandit.run_.pending
    own = ads.tell({"video": 2}, spent={"search": 1, "social media": 2, "video": 3})
    assert [each["split"] for each in ads.history()] == [1, 2]
    ads.ask()  # it need not be told before something is taken back
    assert ads.undo() == own and ads.undo() == told
    assert ads.history() == [] and ads.ask() == asked
    ads.tell({"search": 1})
    assert ads.undo()["amounts"] == asked["amounts"] and ads.ask() == asked


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ads: ads.tell({"searching": 1}), "no campaign 'searching'; they are search"),
        (lambda ads: ads.tell({}), "reward holds None for every campaign"),
        (lambda ads: ads.tell({"search": "1,5"}), "answer of search must be a number.*write 1.5"),
        (lambda ads: ads.tell({"search": "9 of 3"}), "from 0 to trials"),
        (lambda ads: ads.tell({"search": 1}, spent={"search": -1}), "search gets 0 to 20, not -1"),
        (lambda ads: ads.ask("much"), "the budget must be a number"),
        (lambda ads: ads.ask(-3), "budget"),
    ],
)
def test_mistakes_change_nothing(ads, call, message):
    ads.ask()
    before = ads.path.read_bytes()
    with pytest.raises(ValueError, match=message):
        call(ads)
    assert ads.path.read_bytes() == before
    assert Campaigns(ads.path).history() == Campaigns(ads.path).history()


@pytest.mark.parametrize(
    ("campaigns", "budget", "message"),
    [
        (["a=0:2000:1"], 10, "at most 201: give a larger step"),
        (["a=A,B"], 10, "a campaign gets amounts"),
        (["a=0:10:1"], "ten", "the budget must be a number"),
        (["a=5:10:1", "b=6:10:1"], 3, "no allocation fits"),
        (["a=0:10:1", "a=0:10:1"], 3, "names of campaigns must be different"),
        ([], 3, "must hold at least one"),
    ],
)
def test_campaigns_that_cannot_be_are_refused(tmp_path, campaigns, budget, message):
    with pytest.raises(ValueError, match=message):
        Campaigns.create(tmp_path / "ads.skgpb", campaigns, budget)
    assert not any(tmp_path.iterdir())


def test_amounts_are_all_values_of_a_side(tmp_path):
    sides = ["tv=0:4:int", "web=2:3:int", "mail=0:2:0.5", "shop=1,5,9", "one=0:1:1"]
    ads = Campaigns.create(tmp_path / "ads.skgpb", sides, 50)
    assert ads.status()["campaigns"] == {
        "tv": [0.0, 1.0, 2.0, 3.0, 4.0],
        "web": [2.0, 3.0],
        "mail": [0.0, 0.5, 1.0, 1.5, 2.0],
        "shop": [1.0, 5.0, 9.0],
        "one": [0.0, 1.0],
    }
    for ends, n in (("0:200", 201), ("0:201", 202)):
        side, path = [f"a={ends}:int"], tmp_path / f"{n}.skgpb"
        if n > 201:
            with pytest.raises(ValueError, match=f"a has {n} amounts, and a campaign has at most"):
                Campaigns.create(path, side, 50)
        else:
            assert len(Campaigns.create(path, side, 50).status()["campaigns"]["a"]) == n


def test_files_of_another_kind_are_refused(ads, tmp_path):
    with pytest.raises(ValueError, match="exists already"):
        Campaigns.create(ads.path, CAMPAIGNS, 20)
    Experiment.create(tmp_path / "run.skgpb", ["x=0:1"])
    with pytest.raises(LoadError, match="by skgpb show"):
        Campaigns(tmp_path / "run.skgpb")
    with pytest.raises(LoadError, match="by skgpb budget"):
        Experiment(ads.path)
    with pytest.raises(ValueError, match="nothing was told yet"):
        ads.undo()
    with pytest.raises(ValueError, match="no split was asked"):
        ads.tell({"search": 1})


@pytest.mark.slow
def test_commands_and_calls_are_one(tmp_path, capsys):
    shell, python = tmp_path / "shell.skgpb", None
    python = Campaigns.create(tmp_path / "python.skgpb", CAMPAIGNS, 20, seed=3)

    def call(command, *arguments):
        assert main(["budget", command, str(shell), *map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    call("new", "--campaigns", *CAMPAIGNS, "--budget", 20, "--seed", 3)
    rng = np.random.default_rng(1)
    for day in range(11):
        split = call("ask")
        assert split == python.ask()
        told = clicks(split["amounts"], rng)
        if day == 4:
            del told["video"]
        texts = [f"{name}={each}" for name, each in told.items()]
        assert call("tell", *texts) == python.tell(told)
    assert call("undo") == python.undo()
    assert call("ask", "--budget", 15) == python.ask(15)
    said = call("show")
    assert said | {"file": ""} == python.status() | {"file": ""} and said["best"] is not None
    assert main(["budget", "show", str(shell)]) == 0
    lines = capsys.readouterr().out
    assert "best split of 15 after 10:\n" in lines and "in all: expected" in lines
    assert " -> ?" in lines and "not yet" in lines


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skgpb.exceptions.AllocationWarning")
def test_the_best_split_is_expected_to_give_the_sum_of_its_campaigns(tmp_path):
    sides = ["search=0:4:1", "video=0:2:int"]
    ads = Campaigns.create(tmp_path / "ads.skgpb", sides, 5, answer="orders", seed=1)
    for i in range(ads.n_first):
        amounts = ads.ask()["amounts"]
        assert ads.best() is None  # a split that was asked is not told
        answers = {name: 3.0 * each**0.5 + i / 10 for name, each in amounts.items()}
        ads.tell(answers if i != 1 else answers | {"video": None})
        assert ads.history()[i] == {
            **{"split": i + 1, "amounts": amounts},
            "answers": answers | ({"video": None} if i == 1 else {}),
        }
    status, best = ads.status(), ads.best()
    bandit = CombinatorialBandit.load(ads.path)
    query = bandit.recommend()
    means, stds = bandit.predict_query([query], return_std=True)
    mean, std = float(np.sum(means)), float(np.sqrt(np.sum(np.square(stds))))
    assert best["amounts"] == dict(zip(ads.names, query.costs.tolist(), strict=True))
    assert_allclose([best["mean"], best["std"]], [mean, std], rtol=1e-9)
    assert_allclose(best["interval_95"], [mean - 1.96 * std, mean + 1.96 * std], rtol=1e-9)
    assert sum(best["amounts"].values()) <= 5
    assert status["best"] == best and status["splits"] == ads.history()
    assert [status[name] for name in ("budget", "answer")] == [5.0, "orders"]
    with pytest.raises(ValueError, match="video gets 0 to 2, not 3"):
        ads.tell({"search": 1}, spent={"search": 0, "video": 3})
    with pytest.raises(ValueError, match="no split was asked: ask for one, or say what each"):
        ads.tell({"search": 1}, spent={"search": 4})
    # The budget of the present splits is another split as well.
    for _ in range(2):
        assert ads.ask(5.0)["split"] == ads.ask()["split"] == ads.n_first + 1
    ads.ask(3)
    asked = ads.ask()
    assert sum(asked["amounts"].values()) <= 3 and asked["split"] == len(ads.history())
    ads.tell({"video": 2.0, "search": "3 of 10"}, spent={"search": 4})
    assert ads.history()[-1]["amounts"] == asked["amounts"] | {"search": 4.0}
    with pytest.raises(ValueError, match="no campaign 'tv'; they are search, video"):
        ads.tell({"search": 1}, spent={"tv": 4})
