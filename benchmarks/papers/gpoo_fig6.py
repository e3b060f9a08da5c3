"""Figure 6 of the GPOO paper: regret against the points per cell S and the children per cell K.

    python -m benchmarks.papers.gpoo_fig6 [--runs 30 --seed 0 --n-jobs 1 --output DIR]

The mean aggregated regret on the third test function after N = 25 and N = 50 rounds, for both
confidence widths and both length scales of the model as in ``gpoo_fig5``, and the same for the
mirrored function, where ties favour the other side. The picture shows logarithms, as the paper's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    import_pyplot,
    mean_and_error,
    replicate,
    save,
    spawn_seeds,
    write_csv,
)
from benchmarks.papers.gpoo_fig5 import BETAS, LENGTH_SCALES, Case, regret_curve

REPRESENTATIVES = (1, 10, 20, 30, 40, 50)
CHILDREN = (2, 3, 4, 5)
BUDGETS = (25, 50)
#: Regrets below this are drawn as this.
SMALLEST = np.exp(-5)


def save_figure(path: Path, panels: dict[tuple, NDArray[np.float64]]) -> None:
    """Draw heat maps, one row for each model, where there is matplotlib."""
    plt = import_pyplot()
    if plt is None:
        return
    models = list(dict.fromkeys(key[:2] for key in panels))
    columns = list(dict.fromkeys(key[2:] for key in panels))
    figure, axes = plt.subplots(
        len(models), len(columns), figsize=(13, 11), layout="constrained", sharex=True, sharey=True
    )
    for line, (scale, beta) in zip(axes, models, strict=True):
        for axis, (mirrored, N) in zip(line, columns, strict=True):
            values = np.log(np.maximum(panels[scale, beta, mirrored, N], SMALLEST))
            limits = {"vmin": np.log(SMALLEST), "vmax": 0.0}
            image = axis.imshow(values, cmap="viridis", aspect="auto", **limits)
            for (i, j), value in np.ndenumerate(values):
                color = "black" if value > -2 else "white"
                axis.text(j, i, f"{value:.1f}", ha="center", va="center", color=color, fontsize=8)
            axis.set_xticks(range(len(REPRESENTATIVES)), labels=REPRESENTATIVES)
            axis.set_yticks(range(len(CHILDREN)), labels=CHILDREN)
            width = r"Lemma 1's $\beta_t$" if beta == "Lemma 1" else r"small $\beta_t$"
            title = f"N = {N}" + ", mirrored" * mirrored
            axis.set_title(f"{title}\n{width}, length scale {scale}", fontsize=10)
        line[0].set_ylabel("K, children per cell")
    for axis in axes[-1]:
        axis.set_xlabel("S, points per cell")
    figure.colorbar(image, ax=axes, label="log mean aggregated regret", shrink=0.5)
    save(plt, figure, path)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables; write them and the heat maps."""
    options = argument_parser("papers.gpoo_fig6", __doc__, 30, n_jobs=True).parse_args(arguments)
    seeds = spawn_seeds(options.seed, options.runs)
    print(
        "Function 3, aggregated regret, mean (standard error) over "
        f"{options.runs} runs, seed {options.seed}\n"
    )
    header = [f"S = {S}" for S in REPRESENTATIVES]
    panels, rows = {}, []
    for scale in LENGTH_SCALES:
        for beta in BETAS:
            for mirrored in (False, True):
                cases = [
                    (Case(scale, beta, S, mirrored, K, BUDGETS[-1]),)
                    for K in CHILDREN
                    for S in REPRESENTATIVES
                ]
                runs = np.array(replicate(regret_curve, cases, seeds, options.n_jobs))
                for N in BUDGETS:
                    shape = (len(CHILDREN), len(REPRESENTATIVES))
                    mean, error = (x.reshape(shape) for x in mean_and_error(runs[..., N - 1].T))
                    panels[scale, beta, mirrored, N] = mean
                    table = [
                        (f"K = {K}", [estimate(*each) for each in zip(m, e, strict=True)])
                        for K, m, e in zip(CHILDREN, mean, error, strict=True)
                    ]
                    title = f"N = {N}, {beta}, length scale {scale}" + ", mirrored" * mirrored
                    print(format_table(title, header, table), end="\n\n", flush=True)
                    rows += [
                        (scale, beta, int(mirrored), N, K, S, mean[i, j], error[i, j])
                        for i, K in enumerate(CHILDREN)
                        for j, S in enumerate(REPRESENTATIVES)
                    ]
    path = options.output / "gpoo_fig6.csv"
    columns = ("length_scale", "beta", "mirrored", "N", "K", "S", "mean", "standard_error")
    write_csv(path, columns, rows)
    print(f"Written: {path}")
    save_figure(path.with_suffix(".png"), panels)


if __name__ == "__main__":
    main()
