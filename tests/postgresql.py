"""A PostgreSQL server in a folder of its own, which only this machine can reach."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def server(password: str | None = None) -> Iterator[int]:
    """Run a server for the user ``skgpb`` until the end of the block, and give its port.

    Tests are skipped where PostgreSQL is not installed. Without a password everybody is trusted.
    """
    # Debian keeps it off the path.
    found = [shutil.which("initdb"), *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    if not any(found):
        pytest.skip("needs PostgreSQL")
    programs = Path(next(filter(None, reversed(found)))).resolve().parent
    # It refuses to run as root; its package has made a user for it.
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp())
    secret = folder / "password"
    secret.write_text(password or "unused")
    if user:
        shutil.chown(folder, "postgres")
        shutil.chown(secret, "postgres")
    data = folder / "data"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = ["--auth", "trust"] if password is None else ["--auth", "scram-sha-256"]
    asked += [] if password is None else ["--pwfile", str(secret)]
    command = [programs / "initdb", "--pgdata", data, "--username", "skgpb", *asked]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, **user)
    address = ["-k", folder, "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
    process = subprocess.Popen(
        [programs / "postgres", "-D", data, *address],
        stderr=(folder / "log").open("wb"),
        cwd=folder,
        **user,
    )
    try:
        ready = [programs / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
        deadline = time.monotonic() + 60
        while subprocess.run(ready, capture_output=True).returncode:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGINT)  # at once, whoever is connected
        process.wait(60)
        shutil.rmtree(folder)
