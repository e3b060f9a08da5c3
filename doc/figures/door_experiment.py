"""The output and the figure of the commands of the page."""

from doors.run import run
from drawn import DOC, FOLDER
from matplotlib.figure import Figure


def draw() -> Figure:
    printed, (figure, *_) = run("experiment")
    figure.set_size_inches(5.6, 5.4)
    (DOC / FOLDER / "door_experiment.txt").write_text(printed, encoding="utf-8")
    return figure
