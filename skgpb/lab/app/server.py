"""The server process: the address that it listens on, and its shutdown."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from skgpb.utils.install import install_command

__all__ = ["serve"]

# Default address; another free port if this one is taken.
HOST, PORT = "127.0.0.1", 8650
# Wildcard addresses: listen on all network interfaces.
EVERYWHERE = ("0.0.0.0", "::")


def serve(
    path: str | os.PathLike[str],
    host: str = HOST,
    port: int | None = None,
    ready: Callable[[str], Any] = print,
) -> None:
    """Show an experiment, or those of a folder, to browsers until it is interrupted (Ctrl-C).

    Parameters
    ----------
    path : path
        The file of the experiment; if it does not exist, the app shows the form of a new one. Or a
        folder, for a list of its experiments.
    host : str, default="127.0.0.1"
        Name or address to listen on. With the default only this computer can connect. There is no
        password: with any other address, everyone who can reach the port can read and change the
        experiment.
    port : int, default=None
        Port to listen on; None for 8650, or any free one if that is taken.
    ready : callable, default=print
        Function that the server calls with its address when browsers can open it.

    Raises
    ------
    ImportError
        If Flask or matplotlib is not installed.
    OSError
        If the server cannot listen on the host and port.
    """
    try:
        from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

        from skgpb.lab.app.folder import make_folder_app
        from skgpb.lab.app.pages import make_app
    except ImportError as error:
        if error.name is None or error.name.startswith("skgpb"):
            raise
        raise ImportError(
            f"the app needs {error.name}, which is not installed: {install_command('app')}"
        ) from error

    class Quiet(WSGIRequestHandler):
        """Request handler without a log."""

        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            """Log nothing."""

    class Server(ThreadedWSGIServer):
        """Server that does not report connections closed by the browser."""

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Report errors except OSError: Ctrl-C and browsers close sockets at any time."""
            if not isinstance(sys.exc_info()[1], OSError):
                super().handle_error(request, client_address)

    with _listening(host, port) as listener:
        address = _local_address(*listener.getsockname()[:2])
        make = make_folder_app if os.path.isdir(path) else make_app
        app = make(path, hosts=_names(host))
        number = listener.getsockname()[1]
        server = Server(host, number, app, Quiet, fd=listener.fileno())
        try:
            ready(address)
            server.serve_forever()
        except KeyboardInterrupt:  # during ``ready``; serve_forever handles later ones
            pass
        finally:
            server.server_close()


def _names(host: str) -> set[str]:
    """Return the host names that browsers may use for a server that listens on ``host``."""
    if host not in EVERYWHERE:
        return {host.lower()}
    return {socket.gethostname().lower(), socket.getfqdn().lower()}


def _local_address(host: str, port: int) -> str:
    """Return the URL for a browser on this computer."""
    if host in EVERYWHERE:
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _listening(host: str, port: int | None) -> socket.socket:
    """Listen on ``port``; None is the usual port, or any free port if it is in use."""
    usual = PORT if port is None else port
    family, *_, address = socket.getaddrinfo(host, usual, type=socket.SOCK_STREAM)[0]
    try:
        return socket.create_server(address[:2], family=family)
    except OSError:
        if port is not None:
            raise
        return socket.create_server((address[0], 0), family=family)
