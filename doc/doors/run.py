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
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from matplotlib.figure import Figure

from skgpb.lab.cli import main

HERE = Path(__file__).resolve().parent
# Answers of a simulated experiment.
ROUNDS = 20


class Run(NamedTuple):
    """The output of a script, and the figures that it saved, in order."""

    printed: str
    figures: list[Figure]


def outcome(printed: str) -> str:
    """Return the answer of the simulated experiment at the settings printed last."""
    settings = re.findall(r"temperature +(\S+)\n +salt +([\d.e-]+)\n", printed)[-1]
    temperature, salt = map(float, settings)
    return f"{5 - ((temperature - 60) / 25) ** 2 - (math.log10(salt) + 2) ** 2:.2f}"


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
    ):
        if script.suffix == ".py":
            runpy.run_path(str(script), run_name="__main__")
        else:
            for table in HERE.glob("*.csv"):
                shutil.copy(table, folder)
            type_in(script.read_text(encoding="utf-8"), printed)
    return Run(printed.getvalue(), figures)


def type_in(script: str, printed: io.StringIO) -> None:
    """Do what the lines say; where they ask and tell, do so again and again."""
    ask: list[str] = []
    for line in script.splitlines():
        program, *arguments = shlex.split(line)
        if arguments[0] == "ask":
            ask = arguments
        elif arguments[0] == "tell":
            for _ in range(ROUNDS):
                command(program, *ask)
                command(program, *arguments[:-1], outcome(printed.getvalue()))
        else:
            command(program, *arguments)


def command(program: str, *arguments: str) -> None:
    """``skgpb ARGUMENTS``, in this process."""
    if program != "skgpb" or main(arguments) != 0:
        raise RuntimeError(f"{program} {arguments} failed")
