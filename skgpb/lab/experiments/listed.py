"""The experiments in a folder."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from skgpb.exceptions import LoadError
from skgpb.lab.experiments.experiment import Experiment

# Ending of the files of experiments in a folder; others are not opened.
ENDING = ".skgpb"


def experiments_in(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return a summary of each experiment in a folder.

    Parameters
    ----------
    folder : path
        The folder. Files that do not end in .skgpb, or hold no experiment, are passed over.

    Returns
    -------
    experiments : list of dicts
        The summaries of :func:`experiment_in`, in the order of the names of the files.

    Raises
    ------
    OSError
        If the folder cannot be read.
    """
    paths = [Path(folder, name) for name in sorted(os.listdir(folder))]
    found = [experiment_in(path) for path in paths if path.suffix == ENDING]
    return [each for each in found if each is not None]


def experiment_in(path: Path) -> dict[str, Any] | None:
    """Return a summary of the experiment in a file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    experiment : dict or None
        None if the file holds no experiment. ``file``, its name; ``title``, ``answer``, ``unit``,
        ``direction``; ``n_answers``, ``n_pending``; ``best_answer``, a number, None without answers
        or if all are beyond a limit; and ``changed``, the time of the last change of the file, such
        as "2026-01-31 16:05".
    """
    try:
        status = Experiment(path).status()
        changed = datetime.fromtimestamp(path.stat().st_mtime)
    except (LoadError, OSError):
        return None
    best = status["best"]
    top = None if best is None else best["best_answer"]
    return {
        "file": path.name,
        **{key: status[key] for key in ("title", "answer", "unit", "direction")},
        "n_answers": status["n_answered"] + status["n_given"],
        "n_pending": len(status["pending"]),
        "best_answer": None if top is None or top["within_limits"] is False else top["answer"],
        "changed": changed.isoformat(" ", "minutes"),
    }
