"""``python -m skgpb app``: an experiment in a browser."""

from __future__ import annotations

import argparse
import ipaddress
import os
import sys
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skgpb.lab.app import serve
from skgpb.lab.app.server import HOST, PORT
from skgpb.lab.cli.arguments import UsageError, whole
from skgpb.lab.cli.files import check_outputs
from skgpb.lab.experiments import Experiment
from skgpb.utils.install import install_command


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers ``commands``."""
    app = commands.add_parser(
        "app",
        help="an experiment in a browser: what to try next, forms for results, pictures",
        description="Show an experiment in a browser on this computer: what to try next, forms "
        "for results and failures, the history, pictures and the recommendation. Where the file "
        "does not exist a form starts a new experiment; of a folder all experiments are listed. "
        "Ctrl-C ends it; everything is saved as it is entered. Needs the extra: "
        f"{install_command('app')}.",
    )
    app.set_defaults(run=_app)
    add = app.add_argument
    add("file", metavar="RUN.skgpb", help="the experiment's file, or a folder of experiments")
    add(
        "--host",
        default=HOST,
        metavar="ADDRESS",
        help="address to listen at (default: %(default)s, which only this computer reaches). "
        "There is no password: with any other, whoever reaches the port can read and change the "
        "experiment",
    )
    add(
        "--port",
        type=whole(0, 65535),
        metavar="PORT",
        help=f"port to listen at (default: {PORT}, or any free one where that is taken)",
    )
    add("--no-browser", action="store_true", help="print the address, and open no browser")


def _app(arguments: argparse.Namespace) -> None:
    def ready(address: str) -> None:
        print(f"{arguments.file} is shown at {address} until you press Ctrl-C", flush=True)
        if not _is_here(arguments.host):
            port = urlsplit(address).port
            print(
                f"whoever reaches port {port} of this computer can read and change it", flush=True
            )
        if not arguments.no_browser and sys.stdout.isatty():
            webbrowser.open(address)

    path = Path(arguments.file)
    try:
        if path.is_dir():
            os.listdir(path)
        elif path.exists():
            Experiment(path)
        else:
            check_outputs({"RUN.skgpb": arguments.file})
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot open {path}: {error}") from error
    try:
        serve(arguments.file, arguments.host, arguments.port, ready)
    except ImportError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        where = arguments.host if arguments.port is None else f"{arguments.host}:{arguments.port}"
        raise UsageError(f"cannot listen at {where}: {error.strerror or error}") from error
    saved = f"everything is saved in {path}" if path.exists() else "no experiment was begun"
    print(f"\nstopped; {saved}")


def _is_here(host: str) -> bool:
    """Return whether an address can be reached from this computer only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
