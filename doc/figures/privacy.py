"""The part of the possible gain that private searches find, over epsilon (printed results)."""

import re
from pathlib import Path

from drawn import BLUE, ORANGE
from matplotlib import pyplot
from matplotlib.figure import Figure

PRINTED = Path(__file__).resolve().parents[2] / "benchmarks" / "printed"
TABLES = {"census, 20,640 rows": "table_census_", "incomes, 20,000 rows": ""}


def number(text: str) -> float:
    return float(text.replace(",", ""))


def draw() -> Figure:
    fig, ax = pyplot.subplots()
    for (name, table), color in zip(TABLES.items(), (BLUE, ORANGE), strict=True):
        text = (PRINTED / f"benchmarks_privacy_{table}runs_10_seed_100.txt").read_text("utf-8")
        best, mean = map(number, re.search(r"privacy (\S+), whole table (\S+)", text).groups())
        rows = re.findall(r"^epsilon = (\S+) +(\S+) +(\S+)", text, re.M)
        epsilon, *found = zip(*([number(x) for x in row] for row in rows), strict=True)
        median, worst = ([100 * (x - mean) / (best - mean) for x in each] for each in found)
        ax.plot(epsilon, median, "o-", ms=5, color=color, label=name)
        ax.plot(epsilon, worst, "--", lw=1.2, color=color)
    ax.set(
        xscale="log", xlabel="epsilon of the whole search", ylabel="found, % of what can be gained"
    )
    ax.set_xticks(epsilon, [f"{x:g}" for x in epsilon])
    ax.minorticks_off()
    ax.set_ylim(0, 105)
    ax.legend(loc="lower right")
    return fig
