"""The experiments in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from skgpb.exceptions import LoadError
from skgpb.experiments.experiment import Experiment

# Files of another ending are not opened.
ENDING = ".skgpb"


def experiments_in(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return what the experiments in a folder are, and how far they have come.

    Parameters
    ----------
    folder : path
        Files that end in .skgpb are looked at; what is no experiment is passed over.

    Returns
    -------
    experiments : list of dicts
        In the order of their names: ``file``, its name; ``title``, ``answer``, ``unit``, ``goal``;
        ``n_answers``, ``n_pending``; and ``best_answer``, a number or None.

    Raises
    ------
    OSError
        If the folder cannot be read.
    """
    out = []
    for name in sorted(os.listdir(folder)):
        path = Path(folder, name)
        if path.suffix != ENDING or not path.is_file():
            continue
        try:
            status = Experiment(path).status()
        except (LoadError, OSError):
            continue
        best = status["best"]
        out.append(
            {
                "file": name,
                **{key: status[key] for key in ("title", "answer", "unit", "goal")},
                "n_answers": status["n_answered"] + status["n_given"],
                "n_pending": len(status["pending"]),
                "best_answer": None if best is None else best["best_answer"]["answer"],
            }
        )
    return out
