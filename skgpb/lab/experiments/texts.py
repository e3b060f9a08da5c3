"""Texts that people type: names, lists, notes, and what all of them can be shown and saved as."""

from __future__ import annotations

import re

# What ends a line in some program; a vertical tab comes with text from Word.
_LINE_END = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# Characters without a form, which a page, a picture or an Excel file cannot hold.
_NO_CHARACTER = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_GAP = re.compile("[\t\n]")
# A name, perhaps in quotes, up to the first equals sign, and what follows it.
_PAIR = re.compile(r'\s*("(?:[^"]|"")*"|(?!\s*")[^=]*?)\s*=\s*(.*?)\s*', re.DOTALL)
# A value of a list, perhaps in quotes, and the comma behind it.
_PIECE = re.compile(r'\s*("(?:[^"]|"")*"|(?!\s*")[^,]*?)\s*(,|\Z)')
# First characters of texts that a spreadsheet takes for a formula, and texts that have the mark.
_FORMULA = ("=", "+", "-", "@")
_PROTECTED = re.compile(r"'+[-=+@\d]")
# A number with a decimal comma, as it is exported.
_WITH_COMMA = re.compile(r"-?\d+,\d+(?:e[-+]\d+)?")


def check_name(text: str, what: str) -> None:
    """Raise a ValueError that says ``what`` is wrong unless a name is a text of one line."""
    odd = (_NO_CHARACTER, _LINE_END, _GAP)
    if not isinstance(text, str) or any(each.search(text) for each in odd):
        raise ValueError(f"{what} must be one line of characters that can be shown, got {text!r}")


def cleaned(text: str) -> str:
    """Return a text that can be shown and saved everywhere: of its control characters line ends."""
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", _LINE_END.sub("\n", text))


def in_one_line(text: str) -> str:
    """Return a cleaned text without line ends and tabs."""
    return _GAP.sub(" ", cleaned(text)).strip()


def split_pair(text: str) -> tuple[str, str]:
    """Split NAME=VALUE at its first equals sign; a name that has one is between quotes.

    Raises
    ------
    ValueError
        If there is no name or no value.
    """
    found = _PAIR.fullmatch(text)
    name, value = (unquoted(found[1]).strip(), found[2]) if found else ("", "")
    if not (name and value):
        raise ValueError(f"not NAME=VALUE: {text!r}")
    return name, value


def split_list(text: str) -> list[str]:
    """Split a list at its commas, but for those between quotes, which are kept.

    Raises
    ------
    ValueError
        If a quote is opened and not closed before a comma.
    """
    pieces, at, comma = [], 0, ","
    while comma:
        found = _PIECE.match(text, at)
        if found is None:
            raise ValueError(f'quotes stand around a whole value, "1,4-dioxane", got {text}')
        pieces.append(found[1])
        at, comma = found.end(), found[2]
    return pieces


def protected(text: str, formulas: bool) -> str:
    """Return a text for a cell, marked as a text where something else would be read.

    Parameters
    ----------
    text : str
    formulas : bool
        Whether what begins like a formula would be taken for one.
    """
    is_formula = formulas and text.startswith(_FORMULA)
    return (
        f"'{text}" if is_formula or _PROTECTED.match(text) or _WITH_COMMA.fullmatch(text) else text
    )


def unprotected(text: str) -> str:
    """Return the text of a cell without the mark of :func:`protected`."""
    return text[1:] if _PROTECTED.match(text) else text


def with_point(text: str) -> str:
    """Return a number that was exported with a decimal comma as any other is written."""
    return text.replace(",", ".") if _WITH_COMMA.fullmatch(text) else text


def is_quoted(text: str) -> bool:
    """Return whether a text is between quotes."""
    return len(text) > 1 and text[0] == text[-1] == '"'


def unquoted(text: str) -> str:
    """Return a text without the quotes around it."""
    return text[1:-1].replace('""', '"') if is_quoted(text) else text


def quoted_name(name: str) -> str:
    """Return a name as it is written before = or a relation, between quotes if it has one."""
    return quoted(name) if set(name) & set('<>="') else name


def quoted(text: str) -> str:
    """Return a text between quotes, as in CSV."""
    return '"' + text.replace('"', '""') + '"'
