"""The picture of ``python -m skgpb plot`` after a campaign of 30 answers."""

import os
import tempfile

import numpy as np
from matplotlib.figure import Figure

from skgpb.lab.cli.experiment_picture import draw_experiment
from skgpb.lab.experiments import Experiment


def draw() -> Figure:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment.create(
            os.path.join(folder, "run.skgpb"),
            ["temperature=20:90", "salt=1e-4:0.1:log", "catalyst=A,B"],
            direction="minimize",
            answer="loss",
            unit="%",
        )
        for _ in range(30):
            query = experiment.ask()[0]
            params = query["params"]
            salt = (np.log10(params["salt"]) + 2) ** 2
            loss = (params["temperature"] - 50) ** 2 / 500 + salt + (params["catalyst"] == "A")
            experiment.tell(loss + 0.1 * rng.normal(), query["query"])
        return draw_experiment(experiment)
