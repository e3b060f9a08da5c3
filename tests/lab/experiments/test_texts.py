"""Notes and names with characters that a page, a picture or a spreadsheet cannot hold."""

import io
import xml.dom.minidom

import pytest

from skgpb import GPUCBOptimizer
from skgpb.exceptions import LoadError
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.export import as_csv, as_excel
from skgpb.lab.experiments.records import LONGEST, MOST_COLUMNS
from skgpb.lab.experiments.sides import Side
from skgpb.lab.experiments.texts import clean_text

# A vertical tab comes with text from Word; half of a character with bytes that are no text.
ODD = ["\x00", "\x07", "\x0b", "\x0c", "\x1f", "\x7f", "\x85", "\u2028", "\ud800", "\uffff"]
# Letters that look odd in hexadecimal and are none: a flag, a joined family, a narrow blank.
FINE = "µ-Größe 温度 \U0001f1e9\U0001f1ea \U0001f468\u200d\U0001f469 1\u202f000 \u202bא"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_notes_are_kept_as_texts_that_everything_can_hold(tmp_path, odd):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"])
    text = f"first{odd}second"
    run.tell(1.0, run.ask()[0]["query"], note=text, operator=text, measured={"hue": text})
    run.skip(run.ask()[0]["query"], note=text)
    assert run.annotate(2, operator="A\tB")["operator"] == "A B"
    entry = run.history()[0]
    ends_line = odd in "\x0b\x0c\x85\u2028"
    assert entry["note"] == ("first\nsecond" if ends_line else "first\ufffdsecond")
    one_line = entry["note"].replace("\n", " ")
    assert (entry["operator"], entry["measured"]) == (one_line, {"hue": one_line})
    assert Experiment(run.path).history() == run.history()
    assert one_line in as_csv(run).decode("utf-8-sig")
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(io.BytesIO(as_excel(run))).active
    assert entry["note"] in [cell.value for row in sheet.iter_rows() for cell in row]


def test_a_name_is_a_text(tmp_path):
    with pytest.raises(ValueError, match=r"the name of a side must be one line of .*, got 1"):
        Experiment.create(tmp_path / "run.skgpb", {1: (0, 1)})


@pytest.mark.parametrize("odd", [*ODD, "\t", "\n", "\r"], ids=ascii)
def test_names_that_cannot_be_shown_are_refused(tmp_path, odd):
    path, name = tmp_path / "run.skgpb", f"x{odd}y"
    says = "must be one line of characters that can be shown"
    for make in (
        lambda: Side.between(name, 0, 1),
        lambda: Side.choice("x", ["A", name]),
        lambda: Experiment.create(path, {name: (0, 1)}),
        *(
            lambda label=label: Experiment.create(path, ["x=0:1"], **{label: name})
            for label in ("title", "answer", "unit")
        ),
    ):
        with pytest.raises(ValueError, match=says):
            make()
    run = Experiment.create(path, ["x=0:1"], title=FINE, answer=FINE, unit=FINE)
    run.tell(1.0, run.ask()[0]["query"], note=FINE, measured={FINE: FINE})
    assert run.history()[0]["note"] == run.history()[0]["measured"][FINE] == FINE
    before = path.read_bytes()
    with pytest.raises(ValueError, match=says):
        run.annotate(1, measured={name: 1.0})
    with pytest.raises(ValueError, match=says):
        run.change({"x": ["A", name]})
    assert path.read_bytes() == before
    GPUCBOptimizer(bounds={name: (0.0, 1.0)}).start().save(tmp_path / "python.skgpb")
    with pytest.raises(LoadError, match=says):
        Experiment(tmp_path / "python.skgpb")


def test_files_from_before_are_opened_and_can_be_shown(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"])
    run.tell(1.0, run.ask()[0]["query"])
    old = {"note": "a\x0bb", "operator": "A\x00", "measured": {"p\x01H": "x\x0by"}}
    notes = {"title": "T\x07", "unit": "\x0b%", "records": {"1": old}, "left_out": ["x\x00"]}
    run.optimizer.save(run.path, notes=notes)
    run = Experiment(run.path)
    entry = run.history()[0]
    assert (entry["note"], entry["operator"]) == ("a\nb", "A\ufffd")
    assert entry["measured"] == {"p\ufffdH": "x y"}
    assert (run.status()["title"], run.status()["unit"]) == ("T\ufffd", "%")
    assert run.left_out() == ["x\ufffd"]


def test_what_is_too_long_is_refused_before_it_can_never_be_opened_again(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"])
    run.ask()
    run.annotate(1, note="a" * LONGEST, measured={f"m{i}": i for i in range(MOST_COLUMNS)})
    before = run.path.read_bytes()
    for record in ({"note": "b"}, {"measured": {"more": 1}}):
        with pytest.raises(ValueError, match=rf"at most {LONGEST} letters|may have {MOST_COLUMNS}"):
            run.tell(1.0, 1, **record)
    with pytest.raises(
        ValueError, match=f"may have {MOST_COLUMNS} columns, got {MOST_COLUMNS + 1}"
    ):
        run.annotate(1, measured={"more": 1})
    for value in (float("nan"), float("inf"), None, "a" * (LONGEST + 1)):
        with pytest.raises(ValueError, match="must be a finite number or a text"):
            run.annotate(1, measured={"m1": value})
    assert run.path.read_bytes() == before
    run.annotate(1, measured={"m1": ""})
    run.tell(1.0, 1, measured={"more": 1})
    assert len(Experiment(run.path).history()[0]["measured"]) == MOST_COLUMNS


@pytest.mark.parametrize("n", [LONGEST, LONGEST + 1])
def test_names_of_people_may_be_as_long_as_other_texts(tmp_path, n):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"])
    run.tell(1.0, at={"x": 0.5})
    if n > LONGEST:
        with pytest.raises(ValueError, match=f"by must be a name of at most {LONGEST} letters"):
            run.annotate(1, note="a", by="b" * n)
        assert run.changes() == [] and not run.history()[0]["note"]
    else:
        run.annotate(1, note="a", by="b" * n)
        run.annotate(1, note="c", by="b" * n)
        assert run.changes()[0]["by"] == "b" * n


def test_long_cells_of_a_table_are_cut_and_columns_with_long_names_left_out(tmp_path):
    table, names = tmp_path / "t.csv", ["a" * LONGEST, "b" * (LONGEST + 1), "odd\ufffe"]
    cells = ["c" * (LONGEST + 5), "short", "short"]
    table.write_text(
        "\n".join([",".join(["x", "y", "text", *names]), f"0.5,1,{','.join([*cells, cells[1]])}"])
    )
    with pytest.warns(UserWarning, match=r"2 columns of .* are left out: 'b{199}\.\.\."):
        run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], answer="y", data=table)
    (entry,) = Experiment(run.path).history()
    assert entry["measured"] == {"text": cells[0][:LONGEST], names[0]: "short"}


def test_a_cleaned_text_is_xml():
    everything = "".join(map(chr, [*range(0x3000), *range(0xD000, 0x11000), 0x1F389]))
    text = clean_text(everything).replace("&", "").replace("<", "").replace("]]>", "")
    assert clean_text(text) == text
    xml.dom.minidom.parseString(f"<a>{text}</a>".encode())
