"""Run the command line: ``python -m skgpb``."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command that the process was given; return its exit status."""
    # While modules load nothing can be lost: an interrupt ends the process silently.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from skgpb.lab.cli.commands import import_commands
    from skgpb.lab.cli.commands import main as run

    try:
        import_commands(sys.argv[1:])
    except ImportError as error:
        if not (error.name or "").startswith("skgpb._core"):
            raise
        print(f"skgpb: error: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, handler)
    return run()


if __name__ == "__main__":
    sys.exit(main())
