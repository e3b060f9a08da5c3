"""Pictures of tables and groups: what is drawn is what the rows and the search say."""

from __future__ import annotations

import math
from datetime import date, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from askings import BOX, COLUMNS, N, Y, asked
from numpy.testing import assert_allclose

from skgpb.lab.cli import database_pictures, exact_pictures, pictures
from skgpb.lab.cli.asked import AskedResult
from skgpb.lab.cli.features import FeatureLimits, box_limits
from skgpb.lab.cli.html_report import _figure
from skgpb.lab.cli.pictures import Panel
from skgpb.lab.cli.tables import search_values
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.conditions import Range, Subgroup
from skgpb.lab.tables.levels import Levels, Moments
from skgpb.plotting.drawing import RECOMMENDED

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.colors import same_color  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

pytestmark = pytest.mark.one_in(6)


@pytest.fixture
def ax():
    return Figure(figsize=(6.0, 4.8), layout="constrained").subplots()


def drawn(panel):
    ax = Figure(figsize=(6.0, 4.8)).subplots()
    panel.draw(ax)
    return ax


def flat(text):
    """Text without the line ends with which it fits."""
    return " ".join(text.split())


def labels(ax):
    return flat(ax.get_xlabel()), flat(ax.get_ylabel())


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ticks(axis):
    names = [text.get_text() for text in axis.get_ticklabels()]
    return dict(zip(axis.get_ticklocs().tolist(), names, strict=True))


def rectangles(ax):
    return {
        (*patch.get_xy(), patch.get_width(), patch.get_height())
        for patch in ax.patches
        if not patch.get_fill()
    }


