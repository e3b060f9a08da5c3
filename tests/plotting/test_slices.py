"""Slices are the posterior along one side, the others where they are recommended."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform, norm, randint
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.domains.space import as_coordinates
from skgpb.plotting import CellMapDisplay, PosteriorDisplay, SliceDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

SIDES = {"heat": (20.0, 90.0), "salt": loguniform(1e-4, 1e-1), "catalyst": ["A", "B", "none"]}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def laboratory():
    opt = GPUCBOptimizer(bounds=SIDES, n_candidates=100, random_state=0)

    def measured(query):
        p = query.params
        return -((p["heat"] / 70 - 0.8) ** 2) + (p["catalyst"] == "B")

    opt.run(measured, 12)
    return opt


def legend_of(display):
    legend = display.figure_.legends[0] if display.figure_.legends else display.ax_.get_legend()
    return {text.get_text() for text in legend.get_texts()}


def test_every_side_is_a_panel_through_the_recommendation(laboratory):
    display = SliceDisplay.from_optimizer(laboratory, value_name="yield", grid_resolution=30)
    assert [ax.get_xlabel() for ax in display.axes_] == list(SIDES)
    assert display.axes_[0].get_ylabel() == "yield"
    best = laboratory.recommend().points[0]
    for i, (grid, mean, std) in enumerate(
        zip(display.grids, display.means, display.stds, strict=True)
    ):
        X = np.tile(best, (len(grid), 1))
        X[:, i] = grid
        expected = laboratory.predict(as_coordinates(X), return_std=True)
        assert_allclose(mean, expected[0])
        assert_allclose(std, expected[1])
        assert_allclose(display.recommended[i], best[i])
    setting = laboratory.recommend().params
    for name in SIDES:
        assert f"{name} = " in display.title
    assert f"catalyst = {setting['catalyst']}" in display.title
    assert {"posterior mean", "95 % interval", "asked", "recommended"} <= legend_of(display)


def test_categories_are_points_with_bars(laboratory):
    display = SliceDisplay.from_optimizer(laboratory, features="catalyst")
    (ax,) = display.axes_
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["A", "B", "none"]
    (bars,) = ax.containers
    assert_allclose(bars.lines[0].get_xdata(), [1 / 6, 0.5, 5 / 6])
    assert_allclose(bars.lines[0].get_ydata(), display.means[0])
    low, high = np.array([np.array(path)[:, 1] for path in bars.lines[2][0].get_segments()]).T
    assert_allclose(high - low, 2 * 1.96 * display.stds[0])


def test_panels_share_the_scale_of_the_rewards(laboratory):
    display = SliceDisplay.from_optimizer(laboratory)
    assert len({ax.get_ylim() for ax in display.axes_}) == 1
    low, high = display.ax_.get_ylim()
    for mean, std in zip(display.means, display.stds, strict=True):
        assert low <= (mean - 1.96 * std).min() and (mean + 1.96 * std).max() <= high


def test_slices_go_through_a_given_point_and_draw_given_sides(laboratory):
    point = {"heat": 30.0, "salt": 1e-2, "catalyst": "A"}
    display = SliceDisplay.from_optimizer(laboratory, features=("salt", 0), fixed=point)
    assert [ax.get_xlabel() for ax in display.axes_] == ["salt", "heat"]
    at = laboratory.predict([point])
    assert_allclose(np.interp(30.0, display.grids[1], display.means[1]), at, atol=0.01)
    assert "heat = 30, salt = 0.01, catalyst = A" in display.title


def test_answers_are_drawn_where_the_slice_shows_them():
    opt = GPOOOptimizer(bounds={"place": (0.0, 1.0)})
    opt.run(lambda cell: float(cell.points.mean()), 8)
    display = SliceDisplay.from_optimizer(opt)
    answers = [line for line in display.ax_.lines if line.get_label() == "answers"]
    assert_array_equal(answers[0].get_ydata(), opt.history_["reward"])
    best = opt.recommend()
    assert_array_equal(display.recommended, [[best.lower[0], best.upper[0]]])


def test_axes_given_are_used(laboratory):
    figure, axes = plt.subplots(1, 3)
    display = SliceDisplay.from_optimizer(laboratory, axes)
    assert display.axes_ == list(axes) and display.figure_ is figure
    with pytest.raises(ValueError, match=r"one Axes or a sequence of 3 Axes.*got 2"):
        display.plot(axes[:2])
    figure, (left, right) = plt.subplots(1, 2, figsize=(16, 5), layout="constrained")
    display.plot(right)
    figure.canvas.draw()
    assert not right.axison
    # The panels stand where the axes stood.
    assert all(ax.get_position().x0 > left.get_position().x1 for ax in display.axes_)
    assert SliceDisplay.from_optimizer(laboratory, left, features=0).ax_ is left


def test_drawing_leaves_the_run_as_it_is(laboratory):
    drawn, other = copy.deepcopy(laboratory), copy.deepcopy(laboratory)
    SliceDisplay.from_optimizer(drawn)
    assert drawn.ask(3) == other.ask(3)


def test_bad_input(laboratory):
    for features in ("pressure", (0, 0), (), 3):
        with pytest.raises(ValueError, match=r"features must be some different ones of 0\.\.2"):
            SliceDisplay.from_optimizer(laboratory, features=features)
    with pytest.raises(ValueError, match="grid_resolution"):
        SliceDisplay.from_optimizer(laboratory, grid_resolution=1)
    with pytest.raises(ValueError, match="values of named sides are given by name"):
        SliceDisplay.from_optimizer(laboratory, fixed=[1.0])


@pytest.mark.parametrize(
    ("side", "labels"),
    [
        (loguniform(1e-4, 1e-1), ["0.0001", "0.001", "0.01", "0.1"]),
        (randint(0, 41), ["0", "10", "20", "30", "40"]),
        (randint(3, 6), ["3", "4", "5"]),
    ],
)
def test_ticks_are_round_values(side, labels):
    opt = GPUCBOptimizer(bounds={"x": side}, n_candidates=20, random_state=0).start()
    display = SliceDisplay.from_optimizer(opt)
    display.figure_.canvas.draw()
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == labels


def test_ticks_of_any_distribution_lie_on_the_side_and_apart():
    opt = GPUCBOptimizer(bounds={"x": norm(5.0, 2.0)}, n_candidates=20, random_state=0).start()
    display = SliceDisplay.from_optimizer(opt)
    ticks = display.ax_.get_xticks()
    assert len(ticks) >= 2 and (np.diff(ticks) >= 0.1).all()
    assert ticks[0] >= 0.0 and ticks[-1] <= 1.0


def test_features_are_called_as_the_columns_of_a_table():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).uniform(size=(60, 2))
    table = pandas.DataFrame(X, columns=["age", "income"])
    arms = GPUCBOptimizer(RBF(0.3), arms=table.iloc[:9], random_state=0)
    arms.run(lambda arm: float(arm.points.mean()), 3)
    pool = GPOOOptimizer(RBF(0.3), pool=table, n_representatives=3)
    pool.run(lambda cell: float(cell.points.mean()), 3)
    for opt in (arms, pool):
        display = SliceDisplay.from_optimizer(opt)
        assert [ax.get_xlabel() for ax in display.axes_] == ["age", "income"]
        assert PosteriorDisplay.from_optimizer(opt).ax_.get_ylabel() == "income"
    assert CellMapDisplay.from_optimizer(pool).ax_.get_xlabel() == "age"


@pytest.mark.slow
def test_of_many_features_those_that_matter_are_drawn():
    rng = np.random.default_rng(0)
    opt = GPUCBOptimizer(
        RBF(np.r_[np.full(13, 50.0), [0.7, 0.7]]), bounds=[(0, 1)] * 15, alpha=0.01, n_candidates=50
    )
    X = rng.uniform(size=(30, 15))
    opt.fit(X, X[:, 13] - X[:, 14])
    display = SliceDisplay.from_optimizer(opt, grid_resolution=3)
    drawn = [ax.get_xlabel() for ax in display.axes_]
    assert len(drawn) == 12 and drawn[-2:] == ["feature 13", "feature 14"]
    assert len(SliceDisplay.from_optimizer(opt, features=range(15), grid_resolution=2).axes_) == 15


def test_the_legend_of_panels_of_ones_own_covers_no_data(laboratory):
    figure, axes = plt.subplots(3, 1, layout="constrained")
    display = SliceDisplay.from_optimizer(laboratory, ax=axes, grid_resolution=20)
    figure.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert display.ax_.bbox.y1 <= legend.y0 < legend.y1 <= figure.bbox.y1


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("names", "turned"),
    [
        (["A", "B", "none"], False),
        (["1,4-dioxane as a solvent", "toluene, dry"], False),
        (["1,4-dioxane as a solvent", "toluene, dry", "water"], True),
        ([f"CC(=O)O{i}" for i in range(12)], True),
    ],
)
def test_names_of_values_do_not_lie_on_each_other(names, turned):
    opt = GPUCBOptimizer(bounds={"solvent": names}, random_state=0)
    opt.run(lambda query: float(len(query.params["solvent"])), 3)
    display = SliceDisplay.from_optimizer(opt)
    display.figure_.set_size_inches(5.2, 2.5)
    display.figure_.canvas.draw()
    labels = display.axes_[0].get_xticklabels()
    assert [label.get_rotation() > 0 for label in labels] == [turned] * len(names)
    assert all(len(label.get_text()) <= 18 for label in labels)
    boxes = [label.get_window_extent() for label in labels]
    if turned:  # lines of text that are parallel: their ends are apart by more than their height
        ends = [box.x1 for box in boxes]
        assert (np.diff(ends) * np.sin(np.radians(40)) > labels[0].get_fontsize()).all()
    else:
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("display", [SliceDisplay, PosteriorDisplay])
def test_nothing_is_drawn_beyond_the_range_of_rewards(laboratory, display):
    ends = 0.2, 0.8
    whole, clipped = (
        display.from_optimizer(laboratory, **given) for given in ({}, {"value_range": ends})
    )
    if display is PosteriorDisplay:
        values = clipped.mappable_.get_array()
        assert whole.mappable_.get_array().max() > 0.8
        assert values.min() >= 0.2 and values.max() == 0.8
        return
    for before, after in zip(whole.axes_, clipped.axes_, strict=True):
        bars = [
            np.concatenate(
                [path.vertices[:, 1] for each in ax.collections for path in each.get_paths()]
            )
            for ax in (before, after)
        ]
        assert bars[0].max() > 0.8 and bars[1].min() >= 0.2 and bars[1].max() <= 0.8
