"""A run in batches, with failures and a restart."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
from drawn import BLUE, GREEN, GREY, INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb import GPUCBOptimizer

TRIPPED = {3, 9, 17}  # evaluations during which the instrument fails


def restarted(opt):
    with tempfile.TemporaryDirectory() as folder:
        opt.save(Path(folder) / "run.skgpb")
        return GPUCBOptimizer.load(Path(folder) / "run.skgpb")


def draw() -> Figure:
    opt = GPUCBOptimizer(bounds=[(0, 100), (-1, 1)], random_state=0)
    values, count = [], 0
    while count < 32:
        for query in opt.ask(4):
            x, y = query.points[0]
            count += 1
            reward = 5.0 - (x - 30.0) ** 2 / 400 - (y - 0.2) ** 2
            values.append(np.nan if count in TRIPPED else reward)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                opt.tell(query, None if count in TRIPPED else reward)
        if count == 16:
            opt = restarted(opt)
    values = np.array(values)
    rounds = np.arange(1, len(values) + 1)
    failed = np.isnan(values)
    fig, ax = pyplot.subplots(figsize=(5.2, 2.7))
    for start in range(0, 32, 8):
        ax.axvspan(start + 0.5, start + 4.5, color=GREY, alpha=0.15, lw=0)
    ax.plot(rounds, np.fmax.accumulate(values), color=GREEN, drawstyle="steps-post")
    ax.plot(rounds, values, "o", color=BLUE, ms=5)
    ax.plot(rounds[failed], np.full(failed.sum(), -8.0), "x", color=RED, ms=7, mew=2)
    ax.axvline(16.5, color=INK, ls="--", lw=1)
    ax.text(16.8, -4.5, "stopped here,\nresumed from its file", va="center")
    ax.text(31, 5.4, "best so far", color=GREEN, ha="right")
    ax.text(9.5, -8, "failures", color=RED, va="center")
    ax.set(xlabel="evaluation, in batches of four", ylabel="answer", ylim=(-9, 7), xlim=(0.5, 32.5))
    return fig
