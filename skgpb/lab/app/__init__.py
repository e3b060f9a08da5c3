"""An experiment in a browser, on this computer: ``python -m skgpb app run.skgpb``.

Pages are made by the server and need no JavaScript; nothing in them is loaded from elsewhere.
Flask is imported only when the pages are made (D-H13).
"""

from skgpb.lab.app.server import serve

__all__ = ["serve"]
