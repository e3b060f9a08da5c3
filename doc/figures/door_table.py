"""What the script of the door prints and draws."""

from doors.run import run
from drawn import DOC, FOLDER
from matplotlib.figure import Figure


def draw() -> Figure:
    printed, (figure, *_) = run("table")
    figure.set_size_inches(5.2, 4.5)
    (DOC / FOLDER / "door_table.txt").write_text(printed, encoding="utf-8")
    return figure
