"""Addresses of databases, of which messages repeat only what cannot be a password.

An address with a typing error is parsed wrongly, so that its password may be anywhere. Text is
repeated if a file has that name, or if it lacks the characters that set off a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

from skgpb.exceptions import DatabaseError

# Databases that are files, without users.
FILE_SCHEMES = ("duckdb", "sqlite")
# Variables of the environment, and parameters of a connection string, that are kept secret.
_SECRET = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
_PARAMETER = re.compile(rf"(?:{_SECRET.pattern})[^\s=]*=([^\s&;#]*)", re.IGNORECASE)
# Other words that look like addresses; pathlib leaves one of two slashes.
_ADDRESS = re.compile(r"@|\w{2}:/")
# Characters between the parts of an address.
_MARK = re.compile(r"[:/@=?&;#,\s]+")
# Shorter texts are no passwords, and would also be replaced inside words.
SHORTEST_SECRET = 6
# Names of files and tables; the first characters are a drive.
_PLAIN = r"(?:[A-Za-z]:(?=[\\/]))?[^@:?#=&;]*"
_SCHEME = r"[A-Za-z][\w+.-]*"
_PLACE = rf"(?:[\w.-]*|\[[\da-fA-F:.]+\])(?::\d*)?(?:/{_PLAIN})?"
NOT_REPEATED = (
    "(not repeated here, since it may hold a password; the address of a database has the form "
    "postgresql://user@host/name, and is given as --sql)"
)


def check_address(url: str) -> None:
    """Refuse an address without a scheme, and a password that ends it too early.

    The rest of such a password would be taken for the host.
    """
    scheme, _, rest = url.partition("://")
    if not re.fullmatch(_SCHEME, scheme):
        raise DatabaseError(f"cannot open the database {NOT_REPEATED}")
    if scheme in FILE_SCHEMES:
        return
    host, before = re.split("[/?#]", rest, maxsplit=1)[0], rest.partition("?")[0]
    user, at, _ = host.rpartition("@")
    cut = not at and ":" in host and "@" in rest
    # The parameters of host:5432/name?user=a@b are in order.
    cut = cut and ("@" in before or "/" not in before or not re.search(r":\d*$", host))
    if cut or set("[]") & set(user):
        raise DatabaseError(
            f"cannot open {scheme}://: in a password / ? # [ ] are written %2F %3F %23 %5B %5D"
        )


def repeated(name: str) -> str:
    """Return a name for a message, unless there is no such file and it may hold a password."""
    known = os.path.exists(name) or re.fullmatch(_PLAIN, name)
    return name if known else NOT_REPEATED


def shown(url: str) -> str:
    """Return an address without user, password and parameters, or less if it is malformed."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return repeated(url)
    if not re.fullmatch(_SCHEME, scheme):
        return NOT_REPEATED
    place = re.split("[?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme}://{place if _is_plain(scheme, place) else ''}"


def _is_plain(scheme: str, place: str) -> bool:
    """Return whether the host and the path of an address are well-formed."""
    return bool(re.fullmatch(_PLAIN if scheme in FILE_SCHEMES else _PLACE, place))


def without_addresses(text: str) -> str:
    """Return a text with *** for its words that look like addresses or passwords."""
    words = text.split(" ")
    return " ".join(
        "***" if _ADDRESS.search(word) or _PARAMETER.search(word) else word for word in words
    )


def without_secrets(text: str, given: Iterable[str]) -> str:
    """Return a text without the passwords in what the user gave, if that looks like an address."""
    for each in given:
        if (_ADDRESS.search(each) or _PARAMETER.search(each)) and not os.path.exists(each):
            for secret in (each, os.path.normpath(each)):
                text = text.replace(secret, shown(each))
            # A message may have a part of it, such as a folder.
            parts = {part for part in _MARK.split(each) if len(part) >= SHORTEST_SECRET}
            for secret in (*secrets_of(each), *parts - set(_MARK.split(shown(each)))):
                text = text.replace(secret, "***")
    return text


def secrets_of(url: str) -> tuple[str, ...]:
    """Return the passwords and tokens of a connection string and of the environment."""
    found = _PARAMETER.findall(url)
    scheme, mark, rest = url.partition("://")
    rest = rest if mark else url
    user, at, place = rest.partition("?")[0].rpartition("@")
    if at and ":" in user:
        found.append(user.split(":", 1)[1])
    # Where the password is depends on who parses a malformed address.
    parts = re.split("[:/@]", user if _is_plain(scheme, place) else rest)
    found += [each for each in parts if len(each) >= SHORTEST_SECRET]
    found += [unquote_plus(each) for each in found]
    found += [
        value
        for name, value in os.environ.items()
        if _SECRET.search(name) and len(value) >= SHORTEST_SECRET
    ]
    # A secret may hold another one.
    return tuple(sorted({each for each in found if each}, key=len, reverse=True))
