"""The figure that the script of the page draws."""

from doors.run import run
from matplotlib.figure import Figure


def draw() -> Figure:
    figure = run("bandits").figures[0]
    figure.set_size_inches(5.2, 3.4)
    return figure
