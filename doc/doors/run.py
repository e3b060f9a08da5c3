"""Run the script of a door as its page prints it, and keep what it prints and draws.

``doc/figures/door_*.py`` take the pictures from here, the tests all that is printed.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import runpy
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from matplotlib.figure import Figure

from skgpb.cli import main

HERE = Path(__file__).resolve().parent


class Run(NamedTuple):
    """What a script printed, and the figures that it saved, the first one first."""

    printed: str
    figures: list[Figure]


def outcome(prompt: str) -> str:
    """Type what the experiment gives, at the settings for which the script asks."""
    temperature, salt = (float(x) for x in re.findall(r"=([\d.e+-]+)", prompt))
    answer = f"{5 - ((temperature - 60) / 25) ** 2 - (math.log10(salt) + 2) ** 2:.2f}"
    print(prompt + answer)
    return answer


def run(name: str) -> Run:
    """Run the script of a door in a folder of its own."""
    script = next(HERE.glob(f"{name}.*[yh]"))
    printed, figures = io.StringIO(), []
    save = Figure.savefig

    def keep(figure: Figure, *args: object, **kwargs: object) -> None:
        figures.append(figure)
        save(figure, *args, **kwargs)

    with (
        TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        patch.object(Figure, "savefig", keep),
        patch("builtins.input", outcome),
    ):
        if script.suffix == ".py":
            runpy.run_path(str(script), run_name="__main__")
        else:
            for line in script.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
                command(*shlex.split(line))
    return Run(printed.getvalue(), figures)


def command(python: str, program: str, *arguments: str) -> None:
    """Do in this process what a line of a shell's script does."""
    if program == "-m":
        module, *options = arguments
        if (status := main(options)) != 0 or module != "skgpb":
            raise RuntimeError(f"{module} {options} ended with status {status}")
    else:
        runpy.run_path(str(HERE / program), run_name="__main__")
