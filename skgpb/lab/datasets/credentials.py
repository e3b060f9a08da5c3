"""Addresses of databases, from which messages show no part that may be a password.

A mistyped address is parsed wrongly, so that its password may be anywhere. A message shows a text
if there is a file of that name, or if it lacks the characters that delimit a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

from skgpb.exceptions import DatabaseError

# Databases that are files, without users.
FILE_SCHEMES = ("duckdb", "sqlite")
# Names of environment variables, and of parameters of a connection string, with secret values; an
# outcome named passed has none.
_SECRET = re.compile(r"pass(?!e[ds]\b)|pwd|secret|token|key|credential", re.IGNORECASE)
_PARAMETER = re.compile(rf"(?:{_SECRET.pattern})[^\s=]*=([^\s&;#]*)", re.IGNORECASE)
# Marks of other words that look like addresses; pathlib reduces two slashes to one.
_ADDRESS = re.compile(r"@|\w{2}:/")
# Characters between the parts of an address.
_MARK = re.compile(r"[:/@=?&;#,\s]+")
# Shorter texts are no passwords, and would also be replaced inside words.
SHORTEST_SECRET = 6
# Names of files and tables, perhaps with a drive.
_PLAIN = r"(?:[A-Za-z]:(?=[\\/]))?[^@:?#=&;]*"
_SCHEME = r"[A-Za-z][\w+.-]*"
_PLACE = rf"(?:[\w.-]*|\[[\da-fA-F:.]+\])(?::\d*)?(?:/{_PLAIN})?"
NOT_REPEATED = (
    "(not repeated here, since it may hold a password; the address of a database has the form "
    "postgresql://user@host/name, and is given as --sql)"
)


def check_address(url: str) -> None:
    """Raise DatabaseError for an address without a scheme, or a password that is not quoted.

    A parser would take the rest of such a password for the host.
    """
    scheme, _, rest = url.partition("://")
    if not re.fullmatch(_SCHEME, scheme):
        raise DatabaseError(f"cannot open the database {NOT_REPEATED}")
    if scheme in FILE_SCHEMES:
        return
    host, before = re.split("[/?#]", rest, maxsplit=1)[0], rest.partition("?")[0]
    user, at, _ = host.rpartition("@")
    cut = not at and ":" in host and "@" in rest
    # host:5432/name?user=a@b is well-formed.
    cut = cut and ("@" in before or "/" not in before or not re.search(r":\d*$", host))
    if cut or set("[]") & set(user):
        raise DatabaseError(
            f"cannot open {scheme}://: in a password / ? # [ ] are written %2F %3F %23 %5B %5D"
        )


def safe_name(name: str) -> str:
    """Return a name for a message, or NOT_REPEATED if it may hold a password.

    The name of an existing file is returned in any case.
    """
    is_safe = os.path.exists(name) or re.fullmatch(_PLAIN, name)
    return name if is_safe else NOT_REPEATED


def safe_address(url: str) -> str:
    """Return an address without user, password and parameters; less of a malformed one."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return safe_name(url)
    if not re.fullmatch(_SCHEME, scheme):
        return NOT_REPEATED
    place = re.split("[?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme}://{place if _is_plain(scheme, place) else ''}"


def _is_plain(scheme: str, place: str) -> bool:
    """Return whether the host and the path of an address are well-formed."""
    return bool(re.fullmatch(_PLAIN if scheme in FILE_SCHEMES else _PLACE, place))


def mask_addresses(text: str) -> str:
    """Return a text with *** for each word that looks like an address or a password."""
    words = text.split(" ")
    return " ".join(
        "***" if _ADDRESS.search(word) or _PARAMETER.search(word) else word for word in words
    )


def mask_secrets(text: str, given: Iterable[str]) -> str:
    """Return a text with *** for the passwords in the arguments ``given`` by the user.

    Only arguments that look like addresses are searched, and no names of existing files.
    """
    for each in given:
        if (_ADDRESS.search(each) or _PARAMETER.search(each)) and not os.path.exists(each):
            for secret in (each, os.path.normpath(each)):
                text = text.replace(secret, safe_address(each))
            # A message may contain a part of the address, such as a folder.
            parts = {part for part in _MARK.split(each) if len(part) >= SHORTEST_SECRET}
            for secret in (*find_secrets(each), *parts - set(_MARK.split(safe_address(each)))):
                text = text.replace(secret, "***")
    return text


def find_secrets(url: str) -> tuple[str, ...]:
    """Return the passwords and tokens of a connection string and of the environment."""
    secrets = _PARAMETER.findall(url)
    scheme, mark, rest = url.partition("://")
    rest = rest if mark else url
    user, at, host = rest.partition("?")[0].rpartition("@")
    if at and ":" in user:
        secrets.append(user.split(":", 1)[1])
    # Parsers differ on the position of the password in a malformed address: take all its parts.
    parts = re.split("[:/@]", user if _is_plain(scheme, host) else rest)
    secrets += [each for each in parts if len(each) >= SHORTEST_SECRET]
    secrets += [unquote_plus(each) for each in secrets]
    secrets += [
        value
        for name, value in os.environ.items()
        if _SECRET.search(name) and len(value) >= SHORTEST_SECRET
    ]
    # The longest first, because a secret may contain another one.
    return tuple(sorted({each for each in secrets if each}, key=len, reverse=True))
