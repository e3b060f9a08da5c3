"""An experiment in a browser, on this computer: ``python -m skgpb app run.skgpb``.

The server renders the pages. They need no JavaScript, and load nothing from other servers. Flask is
imported only when the server starts (D-H13).
"""

from skgpb.lab.app.server import serve

__all__ = ["serve"]
