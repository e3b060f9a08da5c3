"""Settings as people type them: names of chemicals, lists with quotes, one level."""

import re
import warnings

import numpy as np
import pytest
from scipy import stats

from skgpb.domains import Angle, Steps
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.sides import (
    MOST_VALUES,
    ROUNDING,
    Side,
    format_estimate,
    format_list,
    format_percent,
    format_value,
    number,
    values_in,
)
from skgpb.lab.experiments.texts import split_pair

# Levels as they are called where the settings come from.
CHEMICALS = [
    ["O=C([O-])C.[K+]", "O=C([O-])C(C)(C)C.[K+]"],
    ["1,4-dioxane", "DMF", "N,N-dimethylformamide"],
    ["2,2'-bipyridine", "1,10-phenanthroline"],
    ["[CH3:1]O", "CC(=O)O"],
    ["+", "-"],
    ["none", "NA", "n/a", "?"],
    ["1:1", "1:2"],
    ["007", "7"],
    ["64-17-5", "67-56-1"],
    ['5" pipe', '"quoted"', "a;b"],
    [1, "1.5 %", 2.5],
    ["=1+1", "@x", "'y"],
    ["#1", "a, b"],
    ["20-90", "nan"],
]


@pytest.mark.parametrize("levels", CHEMICALS, ids=str)
def test_a_list_that_is_written_is_the_list_that_is_read(levels):
    assert values_in("x", format_list(levels)) == levels
    assert Side.parse(f"x={format_list(levels)}").bounds == levels
    assert Side.of("x = y", format_list(levels)) == Side.choice("x = y", levels)
    side = Side.choice("x", levels)
    for level in levels:
        assert (
            side.value(level)
            == side.value(f" {level} ")
            == side.value(format_list([level]))
            == level
        )


def test_the_first_equals_sign_ends_a_name_unless_it_is_in_quotes():
    assert split_pair("base = O=C([O-])C ") == ("base", "O=C([O-])C")
    assert split_pair('"a=b" = 0:1') == ("a=b", "0:1")
    assert split_pair('"a ""=""" = "x"') == ('a "="', '"x"')
    side = Side.parse("base=O=C([O-])C.[K+],O=C([O-])C(C)(C)C.[K+]")
    assert (side.name, side.bounds) == ("base", CHEMICALS[0])
    assert Side.parse('"a=b"=0:1') == Side.between("a=b", 0, 1)
    with pytest.raises(ValueError, match="a side must be NAME=LOW:HIGH"):
        Side.parse('""=0:1')


@pytest.mark.parametrize(
    "text", ["1,4-dioxane,DMF", "DMF,1,4-dioxane", "A,N,N-dimethylformamide", "2,2'-bipyridine,A"]
)
def test_a_comma_that_may_belong_to_a_name_is_asked_about(text):
    with pytest.raises(ValueError, match=r'"(1,4-|N,N-|2,2\'-)\w+" with quotes if it is one'):
        Side.parse(f"solvent={text}")
    apart = text.replace(",", ", ")
    assert len(Side.parse(f"solvent={apart}").bounds) == text.count(",") + 1


def test_numbers_and_letters_are_no_names_of_chemicals():
    for text in ("1,4,-5", "A,B-type", "1,2,3", "N,O,P", "2,4-5"):
        assert len(values_in("x", text)) == text.count(",") + 1


@pytest.mark.parametrize("text", ['"A,B', 'A,"B"C', '"A" "B"', 'A,"'])
def test_quotes_that_are_not_around_a_value_are_refused(text):
    with pytest.raises(ValueError, match=f"around a whole value.*{re.escape(text)}"):
        Side.parse(f"x={text}")


def test_a_choice_with_one_level_is_questioned(tmp_path):
    with pytest.warns(UserWarning, match="base has one value only, 'KOAc'") as warned:
        run = Experiment.create(tmp_path / "run", ["base=KOAc", "x=0:1"])
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.change({"base": '"KOAc"'})  # a change to one value holds it
        run.change(["base=KOAc"])
        run.change({"base": ["KOAc"]})


