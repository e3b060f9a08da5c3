"""Pictures of campaigns that share a budget: their names, and their part of the best split."""

import numpy as np
import pytest

from skgpb import CombinatorialBandit, GPUCBOptimizer
from skgpb.plotting import PosteriorDisplay, SliceDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

AMOUNTS = np.arange(0.0, 21.0)[:, None]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def bandit():
    names = ["video", "search", "mail"]
    out = CombinatorialBandit(
        [(name, GPUCBOptimizer(arms=AMOUNTS)) for name in names], budget=20, random_state=0
    )
    rng = np.random.default_rng(0)
    for _ in range(15):
        query = out.ask()
        response = np.array([90, 60, 40]) * (1 - np.exp(-np.array([0.3, 0.2, 0.2]) * query.costs))
        out.tell(query, response + rng.normal(size=3))
    return out


def recommended_in(display):
    lines = display.figure_.axes[0].lines
    return [line.get_xdata()[0] for line in lines if line.get_label() == "recommended"]


def test_the_picture_of_a_campaign_in_a_bandit_has_its_part_of_the_split(bandit):
    split = bandit.recommend().params
    assert sum(split.values()) <= 20
    for name in split:
        display = PosteriorDisplay.from_optimizer(bandit, features=name)
        assert recommended_in(display) == [split[name]]
        assert display.ax_.get_xlabel() == name
        assert display.ax_.get_ylabel() == f"reward of {name}"
        expected = bandit.named_optimizers_[name].predict(display.grid[0][:, None])
        np.testing.assert_array_equal(display.mean, expected)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("display", [PosteriorDisplay, SliceDisplay])
def test_the_picture_of_a_campaign_alone_recommends_nothing(bandit, display):
    for name, campaign in bandit.named_optimizers_.items():
        drawn = display.from_optimizer(campaign)
        assert recommended_in(drawn) == []
        assert drawn.figure_.axes[0].get_xlabel() == name


def test_campaigns_without_names_have_numbers():
    bandit = CombinatorialBandit([GPUCBOptimizer(arms=AMOUNTS)] * 2, budget=9, random_state=0)
    bandit.run(lambda query: [1.0, 2.0], 2)
    display = PosteriorDisplay.from_optimizer(bandit, features=1)
    assert recommended_in(display) == [bandit.recommend().costs[1]]
    assert display.ax_.get_xlabel() == "campaign_1"


@pytest.mark.parametrize("features", [None, ["video", "mail"], "radio"])
def test_features_must_be_of_one_campaign(bandit, features):
    with pytest.raises(ValueError, match=r"features must be .*\['video', 'search', 'mail'\]"):
        PosteriorDisplay.from_optimizer(bandit, features=features)


def test_campaigns_have_no_contexts():
    campaign = GPUCBOptimizer(arms=AMOUNTS, context_bounds=[(0, 7)])
    with pytest.raises(
        ValueError, match=r"'video' must have context_bounds=None, got \[\(0, 7\)\]"
    ):
        CombinatorialBandit([("video", campaign)], budget=9).ask(context=3)
