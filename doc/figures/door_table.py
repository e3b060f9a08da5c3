"""The output of the command of the page, and the first picture of its report."""

from unittest.mock import patch

from doors.run import run
from drawn import DOC, FOLDER, INK
from matplotlib.figure import Figure

from skgpb.plotting.themes import THEMES


def draw() -> Figure:
    with patch.dict(THEMES["light"], ink=INK, line=INK):  # what becomes light on dark pages
        printed, (figure, *_) = run("table")
    (DOC / FOLDER / "door_table.txt").write_text(printed, encoding="utf-8")
    figure.set_size_inches(5.2, 4.3)
    return figure