def test_values_that_are_written_alike_are_refused(tmp_path):
    for levels in ([1, "1"], ["A", " A"], [True, "True"]):
        with pytest.raises(ValueError, match=r"two values of x are written '(1|A|True)'"):
            Experiment.create(tmp_path / "run", {"x": levels})
    assert list(tmp_path.iterdir()) == []


def test_what_is_at_an_end_but_for_rounding_is_at_the_end():
    side = Side.between("x", 0, 0.3)
    assert side.value(0.1 + 0.2) == 0.3 and side.value(-1e-16) == 0.0
    with pytest.raises(ValueError, match=r"x must be 0 to 0\.3, got 0\.3000001"):
        side.value(0.3000001)


@pytest.mark.parametrize(
    ("side", "values", "written"),
    [
        ((-5, 3.5), (-5, 0.1 + 0.2), "-5 to 0.30000000000000004"),
        ("1e-4:0.1:log", (0.0001, 0.0031622776601683794), "0.0001 to 0.0031622776601683794"),
        ("1:9:int", [2, 3, 4], "2 to 4"),
        ([0.5, 1, 2], [1, 2], "1 to 2"),
        (["A", "b, c", "7", 8, "x to y"], ["b, c", "7", 8], '"b, c", "7", 8'),
        ([None, True, (1, 2)], [True, (1, 2)], 'True, "(1, 2)"'),
        (["A", "B"], ["B"], "B"),
    ],
)
def test_regions_along_a_side_are_read_as_they_are_written(side, values, written):
    side = Side.of("x", side)
    assert side.format_region(values) == written
    assert side.region(written) == (values[0], values[-1])


@pytest.mark.parametrize("ends", [(-3, 4), (0, 10), (-9, -2)])
def test_whole_numbers_are_read_in_every_form_and_no_others(ends):
    side = Side.between("n", *ends, scale="int")
    assert side.kind == "integer"
    for n in range(ends[0], ends[1] + 1):
        for given in (n, float(n), str(n), f" {n}.0 "):
            value = side.value(given)
            assert value == n and type(value) is int
        for given in (n - 0.5, n + 1e-6, f"{n}.25"):
            with pytest.raises(ValueError, match="n must be "):
                side.value(given)


@pytest.mark.parametrize("low", [0.0, -7.0, 1e6, -1e6])
@pytest.mark.parametrize("width", [1e-3, 1.0, 1e5])
def test_rounding_at_an_end_is_measured_by_the_length_of_the_side(low, width):
    side = Side.between("x", low, low + width)
    for end, outwards in [(low, -width), (low + width, width)]:
        assert side.value(end + 0.5 * ROUNDING * outwards) == end
        with pytest.raises(ValueError, match="x must be"):
            side.value(end + 1e-3 * outwards)


def test_a_side_without_a_highest_value_has_its_lowest_one_exactly():
    side = Side.of("x", stats.expon())
    assert side.value(0.0) == 0.0 and side.value(1e9) == 1e9
    with pytest.raises(ValueError, match="x must be"):
        side.value(-1e-12)


@pytest.mark.parametrize(
    ("form", "bounds", "text"),
    [
        ("0:360:periodic", Angle(0, 360, 1), "0 to 360, periodic, in steps of 1"),
        ("0:24:0.5:periodic", Angle(0, 24, 0.5), "0 to 24, periodic, in steps of 0.5"),
        ("-180:180:any:periodic", Angle(-180, 180), "-180 to 180, periodic"),
    ],
)
def test_an_angle_is_written_with_its_steps(form, bounds, text):
    side = Side.parse(f"wind={form}").rounded_to_grid()
    assert (side.kind, side.bounds, str(side)) == ("periodic", bounds, text)
    assert Side.of("wind", side.as_dict()) == Side.of("wind", bounds) == side
    # Averages over regions are over all angles between two.
    assert side.with_value_list().bounds == Angle(bounds.low, bounds.high)
    assert side.value(str(bounds.high)) == bounds.high
    with pytest.raises(ValueError, match=r"wind must be .*periodic, got 400"):
        side.value("400")


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("0:360:5:6", "LOW:HIGH:periodic, or values"),
        ("0:360:x:periodic", "wind: what follows the range must be .* must be a number, got 'x'"),
        ("0:360:-3:periodic", "wind: a step must be above 0"),
        ("0:360:period", "must be log, int, any, periodic or a step"),
        ("1:360:log:periodic", "wind must be LOW:HIGH, .* got 1:360:log:periodic"),
        ("360:0:periodic", "the low end must be below"),
    ],
)
def test_an_angle_that_is_written_otherwise_is_refused(form, message):
    with pytest.raises(ValueError, match=message):
        Side.parse(f"wind={form}")


