"""Pictures of a search: where the averages are high, what was found, and which features matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.cli.region import Region
from skgpb.cli.report import count
from skgpb.cli.result import Found

PIXELS = ["column (pixels)", "row (pixels)"]
# A recommended group narrower than this share of the map gets a close-up of so many times its
# own size on every side.
SMALL, ZOOM = 0.1, 3.0
CLOSE_UP_DOT = 9.0


def _figure(panels: int) -> Any:
    """A figure that needs no display, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5 * panels, 6.0), layout="constrained", dpi=150)
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def draw_table(found: Found) -> Any:
    """Draw the groups of a table, with a close-up where the one recommended is small."""
    from skgpb.plotting import CellMapDisplay

    region, table, target = found.region, found.space.coordinates, found.target
    features = [column.name for column in found.space.columns]

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
