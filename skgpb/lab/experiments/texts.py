"""Texts that users type: cleaning, quoting, splitting, and protection from spreadsheets."""

from __future__ import annotations

import re

from skgpb.utils.expressions import strip_quotes

# Characters that end a line in some program; a vertical tab comes with text from Word.
_LINE_END = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# Characters without a form, which a page, a picture or an Excel file cannot hold.
_NO_CHARACTER = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_GAP = re.compile("[\t\n]")
# A name, perhaps in quotes, up to the first equals sign, and the value after it.
_PAIR = re.compile(r'\s*("(?:[^"]|"")*"|(?!\s*")[^=]*?)\s*=\s*(.*?)\s*', re.DOTALL)
# A value of a list, perhaps in quotes, and the comma after it.
_PIECE = re.compile(r'\s*("(?:[^"]|"")*"|(?!\s*")[^,]*?)\s*(,|\Z)')
# First characters of texts that a spreadsheet reads as a formula; texts with the mark for texts.
_FORMULA = ("=", "+", "-", "@")
_PROTECTED = re.compile(r"'+[-=+@\d]")
# A number with a decimal comma, as it is exported.
_WITH_COMMA = re.compile(r"-?\d+,\d+(?:e[-+]\d+)?")


def check_name(text: str, what: str) -> None:
    """Raise ValueError, with ``what`` as the name of the parameter, unless a name is one line."""
    odd = (_NO_CHARACTER, _LINE_END, _GAP)
    if not isinstance(text, str) or any(each.search(text) for each in odd):
        raise ValueError(f"{what} must be one line of characters that can be shown, got {text!r}")


def clean_text(text: str) -> str:
    """Replace control characters, so that every file and page can hold the text; keep line ends."""
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", _LINE_END.sub("\n", text))


def to_one_line(text: str) -> str:
    """Clean a text and replace its line ends and tabs by blanks."""
    return _GAP.sub(" ", clean_text(text)).strip()


def split_pair(text: str) -> tuple[str, str]:
    """Split NAME=VALUE at its first equals sign; a name that contains one must be quoted.

    Raises
    ------
    ValueError
        If there is no name or no value.
    """
    found = _PAIR.fullmatch(text)
    name, value = (strip_quotes(found[1]).strip(), found[2]) if found else ("", "")
    if not (name and value):
        raise ValueError(f"not NAME=VALUE: {text!r}")
    return name, value


def split_list(text: str) -> list[str]:
    """Split a list at its commas, except commas between quotes; keep the quotes.

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


def mark_as_text(text: str, formulas: bool) -> str:
    """Mark a text by an apostrophe if a spreadsheet or skgpb would not read it as a text.

    Parameters
    ----------
    text : str
    formulas : bool
        Whether to mark texts that begin like a formula.
    """
    is_formula = formulas and text.startswith(_FORMULA)
    return (
        f"'{text}" if is_formula or _PROTECTED.match(text) or _WITH_COMMA.fullmatch(text) else text
    )


def remove_text_mark(text: str) -> str:
    """Remove the mark of :func:`mark_as_text` from a text."""
    return text[1:] if _PROTECTED.match(text) else text


def with_point(text: str) -> str:
    """Replace the decimal comma of an exported number by a point."""
    return text.replace(",", ".") if _WITH_COMMA.fullmatch(text) else text


def quote_name(name: str) -> str:
    """Quote a name if it contains one of < > = or a quote."""
    return quote(name) if set(name) & set('<>="') else name


def quote(text: str) -> str:
    """Put a text between quotes, and double its own quotes, as in CSV."""
    return '"' + text.replace('"', '""') + '"'
