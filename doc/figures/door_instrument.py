"""The output and the figure of the script of the page."""

from doors.run import run
from drawn import DOC, FOLDER
from matplotlib.figure import Figure


def draw() -> Figure:
    printed, (figure, *_) = run("instrument")
    figure.set_size_inches(5.2, 3.9)
    (DOC / FOLDER / "door_instrument.txt").write_text(printed, encoding="utf-8")
    return figure
