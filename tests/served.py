"""The app as a process of its own, as users start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

# As ``python -m skgpb``, also where a shell in the background has interrupts ignored.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from skgpb.__main__ import main
sys.exit(main())
"""


class Served:
    """The app of a file in a ``with`` block; it is ended as Ctrl-C ends it.

    Attributes
    ----------
    address : str
        Address that it printed.
    said : str
        Output at its end.
    """

    def __init__(self, path, *options):
        command = [sys.executable, "-c", START, "app", str(path), "--port", "0", *options]
        self._command = [*command, "--no-browser"]

    def __enter__(self):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(self._command, env=environment, **pipes)
        line = self.process.stdout.readline()
        assert " is shown at http://" in line, self.process.stderr.read()
        self.address = line.split(" is shown at ")[1].split()[0]
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        try:
            self.said, self.errors = self.process.communicate(timeout=60)
        finally:
            self.process.kill()
