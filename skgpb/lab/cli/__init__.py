"""The command line: ``python -m skgpb``."""

from skgpb.lab.cli.commands import main

__all__ = ["main"]
