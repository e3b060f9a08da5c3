"""An objective that says where it is evaluated, for workers in other processes."""

import os
import time
from pathlib import Path
from uuid import uuid4

import numpy as np


class Evaluation:
    """A function of points, and a file for each evaluation, with the process that made it.

    Parameters
    ----------
    folder : path
        Where the files go.
    seconds : float
        How long an evaluation takes at least.
    """

    def __init__(self, folder, seconds=0.0):
        self.folder, self.seconds = Path(folder), seconds

    def __call__(self, query):
        (self.folder / uuid4().hex).write_text(str(os.getpid()))
        time.sleep(self.seconds)
        return float(np.sin(7.0 * query.points.mean()))

    @property
    def processes(self):
        """Those that have evaluated something, one for each evaluation."""
        return [int(path.read_text() or 0) for path in self.folder.iterdir()]
