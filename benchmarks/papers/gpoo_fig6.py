"""Figure 6 of the GPOO paper: regret against the points per cell S and the children per cell K.

    python -m benchmarks.papers.gpoo_fig6 [--runs 30 --seed 0 --n-jobs 1 --output DIR]

The logarithm (base e) of the mean aggregated regret on the third test function after N = 25 and
N = 50 rounds, and the same for the mirrored function, where ties favour the other side.
"""

from __future__ import annotations

import numpy as np

from benchmarks.papers._common import (
    argument_parser,
    format_table,
    import_pyplot,
    replicate,
    spawn_seeds,
    write_csv,
)
from benchmarks.papers.gpoo_fig5 import regret_curve

REPRESENTATIVES = (1, 10, 20, 30, 40, 50)
CHILDREN = (2, 3, 4, 5)
BUDGETS = (25, 50)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables; write them and the heat maps."""
    options = argument_parser("gpoo_fig6", __doc__, 30).parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    seeds = spawn_seeds(options.seed, options.runs)
    panels, rows = {}, []
    for mirrored in (False, True):
        cases = [(S, K, BUDGETS[-1], mirrored) for K in CHILDREN for S in REPRESENTATIVES]
        runs = replicate(regret_curve, cases, seeds, options.n_jobs)
        mean = np.array([curve.mean(axis=0) for curve in runs])
        for N in BUDGETS:
            regret = mean[:, N - 1].reshape(len(CHILDREN), len(REPRESENTATIVES))
            name = f"N = {N}" + (", mirrored" if mirrored else "")
            panels[name] = regret
            table = [
                (f"K = {K}", [f"{np.log(max(r, 1e-6)):.2f}" for r in line])
                for K, line in zip(CHILDREN, regret, strict=True)
            ]
            header = [f"S = {S}" for S in REPRESENTATIVES]
            print(format_table(f"log mean aggregated regret, {name}", header, table), end="\n\n")
            rows += [
                (K, S, N, int(mirrored), regret[i, j])
                for i, K in enumerate(CHILDREN)
                for j, S in enumerate(REPRESENTATIVES)
            ]
    write_csv(options.output / "gpoo_fig6.csv", ("K", "S", "N", "mirrored", "mean"), rows)
    plt = import_pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, len(panels), figsize=(15, 3.6), layout="constrained")
    for axis, (name, regret) in zip(axes, panels.items(), strict=True):
        image = axis.imshow(np.log(np.maximum(regret, 1e-6)), cmap="viridis", aspect="auto")
        axis.set_xticks(range(len(REPRESENTATIVES)), labels=REPRESENTATIVES)
        axis.set_yticks(range(len(CHILDREN)), labels=CHILDREN)
        axis.set(title=name, xlabel="S, points per cell", ylabel="K, children per cell")
        figure.colorbar(image, ax=axis, label="log mean aggregated regret")
    path = options.output / "gpoo_fig6.png"
    figure.savefig(path, dpi=130)
    print(f"figure in {path}")


if __name__ == "__main__":
    main()
