"""A document read in parts is the one that is read as a whole, within little memory."""

import json
import random
import tracemalloc

import pytest

from skgpb import json_parts
from skgpb.json_parts import Parts, read_document, written


@pytest.fixture
def in_parts(monkeypatch):
    """Windows so small that most items do not fit into what is left of one."""
    monkeypatch.setattr(json_parts, "AT_ONCE", 0)
    monkeypatch.setattr(json_parts, "LARGEST_EVENT", 80)


def whole(document):
    """The document with its long list as a list."""
    if isinstance(document, dict) and isinstance(document.get("events"), Parts):
        assert len(document["events"]) == len(list(document["events"]))
        return document | {"events": list(document["events"])}
    return document


def item(dice, depth=3):
    kind = dice.randrange(8 if depth else 5)
    if kind < 5:
        texts = ["", "a", '"', "\\", '\\"]', "[{", "é\n", "events"]
        return [dice.choice(texts), dice.randrange(10**9), -dice.random(), None, True][kind]
    n = dice.randrange(3)
    if kind == 7:
        return {f"k{i}]": item(dice, depth - 1) for i in range(n)}
    return [item(dice, depth - 1) for _ in range(n)]


def document(dice):
    names = ["format", "parameters", "events", "notes"]
    dice.shuffle(names)
    found = {name: item(dice) for name in names[: dice.randrange(5)]}
    events = [each for each in (item(dice) for _ in range(20)) if len(json.dumps(each)) < 70]
    return found | {"events": events} if "events" in found else found


def text_of(dice, document):
    separators = dice.choice([None, (",", ":"), (" ,\n", " :\t")])
    return dice.choice(["", " ", "\n"]) + json.dumps(document, separators=separators) + "\n"


@pytest.mark.usefixtures("in_parts")
def test_a_document_in_parts_is_the_document():
    dice = random.Random(0)
    for _ in range(300):
        given = document(dice)
        assert whole(read_document(text_of(dice, given), "events")) == given
        if "events" in given:
            assert whole(read_document(written(given, "events"), "events")) == given


@pytest.mark.usefixtures("in_parts")
def test_what_is_no_json_as_a_whole_is_none_in_parts():
    dice, refused = random.Random(1), 0
    for _ in range(3000):
        text = text_of(dice, document(dice))
        place = dice.randrange(len(text))
        text = dice.choice([text[:place], text[:place] + dice.choice('[]{},:"1n') + text[place:]])
        try:
            expected = json.loads(text)
        except json.JSONDecodeError:
            refused += 1
            with pytest.raises(ValueError):
                whole(read_document(text, "events"))
            continue
        if isinstance(expected, dict):
            try:
                found = whole(read_document(text, "events"))
            except ValueError as error:
                if "has more than" not in str(error):  # the change made an item longer
                    raise
            else:
                assert found == expected
    assert refused > 1000


def test_many_values_take_about_the_memory_of_their_text(monkeypatch):
    monkeypatch.setattr(json_parts, "AT_ONCE", 2**10)
    text = '{"events": [' + "[]," * 2**13 + "0]}"
    tracemalloc.start()
    try:
        document = read_document(text, "events")
        assert sum(1 for _ in document["events"]) == len(document["events"]) == 2**13 + 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Parsed as a whole it is 64 bytes for three characters.
    assert peak < 2 * len(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"events": [' + "0," * 40 + "0]}", "more than 30 items"),
        ('{"events": [0, ["' + "x" * 90 + '"]]}', "item 1 .* more than 80 characters"),
        ('{"notes": [' + "0," * 40 + "0]}", "apart from its long list"),
        ('{"notes": [' + "[]," * 40 + "0]}", "apart from its long list"),
        ('{"a": [' + "0," * 20 + '0], "b": [' + "0," * 20 + "0]}", "apart from its long list"),
    ],
)
@pytest.mark.usefixtures("in_parts")
def test_a_part_that_is_too_large_is_refused_and_not_written(text, says, monkeypatch):
    monkeypatch.setattr(json_parts, "MOST_EVENTS", 30)
    monkeypatch.setattr(json_parts, "LARGEST_REST", 30)
    with pytest.raises(ValueError, match=says):
        read_document(text, "events")
    given = json.loads(text)
    with pytest.raises(ValueError, match="pass arrays for long lists of numbers"):
        written({"events": []} | given, "events")
