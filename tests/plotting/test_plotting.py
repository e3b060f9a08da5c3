"""The map of a search draws what the optimizer holds."""

import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer
from skgpb.plotting import CellMapDisplay
from skgpb.utils.install import install_command

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def searched(d, pool=False, budget=20):
    rng = np.random.default_rng(d)
    domain = {"pool": rng.uniform(size=(150, d))} if pool else {"bounds": [(0.0, 1.0)] * d}
    opt = GPOOOptimizer(0.3 * RBF(0.3), **domain, alpha=0.01, n_representatives=3)
    opt.run(lambda cell: float(np.sin(5 * cell.points).mean()), budget)
    return opt


@pytest.mark.one_in(3)
@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("d", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_leaves_and_their_posterior(d, pool):
    opt = searched(d, pool)
    display = CellMapDisplay.from_optimizer(opt, value_name="height")
    tree = opt.tree_
    leaves = tree.children[:, 0] < 0
    assert_allclose(display.lower, tree.lower[leaves])
    assert_allclose(display.upper, tree.upper[leaves])
    assert len(display.asked) == (tree.n_evaluations > 0).sum()
    best = opt.recommend()
    assert_array_equal(display.recommended, [best.lower, best.upper])
    blocks = [opt.domain_.cell(int(i)).points for i in np.flatnonzero(leaves)]
    for points, mean, std in zip(blocks, display.mean, display.std, strict=True):
        at_points, cov = opt.predict(points, return_cov=True)
        assert_allclose(mean, at_points.mean(), atol=1e-8)
        assert_allclose(std, np.sqrt(max(0.0, cov.mean())), atol=1e-5)
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "feature 0"
    display.figure_.canvas.draw()


def test_members_of_a_pool_take_the_colour_of_their_leaf():
    opt = searched(2, pool=True)
    display = CellMapDisplay.from_optimizer(opt, pool=100 * opt.pool + 7)
    assert_allclose(display.points, 100 * opt.pool + 7)
    inside = (display.points >= display.lower[display.leaf_of] - 1e-9) & (
        display.points <= display.upper[display.leaf_of] + 1e-9
    )
    assert inside.all()
    assert_allclose(np.sort(display.mappable_.get_array()), np.sort(display.mean[display.leaf_of]))


def test_two_features_are_labelled_with_a_colour_bar():
    display = CellMapDisplay.from_optimizer(
        searched(2), feature_names=["east", "north"], value_name="height"
    )
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("east", "north")
    colorbar = [ax for ax in display.figure_.axes if ax is not display.ax_]
    assert [ax.get_ylabel() for ax in colorbar] == ["posterior mean of height"]
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["queried", "recommended"]
    assert_allclose(display.mappable_.get_array(), np.sort(display.mean))


def test_more_features_say_so_in_the_title():
    display = CellMapDisplay.from_optimizer(searched(3), feature_names=["a", "b", "c"])
    assert "a and b of 3 features" in display.ax_.get_title()


def test_one_feature_shows_steps_and_answers():
    opt = searched(1, budget=12)
    display = CellMapDisplay.from_optimizer(opt, feature_names=["x"], value_name="height")
    assert display.ax_.get_ylabel() == "height" and display.mappable_ is None
    assert_allclose(display.answers[:, 1], opt.history_["reward"])
    labels = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert {"posterior mean", "answers", "queried cells", "recommended"} <= labels


def test_answers_follow_the_units_of_the_map():
    opt = searched(1, pool=True)
    display = CellMapDisplay.from_optimizer(opt, pool=10 * opt.pool)
    centers = opt.history_["descriptor"].mean(axis=1)
    assert_allclose(display.answers[:, 0], 10 * centers, rtol=1e-9)


def test_given_axes_are_used():
    figure, axes = plt.subplots(1, 2)
    display = CellMapDisplay.from_optimizer(searched(2), axes[1])
    assert display.ax_ is axes[1] and display.figure_ is figure
    assert display.plot(axes[0], colorbar=False).ax_ is axes[0]


def test_a_given_recommendation_is_drawn():
    opt = searched(2)
    cell = opt.ask()
    display = CellMapDisplay.from_optimizer(opt, recommended=cell)
    assert_array_equal(display.recommended, [cell.lower, cell.upper])


def test_nothing_asked_yet_is_drawn_as_one_cell():
    opt = GPOOOptimizer(bounds=[(0, 1), (0, 2)])
    opt.ask()
    display = CellMapDisplay.from_optimizer(opt)
    assert display.asked.shape == (0, 2, 2) and len(display.mean) == 1


def test_an_unfitted_optimizer_is_refused():
    with pytest.raises(NotFittedError):
        CellMapDisplay.from_optimizer(GPOOOptimizer(bounds=[(0, 1)]))


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    opt = searched(2)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape(install_command("plot"))):
        CellMapDisplay.from_optimizer(opt)
