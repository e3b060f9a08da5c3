"""Clicks that each rule loses to learning, from the kept output of the benchmark."""

import re
from pathlib import Path

from drawn import BLUE, GREY
from matplotlib import pyplot
from matplotlib.figure import Figure

PRINTED = Path(__file__).parents[2] / "benchmarks" / "printed"
KEPT = "benchmarks_papers_dagp_fig4_runs_10_seed_0.txt"


def draw() -> Figure:
    text = (PRINTED / KEPT).read_text(encoding="utf-8")
    table = text.partition("kernel scale 30")[2].partition("\n\n")[0].splitlines()[3:]
    lost = {}
    for line in table:
        name, *columns = re.split(r" {2,}", line.strip())
        lost[name] = [float(value) for value in re.findall(r"[\d.]+", columns[-2])]
    names = sorted(lost, key=lambda name: lost[name][0])
    fig, ax = pyplot.subplots(figsize=(5.2, 3.9))
    values, errors = zip(*(lost[name] for name in names), strict=True)
    ax.barh(names, values, xerr=errors, color=BLUE, ecolor=GREY, height=0.7)
    ax.invert_yaxis()
    ax.set(xlabel="clicks lost in 50 days", xlim=(0, None))
    return fig
