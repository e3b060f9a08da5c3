"""Who may ask: requests of other sites are refused, and pages load nothing from elsewhere."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable
from urllib.parse import urlsplit

from flask import Flask, Response, abort, request

# Bytes of a form.
LONGEST_FORM = 1_000_000
# Nothing from elsewhere, no scripts, no frames around the pages, and forms that only lead back.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


class Guard:
    """Protection of experiments from being read or changed by other sites.

    Parameters
    ----------
    hosts : iterable of str, default=()
        Host names that browsers may use, in addition to localhost and any address in
        numbers.

    Attributes
    ----------
    token : str
        In every form: pages from elsewhere cannot read it, and so cannot send forms here.
    """

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self.token: str = secrets.token_urlsafe(24)
        self._hosts = {"localhost", *hosts}

    def watch(self, app: Flask) -> None:
        """Check whatever is sent to an application, and protect whatever it answers."""
        app.config["MAX_CONTENT_LENGTH"] = LONGEST_FORM
        app.before_request(self._check_sender)
        app.after_request(self._protect)

    def made(self, token: str) -> bool:
        """Return whether a form with this token was made by this process."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def _check_sender(self) -> None:
        """Refuse what another site, or a name that points here by fraud, makes a browser send."""
        host = urlsplit(f"//{request.host}").hostname or ""
        if host not in self._hosts and not _is_address(host):
            abort(403, f"This app is not at {request.host}: open the address that it printed.")
        if request.method == "POST":
            origin = request.headers.get("Origin")
            if origin is None:
                if not self.made(request.form.get("token", "")):
                    abort(403, "This form does not come from a page of this app.")
            elif urlsplit(origin).netloc != request.host:
                abort(403, "This form comes from another site, and nothing was changed.")

    def _protect(self, response: Response) -> Response:
        """Let browsers load nothing from elsewhere, run nothing and keep nothing."""
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def _is_address(host: str) -> bool:
    """Return whether a host is an IP address, which DNS rebinding cannot fake."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
