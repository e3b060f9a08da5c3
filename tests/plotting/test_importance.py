"""Bars of importance are the effects of the features, the largest on top."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgpb import GPUCBOptimizer
from skgpb.plotting import ImportanceDisplay, PosteriorDisplay
from skgpb.plotting.inspection import feature_effects

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def opt():
    sides = {"idle": (0.0, 1.0), "heat": (0.0, 1.0), "kind": ["a", "b"]}
    opt = GPUCBOptimizer(bounds=sides, n_candidates=100, random_state=0)
    opt.run(lambda query: 3 * query.params["heat"] + (query.params["kind"] == "b"), 20)
    return opt


def test_bars_are_the_effects(opt):
    display = ImportanceDisplay.from_optimizer(opt, value_name="yield")
    effects = feature_effects(opt)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["idle", "kind", "heat"]
    widths = [bar.get_width() for bar in display.bars_]
    assert_array_equal(widths, effects.known[[0, 2, 1]])
    _, pale = display.ax_.containers
    ends = [bar.get_x() + bar.get_width() for bar in pale]
    np.testing.assert_allclose(ends, effects.possible[[0, 2, 1]])
    assert "yield" in display.ax_.get_xlabel()


def test_only_the_most_important_are_drawn_where_asked(opt):
    display = ImportanceDisplay.from_optimizer(opt, n_features=1)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["heat"]


def test_names_are_as_given_one_for_each(opt):
    names = ["one", "two", "three"]
    display = ImportanceDisplay.from_optimizer(opt, feature_names=names)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["one", "three", "two"]
    for each in (ImportanceDisplay, PosteriorDisplay):
        with pytest.raises(ValueError, match="feature_names must name each of 3 features"):
            each.from_optimizer(opt, feature_names=["one"])
