"""Tables and figures of the comparison, for the console and for the documentation."""

from __future__ import annotations

import platform
from collections import defaultdict
from pathlib import Path

import numpy as np

import skgpb
from benchmarks.peers import methods

#: The methods that ratios are taken to.
TIMED, AVERAGED = methods.SkgpbGPOONew.label, methods.SkgpbAverages.label
PACKAGES = {m.label: m.package for m in methods.PEERS}
VERSIONS = (
    "numpy", "scipy", "scikit-learn", "botorch", "gpytorch", "torch",
    "bayesian-optimization", "optuna", "scikit-optimize", "PyXAB",
)  # fmt: skip


def _labels(rows: list[dict]) -> list[str]:
    """Methods in a fixed order, ours first."""
    ours = [*methods.OURS_TIMED, *methods.OURS, *methods.OURS_AVERAGES]
    order = [m.label for m in [*ours, *methods.PEERS, methods.Random]]
    present = {row["method"] for row in rows}
    return [label for label in dict.fromkeys(order) if label in present]


def _problems(rows: list[dict]) -> list[str]:
    return list(dict.fromkeys(row["problem"] for row in rows))


def _number(value: float) -> str:
    """Three digits, without powers of ten where people expect none."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def timing_table(rows: list[dict], problem: str) -> list[list[str]]:
    """Milliseconds per round against t, the growth at the end, and the ratio to GPOO."""
    ms = defaultdict(dict)
    for row in rows:
        if row["problem"] == problem:
            ms[row["method"]][int(row["t"])] = 1e3 * row["seconds"]
    times = sorted({t for each in ms.values() for t in each})
    last = times[-1]
    growth = last // 2 in times
    head = ["", *(f"t = {t:,}" for t in times)]
    head += [f"{last:,} / {last // 2:,}"] * growth + [f"times {TIMED}, t = {last:,}"]
    table = [head]
    for label in _labels(rows):
        if label not in ms:
            continue
        cells = [_number(ms[label][t]) if t in ms[label] else "" for t in times]
        if growth:
            cells.append(f"{ms[label][last] / ms[label][last // 2]:.2f}")
        ratio = ms[label][last] / ms[TIMED][last] if TIMED in ms else np.nan
        table.append([label, *cells, _number(ratio)])
    return table


def _final(rows: list[dict], problem: str, label: str, field: str) -> np.ndarray:
    last = max(row["t"] for row in rows)
    return np.array(
        [r[field] for r in rows if (r["problem"], r["method"], r["t"]) == (problem, label, last)]
    )


def _entry(values: np.ndarray) -> str:
    if not len(values):
        return ""
    if len(values) == 1:
        return f"{values[0]:.3g}"
    error = values.std(ddof=1) / len(values) ** 0.5
    # Runs that all end alike differ by rounding.
    error = 0.0 if error < 1e-9 * abs(values.mean()) else error
    return f"{values.mean():.3g} ± {float(f'{error:.1g}'):g}"


def regret_table(rows: list[dict]) -> list[list[str]]:
    """Mean regret of the recommendation and per round at the end, with standard errors."""
    problems = _problems(rows)
    head = [""]
    for problem in problems:
        head += [f"{problem.split(', ')[0]}: recommended", "per round"]
    table = [[*head, "runs", "ms per round"]]
    for label in _labels(rows):
        cells, runs, seconds = [], [], []
        for problem in problems:
            values = _final(rows, problem, label, "recommended")
            runs.append(len(values))
            seconds += _final(rows, problem, label, "seconds").tolist()
            cells += [_entry(values), _entry(_final(rows, problem, label, "per_round"))]
        cells.append(str(min(runs)) if min(runs) == max(runs) else f"{min(runs)}-{max(runs)}")
        cells.append(f"{1e3 * np.mean(seconds):.3g}")
        table.append([label, *cells])
    return table


def verdicts(rows: list[dict]) -> list[str]:
    """Sentences on the ratios that are asked for, computed from the rows."""
    out = []
    timing = [row for row in rows if row["part"] == "timing"]
    for problem in _problems(timing):
        at = {(r["method"], r["t"]): r["seconds"] for r in timing if r["problem"] == problem}
        last = max(t for _, t in at)
        for label in _labels(timing):
            if PACKAGES.get(label) in methods.GAUSSIAN and (label, last) in at:
                ratio = at[label, last] / at[TIMED, last]
                out.append(f"{problem}, t = {last:.0f}: {label} takes {ratio:.0f} times as long")
    averages = [row for row in rows if row["part"] == "averages"]
    for problem in _problems(averages):
        ours = _final(averages, problem, AVERAGED, "recommended").mean()
        peers = {
            label: _final(averages, problem, label, "recommended").mean()
            for label in _labels(averages)
            if label in PACKAGES
        }
        if peers:
            best = min(peers, key=peers.get)
            out.append(
                f"averages, {problem}: {AVERAGED} {ours:.3g}, best peer ({best}) "
                f"{peers[best]:.3g}, ratio {ours / peers[best]:.2f}"
            )
    return out


def _plain(table: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for row in table:
        first = row[0].ljust(widths[0])
        lines.append(
            "  ".join([first, *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        )
    return "\n".join(lines)


def _rst(table: list[list[str]], title: str) -> str:
    lines = [f".. list-table:: {title}", "   :header-rows: 1", "   :stub-columns: 1", ""]
    for row in table:
        for i, cell in enumerate(row):
            lines.append(f"   {'* -' if i == 0 else '  -'} {cell}".rstrip())
    return "\n".join(lines)


def _regret_groups(parts: dict[str, list[dict]]) -> list[tuple[list[dict], str]]:
    """Rows that share a table and a figure, with a name: averages are grouped by cell size."""
    groups = [(parts["points"], "point feedback")] if parts["points"] else []
    sides = {row["problem"].split(", ")[1]: None for row in parts["averages"]}
    for side in sides:
        some = [row for row in parts["averages"] if row["problem"].endswith(side)]
        groups.append((some, f"averages over cells, {side}"))
    return groups


def _tables(rows: list[dict]) -> list[tuple[str, list[list[str]]]]:
    parts = defaultdict(list)
    for row in rows:
        parts[row["part"]].append(row)
    tables = [
        (f"CPU milliseconds of one ask and tell, {problem}", timing_table(parts["timing"], problem))
        for problem in _problems(parts["timing"])
    ]
    for some, what in _regret_groups(parts):
        n = max(int(row["t"]) for row in some)
        tables.append((f"Regret after {n} evaluations, {what}", regret_table(some)))
    return tables


def versions() -> str:
    """Versions of everything that was compared."""
    found = [("skgpb", skgpb.__version__)]
    found += [(name, methods.version_of(name)) for name in VERSIONS]
    listed = ", ".join(f"{name} {version}" for name, version in found if version)
    return f"Python {platform.python_version()}, {listed}"


def text(rows: list[dict], missing: list[str]) -> str:
    """Return all tables for the console."""
    parts = [f"\n{title}\n\n{_plain(table)}" for title, table in _tables(rows)]
    parts += ["", *verdicts(rows), "", versions()]
    if missing:
        parts.append("not installed, skipped: " + ", ".join(missing))
    return "\n".join(parts)


def write(rows: list[dict], missing: list[str], folder: Path) -> None:
    """Write ``peers_results.inc`` and the figures that it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = dict(_tables(rows))
    figures = _figures(rows, folder)
    lines = [".. Written by python -m benchmarks.peers --report; do not edit.", ""]
    for title, table in tables.items():
        lines += [_rst(table, title), ""]
    for name, caption in figures:
        lines += [f".. figure:: {name}", "   :width: 100%", "", f"   {caption}", ""]
    lines += [f"*Versions.* {versions()}."]
    if missing:
        lines += ["", "Not installed, skipped: " + ", ".join(missing) + "."]
    (folder / "peers_results.inc").write_text("\n".join(lines) + "\n")


