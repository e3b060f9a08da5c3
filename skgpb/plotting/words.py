"""Labels of pictures for people who experiment, without terms of statistics."""

from __future__ import annotations

from typing import Any

WORDS = {
    "posterior mean": "expected",
    "posterior mean, 95 % interval": "expected, 95 % interval",
    "asked": "tried",
    "queried": "tried",
    "queried in other categories": "tried with other choices",
    "round": "experiment",
    "rounds": "experiments",
}


def say(figure: Any) -> None:
    """Replace terms of statistics in legends and labels of a figure."""
    for ax in figure.get_axes():
        for text in (ax.xaxis.label, ax.yaxis.label):
            name = text.get_text()
            # The label may be broken into lines.
            if name.split()[:3] == ["posterior", "mean", "of"]:
                text.set_text("expected " + name.split(maxsplit=3)[3])
            elif name in WORDS:
                text.set_text(WORDS[name])
    legends = [ax.get_legend() for ax in figure.get_axes()]
    for part in (figure, *figure.subfigs):
        legends += part.legends
    for legend in filter(None, legends):
        for text in legend.get_texts():
            text.set_text(WORDS.get(text.get_text(), text.get_text()))
