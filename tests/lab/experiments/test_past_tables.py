"""Tables of past answers: what is read of each row, what is left out, and what is said."""

import warnings

import pytest

from skgpb.domains.space import ParameterSpace
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.sides import Ends, Side
from skgpb.lab.experiments.table import MEASURED_PREFIX, measured_prefix, read_answers

SIDES = {"x": "0:1", "kind": "A,B"}


def read(path, lines, sides=SIDES, **given):
    """Rows as (setting, answer, status, alpha, number), records, and texts of warnings."""
    (path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    every = [Side.of(name, side) for name, side in sides.items()]
    space = ParameterSpace.from_bounds({side.name: side.bounds for side in every})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_answers(path / "t.csv", every, space=space, **given)
    rows = [(tuple(r.setting.values()), r.answer, r.status, r.alpha, r.number) for r in found.rows]
    return rows, [row.record for row in found.rows], [str(each.message) for each in caught], found


def test_a_plain_table_has_given_answers_and_unused_columns(tmp_path):
    lines = [
        "kind,x (m),y,pH,Date,date,Operator,operator,note,dup,dup,",
        "A,0.5,1,7.1,2026-01-31,1/2/26,Ann,Bob,dull,1,2,3",
        "B,0.25,3 5,n/a,soon,31.12.2025,,Bob,,1,2,3",
        "B,0.75,,7.3,2026-01-31,,Ann,,,1,2,3",
        "A,1,<2,red,,,,,,,,",
    ]
    rows, records, said, _ = read(tmp_path, lines, answer="y")
    assert rows == [
        ((0.5, "A"), 1.0, "given", None, None),
        ((0.25, "B"), 4.0, "answered", 1.0, None),
        ((1.0, "A"), 2.0, "given", None, None),
    ]
    assert not said
    first, second, third = records
    assert (first.date, first.operator, first.note) == ("2026-01-31", "Ann", "dull")
    more = {"dup": 1.0, "dup.1": 2.0}
    assert first.measured == {"pH": 7.1, "date": "1/2/26", "operator": "Bob", **more}
    assert (second.date, second.operator, second.note) == ("2025-12-31", "Bob", "")
    assert second.measured == {"Date": "soon", **more} and second.measurements == [3.0, 5.0]
    assert third.measured == {"pH": "red"} and "the answer was <2" in third.note


@pytest.mark.parametrize("limited", [[], ["pH"], ["pH", "T"]])
@pytest.mark.parametrize("block", ["", "lot", "day"])
def test_what_a_table_lacks_is_said_by_its_use(tmp_path, limited, block):
    lines = ["x,kind,y,pH (1),lot", "0.5,A,1,7.5,b1", "0.5,B,2,,b2", "0,B,2,<8,"]
    rows, records, said, _ = read(tmp_path, lines, answer="y", limited=limited, block=block)
    absent = [name for name in [*limited, block] if name in ("T", "day")]
    assert len(rows) == 3 and len(said) == (len(absent) > 0)
    if absent:
        use = "limits" if absent == ["T"] else "limits and blocks"
        names = " and no column ".join(map(repr, absent))
        assert said[0].endswith(f"has no column {names}: nothing is learned from it about {use}")
    name = "pH" if limited else "pH (1)"
    assert [record.measured.get(name) for record in records] == [7.5, None, "<8"]
    assert [record.measured.get("lot") for record in records] == ["b1", "b2", None]


def test_the_column_of_the_answers_is_found_or_asked_for(tmp_path):
    lines = ["x,kind,y (mm),z", "0.5,A,1,9"]
    for given, answer in (
        *(({"answer": "y"}, 1.0), ({"answer": "y (mm)"}, 1.0), ({"answer": "z"}, 9.0)),
        *(({"limited": ["z"]}, 1.0), ({"block": "z"}, 1.0), ({"scored": ["z"]}, 9.0)),
        ({"scored": ["y", "z"]}, 1.0),
    ):
        rows, *_ = read(tmp_path, lines, **given)
        assert rows[0][:2] == ((0.5, "A"), answer)
    with pytest.raises(
        ValueError, match=r"one column besides 'x', 'kind', .*; it has 'y \(mm\)', "
    ):
        read(tmp_path, lines)
    with pytest.raises(ValueError, match="it has none"):
        read(tmp_path, ["x,kind", "0.5,A"])
    with pytest.raises(ValueError, match="'w'"):
        read(tmp_path, lines, answer="w")


@pytest.mark.parametrize(
    ("cells", "unit", "answers"),
    [
        *((["20 C", "30 C"], unit, [20.0, 30.0]) for unit in ("", "C", "°C")),
        *((["20 €", "30 €"], unit, [20.0, 30.0]) for unit in ("", "EUR", "g")),
        (["0:00:07", "0:00:08"], "s", [7.0, 8.0]),
        *((["20 C", "30 C"], unit, "it is in C, and answers in") for unit in ("K", "%")),
        (["0:00:07", "0:00:08"], "", "it is in seconds, and answers in ''"),
        (["3 of 4", "0 of 9"], "%", [75.0, 0.0]),
        *((["1", "2", cell, "4", "5"], "", [1.0, 2.0, 5.0, 4.0, 5.0]) for cell in ("4 6", "5; 5")),
        (["0.1", "0.2", "3 of 4", "<0.4", "0.5"], "", [0.1, 0.2, 0.75, 0.4, 0.5]),
        (["3 of 4", "many"], "", "'many' is not a number|is not a number"),
    ],
)
def test_answers_of_a_table_have_the_unit_of_the_answers(tmp_path, cells, unit, answers):
    lines = ["x,kind,y", *(f"0.5,A,{cell}" for cell in ["", *cells])]
    if isinstance(answers, str):
        with pytest.raises(ValueError, match=answers) as caught:
            read(tmp_path, lines, answer="y", unit=unit)
        assert "line 3" in str(caught.value) or "line 4" in str(caught.value)
    else:
        assert [row[1] for row in read(tmp_path, lines, answer="y", unit=unit)[0]] == answers


def test_a_notebook_has_statuses_numbers_and_noise_of_its_own(tmp_path):
    lines = [
        "number,x,kind,y,standard error,status,pH,measurements,note,operator,date",
        "3,0.5,A,1,,given,7,,'=a,Ann,2026-01-31",
        "5,0.5,A,2,0.5,given,,,,,31.01.2026",
        "7,0.5,B,15,0.3,answered,,14.7; 15.3,,,",
        "8,0.5,B,16,0.3,answered,,14.7; 15.3,,,",
        "9,0.5,B,16,,answered,,no numbers,,,",
        "0,0.5,B,,0.1,failed,,,broke,,",
        "2.5,0.5,B,4,,failed,,,,,",
        ",0.25,A,,,skipped,,,,,",
        "11,0.25,A,,,pending,'+1,,,,",
        "12,0.25,A,,,given,,,,,",
    ]
    rows, records, said, _ = read(tmp_path, lines)
    assert said == []
    assert [row[1:] for row in rows] == [
        (1.0, "given", None, 3),
        (2.0, "answered", 0.25, 5),
        (15.0, "answered", pytest.approx(0.09), 7),
        (16.0, "answered", pytest.approx(0.09), 8),
        (16.0, "answered", None, 9),
        (None, "failed", None, None),
        (4.0, "answered", None, None),
        (None, "skipped", None, None),
        (None, "pending", None, 11),
    ]
    assert [record.measurements for record in records[2:5]] == [[14.7, 15.3], [], []]
    assert [record.skipped for record in records] == [i == 7 for i in range(9)]
    assert (records[0].note, records[0].operator, records[0].date) == ("=a", "Ann", "2026-01-31")
    assert (records[0].measured, records[8].measured) == ({"pH": 7.0}, {"pH": 1.0})
    assert records[1].date == "2026-01-31" and records[5].note == "broke"
    # Answers of another column have no standard errors, and both columns are kept.
    rows, records, *_ = read(tmp_path, lines, answer="pH")
    assert [row[1:4] for row in rows[:1]] == [(7.0, "given", None)]
    assert records[0].measured == {"y": 1.0}


def test_rows_that_are_left_out_are_counted_and_named(tmp_path):
    lines = ["x,kind,y", *(f"{i},A,{i}" for i in range(-1, 115))]
    rows, _, said, found = read(tmp_path, lines, answer="y", skip_outside=True)
    assert [row[0] for row in rows] == [(0.0, "A"), (1.0, "A")]
    assert said[0].startswith("114 of 116 rows of") and "are left out: line 2," in said[0]
    assert said[0].endswith("got 10.0; and 104 more")
    assert len(found.left_out) == 101 and found.left_out[-1] == "and 14 more"
    exactly = ["x,kind,y", "0,A,1", *("2,A,1" for _ in range(10))]
    _, _, said, found = read(tmp_path, exactly, answer="y", skip_outside=True)
    assert "more" not in said[0] and len(found.left_out) == 10
    with pytest.raises(
        ValueError, match=r"10 of 11 rows .* cannot be taken: .*line 12.*\(--skip-o"
    ):
        read(tmp_path, exactly, answer="y")
    with pytest.raises(ValueError, match=r"10 of 10 rows .* cannot be taken: [^(]*$"):
        read(tmp_path, [exactly[0], *exactly[2:]], answer="y", skip_outside=True)


def test_cells_of_regions_are_values_lists_or_ranges(tmp_path):
    sides = {"x": (0, 10), "n": "1:9:int", "kind": ["A", "B", "C, D"]}
    lines = [
        "x;n;kind;y",
        "0 to 2,5;2;A;1",
        "5;2 to 4;A, B;2",
        '5 to 5;2 to 2;B, "C, D";3',
        "5;2;C, D;4",
    ]
    rows, *_ = read(tmp_path, lines, sides, answer="y", regions=True)
    assert rows == [
        ((Ends(0.0, 2.5), 2, "A"), 1.0, "answered", None, None),
        ((5.0, Ends(2, 4), Ends("A", "B")), 2.0, "answered", None, None),
        ((5.0, 2, Ends("B", "C, D")), 3.0, "answered", None, None),
        ((5.0, 2, "C, D"), 4.0, "given", None, None),
    ]
    with pytest.raises(ValueError, match=r"averages over regions are .* --regions"):
        read(tmp_path, lines, sides, answer="y")
    with pytest.raises(ValueError, match="column 'n': the value is missing"):
        read(tmp_path, ["x;n;kind;y", "5;;A;1"], sides, answer="y")


def test_measurements_with_the_name_of_another_column_have_a_prefix():
    taken = ["x"]
    for n in range(1, 4):
        assert measured_prefix(taken) == n * MEASURED_PREFIX
        taken.append(f"{n * MEASURED_PREFIX}x")


@pytest.mark.parametrize("heading", ["x,kind,z", "x (m),kind,y"])
def test_a_column_is_not_read_under_two_names(tmp_path, heading):
    """The column of a setting is not that of the answers, and differs from that of another one."""
    sides = {"x": "0:1", "X": "0:1", "kind": "A,B"} if "y" in heading else SIDES
    with pytest.raises(ValueError, match="cannot stand for two names"):
        read(tmp_path, [heading, "0.5,A,1"], sides, answer="y" if "y" in heading else "x")


def test_rows_without_all_of_the_score_are_left_out_with_a_warning(tmp_path):
    lines = ["x,kind,u,v", "0.1,A,1,2", "0.2,A,1,", "0.3,A,,2", "0.4,B,,", "0.5,B,<1,2"]
    rows, _, said, _ = read(tmp_path, lines, scored=["u", "v"])
    assert [row[0][0] for row in rows] == [0.1, 0.5]
    assert len(said) == 1 and said[0].startswith("1 of 3 rows of")
    assert said[0].endswith("t.csv are left out: they lack a measurement of the score")


@pytest.mark.parametrize("rules", [{"answer": "u"}, {"score": "u - v"}])
def test_rows_that_were_told_before_are_named(tmp_path, rules):
    lines = ["x,kind,u,v", "0.1,A,1,2", "0.2,B,3,1", "0.3,A,3,4"]
    (tmp_path / "t.csv").write_text("\n".join(lines[:3]), encoding="utf-8")
    run = Experiment.create(tmp_path / "run", SIDES, data=tmp_path / "t.csv", **rules)
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.warns(UserWarning, match="2 of 3 rows have the setting and the answer"):
        run.add_table(tmp_path / "t.csv")
