"""Four workers whose evaluations last one to ten minutes, in batches and as answers arrive."""

import numpy as np
from drawn import BLUE, GREY, ORANGE
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WORKERS, UNTIL = 4, 40.0


def in_batches(durations: np.ndarray) -> list[tuple[int, float, float]]:
    """Worker, beginning and duration of evaluations that wait for the slowest of their batch."""
    batches = durations.reshape(-1, WORKERS)
    begin = np.append(0.0, batches.max(axis=1).cumsum())
    return [
        (worker, start, batch[worker])
        for start, batch in zip(begin, batches, strict=False)
        for worker in range(WORKERS)
    ]


def as_they_arrive(durations: np.ndarray) -> list[tuple[int, float, float]]:
    """Draw evaluations that begin as soon as a worker is free."""
    free, bars = np.zeros(WORKERS), []
    for duration in durations:
        worker = int(free.argmin())
        bars.append((worker, float(free[worker]), duration))
        free[worker] += duration
    return bars


def draw_bars(ax: Axes, title: str, bars: list[tuple[int, float, float]]) -> None:
    done = sum(start + duration <= UNTIL for _, start, duration in bars)
    ax.barh(range(WORKERS), UNTIL, height=0.7, color=GREY, alpha=0.18)
    for worker, start, duration in bars:
        if start < UNTIL:
            end = min(start + duration, UNTIL)
            ax.barh(worker, end - start, left=start, height=0.7, color=BLUE)
            # The moment at which a query begins.
            ax.plot([start] * 2, [worker - 0.35, worker + 0.35], color=ORANGE, lw=2.5)
    ax.set(ylabel="worker", yticks=range(WORKERS), yticklabels=range(1, WORKERS + 1))
    ax.set_title(f"{title}: {done} answers", loc="left")


def draw() -> Figure:
    durations = 10.0 ** np.random.default_rng(3).uniform(size=80)
    fig, axes = pyplot.subplots(2, 1, figsize=(5.2, 3.7), sharex=True)
    draw_bars(axes[0], "batches of four", in_batches(durations))
    draw_bars(axes[1], "as they arrive", as_they_arrive(durations))
    axes[-1].set(xlabel="minutes", xlim=(-0.3, UNTIL))
    return fig
