"""``python -m skgpb demo``: the brightest region of a photograph."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from skgpb.lab.cli.arguments import (
    UsageError,
    add_common,
    add_stop,
    check_confidence,
    not_negative,
    whole,
)
from skgpb.lab.cli.asked import search_by_averages
from skgpb.lab.cli.averaged import make_finding
from skgpb.lab.cli.files import check_outputs, check_picture, write_json, write_report
from skgpb.lab.cli.pictures import PIXELS, draw_photograph
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.photograph import load_flower
from skgpb.lab.tables.asking import NoisyAverages

# The smallest groups of the demo have 1 / PARTS of the pixels of the photograph.
PARTS = 256
DEMO_OUTPUT, DEMO_PLOT = "skgpb_demo.json", "skgpb_demo.png"


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers ``commands``."""
    demo = commands.add_parser(
        "demo",
        help="find the brightest region of a photograph, nothing to download",
        description="Find the brightest region of a photograph from noisy averages of "
        "brightness. It ships with scikit-learn.",
    )
    demo.set_defaults(run=_demo)
    add = demo.add_argument
    add("--budget", type=whole(1), default=80, metavar="N", help="questions (default: 80)")
    add(
        "--noise",
        type=not_negative,
        default=0.05,
        metavar="SD",
        help="standard deviation of the noise in every answer; black is 0, white 1 "
        "(default: %(default)s)",
    )
    add_stop(demo)
    add_common(demo, DEMO_OUTPUT, DEMO_PLOT)


def _demo(arguments: argparse.Namespace) -> None:
    output, plot = arguments.output, arguments.plot
    check_confidence(arguments)
    check_outputs({"--output": output, "--plot": plot})
    check_picture(plot)
    try:
        places, brightness, image = load_flower()
    except ImportError as error:
        raise UsageError(str(error)) from error
    arguments.alpha, arguments.minimize, arguments.target = None, False, "brightness"
    arguments.least = len(brightness) // PARTS
    oracle = NoisyAverages(brightness, arguments.noise, arguments.seed)
    axes = zip(PIXELS, places.T, strict=True)
    columns = [Column(name, "numbers", values) for name, values in axes]
    found = search_by_averages(columns, oracle, arguments)
    height, width = image.shape[:2]
    photograph = f"a photograph of {width} x {height} pixels"
    finding = make_finding(found, oracle, brightness, arguments, "flower.jpg", photograph)
    write_report(
        finding.lines,
        [
            ("result", output, partial(write_json, finding.to_json())),
            ("map", plot, lambda name: draw_photograph(found, image).savefig(name)),
        ],
    )