COLORS = {
    "skgpb GPOO, new queries": "C0", "skgpb GPOO, repeats": "C9", "skgpb GPTree": "C2",
    "skgpb GPOO, centres": "C0", "skgpb GPOO, averages": "C0", "skgpb GPOO, no finer cells": "C9",
    "skgpb EI": "C4", "BoTorch": "C1", "bayesian-optimization": "C3", "Optuna GPSampler": "C5",
    "scikit-optimize": "C6", "PyXAB HOO": "C8", "random points": "0.6",
}  # fmt: skip


def _figures(rows: list[dict], folder: Path) -> list[tuple[str, str]]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "skgpb", "font.size": 9, "svg.fonttype": "none"})
    out = []
    timing = [row for row in rows if row["part"] == "timing"]
    if timing:
        problems = _problems(timing)
        figure, axes = plt.subplots(
            1, len(problems), figsize=(4.5 * len(problems), 3.6), sharey=True, squeeze=False
        )
        for ax, problem in zip(axes[0], problems, strict=True):
            for label in _labels(timing):
                curve = sorted(
                    (r["t"], 1e3 * r["seconds"])
                    for r in timing
                    if (r["problem"], r["method"]) == (problem, label)
                )
                ax.loglog(
                    *zip(*curve, strict=True), _style(label), color=COLORS[label], label=label
                )
            ax.set(title=problem, xlabel="observations t")
            ax.grid(alpha=0.3)
        axes[0, 0].set_ylabel("CPU ms per ask and tell")
        _finish(figure, axes[0, 0], folder / "peers_timing.svg")
        out.append(("peers_timing.svg", "CPU time of one ask and tell (dashed: skgpb)."))
    parts = defaultdict(list)
    for row in rows:
        parts[row["part"]].append(row)
    for some, title in _regret_groups(parts):
        problems = _problems(some)
        figure, axes = plt.subplots(
            2, len(problems), figsize=(3.4 * len(problems) + 1, 5.6), sharex=True, squeeze=False
        )
        fields = (("recommended", "of the recommendation"), ("per_round", "mean per round"))
        for (field, name), line in zip(fields, axes, strict=True):
            for ax, problem in zip(line, problems, strict=True):
                _curves(ax, some, problem, field)
                ax.set_yscale("log")
                ax.grid(alpha=0.3)
            line[0].set_ylabel(f"regret, {name}")
        for ax, problem in zip(axes[0], problems, strict=True):
            ax.set_title(problem)
        for ax in axes[1]:
            ax.set_xlabel("evaluations")
        name = "peers_" + "_".join(title.replace(",", "").replace(".", "").split()) + ".svg"
        _finish(figure, axes[0, 0], folder / name)
        caption = f"Regret with {title}: mean over the runs, standard error (dashed: skgpb)."
        out.append((name, caption))
    return out


def _style(label: str) -> str:
    return "--o" if label.startswith("skgpb") else "-o"


def _curves(ax: object, rows: list[dict], problem: str, field: str) -> None:
    for label in _labels(rows):
        values = defaultdict(list)
        for row in rows:
            if (row["problem"], row["method"]) == (problem, label):
                values[row["t"]].append(row[field])
        times = sorted(values)
        mean = np.array([np.mean(values[t]) for t in times])
        error = np.array([np.std(values[t]) / len(values[t]) ** 0.5 for t in times])
        color = COLORS[label]
        ax.plot(times, mean, _style(label), color=color, label=label, markersize=3)
        ax.fill_between(
            times,
            np.maximum(mean - error, 0.2 * mean),
            mean + error,
            color=color,
            alpha=0.12,
            linewidth=0,
        )


def _finish(figure: object, ax: object, path: Path) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.legend(handles, labels, ncols=4, loc="lower center", frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    import matplotlib.pyplot as plt

    plt.close(figure)
