"""Forms: typed texts, their errors, and their conversion to values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skgpb.lab.experiments.answers import read_answer, read_range
from skgpb.lab.experiments.judge import describe_surprise
from skgpb.lab.experiments.limits import read_measured, yes_or_no
from skgpb.lab.experiments.records import LabRecord
from skgpb.lab.experiments.sides import Side, exact, format_list, number, values_in
from skgpb.lab.experiments.texts import clean_text, quote_name, split_pair
from skgpb.utils.typing import Limit
from skgpb.utils.validation import truth_value

# Number of settings in the initial form of a new experiment, and its maximum.
FEW_SIDES, MOST_SIDES = 2, 50
LARGEST_SEED = 2**32 - 1
# Limit: digits of a whole number on a page; Python refuses to convert 4,300.
MOST_DIGITS = 9
# Kinds of sides in the words of the form.
KINDS = [
    ("range", "number"),
    ("integer", "whole number"),
    ("log", "number, log scale"),
    ("periodic", "angle: both ends are the same"),
    ("choice", "list of choices"),
]
# Words of error messages, and the words of the pages that replace them.
WORDS = [
    (r"\bquery (?=\d)", "experiment "),
    (r"\bside named\b", "setting named"),
    (r"\bthe sides are\b", "the settings are"),
    (r"\bconstraint (?=')", "the rule "),
]
SCALES = {"range": "", "integer": "int", "log": "log", "periodic": "periodic"}


class Mistyped(ValueError):
    """Error of a form with errors in its fields, see ``Form.errors``."""


@dataclass
class Form:
    """One form on a page.

    Attributes
    ----------
    id : str
        Identifier of the form, the prefix of the ids of its fields.
    typed : dict
        Texts by the names of the fields; the page shows them again if there are errors.
    errors : dict
        Error messages, by the names of the fields.
    """

    id: str
    typed: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, id: str, typed: Mapping[str, str]) -> Form:
        """Return a form with the texts of a request, without spaces around them."""
        return cls(id, {name: text.strip() for name, text in typed.items()})

    def text(self, name: str) -> str:
        """Return the text of a field."""
        return self.typed.get(name, "")

    def has_any(self, names: Iterable[str]) -> bool:
        """Return whether any of these fields has a text or an error."""
        return any(self.text(name) or name in self.errors for name in names)

    def check(self) -> None:
        """Raise Mistyped if a field has an error."""
        if self.errors:
            raise Mistyped

    def take(self, name: str, convert: Any, *arguments: Any) -> Any:
        """Convert the typed text; if that fails, record the reason and return None."""
        try:
            return convert(self.text(name), *arguments)
        except ValueError as error:
            self.errors[name] = sentence(error)
            return None

    def number(self, name: str, what: str, required: bool = True) -> float | None:
        """Return the typed number; None if the field is empty or has an error."""
        if not self.text(name):
            if required:
                self.errors[name] = f"Please give {what}."
            return None
        return self.take(name, number, "this")  # the page shows the message beside the field


def sentence(error: object) -> str:
    """Write the message of an error as a sentence, in the words of the pages."""
    text = " ".join(clean_text(str(error)).split())
    for program, page in WORDS:
        text = re.sub(program, page, text)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def read_count(form: Form, most: int) -> int:
    """Return the number of queries to ask for."""
    count = form.number("count", "a whole number")
    if count is None or count != int(count) or not 1 <= count <= most:
        form.errors.setdefault("count", f"Please give a whole number from 1 to {most}.")
        raise Mistyped
    return int(count)


def read_outcome(
    form: Form, what: str, unit: str, is_scored: bool = False
) -> tuple[str | None, float | None]:
    """Return the text of the answer and its standard error.

    The text is None for a failure, and empty if a score computes the answer. The standard error is
    None if the user gave none.
    """
    if form.text("outcome") == "failed":
        if form.text("value"):
            form.errors["value"] = (
                "There is a number here, and the button says that it failed: clear the number, or "
                "press another button."
            )
        form.check()
        return None, None
    value = form.text("value")
    if is_scored:
        form.check()
        return "", None
    if value:
        form.take("value", read_answer, None, what, unit)
    else:
        form.errors["value"] = f"Please give {what}."
    noise = read_noise(form, "its standard error")
    form.check()
    return value, noise


def read_noise(form: Form, what: str) -> float | None:
    """Return the standard error of a result; None if the field is empty."""
    noise = form.number("noise", what, required=False)
    if noise is not None and noise < 0:
        form.errors["noise"] = "A standard error is a number of at least 0."
    return noise


def read_lines(form: Form, name: str) -> list[str]:
    """Return the nonempty lines of a field."""
    return [line.strip() for line in form.text(name).splitlines() if line.strip()]


def read_record(form: Form, limited: Mapping[str, Limit | None], block: str) -> dict[str, Any]:
    """Return the notes and measurements in a form, as keyword arguments of ``Experiment.tell``.

    ``limited`` are the measurements for limits and the score, which have fields of their own, with
    their limits, ``block`` is the name of the field of blocks.
    """
    measured: dict[str, Any] = {}
    for i, (name, limit) in enumerate(limited.items()):
        if form.text(f"limited{i}"):
            form.take(f"limited{i}", read_measured, limit, name)
            measured[name] = form.text(f"limited{i}")
    for line in read_lines(form, "measured"):
        try:
            name, value = split_pair(line)
            measured[name] = value
        except ValueError:
            form.errors["measured"] = f"Please write a name, = and a value in each line: {line!r}."
    if form.text("block"):
        measured[block] = form.text("block")
    if form.text("date"):
        form.take("date", lambda text: LabRecord().write(date=text))
    return {
        "note": form.text("note"),
        "operator": form.text("operator"),
        "date": form.text("date") or None,
        "measured": measured,
    }


def record_fields(
    entry: dict[str, Any], limited: Mapping[str, Limit | None], block: str
) -> dict[str, str]:
    """Return the notes of an entry as texts of the fields that :func:`read_record` reads."""
    measured, asked = entry["measured"].items(), [*limited, block]
    lines = [f"{quote_name(name)} = {exact(x)}" for name, x in measured if name not in asked]
    texts = {name: entry[name] for name in ("note", "operator", "date")}
    for i, (name, limit) in enumerate(limited.items()):
        if name in entry["measured"]:
            value, text = entry["measured"][name], exact(entry["measured"][name])
            of_two = isinstance(limit, bool) and truth_value(value) is not None
            texts[f"limited{i}"] = yes_or_no(bool(truth_value(value))) if of_two else text
    if block in entry["measured"]:
        texts["block"] = exact(entry["measured"][block])
    return {**texts, "measured": "\n".join(lines)}


def check_surprises(form: Form, found: Mapping[str, dict[str, Any] | None]) -> None:
    """Add an error to the fields of probable typos, once; the same text is accepted next time.

    ``found`` has the results of ``Experiment.surprise`` by the names of the fields.
    """
    for name, said in found.items():
        if said is not None and form.text(f"sure_{name}") != form.text(name):
            form.errors[name] = (
                f"{form.text(name)}? {describe_surprise(said)} If it is right, press the button "
                "again."
            )
            form.typed[f"sure_{name}"] = form.text(name)
    form.check()


def read_other_settings(form: Form, sides: list[Side], asked: dict[str, Any]) -> Any:
    """Return the setting of the measurement; None if the form has none, and ``asked`` applies."""
    typed = read_fixed(form, sides)
    return asked | typed if typed else None


def read_fixed(form: Form, sides: list[Side]) -> dict[str, Any]:
    """Return the typed values of sides, by the names of the sides."""
    fixed = {}
    for i, side in enumerate(sides):
        if form.text(f"side{i}"):
            fixed[side.name] = form.take(f"side{i}", side.value)
    form.check()
    return fixed


def read_shared(form: Form, sides: list[Side]) -> list[str]:
    """Return the names of sides that all suggestions have in common."""
    return [side.name for i, side in enumerate(sides) if form.text(f"shared{i}") == "yes"]


def read_changed_sides(
    form: Form, sides: list[Side], before_held: Mapping[str, Side]
) -> dict[str, Any]:
    """Return what the form changes of the sides, as keyword arguments of ``Experiment.change``.

    ``before_held`` are the ranges of sides that are held at a value now.
    """
    changed, dropped, earlier = [], [], {}
    for i, side in enumerate(sides):
        if form.text(f"drop{i}") == "yes":
            dropped.append(side.name)
            continue
        before = side_fields(i, side)
        if all(form.text(name) == text for name, text in before.items()):
            continue
        if side.kind == "distribution":
            form.errors[f"high{i}"] = "These limits can be changed in Python only."
            continue
        values = side.bounds if side.kind == "choice" else []
        known = {format_list([each]): each for each in values}
        kind = before_held.get(side.name, side).kind
        if kind == "choice" and is_held(side):
            kind = "range"
        new = _read_side(form, i, side.name, kind, known, may_be_held=True)
        if new is not None and new.rounded_to_grid().as_dict() != side.as_dict():
            changed.append(new)
    n = len(sides)
    if form.text(f"name{n}"):
        new = _read_side(form, n, form.text(f"name{n}"), form.text(f"kind{n}"), {})
        if new is not None:
            changed.append(new)
            earlier[new.name] = form.take("earlier", new.value_or_other)
    form.check()
    return {"sides": changed, "dropped": dropped, "earlier": earlier}


def is_held(side: Side) -> bool:
    """Return whether a side has a single value, which is a number."""
    return side.kind == "choice" and len(side.bounds) == 1 and side.is_ordered


def side_fields(i: int, side: Side) -> dict[str, str]:
    """Return the range or values of side number i as texts by the names of their fields."""
    if is_held(side):
        return {f"{end}{i}": exact(side.bounds[0]) for end in ("low", "high")}
    if side.kind == "choice":
        return {f"values{i}": format_list(side.bounds)}
    known = side.as_dict()
    typed = {f"{end}{i}": exact(known[end]) for end in ("low", "high")}
    if side.kind in ("range", "periodic"):
        typed[f"step{i}"] = exact(known["step"]) if "step" in known else "any"
    return typed


def _read_choice(form: Form, i: int, name: str, known: Mapping[str, Any]) -> Side | None:
    """Return a side with a list of values; None if it has errors.

    A single value is an error once; the same text is accepted next time.
    """
    field, text = f"values{i}", form.text(f"values{i}")
    values = form.take(field, lambda typed: values_in(name, typed))
    if values is None:
        return None
    if len(values) == 1 and form.text(f"sure{i}") != text:
        form.errors[field] = (
            f"{values[0]} is one value only, and there is nothing to choose. Separate several by "
            "commas. If it is right, press the button again."
        )
        form.typed[f"sure{i}"] = text
        return None
    return form.take(
        field, lambda _: Side.choice(name, [known.get(format_list([v]), v) for v in values])
    )


def read_settings(form: Form, sides: list[Side]) -> dict[str, Any]:
    """Return the typed setting, values by the names of the sides."""
    settings = {}
    for i, side in enumerate(sides):
        name = f"side{i}"
        if not form.text(name):
            form.errors[name] = f"Please give a value, {side}."
        else:
            settings[side.name] = form.take(name, side.value)
    return settings


def read_new(form: Form) -> dict[str, Any]:
    """Return the keyword arguments of ``Experiment.create`` in a form."""
    sides = _read_sides(form)
    noise = read_noise(form, "the standard error")
    seed = form.number("seed", "a whole number", required=False)
    if seed is not None and not (seed == int(seed) and 0 <= seed <= LARGEST_SEED):
        form.errors["seed"] = f"Please give a whole number from 0 to {LARGEST_SEED}."
    ends = form.take("answer_range", read_range)
    form.check()
    texts = {name: form.text(name) for name in ("block", "score", "title", "answer", "unit")}
    lists = {name: read_lines(form, name) for name in ("constraints", "limits", "costs", "goals")}
    return {
        "sides": sides,
        "direction": "minimize" if form.text("direction") == "minimize" else "maximize",
        "answer_range": ends,
        "noise": noise,
        "seed": int(seed or 0),
        **texts,
        **lists,
    }


def _read_sides(form: Form) -> list[Side]:
    """Return the sides of a new experiment."""
    sides: list[Side] = []
    for i in range(count_sides(form)):
        name = form.text(f"name{i}")
        if not any(form.text(f"{part}{i}") for part in ("name", "low", "high", "values")):
            continue
        if not name:
            form.errors[f"name{i}"] = "Please give a name."
        elif name in [side.name for side in sides]:
            form.errors[f"name{i}"] = f"There is another setting named {name}."
        else:
            side = _read_side(form, i, name, form.text(f"kind{i}"), {})
            if side is not None:
                sides.append(side)
    if not sides and not form.errors:
        form.errors["name0"] = "Please name at least one setting."
    return sides


def count_sides(form: Form) -> int:
    """Return the number of sides for which a form has fields."""
    text = form.text("n_sides")
    return min(read_place(text, FEW_SIDES), MOST_SIDES)


def read_place(text: str, default: int) -> int:
    """Return the whole number in a text, cut to ``MOST_DIGITS``; ``default`` if it is none."""
    return int(text[:MOST_DIGITS]) if text.isdecimal() else default


def _read_side(
    form: Form,
    i: int,
    name: str,
    kind: str,
    known: Mapping[str, Any],
    may_be_held: bool = False,
) -> Side | None:
    """Return one side; None if its fields have errors.

    ``known`` are the present values of a list by their texts, which keep their types. With
    ``may_be_held`` both ends of a range may be one value.
    """
    if kind == "choice":
        if form.text(f"values{i}"):
            return _read_choice(form, i, name, known)
        form.errors[f"values{i}"] = "Please give the list, its values separated by commas."
        return None
    low = form.number(f"low{i}", "the smallest value")
    high = form.number(f"high{i}", "the largest value")
    if low is None or high is None:
        return None
    if may_be_held and low == high:
        return Side.choice(name, [int(low) if kind == "integer" else low])
    if not low < high:
        form.errors[f"high{i}"] = "The largest value must be above the smallest."
        return None
    scale = SCALES.get(kind, "")
    if kind in ("range", "periodic") and form.text(f"step{i}"):
        scale = ":periodic" if kind == "periodic" else ""
        return form.take(f"step{i}", lambda text: Side.between(name, low, high, text + scale))
    return form.take(f"high{i}", lambda _: Side.between(name, low, high, scale))
