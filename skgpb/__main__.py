"""Run the command line: ``python -m skgpb``."""

import sys

from skgpb.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