@pytest.mark.parametrize("regions", [False, True])
def test_an_experiment_has_an_angle(regions, tmp_path):
    path = tmp_path / "run.skgpb"
    run = Experiment.create(path, ["wind=0:360:periodic", "x=0:1"], regions=regions)
    for answer in (1.0, 2.0, 0.5):
        entry = run.ask()[0]
        run.tell(answer, entry["query"])
    wind = Experiment(path).best()["params"]["wind"]
    assert wind[0] < wind[1] if regions else wind == round(wind)
    if not regions:
        ends = [run.expect({"wind": each, "x": 0.5})["mean"] for each in (0, 360)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_side_has_so_many_steps_at_any_scale(scale):
    for n in (1, 7, MOST_VALUES, MOST_VALUES + 1):
        text = f"x=0:{n * scale!r}:{scale!r}"
        if n > MOST_VALUES:
            with pytest.raises(ValueError, match=f"at least a {MOST_VALUES}th of it"):
                Side.parse(text)
        else:
            assert Side.parse(text).kind == "range"


@pytest.mark.parametrize("ends", [(), (1,), (1, 2, 3)])
def test_a_pair_has_two_ends(ends):
    with pytest.raises(ValueError, match=r"x must be a pair \(low, high\) or a list, got \("):
        Side.of("x", ends)


def test_only_nothing_and_everything_are_written_as_such():
    written = {
        0.0: "0 %", 1e-9: "below 1 %", 0.0099: "below 1 %", 0.01: "1 %", 0.015: "2 %",
        0.5: "50 %", 0.985: "98 %", 0.99: "99 %", 0.9901: "above 99 %", 1.0: "100 %",
    }  # fmt: skip
    assert {p: format_percent(p) for p in written} == written


@pytest.mark.parametrize(
    ("form", "same", "known", "written"),
    [
        ("20:90", [(20, 90), (20.0, 90)], {"kind": "range", "low": 20.0, "high": 90.0}, "20 to 90"),
        (
            "0:60:5",
            [Steps(0.0, 60.0, 5.0)],
            {"kind": "range", "low": 0.0, "high": 60.0, "step": 5.0},
            "0 to 60, in steps of 5",
        ),
        (
            "1e-4:0.1:log",
            [stats.loguniform(1e-4, 0.1), stats.reciprocal(1e-4, 0.1)],
            {"kind": "log", "low": 1e-4, "high": 0.1},
            "0.0001 to 0.1, on a log scale",
        ),
        (
            "-3:10:int",
            [stats.randint(-3, 11)],
            {"kind": "integer", "low": -3, "high": 10},
            "-3 to 10, whole numbers",
        ),
        ("A, B", [["A", "B"], np.array(["A", "B"])], {"values": ["A", "B"]}, "A or B"),
        ("4,2,0.5", [[4, 2, 0.5]], {"values": [4, 2, 0.5]}, "4 or 2 or 0.5"),
        ("0,1,2", [range(3), np.arange(3)], {"values": [0, 1, 2]}, "0 or 1 or 2"),
        (
            "0:20000:int",
            [range(20_001), range(20_000, -1, -1)],
            {"kind": "integer", "low": 0, "high": 20_000},
            "0 to 20000, whole numbers",
        ),
    ],
)
def test_a_side_is_the_same_by_every_door(form, same, known, written):
    known = {"name": "x", "kind": "choice"} | known
    sides = [Side.parse(f"x={form}"), *(Side.of("x", each) for each in [form, known, *same])]
    for side in sides:
        assert (side.as_dict(), str(side)) == (known, written)
        assert side.is_ordered == (form != "A, B")
        values = known.get("values", [known.get("low"), known.get("high")])
        for value in values:
            assert side.value(str(value)) == side.value(value) == value
            assert type(side.value(value)) is type(value)
        if known["kind"] != "choice":
            assert side.ends == (known["low"], known["high"])
            for beyond in (known["low"] - 1, known["high"] + 1):
                with pytest.raises(ValueError, match=f"x must be {written.partition(', in')[0]}"):
                    side.value(beyond)
                assert side.value_or_other(str(beyond)) == beyond
        gridded = side.rounded_to_grid()
        if known["kind"] in ("integer", "choice") or "step" in known:
            assert gridded is side
        else:
            # Three significant digits of the range: at least a hundred steps, at most a thousand.
            assert gridded.as_dict() != known and len(gridded.bounds.grid) > 100
            again = Side.of("x", gridded.as_dict())
            assert again.bounds.grid.tolist() == gridded.bounds.grid.tolist()
            levels = gridded.with_value_list()
            assert levels.bounds == gridded.bounds.grid.tolist()
            assert gridded.rounded_to_grid() is gridded
    exact = Side.parse("x=0:1:any")
    assert exact.rounded_to_grid() is exact and exact.with_value_list() is exact


def test_a_list_of_steps_holds_whole_numbers_if_all_are():
    whole, half = (Side.parse(f"x=0:2:{step}").with_value_list() for step in ("1", "0.5"))
    assert whole.bounds == [0, 1, 2] and {type(value) for value in whole.bounds} == {int}
    assert half.bounds == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_a_distribution_has_open_ends():
    side = Side.of("x", stats.expon())
    assert side.as_dict() == {"name": "x", "kind": "distribution", "low": 0.0, "high": None}
    assert Side.of("n", stats.poisson(3)).kind == "integer"
    assert side.rounded_to_grid() is side


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("5:5", "the low end must be below the high one, got 5:5; a value that is held is .* x=5"),
        ("6:5", "the low end must be below the high one, got 6:5$"),
        ("0:1:log", "a log scale has numbers above 0 only, got 0"),
        ("-1:1:log", "a log scale has numbers above 0 only, got -1"),
        ("0.5:3:int", "int needs whole numbers, got 0.5:3"),
        ("0:3.5:int", "int needs whole numbers, got 0:3.5"),
        ("0:1:0,5", "write the step with a point: 0.5|a decimal point is a point"),
        ("0:1:2", "a step must be above 0, at most the length of the range"),
        ("0:1:0", "a step must be above 0"),
        ("0:1:fine", "must be log, int, any, periodic or a step must be a number, got 'fine'"),
        ("0,5:1", "a decimal point is a point, not a comma, got '0,5:1'"),
        ("20-90", "a range is written with a colon, 20:90, got '20-90'"),
        ("2.5..9", "a range is written with a colon, 2.5:9, got '2.5..9'"),
        ("A,,B", "a value is missing in the list"),
        ("A,B,A", "a value is twice in the list"),
        ("low:9", "an end of the range must be a number, got 'low'"),
        ("0:nan", "an end of the range must be a finite number"),
        ({"kind": "range", "low": 1}, "must have a kind of .* with low and high, or"),
        ({"kind": "angle", "low": 1, "high": 2}, "must have a kind of"),
        ({"kind": "choice", "values": "AB"}, "or the kind 'choice' with values"),
        ({"kind": "log", "low": "a", "high": 2}, "low must be a number"),
        (3.5, "must be a pair .* or a list, got 3.5"),
        ([], "a value is missing in the list"),
    ],
)
def test_what_is_no_side_is_refused(form, message):
    for make in [Side.of, lambda name, form: Side.parse(f"{name}={form}")][
        : 1 + (type(form) is str)
    ]:
        with pytest.raises(ValueError, match=f"x:? .*{message}"):
            make("x", form)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        *((3, 3.0), ("3", 3.0), (" -2.5e3 ", -2500.0), (np.float64(0.5), 0.5), ("+7", 7.0)),
        ("3,5", "write 3.5"),
        *(("1,234,5", "got '1,234,5'$"), ("1_000", "got '1_000'$"), ("", "got ''$")),
        *((None, "got None"), ([1], r"got \[1\]"), (True, "got True")),
        *(("5 kg", "write 5 without the unit"), ("00:01:30", "write 90 for seconds")),
        *(("inf", "finite number, got inf"), (float("nan"), "finite number, got nan")),
        ("<5 kg", "got '<5 kg'$"),
    ],
)
def test_a_number_is_read_or_it_is_said_how_to_write_it(given, value):
    if isinstance(value, float):
        assert number(given, "heat") == value and type(number(given, "heat")) is float
    else:
        with pytest.raises(ValueError, match=f"heat must be a .*{value}"):
            number(given, "heat")