# -- maps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 3])
def test_a_map_has_the_average_of_the_rows_of_each_part(ax, step):
    limits = box_limits(COLUMNS, BOX)
    pictures.draw_means(ax, limits, Y[::step], "average y", step)
    (mesh,) = ax.collections
    hour, shop = (column.values[::step] for column in COLUMNS[:2])
    n = max(4, math.isqrt(len(hour) // 5))
    edges = np.linspace(hour.min(), hour.max(), n + 1)
    part = np.minimum(np.searchsorted(edges, hour, side="right") - 1, n - 1)
    expected = [[Y[::step][(part == i) & (shop == j)].mean() for i in range(n)] for j in range(4)]
    assert_allclose(mesh.get_array().ravel(), np.ravel(expected))
    assert_allclose(mesh.get_coordinates()[0, :, 0], edges)
    assert_allclose(mesh.get_coordinates()[:, 0, 1], [-0.5, 0.5, 1.5, 2.5, 3.5])
    assert labels(ax) == ("hour", "shop") and ticks(ax.yaxis) == dict(enumerate("ABCD"))
    assert flat(ax.figure.axes[1].get_ylabel()) == "average y"
    # From noon to before 18, which is 17, in two neighbouring shops.
    assert rectangles(ax) == {(12.0, 0.5, limits[0].high - 12.0, 2.0)} and limits[0].high == 17.0
    (outline,) = (patch for patch in ax.patches if not patch.get_fill())
    assert same_color(outline.get_edgecolor(), RECOMMENDED)
    assert 1.5 < outline.get_linewidth() < 4
    assert mesh.get_rasterized()  # a vector picture of many parts is large


def test_a_group_of_several_stretches_has_an_outline_for_each_pair(ax):
    shops = FeatureLimits(COLUMNS[1], among=("A", "C", "D"))
    pictures.outline(ax, [shops, shops], [np.arange(5) - 0.5] * 2)
    pairs = [(-0.5, 1.0), (1.5, 2.0)]
    assert rectangles(ax) == {(x, y, a, b) for x, a in pairs for y, b in pairs}


@pytest.mark.parametrize(("n", "parts"), [(9, 4), (120, 4), (245, 7), (2900, 24), (9999, 24)])
@pytest.mark.parametrize("step", [1, 2])
def test_axes_have_as_many_parts_as_their_rows_fill(n, parts, step):
    column = Column("x", "numbers", np.linspace(-3.0, 5.0, step * (n - 1) + 1))
    assert_allclose(pictures._edges(column, step), np.linspace(-3.0, 5.0, parts + 1))


# -- averages along a feature ---------------------------------------------------------------------


def spread(part):
    return float(part.mean()), float(part.min()), float(part.max())


@pytest.mark.parametrize("n", [4, 12, 60, 240])
@pytest.mark.parametrize(
    ("side", "span"),
    [
        ((None, None), None),
        ((3.0, None), (3.0, 9.0)),
        ((None, 4.0), (1.0, 4.0)),
        ((3.0, 4.0), (3.0, 4.0)),
    ],
)
def test_numbers_are_parted_so_that_as_many_rows_are_in_each(ax, n, side, span):
    values = np.append(np.random.default_rng(n).permutation(np.linspace(1.0, 9.0, n - 1)), 1.0)
    limit = FeatureLimits(Column("size", "numbers", values), *side)
    pictures.draw_profile(ax, limit, values, Y[:n], spread, ("mean", "ends"))
    parts = np.array_split(np.argsort(values, kind="stable"), min(max(1, n // 5), 24))
    curve = ax.lines[0]
    assert curve.get_label() == "mean"
    assert_allclose(curve.get_xdata(), [values[part].mean() for part in parts])
    assert_allclose(curve.get_ydata(), [Y[part].mean() for part in parts])
    band = ax.collections[0]
    assert band.get_label() == "ends" and 0 < band.get_alpha() < 1 and band.get_linewidth() == 0
    corners = {(round(x, 9), round(y, 9)) for x, y in band.get_paths()[0].vertices}
    ends = {(values[p].mean(), e(Y[p])) for p in parts for e in (np.min, np.max)}
    assert corners == {(round(x, 9), round(y, 9)) for x, y in ends}
    if span is None:
        assert not ax.patches
    else:
        (mark,) = ax.patches
        assert mark.get_label() == "recommended" and same_color(mark.get_fc()[:3], RECOMMENDED)
        assert 0 < mark.get_alpha() < 1 and 0 < mark.get_linewidth() < 2
        assert_allclose((mark.get_x(), mark.get_x() + mark.get_width()), span)


@pytest.mark.parametrize("among", [None, ("B",), ("A", "D"), ("A", "B", "C", "D")])
def test_categories_of_the_group_have_its_colour(ax, among):
    column = COLUMNS[1]
    limit = FeatureLimits(column, among=among)
    pictures.draw_profile(ax, limit, column.values, Y, spread, ("mean", "ends"))
    inside = [label in (among or ()) for label in column.labels]
    points = {}
    for line in ax.lines:
        if line.get_marker() == "o":
            is_in = line.get_label() == "recommended"
            assert is_in or line.get_label() == "mean, with ends"
            assert same_color(line.get_color(), RECOMMENDED if is_in else "C0")
            points |= dict.fromkeys(line.get_xdata().tolist(), is_in)
            means = [Y[column.values == i].mean() for i in line.get_xdata()]
            assert_allclose(line.get_ydata(), means)
    assert [points[i] for i in range(4)] == inside
    spans = {}
    for bars in ax.collections:
        spans |= {int(bar[0, 0]): bar[:, 1].tolist() for bar in bars.get_segments()}
    for i in range(4):
        part = Y[column.values == i]
        assert_allclose(spans[i], [part.min(), part.max()])
    assert ticks(ax.xaxis) == dict(enumerate("ABCD"))


@pytest.mark.parametrize(
    ("n", "n_chosen"), [(4, 9), (5, 2), (14, 0), (15, 3), (40, 1), (41, 14), (41, 15)]
)
@pytest.mark.parametrize("axis", ["xaxis", "yaxis"])
def test_names_of_categories_fit_at_their_axis(ax, n, axis, n_chosen):
    names = [f"{'shop' * 7} {i}" for i in range(n)]
    chosen = [i < n_chosen for i in range(n)]
    axis = getattr(ax, axis)
    pictures.label_categories(axis, names, chosen)
    shown = range(n)
    if n > 40:
        shown = range(14) if n_chosen == 14 else []
    assert ticks(axis) == {i: f"{names[i][:25]}…" for i in shown}
    is_x = axis.axis_name == "x"
    turned = 90 if len(shown) > 14 else 40 if n > 4 else 0
    for label in axis.get_ticklabels():
        assert label.get_rotation() == (turned if is_x else 0)
        assert (label.get_fontsize() < 8) == (len(shown) > 14)
        if is_x and turned == 40:
            assert label.get_ha() == "right" and label.get_rotation_mode() == "anchor"


def test_days_have_dates_below_them(ax):
    panel = pictures.panel_of_averages(
        lambda ax: pictures.draw_profile(
            ax, FeatureLimits(COLUMNS[2]), COLUMNS[2].values, Y, spread, pictures.AVERAGES
        ),
        "day", "sales", 20.0, 2,
    )  # fmt: skip
    panel.draw(ax)
    formatter = ax.xaxis.get_major_formatter()
    assert type(formatter).__name__ == "ConciseDateFormatter"
    assert len(ax.xaxis.get_major_locator()()) <= 7


@pytest.mark.parametrize(
    ("n_sides", "rest"), [(0, ""), (1, ""), (2, " of the rows that meet the other conditions")]
)
def test_averages_are_drawn_beside_that_of_all_rows(n_sides, rest):
    called = []

    def draw(ax):
        called.append(ax)
        ax.plot([0, 1], [2, 3], label="average of rows")

    panel = pictures.panel_of_averages(draw, "hour", "sales", 2.5, n_sides)
    assert panel.caption == f"Average sales by hour{rest}. Dotted: all rows."
    ax = drawn(panel)
    assert called == [ax] and labels(ax) == ("hour", "average sales")
    curve, whole = ax.lines
    assert list(whole.get_ydata()) == [2.5, 2.5] and whole.get_linestyle() == ":"
    assert 0 < whole.get_linewidth() < curve.get_linewidth()
    assert legend(ax) == ["average of rows"]
    # The legend is above the axes.
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y0 >= ax.bbox.y1


def test_effects_are_bars_from_the_largest_down(ax):
    effects = {f"{'feature' * 4} {i}": 20.0 - i for i in range(14)}
    pictures.draw_effects(ax, effects, "by how much", "what matters")
    places = [patch.get_y() + patch.get_height() / 2 for patch in ax.patches]
    assert_allclose(places, range(11, -1, -1))
    assert [patch.get_width() for patch in ax.patches] == list(effects.values())[:12]
    assert all(0.3 < patch.get_height() < 1 for patch in ax.patches)
    assert ticks(ax.yaxis) == {11 - i: f"{name[:25]}…" for i, name in enumerate(list(effects)[:12])}
    assert ax.get_xlim()[0] == 0 and ax.get_xlim()[1] > 20.0
    assert labels(ax)[0] == "by how much" and flat(ax.get_title()) == "what matters"


@pytest.mark.parametrize("n", [1, 2, 4, 5, 12])
def test_few_bars_are_no_thicker_than_many_and_all_are_inside(ax, n):
    pictures.draw_effects(ax, {f"x{i}": 1.0 + i for i in range(n)}, "a", "b")
    (low, high), ends = ax.get_ylim(), (-0.3, n - 1 + 0.3)
    assert low < ends[0] and high - ends[1] == pytest.approx(0.3)
    room = high - low
    assert room == pytest.approx(4.6) if n < 5 else ends[0] - low >= 0.3 and room <= n + 2.5


LONG = "a name that is far too long for its side of a picture " * 4


def test_long_names_are_broken_so_that_they_fit(ax):
    def check(*texts):
        for text in texts:
            size = text.get_window_extent().size
            assert "\n" in text.get_text() and max(size) <= max(ax.bbox.size)

    hour = Column(LONG, "numbers", COLUMNS[0].values)
    pictures.draw_means(ax, [FeatureLimits(hour), FeatureLimits(hour)], Y, "y")
    check(ax.xaxis.label, ax.yaxis.label)
    ax.clear()
    pictures.draw_effects(ax, {"x": 1.0}, LONG, LONG)
    check(ax.xaxis.label, ax.title)
    ax.clear()
    for name in "abcd":
        ax.plot([1], label=name)
    pictures.finish_profile(ax, LONG, LONG)
    check(ax.xaxis.label, ax.yaxis.label)
    assert ax.get_legend()._ncols == 3
    ax.clear()
    found = asked(1)
    pictures.make_panels(AskedResult(found.search, found.memory, found.features, LONG, False))[
        -1
    ].draw(ax)
    check(ax.xaxis.label)
    name = pictures._wrap(LONG)
    assert name.count("\n") == 1 and name.endswith("…") and max(map(len, name.split("\n"))) <= 26
    assert pictures._wrap("hour 3 to 4") == "hour 3 to 4"


def test_a_panel_says_what_the_sides_of_a_group_add():
    panel = pictures.panel_of_effects("sales", {"hour": 3.0, "shop": 1.0})
    assert panel.caption == "By how much the average of the group is better for each of its sides."
    ax = drawn(panel)
    assert [patch.get_width() for patch in ax.patches] == [3.0, 1.0]
    assert labels(ax)[0] == "average sales that each side adds"
    assert ax.get_title() == "what matters"


@pytest.mark.parametrize(("n", "size"), [(1, (6, 1)), (2, (12, 1)), (3, (18, 1)), (5, (18, 2))])
def test_a_figure_has_its_title_and_room_for_its_panels(n, size):
    figure = pictures.draw_panels([Panel(lambda ax: ax.plot([1]), "")] * n, "80 rows")
    assert_allclose(figure.get_size_inches(), (size[0], 4.8 * size[1] + 0.5))
    assert figure.get_suptitle() == "80 rows" and figure.dpi == 150


# -- searches that ask ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_panels_of_a_search_that_asks_are_of_its_features(n_features):
    # The condition on the shop comes first, although the hour has the larger effect.
    found = asked(n_features, box=Subgroup((("shop", BOX["shop"]),)) if n_features > 1 else BOX)
    panels = pictures.make_panels(found)
    captions = [panel.caption for panel in panels]
    best = "The best of the groups that were asked for, and the whole table."
    rest = ", whatever the others are" if n_features > 1 else ""
    names = ["shop", "hour", "day"][:n_features] if n_features > 1 else ["hour"]
    profiles = [f"{name}: what the answers tell of sales along it{rest}." for name in names]
    if n_features == 1:
        assert captions == [*profiles, best]
        return
    others = ", on average over the others" if n_features > 2 else ""
    assert captions == [
        f"What the answers tell of sales by shop and hour{others}. The recommended group of "
        f"{len(found.members)} rows is outlined.",
        "By how much sales varies with each feature alone.",
        *profiles,
        best,
    ]
    bars = drawn(panels[1])
    assert labels(bars)[0] == "standard deviation of sales by the feature alone"
    assert bars.get_title() == "which features matter"
    assert [patch.get_width() for patch in bars.patches] == list(found.effects.values())


@pytest.mark.parametrize(
    ("minimizes", "most", "step"), [(False, 240, 1), (True, 239, 2), (False, 100, 3)]
)
def test_maps_and_profiles_are_of_the_predictions_of_rows(minimizes, most, step, monkeypatch):
    monkeypatch.setattr(pictures, "ROWS_DRAWN", most)
    found = asked(2, minimizes)
    the_map, _, hour, shop, _ = map(drawn, pictures.make_panels(found))
    expected = Figure().subplots()
    limits = box_limits(COLUMNS, BOX)
    pictures.draw_means(expected, limits, Y[::step], "", step)
    assert_allclose(the_map.collections[0].get_array(), expected.collections[0].get_array())
    assert rectangles(the_map) == rectangles(expected)
    assert flat(the_map.figure.axes[1].get_ylabel()) == "posterior mean of sales"
    assert labels(hour) == ("hour", "posterior mean of sales")
    assert set(legend(hour)) == {"80 % of the rows", "average posterior mean", "recommended"}
    kept, y = COLUMNS[0].values[::step], Y[::step]
    parts = np.array_split(np.argsort(kept, kind="stable"), min(24, len(kept) // 5))
    assert_allclose(hour.lines[0].get_ydata(), [y[part].mean() for part in parts])
    corners = {round(v, 9) for v in hour.collections[0].get_paths()[0].vertices[:, 1]}
    assert corners == {round(q, 9) for p in parts for q in np.quantile(y[p], (0.1, 0.9))}
    assert labels(shop)[0] == "shop"
    ends = [bar[:, 1] for bars in shop.collections for bar in bars.get_segments()]
    lows = [np.quantile(y[COLUMNS[1].values[::step] == i], (0.1, 0.9)) for i in (0, 3, 1, 2)]
    assert_allclose(ends, lows)


@pytest.mark.parametrize("minimizes", [False, True])
@pytest.mark.parametrize("n_groups", [5, 12])
def test_the_best_groups_asked_are_ranked_beside_the_whole_table(minimizes, n_groups):
    found = asked(2, minimizes, n_groups=n_groups)
    ax = drawn(pictures.make_panels(found)[-1])
    mean, std = found.search.mean, np.sqrt(np.diag(found.search.cov))
    best = np.argsort(mean if minimizes else -mean)[:8].tolist()
    best += [] if 0 in best else [0]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert_allclose([line.get_xdata()[0] for line in dots], mean[best])
    places = list(range(len(best)))[::-1]
    assert [line.get_ydata()[0] for line in dots] == places
    spans = [bars.get_segments()[0][:, 0] for bars in ax.collections]
    assert_allclose(spans, [(mean[i] - 1.96 * std[i], mean[i] + 1.96 * std[i]) for i in best])
    colors = [same_color(line.get_color(), RECOMMENDED) for line in dots]
    assert colors == [i == 2 for i in best]
    names = ticks(ax.yaxis)
    for place, i in zip(places, best, strict=True):
        name = flat(names[place])
        if i in (0, 2):
            assert name == {0: "whole table", 2: "recommended"}[i]
        else:
            assert name.startswith("hour ")
    (whole,) = (line for line in ax.lines if line.get_linestyle() == ":")
    assert list(whole.get_xdata()) == [mean[0]] * 2 and 0 < whole.get_linewidth() < 1.5
    assert flat(ax.get_xlabel()) == "average sales, with 95 % intervals"
    assert ax.get_title() == "the best groups asked"


def test_without_a_model_all_rows_have_the_average_of_the_table():
    found = asked(2)
    search = SimpleNamespace(**(vars(found.search) | {"model": None}))
    found = AskedResult(search, found.memory, found.features, "sales", False)
    assert found.effects == {"hour": 0.0, "shop": 0.0}
    assert_allclose(found.predict_rows(), np.full(N, found.search.mean[0]))


def test_a_photograph_has_the_group_outlined_beside_the_answers():
    x, y = (each.ravel() for each in np.meshgrid(np.arange(8.0), np.arange(6.0)))
    columns = [
        Column(name, "numbers", each) for name, each in zip(pictures.PIXELS, (x, y), strict=True)
    ]
    inside = np.flatnonzero((x >= 2) & (x <= 5) & (y >= 1) & (y <= 3))
    rng = np.random.default_rng(0)
    light = rng.random(48)
    found = SimpleNamespace(
        features=columns, members=inside, predict_rows=lambda: light,
        search=SimpleNamespace(n_answers=25),
    )  # fmt: skip
    image = rng.random((6, 8, 3))
    figure = pictures.draw_photograph(found, image)
    left, right, bar = figure.axes
    assert_allclose(left.images[0].get_array(), image)
    assert_allclose(right.images[0].get_array(), light.reshape(6, 8))
    for ax in (left, right):
        assert rectangles(ax) == {(2.0, 1.0, 3.0, 2.0)}
        assert labels(ax) == ("column (pixels)", "row (pixels)")
        assert all(same_color(patch.get_edgecolor(), RECOMMENDED) for patch in ax.patches)
        assert all(1.5 < patch.get_linewidth() < 4 for patch in ax.patches)
    assert left.get_title() == "the photograph, unknown to the search"
    assert right.get_title() == "what 25 averages tell"
    assert bar.get_ylabel() == "posterior mean of brightness"
    assert_allclose(figure.get_size_inches() * figure.dpi, (2250, 780))
    places = [ax.get_position() for ax in (left, right)]
    assert places[0].x1 < places[1].x0 and places[0].y0 == pytest.approx(places[1].y0, abs=0.1)


# -- searches of visible rows ---------------------------------------------------------------------


def judged(box, columns):
    """What a picture reads of a judged group."""
    table = MemoryTable({column.name: search_values(column) for column in columns}, Y)
    return SimpleNamespace(
        table=table, subgroup=box, rows=table.rows(box), counted_table_average=Y.mean(),
        effects=lambda: {name: 9.0 - i for i, name in enumerate(box)},
    )  # fmt: skip


BOXES = {
    "none": Subgroup(()),
    "one": Subgroup((("shop", BOX["shop"]),)),
    "two": BOX,
    "four": Subgroup((*BOX.conditions, ("day", Range(19_010.0)), ("size", Range(None, 8.5)))),
}


@pytest.mark.parametrize("n_features", [1, 2, 4])
@pytest.mark.parametrize("kind", BOXES)
def test_panels_of_visible_rows_are_of_the_sides_of_the_group(kind, n_features):
    columns = COLUMNS[1:2] if n_features == 1 else COLUMNS[:n_features]
    names = [column.name for column in columns]
    box = Subgroup(tuple((name, side) for name, side in BOXES[kind].conditions if name in names))
    found, limits = judged(box, columns), box_limits(columns, box)
    panels = exact_pictures.make_panels(found, columns, limits, "sales")
    captions = [panel.caption for panel in panels]
    sides, order = list(box), [*box, *(c.name for c in columns if c.name not in box)]
    expected = []
    if n_features > 1:
        first, second = order[:2]
        others = box.without(first).without(second) if len(box) else box
        n, within = int(found.table.rows(others).sum()), ""
        if n < N:
            within = f", of the {n} rows on its other sides"
        expected.append(
            f"The average sales by {first} and {second}{within}. The group of "
            f"{found.rows.sum()} rows is outlined; where there is no colour there are no rows."
        )
    if len(sides) > 1:
        expected.append("By how much the average of the group is better for each of its sides.")
    rest = " of the rows that meet the other conditions" if len(sides) > 1 else ""
    drawn_names = (sides or order)[:3]
    expected += [f"Average sales by {name}{rest}. Dotted: all rows." for name in drawn_names]
    assert captions == expected
    for name, panel in zip(drawn_names, panels[len(panels) - len(drawn_names) :], strict=True):
        ax = drawn(panel)
        column = next(c for c in columns if c.name == name)
        inside = found.table.rows(box.without(name) if name in box else box)
        (whole,) = (line for line in ax.lines if line.get_linestyle() == ":")
        assert list(whole.get_ydata()) == [Y.mean()] * 2
        if column.kind == "texts":
            points = {
                int(x): y
                for line in ax.lines
                if line.get_marker() == "o"
                for x, y in zip(*line.get_data(), strict=True)
            }
            means = {i: Y[inside & (column.values == i)].mean() for i in range(4)}
            assert points == pytest.approx(means)
            for bars in ax.collections:
                for bar in bars.get_segments():
                    part = Y[inside & (column.values == bar[0, 0])]
                    half = 1.96 * part.std(ddof=1) / math.sqrt(len(part))
                    assert_allclose(bar[:, 1], [part.mean() - half, part.mean() + half])


def test_a_map_of_visible_rows_is_of_those_with_both_features():
    values = COLUMNS[0].values.copy()
    values[:40] = np.nan
    shop = COLUMNS[1].values.copy()
    shop[30:60] = np.nan
    columns = [Column("hour", "numbers", values), Column("shop", "texts", shop, tuple("ABCD"))]
    table = MemoryTable({column.name: search_values(column) for column in columns}, Y)
    found = SimpleNamespace(table=table, subgroup=Subgroup(()), rows=np.ones(N, bool))
    panel = exact_pictures._map(found, *map(FeatureLimits, columns), "sales")
    ax, expected = drawn(panel), Figure().subplots()
    kept = [column.select_rows(np.arange(60, N)) for column in columns]
    pictures.draw_means(expected, list(map(FeatureLimits, kept)), Y[60:], "")
    assert_allclose(ax.collections[0].get_array(), expected.collections[0].get_array())
    assert flat(ax.figure.axes[1].get_ylabel()) == "average sales"
    found.counted_table_average = Y.mean()
    ax = drawn(exact_pictures._profile(found, FeatureLimits(columns[0]), "sales"))
    parts = np.array_split(np.argsort(values[40:], kind="stable"), 24)
    assert_allclose(ax.lines[0].get_ydata(), [Y[40:][part].mean() for part in parts])


@pytest.mark.parametrize("n", [1, 2, 9])
def test_an_average_has_the_interval_of_its_standard_error(n):
    mean, low, high = exact_pictures._average(Y[:n])
    half = 1.96 * Y[:n].std(ddof=1) / math.sqrt(n) if n > 1 else 0.0
    assert_allclose((mean, low, high), (Y[:n].mean(), Y[:n].mean() - half, Y[:n].mean() + half))
    assert np.isnan(exact_pictures._average(Y[:0])).all()


# -- searches of databases ------------------------------------------------------------------------


class Counts:
    """A database of which a picture asks counts and averages."""

    target, mean = "sales", 19.5

    def __init__(self, levels):
        self.levels = levels
        rng = np.random.Generator(np.random.PCG64(2))
        self.seen = {
            each.name: Moments(
                rng.integers(3, 9, each.n_levels), rng.normal(20, 3, each.n_levels),
                rng.uniform(1, 2, each.n_levels),
            )
            for each in levels
        }  # fmt: skip

    def marginals(self, boxes, names):
        self.asked = [list(box) for box in boxes], names
        return [{name: self.seen[name]} for (name,) in names]


LEVELS = [
    Levels("one", "number"),
    Levels("hour", "number", edges=tuple(range(1, 24))),
    Levels("late", "number", edges=(12,)),
    Levels("shop", "category", labels=("A", "B", "C", "D")),
    Levels("day", "number", edges=tuple(date(2024, 1, 1) + timedelta(i) for i in range(9))),
    Levels("size", "number", edges=(2.5, 4.0), missing=True),
    Levels("gaps", "number", missing=True),
]


@pytest.mark.parametrize(
    ("sides", "names"),
    [
        ([], ["hour", "late", "shop"]),
        (["shop"], ["shop"]),
        (["hour", "shop"], ["hour", "shop"]),
        (["hour", "shop", "day", "size"], ["hour", "shop", "day", "size"]),
        (["hour", "gaps"], ["hour", "gaps"]),
    ],
)
def test_panels_of_a_database_are_of_the_sides_of_the_group(sides, names):
    ranges = {
        "hour": Range(12, 18), "shop": BOX["shop"], "size": Range(2.5),
        "day": Range(date(2024, 1, 3), date(2024, 1, 6)), "gaps": Range(),
    }  # fmt: skip
    box = Subgroup(tuple((name, ranges[name]) for name in sides))
    table = Counts(LEVELS)
    panels = database_pictures.make_panels(table, box, 21.0)
    assert table.asked == ([[s for s in sides if s != n] for n in names], [[n] for n in names])
    if len(sides) > 1:
        average = {n: np.average(table.seen[n].mean, weights=table.seen[n].n) for n in names}
        names.sort(key=lambda name: -abs(21.0 - average[name]))
        ax = drawn(panels.pop(0))
        expected = [abs(21.0 - average[name]) for name in names]
        assert_allclose([patch.get_width() for patch in ax.patches], expected)
    rest = " of the rows that meet the other conditions" if len(sides) > 1 else ""
    names = [name for name in names[:3] if name != "gaps"]
    said = [f"Average sales by {name}{rest}. Dotted: all rows." for name in names]
    assert [panel.caption for panel in panels] == said
    for name, panel in zip(names, panels, strict=True):
        ax = drawn(panel)
        assert labels(ax) == (name, "average sales")
        (whole,) = (line for line in ax.lines if line.get_linestyle() == ":")
        assert list(whole.get_ydata()) == [19.5] * 2
        if name == "day":
            assert type(ax.xaxis.get_major_formatter()).__name__ == "ConciseDateFormatter"
            first = (date(2024, 1, 1) - date(1970, 1, 1)).days
            assert_allclose(ax.lines[0].get_xdata(), first - 1.0 + np.arange(10))
        if name in sides and name != "shop":
            ends = {"hour": (11.5, 17.5), "size": (2.5, 5.5)}
            days = [(date(2024, 1, i) - date(1970, 1, 1)).days - 0.5 for i in (3, 6)]
            (mark,) = ax.patches
            span = mark.get_x(), mark.get_x() + mark.get_width()
            assert_allclose(span, ends.get(name, days))


@pytest.mark.parametrize("n_edges", [22, 23, 24, 60])
def test_levels_of_a_database_are_merged_into_parts_with_as_many_rows(n_edges):
    levels = Levels("x", "number", edges=tuple(np.arange(0.5, n_edges)))
    n = np.full(n_edges + 1, 4)
    seen = Moments(n, np.arange(n_edges + 1.0), np.ones(n_edges + 1))
    ax = Figure().subplots()
    database_pictures._draw_profile(levels, None, seen, ax)
    x, mean = ax.lines[0].get_data()
    parts = min(n_edges + 1, pictures.PARTS)
    assert len(x) == parts and ax.lines[0].get_label() == "average of rows"
    assert_allclose(x, mean)  # each level has the average of its middle
    sizes = np.diff(np.append(x, 2 * (n_edges + 0.5) - x[-1]))
    assert sizes.max() < sizes.min() + 2
    if parts == n_edges + 1:
        assert_allclose(x, np.arange(n_edges + 1.0))


def test_a_number_without_other_values_has_parts_of_its_own():
    ax = Figure().subplots()
    seen = Moments(np.array([3, 4]), np.array([1.0, 2.0]), np.ones(2))
    database_pictures._draw_profile(Levels("x", "number", edges=(7.5,)), Range(7.5), seen, ax)
    assert_allclose(ax.lines[0].get_data(), [[7.0, 8.0], [1.0, 2.0]])
    (mark,) = ax.patches
    assert (mark.get_x(), mark.get_width()) == (7.5, 1.0)
    ends = database_pictures._interval_ends(Moments(np.array([1]), np.full(1, 2.0), np.zeros(1)))
    assert ends == [[2.0], [2.0]]


# -- pages ----------------------------------------------------------------------------------------


def test_a_picture_of_a_page_is_drawn_in_both_themes_at_half_its_pixels():
    import base64
    import io
    import re

    from matplotlib.image import imread

    colors = []
    text = _figure(Panel(lambda ax: colors.append(ax.get_facecolor()), "a < b"))
    found = re.findall(
        r'<img class="(\w+)" src="data:image/png;base64,([^"]+)" width="(\d+)" height="(\d+)" '
        r'alt="a &lt; b">',
        text,
    )
    assert [theme for theme, *_ in found] == ["light", "dark"]
    assert sum(colors[0][:3]) > sum(colors[1][:3])
    for _, data, width, height in found:
        pixels = imread(io.BytesIO(base64.b64decode(data)), format="png").shape
        assert (int(width), int(height)) == (pixels[1] / 2, pixels[0] / 2)
    assert text.endswith("<figcaption>a &lt; b</figcaption></figure>")
