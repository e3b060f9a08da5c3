"""Access control: refuse requests from other sites, and load nothing from other servers."""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from flask import Flask, Request, Response, abort, request
from markupsafe import escape
from werkzeug.exceptions import HTTPException

# Limit: bytes of a form without a file, and with one. The second is more than a table may have, so
# that the form itself rejects a file that is too long, and keeps the typed texts.
LONGEST_FORM, LONGEST_REQUEST = 1_000_000, 25_000_000
# Status codes with a page that shows the reason.
REFUSALS = (400, 403, 404, 405, 413)
# Reasons by status codes, for errors that werkzeug itself raises.
REFUSED = {
    404: "There is no page at this address.",
    405: "This address only takes forms: please go back to the page and press its button.",
    413: "This is too long, and nothing was changed: at most "
    f"{LONGEST_FORM // 1_000_000} MB of text and {LONGEST_REQUEST // 1_000_000} MB with a file are "
    "accepted. The back button of the browser leads to what was typed.",
}
# Content security: nothing from other servers, no scripts, no frames, and forms only to this app.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


class LimitedRequest(Request):
    """A request of limited length, which is larger for forms with a file."""

    max_form_memory_size = LONGEST_FORM

    @property  # type: ignore[misc]
    def max_content_length(self) -> int:  # type: ignore[override]
        """Maximum number of bytes in the body of the request."""
        return LONGEST_REQUEST if self.mimetype == "multipart/form-data" else LONGEST_FORM


class Guard:
    """Protection of experiments from being read or changed by other sites.

    Parameters
    ----------
    hosts : iterable of str, default=()
        Host names that browsers may use, in addition to localhost and all IP addresses.

    Attributes
    ----------
    token : str
        Secret in every form. Pages of other sites cannot read it, so that they cannot send forms.
    """

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self.token: str = secrets.token_urlsafe(24)
        self._hosts = {"localhost", *hosts}

    def watch(self, app: Flask) -> None:
        """Check all requests to an application, and protect all its responses."""
        app.request_class = LimitedRequest
        app.before_request(self._check_sender)
        app.after_request(self._protect)

    def is_own_token(self, token: str) -> bool:
        """Return whether the token of a form is that of this process."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def _check_sender(self) -> None:
        """Abort requests of other sites, and requests to a host name that is not allowed.

        Any site can let a host name of its own point to this computer (DNS rebinding).
        """
        host = urlsplit(f"//{request.host}").hostname or ""
        if host not in self._hosts and not _is_address(host):
            abort(403, f"This app is not at {request.host}: open the address that it printed.")
        if request.method == "POST":
            origin = request.headers.get("Origin")
            if origin is None:
                if not self.is_own_token(request.form.get("token", "")):
                    abort(403, "This form does not come from a page of this app.")
            elif urlsplit(origin).netloc != request.host:
                abort(403, "This form comes from another site, and nothing was changed.")

    def _protect(self, response: Response) -> Response:
        """Add headers that forbid the browser foreign content, scripts and caching."""
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def remove_folders(page: str, path: Path) -> str:
    """Remove the parent folders of a path from a page, for browsers on other computers."""
    if request.remote_addr is None or ipaddress.ip_address(request.remote_addr).is_loopback:
        return page
    for place in (path.absolute().parent, path.resolve().parent):
        for text in (f"{place}{os.sep}", repr(f"{place}{os.sep}")[1:-1]):
            page = page.replace(escape(text), "")
    return page


def refusal_reason(error: HTTPException) -> str:
    """Return the reason for refusing a request, as a sentence for the user."""
    said = error.description or ""
    return REFUSED.get(error.code or 0, said) if said == type(error).description else said


def _is_address(host: str) -> bool:
    """Return whether a host is an IP address, which DNS rebinding cannot fake."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