def test_values_of_a_list_are_found_by_their_type_first():
    side = Side.choice("x", [1, "1.0", None, 2.5, 1e-5, " padded", '"quoted"'])
    for value in side.bounds:
        found = side.value(value)
        assert found == value and type(found) is type(value)
    assert side.value("1") is side.bounds[0] and side.value("1.0") == "1.0"
    assert side.value("None") is None and side.value("0.00001") == 1e-5
    assert side.value("2.50") == 2.5 and side.value("padded") == " padded"
    for none in ("none", "3", "1e400", "quot"):
        with pytest.raises(ValueError, match=re.escape(f"got {none!r}")):
            side.value(none)
    assert Side.choice("x", [True, 2]).value(True) is True
    assert not side.is_ordered and side.value_or_other("anything") == "anything"
    assert values_in("x", f"7,-2,+3,1e2,1e999,1_0,{'9' * 401}") == [
        *(7, -2, 3, 100.0, "1e999", "1_0", "9" * 401)
    ]
    assert [type(each) for each in values_in("x", f"7,{'9' * 300}")] == [int, int]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        *(
            (1234567.0, 6, "1.23457e+06"),
            (0.1 + 0.2, 6, "0.3"),
            (2.0, 2, "2"),
            (-1e-12, 1, "-1e-12"),
        ),
        *((-0.0, 6, "0"), (12, 1, "12"), (None, 6, "None"), ((1.0, 2.5), 6, "1 to 2.5")),
        *(([3, 4, 5], 6, "3 to 5"), ([7], 6, "7"), (["A", 2.0], 6, "A, 2"), (2 / 3, 3, "0.667")),
    ],
)
def test_values_are_written_with_so_many_digits(value, digits, text):
    assert format_value(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((1234567.0, "1234567"), (101325.5, "101325.5"), (-0.0, "0"), (0.12345678, "0.12345678")),
        *((0.1 + 0.2, "0.3"), (2e6 / 3, "666666.666667"), (2 / 3, "0.666667"), (1e-15, "1e-15")),
        *(((1e9, 1e9 + 1), "1000000000 to 1000000001"), ([1234567.0, "A"], "1234567, A")),
    ],
)
def test_a_number_that_was_typed_or_is_set_keeps_its_digits(value, text):
    assert format_value(value) == text


def test_an_estimate_has_two_digits_of_its_standard_deviation():
    for std, text in {
        *((0.0123, "123.457"), (0.99, "123.46"), (1.0, "123.5"), (9.9, "123.5"), (10.0, "123")),
        *((99.0, "123"), (100.0, "120"), (0.0, "123.457"), (float("inf"), "123.457")),
    }:
        assert format_estimate(123.4567891, std) == text
