"""Twelve answers of an experiment in a file: a failure, a correction, and two that are pending."""

import tempfile
from pathlib import Path

import numpy as np
from drawn import BLUE, GREEN, GREY, ORANGE, RED
from matplotlib import pyplot
from matplotlib.figure import Figure

from skgpb.lab.experiments import Experiment


def measured(params):
    loss = ((params["temperature"] - 60) / 35) ** 2 + (np.log10(params["salt"]) + 2) ** 2
    return round(5.0 - loss, 2)


def draw() -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        oven = Experiment.create(
            Path(folder) / "oven.skgpb", ["temperature=20:90", "salt=0.0001:0.1:log"]
        )
        for number in range(1, 13):
            (query,) = oven.ask()
            if number == 5:
                oven.fail(query=query["query"])
            else:
                slip = 10.0 if number == 8 else 1.0  # the decimal point was forgotten
                oven.tell(slip * measured(query["params"]), query=query["query"])
        wrong = oven.history()[7]
        oven.correct(wrong["query"], wrong["answer"] / 10)
        oven.ask(2)
        rows = oven.history()
        pending = len(oven.pending())
    answers = [row["answer"] for row in rows]
    known = [(k, answer) for k, answer in enumerate(answers, 1) if answer is not None]
    fig, ax = pyplot.subplots(figsize=(5.2, 2.9))
    ax.plot(*zip(*known, strict=True), "o", color=BLUE, label="answer")
    failed = [k for k, row in enumerate(rows, 1) if row["status"] == "failed"]
    ax.plot(failed, np.zeros(len(failed)), "x", color=RED, ms=8, mew=2.2, label="failed")
    ax.annotate(
        "", (8, answers[7]), (8, 8.0), arrowprops={"arrowstyle": "->", "color": ORANGE, "lw": 2}
    )
    ax.text(8.2, 7.6, "corrected", color=ORANGE)
    for k in range(13, 13 + pending):
        ax.axvline(k, color=GREY, ls="--", lw=1)
    ax.text(12.7, 7.6, "pending", color=GREY, ha="right" if pending > 2 else "left", rotation=0)
    best = np.maximum.accumulate([-np.inf if a is None else a for a in answers[:12]])
    ax.plot(range(1, 13), best, color=GREEN, drawstyle="steps-post", lw=1.2, label="best so far")
    ax.set(xlabel="number of the query", ylabel="answer", ylim=(-1, 8.5), xlim=(0.4, 15))
    fig.legend(loc="outside upper center", ncols=3, fontsize=9)
    return fig
