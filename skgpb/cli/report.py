"""What people see of a search: a summary, and a map of what was found."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.cli.private import privacy_remark
from skgpb.cli.region import Region

PIXELS = ["column (pixels)", "row (pixels)"]
# A recommended group narrower than this share of the map gets a close-up of so many times its
# own size on every side.
SMALL, ZOOM = 0.1, 3.0
CLOSE_UP_DOT = 9.0


def summary_of(result: dict[str, Any], region: Region, source: str) -> list[str]:
    """Lines that say what was found."""
    low, high = result["interval_95"]
    true = []
    if "true_average" in result:
        text = (
            f"{_number(result['true_average'])}, of the whole table "
            f"{_number(result['true_average_of_table'])} (computed only for this report)"
        )
        true.append(("true average", text))
    rows = [
        (
            "recommended group",
            f"{count(result['n_members'], 'row')}, "
            f"{_percent(result['n_members'] / result['n_rows'])} of the table",
        ),
        *(
            (f"  {name}", f"{_number(lower)} to {_number(upper)}")
            for name, lower, upper in zip(
                result["features"], result["lower"], result["upper"], strict=True
            )
        ),
        (
            "average found",
            f"{_number(result['posterior_mean'])}, with 95 % probability between {_number(low)} "
            f"and {_number(high)}",
        ),
        (
            "questions asked",
            f"{result['n_rounds']:,} on {count(result['n_groups_asked'], 'group')}, "
            + _noise_of(result),
        ),
        ("smallest group asked", count(result["smallest_group_asked"], "row")),
        ("rows averaged singly", _percent(result["share_of_rows_averaged_singly"])),
        *true,
    ]
    width = max(len(name) for name, _ in rows)
    return [
        f"Highest average of {result['target']} in {source}",
        "",
        *(f"{name:<{width}}  {text}" for name, text in rows),
        *_remarks(result, region),
    ]


def _noise_of(result: dict[str, Any]) -> str:
    """Say how noisy the answers were."""
    if "privacy" in result:
        least, most = (f"{noise:,.3g}" for noise in result["privacy"]["noise"])
        return f"with noise of {least}" + (f" to {most}" if least != most else "")
    noise = result["parameters"]["noise"]
    return f"each answer with noise of {_number(noise)}" if noise else "answered exactly"


def _remarks(result: dict[str, Any], region: Region) -> list[str]:
    """Say what the numbers do not."""
    remarks = []
    others = result["n_rows_within_bounds"] - result["n_members"]
    if others:
        saved = result["command"] == "search" and "privacy" not in result
        which = ", which --save-rows writes" if saved else ""
        remarks += [
            "",
            f"{count(others, 'other row')} of the table "
            f"{'is' if others == 1 else 'are'} within the same bounds, for the cuts go through "
            f"equal values; they are not in the group{which}.",
        ]
    group, oracle = region.group, region.oracle
    if group.depth == 0 and len(oracle.asked) > 1:
        remarks += ["", "No group that was asked for is better than the whole table."]
    if group.depth <= region.optimizer.max_depth_ and not region.exhausted:
        remarks += [
            "",
            "The budget was too small to settle on one of the smallest groups: a larger one may "
            "find a higher average.",
        ]
    if "privacy" in result:
        remarks += ["", *privacy_remark(result["privacy"])]
    return remarks


def count(n: int, what: str) -> str:
    """Number of things, in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _percent(share: float) -> str:
    """Two significant digits, more of what is close to all."""
    percent = 100.0 * share
    return f"{percent:.2g} %" if percent < 10.0 else f"{percent:.4g} %"


def _number(x: float) -> str:
    return f"{x:,.6g}"


def _figure(panels: int) -> Any:
    """A figure that needs no display, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5 * panels, 6.0), layout="constrained", dpi=150)
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def draw_table(region: Region, table: np.ndarray, features: list[str], target: str) -> Any:
    """Draw the groups of a table, with a close-up where the one recommended is small."""
    from skgpb.plotting import CellMapDisplay

    span, side = np.ptp(table, axis=0), region.upper - region.lower
    zoom = len(features) == 2 and (side < SMALL * span).any()
    figure, axes = _figure(2 if zoom else 1)
    display = CellMapDisplay.from_optimizer(
        region.optimizer,
        axes[0],
        recommended=region.group,
        pool=table,
        feature_names=features,
        value_name=f"average {target}",
    )
    if zoom:
        margin = np.minimum(span, ZOOM * np.where(side > 0.0, side, span))
        display.plot(axes[1], colorbar=False)
        display.mappable_.set_sizes([CLOSE_UP_DOT])
        low, high = region.lower - margin, region.upper + margin
        axes[1].set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title="close-up")
    figure.suptitle(
        f"{len(region.group.members):,} of {count(len(table), 'row')} recommended after "
        f"{count(region.oracle.n_answers, 'average')} of {target}"
    )
    return figure


def draw_photograph(region: Region, places: np.ndarray, image: np.ndarray) -> Any:
    """Draw the photograph, and beside it what the averages tell of it."""
    from matplotlib.patches import Rectangle

    from skgpb.plotting import CellMapDisplay

    figure, (left, right) = _figure(2)
    right.invert_yaxis()
    display = CellMapDisplay.from_optimizer(
        region.optimizer,
        right,
        recommended=region.group,
        pool=places,
        feature_names=PIXELS,
        value_name="average brightness",
    )
    left.imshow(image)
    low, high = region.lower, region.upper
    left.add_patch(Rectangle(low, *(high - low), fill=False, edgecolor=display.color, lw=2.5))
    left.set(title="the photograph, unknown to the search", xlabel=PIXELS[0], ylabel=PIXELS[1])
    right.set(title=f"what {count(region.oracle.n_answers, 'average')} tell", aspect="equal")
    right.set(xlim=left.get_xlim(), ylim=left.get_ylim())
    return figure
