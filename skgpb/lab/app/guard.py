"""Access: requests from other sites are refused, and pages load nothing from elsewhere."""

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

# Maximum size of the text of a form, and of a form with a file, in bytes. A file that is too long
# for a table is refused by its form, where everything else that was typed stays.
LONGEST_FORM, LONGEST_REQUEST = 1_000_000, 25_000_000
# Answers that say why a request is refused.
REFUSALS = (400, 403, 404, 405, 413)
# Reasons for refusing a request that was not meant for a form or a page.
REFUSED = {
    404: "There is no page at this address.",
    405: "This address only takes forms: please go back to the page and press its button.",
    413: "This is too long, and nothing was changed: at most "
    f"{LONGEST_FORM // 1_000_000} MB of text and {LONGEST_REQUEST // 1_000_000} MB with a file are "
    "accepted. The back button of the browser leads to what was typed.",
}
# Allow nothing from elsewhere, no scripts, no frames around the pages, and forms only to here.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


class LimitedRequest(Request):
    """A request of limited length: a file may be longer than all that is typed."""

    max_form_memory_size = LONGEST_FORM

    @property  # type: ignore[misc]
    def max_content_length(self) -> int:  # type: ignore[override]
        """The most bytes that are read."""
        return LONGEST_REQUEST if self.mimetype == "multipart/form-data" else LONGEST_FORM


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
        Secret in every form: pages from elsewhere cannot read it, and so cannot send forms here.
    """

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self.token: str = secrets.token_urlsafe(24)
        self._hosts = {"localhost", *hosts}

    def watch(self, app: Flask) -> None:
        """Check all requests to an application, and protect all its responses."""
        app.request_class = LimitedRequest
        app.before_request(self._check_sender)
        app.after_request(self._protect)

    def made(self, token: str) -> bool:
        """Return whether a form with this token was made by this process."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def _check_sender(self) -> None:
        """Refuse requests from another site, or from a host name that fraudulently points here."""
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
        """Forbid the browser to load from elsewhere, to run scripts and to keep pages."""
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def without_folders(page: str, path: Path) -> str:
    """Return a page without the folders of a file or folder, for browsers on other computers."""
    if request.remote_addr is None or ipaddress.ip_address(request.remote_addr).is_loopback:
        return page
    for place in (path.absolute().parent, path.resolve().parent):
        for text in (f"{place}{os.sep}", repr(f"{place}{os.sep}")[1:-1]):
            page = page.replace(escape(text), "")
    return page


def reason_of(error: HTTPException) -> str:
    """Return why a request is refused, in words for the user."""
    said = error.description or ""
    return REFUSED.get(error.code or 0, said) if said == type(error).description else said


def _is_address(host: str) -> bool:
    """Return whether a host is an IP address, which DNS rebinding cannot fake."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
