"""Letters in a figure that cover each other, or are cut off at its edge."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.text import Text
from matplotlib.transforms import Affine2D


def corners(text):
    """Return the corners of a text, which may be turned, in pixels: an array (4, 2)."""
    angle = text.get_rotation()
    around = text.get_transform().transform(text.get_unitless_position())
    text.set_rotation(0)
    modes = text.get_rotation_mode()
    text.set_rotation_mode("anchor")
    straight = text.get_window_extent()
    text.set_rotation(angle)
    turned = Affine2D().rotate_deg_around(*around, angle).transform(straight.corners())
    if modes != "anchor":
        # The box around the turned text is aligned, not the text before it is turned.
        text.set_rotation_mode(modes)
        box = text.get_window_extent()
        turned += [box.x0, box.y0] - turned.min(axis=0)
    return turned[[0, 1, 3, 2]]


def meet(one, other, slack):
    """Return whether two rectangles have more than some pixels in common along every direction."""
    for shape in (one, other):
        for side in np.diff(shape[:3], axis=0):
            across = np.array([-side[1], side[0]]) / max(np.hypot(*side), 1e-9)
            a, b = one @ across, other @ across
            if min(a.max(), b.max()) - max(a.min(), b.min()) <= slack:
                return False
    return True


def texts_of(figure):
    """Return all texts of a figure that can be seen."""
    figure.draw_without_rendering()
    drawn = []
    for text in figure.findobj(Text):
        axes = text.axes
        if text.get_text().strip() and text.get_visible() and (axes is None or axes.get_visible()):
            drawn.append(text)
    # Axes keep ticks beyond their ends, which are not drawn.
    for ax in figure.findobj(lambda each: hasattr(each, "get_xticklabels")):
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            span = 1e-9 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                seen = ax.axison and low - span <= tick.get_loc() <= high + span
                for label in (tick.label1, tick.label2):
                    if not seen and label in drawn:
                        drawn.remove(label)
    return drawn


def covered(figure, slack=1.0):
    """Return pairs of texts that cover each other, by more than some pixels."""
    boxes = [(text.get_text(), corners(text)) for text in texts_of(figure)]
    return [(one, other) for (one, a), (other, b) in combinations(boxes, 2) if meet(a, b, slack)]


def cut_off(figure, slack=2.0):
    """Return texts that go beyond the edge of a figure."""
    width, height = figure.bbox.size
    return [
        text.get_text()
        for text in texts_of(figure)
        if (corners(text) < -slack).any() or (corners(text) > [width + slack, height + slack]).any()
    ]
