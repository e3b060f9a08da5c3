"""The command line: ``python -m skgpb``."""

from skgpb.cli.commands import main

__all__ = ["main"]
