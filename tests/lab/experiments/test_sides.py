"""Settings as people type them: names of chemicals, lists with quotes, one level."""

import re

import pytest
from scipy import stats

from skgpb.domains import Angle
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.sides import (
    MOST_VALUES,
    ROUNDING,
    Side,
    format_list,
    format_percent,
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
    run.change({"base": '"KOAc"'})  # a change to one value holds it
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
