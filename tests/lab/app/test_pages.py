"""The pages of an experiment, without a browser: what forms do, and what they refuse."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import subprocess
import sys
from threading import Event, Thread
from time import sleep

import numpy as np
import pytest
from browsing import Window, typed_on
from scipy import stats

from skgpb import GPUCBOptimizer
from skgpb.domains import Angle, Steps
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.pictures import draw_progress
from skgpb.lab.experiments.sides import format_estimate, format_value
from skgpb.lab.experiments.table import read_answers
from skgpb.lab.file_lock import FileLock
from skgpb.utils.install import install_command

pytest.importorskip("flask")
pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from skgpb.lab.app.pages import make_app
from skgpb.lab.app.pictures import Picture
from skgpb.lab.app.views import is_number
from skgpb.lab.cli.experiment_picture import draw_experiment

SIDES = ["temperature (°C)=20:90", "salt=1e-4:0.1:log", "catalyst=A,B"]
LABELS = {"answer": "yield", "unit": "%", "title": "Third <batch>"}
NEW = {
    "name0": "heat",
    "kind0": "range",
    "low0": "20",
    "high0": "90",
    "name1": "catalyst",
    "kind1": "choice",
    "values1": "A, B",
    "n_sides": "3",
    "direction": "minimize",
    "outcome": "start",
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.skgpb"


@pytest.fixture
def run(path):
    """An experiment with the results 1.5 and 2.5, a failure, and one query to do, number 4."""
    return begin(path)


def begin(path):
    run = Experiment.create(path, SIDES, seed=3, **LABELS)
    for answer in (1.5, 2.5, None):
        number = run.ask()[0]["query"]
        run.fail(number) if answer is None else run.tell(answer, number)
    run.ask()
    return run


SHOWN = ("/", "/correct/2", "/picture/slices-0-dark.svg", "/report.html", "/results.csv")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Texts of pages of such an experiment, which takes a second, and its file before and after."""
    path = tmp_path_factory.mktemp("shown") / "run.skgpb"
    begin(path)
    before, window, texts = path.read_bytes(), Window(path), {}
    for address in SHOWN:
        texts[address] = window.open(address)
        assert window.status == 200
    return texts, before, path.read_bytes()


def entries(run):
    return [(entry["query"], entry["status"], entry["answer"]) for entry in run.history()]


def test_a_result_a_failure_and_a_correction_are_those_of_the_experiment(run, path):
    window = Window(path)
    assert "Third &lt;batch&gt;" in window.open()
    assert "The result of experiment 4 is saved" in window.send("/tell/4", "next", value=" 3.5 ")
    assert "noted as failed" in window.send("/tell/5", "failed")
    assert "Experiment 6 is suggested" in window.send("/ask", count="1")
    window.open("/correct/1")
    assert "corrected" in window.send("/correct/1", "value", value="0.5")
    window.open("/correct/3")
    window.send("/correct/3", "value", value="4.5")
    window.open("/correct/4")
    window.send("/correct/4", "failed")
    assert entries(run) == [
        (1, "answered", 0.5),
        (2, "answered", 2.5),
        (3, "answered", 4.5),
        (4, "failed", None),
        (5, "failed", None),
        (6, "pending", None),
    ]
    assert GPUCBOptimizer.load(path).recommend() == run.optimizer.recommend()


def test_each_suggestion_says_why(run, path):
    text = html.unescape(re.sub(r"<[^>]+>", "", Window(path).open()))
    (reason,) = run.why()
    known = reason["nearest"]
    assert text.count("Why this one?") == 1
    assert f"Nearest known: experiment {known['query']}, {known['answer']}" in text
    assert f"Why: {reason['why']}." in text


@pytest.mark.slow
def test_looking_changes_nothing(shown):
    _, before, after = shown
    assert after == before


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("1,5", "write 1.5"),
        ("", "Please give"),
        ("abc", "must be a number"),
        ("nan", "finite"),
        ("1e999", "finite"),
    ],
)
def test_what_is_no_number_is_said_and_kept(run, path, typed, said):
    before, window = entries(run), Window(path)
    window.open()
    text = window.send("/tell/4", "value", value=typed, noise="0.1")
    assert window.status == 422
    assert said in text
    field = re.search(r'<input type="text" id="tell-4-value".*?>', text, re.S)[0]
    assert f'value="{typed}"' in field and 'aria-invalid="true"' in field
    assert re.search(r'id="tell-4-noise"[^>]*value="0.1"', text)
    assert entries(run) == before
    assert "is saved" in window.send("/tell/4", "value", value="1.5", noise="0.1")
    assert run.history()[3]["noise"] == pytest.approx(0.1)


def test_a_number_and_the_button_for_failures_contradict_each_other(run, path):
    window = Window(path)
    window.open()
    assert "clear the number" in window.send("/tell/4", "failed", value="7")
    assert entries(run)[3] == (4, "pending", None)


def test_two_windows_lose_nothing(run, path):
    one, other = Window(path), Window(path)
    one.open()
    other.open()
    other.send("/tell/4", "value", value="7.25")
    text = one.send("/tell/4", "value", value="8.25")
    assert one.status == 409
    assert "saved as 7.25" in text and 'value="8.25"' in text
    assert entries(run)[3] == (4, "answered", 7.25)
    # The page that says so corrects the result, if that is meant.
    assert "is corrected" in one.send("/correct/4", "value", value="8.25")
    assert entries(run)[3] == (4, "answered", 8.25)


@pytest.mark.slow
def test_a_window_and_the_command_line_lose_nothing(run, path):
    window = Window(path)
    window.open()
    script = (
        "from skgpb.lab.experiments import Experiment as E; import sys; E(sys.argv[1]).tell(7, 4)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=120)
    assert 'value="8.25"' in window.send("/tell/4", "value", value="8.25")
    assert entries(run)[3] == (4, "answered", 7.0)


def test_a_correction_of_what_was_corrected_elsewhere_is_asked_again(run, path):
    one, other = Window(path), Window(path)
    one.open("/correct/1")
    other.open("/correct/1")
    other.send("/correct/1", "value", value="0.5")
    text = one.send("/correct/1", "value", value="0.75")
    assert one.status == 409 and "saved as 0.5" in text and 'value="0.75"' in text
    assert entries(run)[0] == (1, "answered", 0.5)
    one.send("/correct/1", "value", value="0.75")
    assert entries(run)[0] == (1, "answered", 0.75)


def test_what_was_taken_back_elsewhere_is_typed_again_where_it_is_asked(run, path):
    window = Window(path)
    window.open("/correct/3")
    run.undo()
    text = window.send("/correct/3", "value", value="0.75")
    assert window.status == 409 and "taken back" in text
    assert re.search(r'id="tell-3-value"[^>]*value="0.75"', text)
    assert entries(run)[2] == (3, "pending", None)


@pytest.mark.slow
def test_settings_are_corrected_and_what_was_is_shown(run, path):
    window = Window(path)
    window.open()
    assert "is saved" in window.send("/tell/4", "value", value="14.7; 15.3")
    assert run.history()[3]["measurements"] == [14.7, 15.3]
    assert "mean of 14.7, 15.3" in window.text
    window.open("/correct/4")
    text = window.send("/correct/4", "value", side0="200", side2="B", by="Ada")
    assert window.status == 422 and "must be 20 to 90" in text and 'value="Ada"' in text
    window.send("/correct/4", "value", side0="55.5", side2="B", by="Ada", note="a typing error")
    entry = run.history()[3]
    assert (entry["params"]["temperature (°C)"], entry["params"]["catalyst"]) == (55.5, "B")
    assert (entry["answer"], entry["note"]) == (15.0, "a typing error")
    window.open("/correct/4")
    window.send("/correct/4", "value", value="16", by="Bob <b>")
    for page in (window.open(), window.open("/report.html")):
        text = " ".join(re.sub("<[^>]*>", " ", page[page.index("What was changed") :]).split())
        assert "55.5" in text and "Ada" in text and "Bob &lt;b&gt;" in text
        assert "result 15 16" in text and "14.7; 15.3 nothing" in text


def test_what_is_wrong_is_said_in_the_words_of_the_page(path):
    window = Window(path)
    window.open()
    assert "Rules between settings" in window.text and "Random seed" in window.text
    typed = NEW | {"step0": "0,5", "constraints": "water <= 50"}
    assert "Heat: write the step with a point: 0.5." in window.send("/new", **typed)
    typed |= {"step0": "0.5", "constraints": "haet <= 50"}
    text = html.unescape(window.send("/new", **typed))
    assert "The rule 'haet <= 50': there is no setting named 'haet'; did you mean 'heat'?" in text
    window.send("/new", **typed | {"constraints": "heat <= 50"})
    assert "Enter a first result to get a recommendation." in window.open()
    assert "Experiments 1 to 3 are suggested." in window.send("/ask", count="3")
    assert "said=" not in window.open("/?said=several&number=%3Cb%3E") and "<b>" not in window.text
    text = window.send("/tell/1", "value", value="14.7 x")
    assert "Result must be a number, got &#39;14.7 x&#39;: write 14.7 without the unit." in text
    assert "result must be a number" not in window.send("/tell/1", "value", value="14.7")
    assert "This must be a number, got '2,5': write 2.5." in html.unescape(
        window.open("/?within=2,5")
    )
    text = html.unescape(window.open("/expect?side0=60&side1=A"))
    assert "These settings break a rule: heat <= 50." in text
    assert "How much repeated results scatter is not known: nothing was repeated yet." in text
    assert "Repeat this experiment to see how much results scatter." in window.open("/correct/1")


def test_what_was_typed_as_a_number_is_never_broken(path):
    names = ["1,4-dioxane as it is", "2.5", "B"]
    run = Experiment.create(path, {"solvent": names, "salt": "1e-6:1e-4:log"})
    run.tell(1.0, at={"solvent": names[0], "salt": 1e-5})
    page = Window(path).open()
    assert "<dd>1,4-dioxane as it is</dd>" in page or "<dd>B</dd>" in page or "2.5</dd>" in page
    assert is_number("-5 to 1e-05") and is_number("0.000141") and is_number("2.5")
    assert not any(map(is_number, [names[0], "B", "12 of 300", "2,2'-bipyridine", ""]))


def test_only_what_was_seen_is_taken_back(run, path):
    window = Window(path)
    window.open()
    run.tell(9.0, 4)
    assert "nothing was taken back" in window.send("/undo")
    assert window.status == 409 and entries(run)[3] == (4, "answered", 9.0)
    assert "experiment 4, is taken back" in window.send("/undo", by="Ada")
    assert entries(run)[3] == (4, "pending", None)
    assert {change["by"] for change in run.changes()} == {"Ada"}


def test_a_button_pressed_twice_suggests_once(run, path):
    window = Window(path)
    page = window.open()
    window.send("/ask", count="2")
    window.text = page
    window.send("/ask", count="2")
    assert window.status == 409
    assert [entry["query"] for entry in run.pending()] == [4, 5, 6]


def test_a_page_from_before_a_restart_keeps_what_was_typed(run, path):
    window = Window(path)
    window.open()
    window.client = make_app(path).test_client()
    text = window.send("/tell/4", "value", value="8.25")
    assert window.status == 409 and "started again" in text and 'value="8.25"' in text
    assert "is saved" in window.send("/tell/4", "value", value="8.25")


def test_an_experiment_that_was_not_suggested_is_reported(run, path):
    window = Window(path)
    window.open()
    text = window.send("/tell", "value", side0="20,5", side1="0.01", side2="B", value="3")
    assert window.status == 422 and "write 20.5" in text
    assert 'value="0.01"' in text and '<option value="B" selected>' in text
    window.send("/tell", "value", side0="20.5", side1="0.01", side2="B", value="3")
    assert run.history()[4]["params"] == {
        "temperature (°C)": 20.5,
        "salt": pytest.approx(0.01),
        "catalyst": "B",
    }


def test_a_form_begins_an_experiment(path):
    window = Window(path)
    assert "does not exist yet" in window.open()
    assert 'name="name2"' in window.send("/new", **NEW | {"outcome": "more", "n_sides": "2"})
    text = window.send("/new", **NEW | {"low0": "20,5", "noise": "-1"})
    assert window.status == 422 and "write 20.5" in text and "at least 0" in text
    assert not path.exists()
    assert "has begun" in window.send("/new", **NEW | {"answer": "loss", "seed": "7"})
    status = Experiment(path).status()
    assert status["direction"] == "minimize" and status["answer"] == "loss"
    assert [side["name"] for side in status["sides"]] == ["heat", "catalyst"]
    assert (
        Experiment(path).optimizer.run_.seed
        == GPUCBOptimizer(
            bounds={"heat": (20.0, 90.0), "catalyst": ["A", "B"]}, alpha=None, random_state=7
        )
        .start()
        .run_.seed
    )


def test_chemicals_are_choices_and_a_single_choice_is_asked_about(path):
    window, bases = Window(path), ["O=C([O-])C.[K+]", "O=C([O-])C(C)(C)C.[K+]"]
    window.open()
    new = NEW | {"values1": ", ".join(bases), "name0": "solvent", "kind0": "choice"}
    window.send("/new", **new | {"values0": "1,4-dioxane, DMF"})
    assert window.status == 422 and "may be one value or several" in window.text
    window.send("/new", **new | {"values0": '"1,4-dioxane"'})
    assert window.status == 422 and "1,4-dioxane is one value only" in html.unescape(window.text)
    assert 'name="sure0"' in window.text and not path.exists()
    text = window.send("/new", **new | {"values0": "DMF"})  # another one is another question
    assert window.status == 422 and "DMF is one value only" in text
    assert "has begun" in window.send("/new", **new | {"values0": "DMF", "sure0": "DMF"})
    assert [side.bounds for side in Experiment(path).sides] == [["DMF"], bases]
    window.open("/change")
    assert "The changes are saved" in window.send(
        "/change", values0='DMF, "1,4-dioxane"', values1=", ".join(bases)
    )
    assert Experiment(path).sides[0].bounds == ["DMF", "1,4-dioxane"]


def test_a_form_that_is_sent_as_it_was_shown_changes_nothing(path):
    sides = {
        "third": (0.0, 1 / 3),
        "step": f"0:1:{1 / 7}",
        "log": stats.loguniform(1 / 3e5, 1 / 3),
        "code": ["007", "7,5", '"a"', "nan", "1:2"],
        "any": [True, False, None],
        "number": [1 / 3, 0.5],
        "Gauss": stats.norm(0.0, 1.0),
        "turn": Angle(0, 360, 2.5),
        "wind": Angle(-1 / 3, 1 / 3),
    }
    optimizer = GPUCBOptimizer(bounds={**sides, "step": Steps(0, 1, 1 / 7)}, random_state=0)
    optimizer.tell(optimizer.ask(), 1.0).save(path)
    run, window = Experiment(path), Window(path)
    measured = {"a=b": 1 / 3, 'say "pH"': "x = y", "n": 7.0}
    run.annotate(1, note="two\nlines", operator="Ada", date="2026-01-31", measured=measured)
    sides, entry = [side.as_dict() for side in run.sides], run.history()[0]
    assert "The changes are saved" in window.send("/change", **typed_on(window.open("/change")))
    assert [side.as_dict() for side in run.sides] == sides
    fields = typed_on(window.open("/correct/1"))
    assert "is corrected" in window.send("/correct/1", "value", **fields)
    assert run.history()[0] == entry
    fields = typed_on(window.open("/change")) | {"values4": "True, False, None, more"}
    window.send("/change", **fields)
    assert Experiment(path).sides[4].bounds == [True, False, None, "more"]
    window.open("/change")
    window.send("/change", **fields | {"high6": "3"})
    assert window.status == 422 and "can be changed in Python only" in window.text


def test_results_from_before_are_pasted(path):
    window = Window(path)
    window.open()
    table = "heat\tcatalyst\tloss\r\n30\tA\t2.5\r\n60\tB\tlow\r\n"
    text = window.send("/new", **NEW | {"answer": "loss", "data": table})
    assert window.status == 422 and not path.exists()
    assert re.search('class="error">[^<]*loss[^<]* is not a number', text) and "30\tA" in text
    window.send("/new", **NEW | {"answer": "loss", "data": table.replace("low", "1.5")})
    assert entries(Experiment(path)) == [(1, "given", 2.5), (2, "given", 1.5)]
    assert "2 of them from before" in window.text and window.text.count("<figure") == 1


def test_rows_left_out_of_results_from_before_are_listed(path, recwarn):
    window = Window(path)
    window.open()
    table = "heat\tcatalyst\tloss\n30\tA\t2.5\n95\tB\t1.5\n"
    window.send("/new", **NEW | {"answer": "loss", "data": table, "skip_outside": "yes"})
    assert "has begun" in window.text and "heat must be 20 to 90, got 95" in window.text
    assert len(Experiment(path).left_out()) == 1 and not recwarn.list


def test_a_file_that_somebody_holds_keeps_what_was_typed(run, path, monkeypatch):
    monkeypatch.setattr("skgpb.lab.file_lock.PATIENCE", 0.1)
    window = Window(path)
    window.open()
    held, done = Event(), Event()

    def hold():
        with FileLock(path):
            held.set()
            done.wait(60)

    thread = Thread(target=hold)
    thread.start()
    held.wait(60)
    text = window.send("/tell/4", "value", value="8.25")
    done.set()
    thread.join()
    assert window.status == 422 and "held by another program" in text and 'value="8.25"' in text
    assert "is saved" in window.send("/tell/4", "value", value="8.25")


def test_an_experiment_that_was_begun_elsewhere_is_left_alone(path):
    window = Window(path)
    window.open()
    Experiment.create(path, SIDES)
    before = path.read_bytes()
    text = window.send("/new", **NEW)
    assert window.status == 409 and "begun elsewhere" in text and 'value="heat"' in text
    assert path.read_bytes() == before


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:8650"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
    ],
)
def test_other_sites_cannot_send_forms(run, path, headers):
    window, before = Window(path), path.read_bytes()
    window.open()
    window.headers |= headers
    window.send("/tell/4", "value", value="1")
    assert window.status == 403
    assert path.read_bytes() == before


def test_a_form_without_the_secret_of_the_pages_is_refused(run, path):
    window, before = Window(path), path.read_bytes()
    window.open()
    data = {"value": "1", "outcome": "value"}
    for origin in ({}, {"Origin": "http://127.0.0.1:8650"}):
        headers = window.headers | origin
        assert window.client.post("/undo", data=data, headers=headers).status_code in (403, 409)
    assert path.read_bytes() == before


def test_a_name_that_points_here_by_fraud_sees_nothing(run, path):
    window = Window(path, Host="rebound.example")
    assert "catalyst" not in window.open() and window.status == 403
    # Nor what the file is called, and where it is.
    assert "run.skgpb" not in window.text and str(path.parent) not in window.text
    for host in ("localhost:8650", "127.0.0.1", "[::1]:8650"):
        assert "catalyst" in Window(path, Host=host).open()


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere_and_run_nothing(run, path, shown):
    window = Window(path)
    response = window.client.get("/", headers=window.headers)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy
    sheet = window.client.get("/static/app.css", headers=window.headers).get_data(as_text=True)
    for text in (shown[0]["/"], shown[0]["/report.html"], sheet):
        assert "<script" not in text and "url(" not in text and "@import" not in text
        assert not re.search(r"https?:", text)


@pytest.mark.slow
def test_every_field_has_a_label_and_every_picture_a_text(shown, path):
    pages = [shown[0][address] for address in ("/", "/correct/2", "/report.html")]
    pages.append(Window(path).open())
    for text in pages:
        labelled = re.findall(r'<label for="([^"]+)"', text)
        fields = re.findall(r'<(?:input type="(?:text|file)"|select|textarea) id="([^"]+)"', text)
        assert sorted(labelled) == sorted(fields)
        every = re.findall(r'\bid="([^"]+)"', text)
        assert len(every) == len(set(every))
        assert all(re.search(r'alt="[^"]{20,}"', image) for image in re.findall("<img.*?>", text))


def test_downloads_are_whole(run, path, shown):
    window = Window(path)
    response = window.client.get("/run.skgpb", headers=window.headers)
    assert response.get_data() == path.read_bytes()
    assert "filename=run.skgpb" in response.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(window.open("/results.csv").lstrip("\ufeff"))))
    assert [row["yield (%)"] for row in rows] == ["1.5", "2.5", "", ""]
    assert [row["status"] for row in rows] == ["answered", "answered", "failed", "pending"]
    report = shown[0]["/report.html"]
    # On light and on dark pages: the progress, and a panel for each setting.
    assert report.count("data:image/svg+xml;base64,") == 2 * (1 + 3)
    assert "Third &lt;batch&gt;" in report and "temperature (°C)" in report


@pytest.mark.slow
def test_pictures_of_the_progress_have_the_numbers_of_the_experiments(run):
    run.tell(2.0, 4)
    run.ask()
    in_app = Figure().subplots()
    draw_progress(in_app, run.history(), "maximize", "yield (%)")
    at_the_shell = draw_experiment(run).subfigs[1].axes[0]
    for ax in (in_app, at_the_shell):
        (dots,) = ax.collections
        seen = np.ma.compress_rows(dots.get_offsets()).tolist()
        assert seen == [[1, 1.5], [2, 2.5], [4, 2.0]]
        assert ax.lines[0].get_xydata().tolist() == [[1, 1.5], [2, 2.5], [3, 2.5], [4, 2.5]]
        assert ax.get_xlabel() == "number of the experiment"


@pytest.mark.parametrize(("address", "status"), [("/nothing", 404), ("/ask", 405)])
def test_what_is_no_page_is_said_in_plain_words(run, path, address, status):
    window = Window(path)
    text = window.open(address)
    assert window.status == status and "address" in text and "URL" not in text


def test_excel_is_offered_only_if_it_can_be_written(run, path, monkeypatch):
    window = Window(path)
    monkeypatch.setattr("skgpb.lab.app.pages.find_spec", lambda name: None)
    assert "results.xlsx" not in window.open("/")
    monkeypatch.setattr("skgpb.lab.app.pages.find_spec", lambda name: name)
    assert "results.xlsx" in window.open("/")


@pytest.mark.slow
def test_names_of_any_kind_are_shown_as_they_are(tmp_path):
    name = '温度 "<b>" $\\bad$ & {x}=1'
    run = Experiment.create(tmp_path / "实验 1.skgpb", {name: (0, 1)}, title="a {b} %s <i>")
    run.tell(1.0, run.ask()[0]["query"])
    run.ask()
    window = Window(run.path)
    assert "a {b} %s &lt;i&gt;" in window.open()
    text = html.unescape(window.text)
    assert text.count(name) >= 4 and "<b>" not in window.text
    assert "$\\bad$" in html.unescape(window.open("/picture/slices-0-light.svg"))
    assert "is saved" in (window.open(), window.send("/tell/2", "value", value="2"))[1]
    for address in ("/report.html", "/results.csv", "/run.skgpb"):
        response = window.client.get(address, headers=window.headers)
        disposition = response.headers["Content-Disposition"]
        assert "UTF-8''%E5%AE%9E%E9%AA%8C%201" in disposition and disposition.isascii()


def test_a_damaged_file_is_said_and_left_alone(run, path):
    window = Window(path)
    window.open()
    path.write_bytes(b"PK no run")
    assert "Traceback" not in window.open() and window.status == 500
    window.text = '<form method="post" action="/undo"></form>'
    window.send("/undo")
    assert path.read_bytes() == b"PK no run"


@pytest.mark.slow
def test_averages_over_regions_are_shown_as_ranges(tmp_path):
    path = tmp_path / "field.skgpb"
    run = Experiment.create(path, ["east=0:10", "north=0:10"], regions=True)
    run.tell(1.0, run.ask()[0]["query"])
    run.ask()
    window = Window(path)
    assert " to " in window.open()
    number = run.pending()[0]["query"]
    assert "is saved" in window.send(f"/tell/{number}", "value", value="2")
    assert json.dumps(run.best()["params"])
    window.open("/picture/slices-0-light.svg")
    assert window.status == 200


@pytest.mark.slow
def test_panels_that_are_asked_for_side_by_side_are_drawn_once(run, path, monkeypatch):
    drawn, draw = [], Picture.draw

    def counted(picture, *options):
        drawn.append(picture.kind)
        sleep(0.2)  # the others ask in the meantime
        return draw(picture, *options)

    monkeypatch.setattr(Picture, "draw", counted)
    app, seen = make_app(path), {}

    def ask_for(panel):
        address = f"/picture/slices-{panel}-light.svg"
        answer = app.test_client().get(address, headers={"Host": "127.0.0.1:8650"})
        seen[panel] = answer.get_data(as_text=True)

    threads = [Thread(target=ask_for, args=(panel,)) for panel in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert drawn == ["slices"]
    assert len(set(seen.values())) == 3


def test_there_is_a_report_before_the_first_result(path):
    Experiment.create(path, SIDES, **LABELS)
    window = Window(path)
    assert "no result yet" in window.open("/report.html") and window.status == 200
    assert "experiment 1 is suggested" in (window.open(), window.send("/ask", count="1"))[1].lower()
    window.open("/picture/slices-0-light.svg")
    assert window.status == 404


@pytest.mark.slow
def test_flask_that_is_missing_is_said(tmp_path):
    script = (
        "import sys; sys.modules['werkzeug'] = sys.modules['flask'] = None\n"
        "from skgpb.__main__ import main\n"
        "sys.argv = ['skgpb', 'app', 'run.skgpb']\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert install_command("app") in ended.stderr and ended.stderr.count("\n") == 1


@pytest.mark.slow
def test_what_is_far_beyond_is_asked_once_and_can_be_kept(path):
    run = Experiment.create(path, ["heat=20:90"], seed=1)
    for answer in (40.0, 50.0, 61.0, 70.0, 89.0):
        run.tell(answer, run.ask()[0]["query"])
    run.ask()
    window = Window(path)
    window.open()
    text = window.send("/tell/6", "value", value="645", note="odd", side0="")
    assert (
        window.status == 422 and "645? The expected range is" in text and ">odd</textarea>" in text
    )
    assert run.history()[5]["status"] == "pending"
    # Another number that is as far is asked about as well.
    assert "6450? The expected range is" in window.send("/tell/6", "value", value="6450")
    window.send("/tell/6", "value", value="6450", note="odd", measured="pH = 7.1")
    entry = run.history()[5]
    assert (entry["answer"], entry["note"], entry["measured"]) == (6450.0, "odd", {"pH": 7.1})


@pytest.mark.slow
def test_a_slip_that_was_not_noticed_is_named_beside_the_recommendation(path):
    run = Experiment.create(path, ["heat=20:90"], seed=1)
    for number in range(1, 15):
        query = run.ask()[0]
        value = 70 - 0.01 * (query["params"]["heat"] - 50) ** 2 + 0.3 * (-1) ** number
        run.tell(round(value / 10 if number == 12 else value, 3), query["query"])
    (said,) = run.questionable()
    assert said["query"] == 12
    window = Window(path)
    page = window.open()
    assert (
        f"Experiment 12: {format_value(said['answer'])} is unusual. The expected range is" in page
    )
    assert 'href="/correct/12"' in page.split('id="best"')[1].split("</section>")[0]
    window.open("/correct/12")
    window.send("/correct/12", "value", value=f"{10 * said['answer']:g}")
    assert "is unusual" not in window.open() and run.questionable() == []


@pytest.mark.slow
def test_a_page_of_the_notebook(run, path):
    window = Window(path)
    window.open()
    window.send("/tell/4", "value", value="3", side0="64.55", operator="Ada", date="2026-01-31")
    entry = run.history()[3]
    assert (entry["params"]["temperature (°C)"], entry["operator"]) == (64.55, "Ada")
    window.open("/correct/1")
    window.send("/correct/1", "value", note="<b>bottle</b>", measured="pH = 7\nhue = red")
    assert run.history()[0]["answer"] == 1.5
    assert "&lt;b&gt;bottle&lt;/b&gt;; pH = 7; hue = red" in window.open()
    window.open("/correct/1")
    assert "pH = 7\nhue = red" in window.text
    window.send("/correct/1", "value", measured="pH = 7.5")
    assert run.history()[0]["measured"] == {"pH": 7.5} and not run.history()[0]["note"]
    window.open("/correct/1")
    assert "Experiment 5 has the same settings" in window.send("/repeat/1")
    window.send("/tell/5", "value", value="1.75")
    row = re.search(r'<th scope="row">1.625</th><td>0.18</td>.*?</tr>', window.text, re.S)[0]
    assert re.findall(r"([\d.]+) <span[^>]*>\(No. (\d)\)", row) == [("1.5", "1"), ("1.75", "5")]
    svg = window.open("/picture/replicates-0-light.svg")
    assert "mean ± standard deviation" in svg and "experiments with the same settings" in svg
    assert "1.625 ± 0.18" in window.open()
    window.send("/ask", count="1")
    assert "Experiment 6 is skipped" in window.send("/tell/6", "skip", note="no time")
    assert "1 skipped" in window.text
    assert "mostly an assumption of the program" in window.open("/?within=0.1")
    assert "So go on." in window.text


def test_limits_are_changed_and_impossible_ones_refused(run, path):
    window = Window(path)
    window.open("/change")
    assert 'value="0.1"' in window.text
    window.send(
        "/change",
        high0="100",
        values2="A, B, C",
        step0="0.1",
        high1="0.1",
        low0="20",
        low1="1e-4",
        constraints="temperature (°C) <= 95",
    )
    assert "The changes are saved" in window.text
    assert run.sides[0].ends == (20.0, 100.0)
    assert run.sides[2].bounds == ["A", "B", "C"]
    window.open("/change")
    kept = path.read_bytes()
    window.send(
        "/change",
        high0="100",
        values2="A, B, C",
        step0="0.1",
        high1="0.1",
        low0="20",
        low1="1e-4",
        constraints="temperature (°C) >= 195",
    )
    assert window.status == 422 and "cannot hold" in window.text
    assert "temperature (°C) &gt;= 195</textarea>" in window.text
    assert path.read_bytes() == kept


@pytest.mark.slow
def test_settings_are_held_added_and_left_out_on_the_page(run, path):
    window, before = Window(path), run.history()
    window.open("/change")
    fields = typed_on(window.open("/change"))
    held = fields | {"low0": "60", "high0": "60", "values2": "B", "sure2": "B"}
    window.send("/change", **held)
    assert "The changes are saved" in window.text
    assert run.history() == before
    asked = [each["params"] for each in run.ask(4, another=True)]
    assert {(each["temperature (°C)"], each["catalyst"]) for each in asked} == {(60, "B")}
    # The held side is shown as a range, which it becomes again.
    fields = typed_on(window.open("/change"))
    assert (fields["low0"], fields["high0"]) == ("60", "60")
    new = {"name3": "stirring", "kind3": "integer", "low3": "100", "high3": "500", "earlier": "300"}
    window.send("/change", **fields | {"low0": "20", "high0": "90", **new})
    assert "The changes are saved" in window.text
    assert run.sides[0].ends == (20.0, 90.0) and run.sides[3].ends == (100, 500)
    assert run.history()[0]["params"]["stirring"] == 300
    window.open("/")
    window.send("/ask", count="3", side0="70")
    assert [each["params"]["temperature (°C)"] for each in run.pending()[-3:]] == [70.0] * 3
    window.open("/")
    window.send("/ask", count="4", shared0="yes")
    plate = [each["params"] for each in run.pending()[-4:]]
    assert len({each["temperature (°C)"] for each in plate}) == 1
    assert len({each["salt"] for each in plate}) > 1
    window.open("/change")
    window.send("/change", **typed_on(window.text) | {"drop3": "yes"})
    assert [side.name for side in run.sides] == ["temperature (°C)", "salt", "catalyst"]


@pytest.mark.slow
def test_the_other_settings_are_named_whole_above_a_map(tmp_path):
    path = tmp_path / "long.skgpb"
    sides = [f"amount of the solvent {i} (mmol/l)=0:1" for i in range(5)]
    run = Experiment.create(path, sides, direction="minimize", answer="loss")
    run.tell(1.0, run.ask()[0]["query"])
    svg = Window(path).open("/map/0-1-light.svg")
    lines = re.findall(r">([^<>]*)</(?:text|tspan)>", svg)
    assert max(map(len, lines)) <= 40
    assert all(f"amount of the solvent {i} (mmol/l) = 0." in " ".join(lines) for i in (2, 3, 4))


def test_what_is_expected_and_maps_are_only_looked_at(run, path):
    kept = path.read_bytes()
    window = Window(path)
    window.open("/expect?side0=50&side1=0.01&side2=A")
    found = run.expect({"temperature (°C)": 50, "salt": 0.01, "catalyst": "A"})
    assert f"<strong>{format_estimate(found['mean'], found['std'])}</strong>" in window.text
    window.open("/expect?side0=500&side1=0.01&side2=A")
    assert window.status == 422 and "must be 20 to 90, got 500" in window.text
    assert "/map/0-2-dark.svg" in window.open("/map?x=0&y=2")
    svg = window.open("/map/0-2-dark.svg")
    assert svg.startswith("<?xml") and "expected yield (%)" in svg and "posterior" not in svg
    assert "two different settings" in window.open("/map?x=1&y=1")
    assert window.open("/map/0-9-dark.svg") and window.status == 404
    assert path.read_bytes() == kept


@pytest.mark.slow
def test_a_table_is_pasted_or_uploaded_and_rows_outside_are_left_out(run, path, recwarn):
    window = Window(path)
    window.open("/add")
    text = "temperature\tsalt\tcatalyst\tyield [%]\n50\t0,01\tA\t3,5\n500\t0,01\tA\t4\n"
    window.send("/add", data=text)
    assert window.status == 422 and "line 3" in window.text and "/tmp/tmp" not in window.text
    assert "Mark below that such rows are left out" in window.text
    window.send("/add", data=text, skip_outside="yes")
    assert "are saved, 1 of them. Other rows are left out" in window.text
    assert not recwarn.list
    (left_out,) = run.left_out()
    assert "line 3" in left_out and "must be 20 to 90, got 500" in left_out
    for address in ("/", "/report.html"):
        page = html.unescape(re.sub("</?span[^>]*>", "", window.open(address)))
        assert f"<h3>Rows of tables that were left out</h3>\n<ul>\n<li>{left_out}</li>" in page
    table = window.client.get("/results.csv", headers=window.headers).get_data()
    for query in run.pending():
        run.skip(query["query"])
    run.change(constraints="temperature (°C) <= 45")
    window.open("/add")
    window.send("/add", file=(io.BytesIO(table), "../../results.csv"))
    assert "violates temperature (°C) &lt;= 45" in window.text
    assert "are saved, 4 of them" in window.text  # failures come back as well
    assert run.status()["n_answered"] == 6


def test_nobody_waits_while_an_uploaded_table_is_read(run, path, monkeypatch):
    monkeypatch.setattr("skgpb.lab.file_lock.PATIENCE", 0.1)
    window = Window(path)
    window.open("/add")

    def reading(*arguments, **options):
        thread = Thread(target=Experiment(path).annotate, args=(1,), kwargs={"note": "meanwhile"})
        thread.start()
        thread.join()
        return read_answers(*arguments, **options)

    monkeypatch.setattr("skgpb.lab.experiments.notebook.read_answers", reading)
    window.send("/add", data="temperature\tsalt\tcatalyst\tyield\n50\t0,01\tA\t3,5\n")
    assert "are saved, 1 of them" in window.text
    assert run.history()[0]["note"] == "meanwhile"


def test_a_form_begins_an_experiment_with_constraints_and_steps(path):
    window = Window(path)
    window.open()
    new = NEW | {"name1": "time", "kind1": "range", "low1": "0", "high1": "60", "values1": ""}
    new |= {"step1": "5", "constraints": "heat + time <= 80"}
    wrong = window.send("/new", **(new | {"constraints": "heat * time <= 80"}))
    assert "multiplies sides" in wrong and not path.exists()
    # The wrong number is marked, and not the steps, which are right.
    wrong = window.send("/new", **(new | {"high1": "-5"}))
    about = re.search(r'<span id="new-high1-about"><span class="error">(.*?)</span>', wrong)
    assert about[1] == "The largest value must be above the smallest." and not path.exists()
    window.send("/new", **new)
    run = Experiment(path)
    assert [side.as_dict()["step"] for side in run.sides] == [0.1, 5.0]
    assert "Settings keep heat + time &lt;= 80." in window.text
    for entry in run.ask(10):
        heat, time = entry["params"].values()
        assert heat + time <= 80 and time % 5 == 0


def test_a_form_begins_an_experiment_with_an_angle(path):
    window = Window(path)
    window.open()
    new = NEW | {"name1": "wind", "kind1": "periodic", "low1": "0", "high1": "360", "values1": ""}
    window.send("/new", **new, step1="0")
    assert window.status == 422 and "step must be above 0" in window.text.lower()
    window.send("/new", **new, step1="5")
    wind = Experiment(path).sides[1]
    assert wind.bounds == Angle(0, 360, 5)
    assert typed_on(window.open("/change"))["step1"] == "5"
    window.send("/change", **typed_on(window.text) | {"step1": "10"})
    assert Experiment(path).sides[1].bounds == Angle(0, 360, 10)


@pytest.mark.slow
def test_limits_are_typed_asked_for_and_said(path):
    window = Window(path)
    window.open()
    window.send("/new", **NEW, answer="yield", limits="peak (C) < eighty")
    assert window.status == 422 and "must be a number" in window.text and not path.exists()
    window.send("/new", **NEW, answer="yield", limits="peak (C) < 80")
    for i in range(4):
        window.send("/ask", count="1")
        (entry,) = Experiment(path).pending()
        heat = entry["params"]["heat"]
        assert "Limit: at most 80." in window.open()
        typed = {"value": str(90 - heat), "limited0": str(heat + 5) if i else "hot"}
        text = window.send(f"/tell/{entry['query']}", "value", **typed)
        if not i:
            assert window.status == 422 and "Peak (C) must be a number" in text
            window.send(f"/tell/{entry['query']}", "value", **typed | {"limited0": "60"})
    assert "peak (C) &lt;= 80: holds with probability" in window.open()
    assert "single one within the limits" in window.text
    window.open("/correct/1")
    window.send("/correct/1", "value", value="", limited0="95.5")
    assert "30, beyond a limit" in window.open() or "beyond a limit" in window.text
    assert Experiment(path).history()[0]["measured"] == {"peak (C)": 95.5}
    window.open("/change")
    window.send("/change", limits="peak (C) < 70\nacid > 2", low0="20", high0="90", values1="A, B")
    assert Experiment(path).status()["limits"] == ["peak (C) <= 70", "acid >= 2"]
    assert "acid &gt;= 2: not known, it was not measured yet" in window.open()
    window.open("/expect?side0=88&side1=A")
    assert "peak (C) &lt;= 70: holds with probability" in window.text
    for address in (
        "/picture/slices-0-dark.svg",
        "/picture/progress-0-light.svg",
        "/map/0-1-dark.svg",
    ):
        window.open(address)
        assert window.status == 200 and "beyond a limit" in window.text
    assert "Limits on what else is measured" in window.open("/report.html")


@pytest.mark.slow
def test_an_outcome_that_is_yes_or_no_is_chosen_from_a_list(path):
    window = Window(path)
    window.open()
    window.send("/new", **NEW, answer="yield", limits="passed = yes\nleaks = No")
    for i in range(3):
        window.send("/ask", count="1")
        (entry,) = Experiment(path).pending()
        page = window.open()
        assert '<option value="yes">yes</option>' in page and "Limit: no." in page
        typed = {"value": "50", "limited0": ["yes", "no", "pass"][i], "limited1": "0"}
        window.send(f"/tell/{entry['query']}", "value", **typed)
    within = [entry["within_limits"] for entry in Experiment(path).history()]
    assert within == [True, False, True]
    assert "passed = yes: holds with probability" in window.open()
    assert '<option value="yes" selected>yes</option>' in window.open("/correct/3")
    assert '<option value="no" selected>no</option>' in window.open("/correct/2")
    window.send("/correct/2", "value", value="40", limited0="perhaps", limited1="no")
    assert window.status == 422 and "must be yes or no" in window.text
    window.send("/correct/2", "value", value="40", limited0="yes", limited1="no")
    assert Experiment(path).history()[1]["within_limits"] is True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skgpb.exceptions.LimitWarning")
def test_a_page_says_which_results_lack_what_has_a_limit(path):
    window = Window(path)
    window.open()
    window.send("/new", **NEW, answer="yield", limits="impA + impB <= 5")
    for i in range(3):
        window.send("/ask", count="1")
        (entry,) = Experiment(path).pending()
        assert "Limit: impA + impB, at most 5." in window.open()
        typed = {"value": "50", "limited0": "1", "limited1": ["2", "", "7"][i]}
        window.send(f"/tell/{entry['query']}", "value", **typed)
    page = window.open()
    assert "50, not every limit measured" in page and "50, beyond a limit" in page
    assert "known of 2 of 3 results" in page
    assert "not every limit measured" in window.open("/report.html")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "field", "label"),
    [
        ("operator", "operator", "Operator (who measured)"),
        ("date", "date", "Date</label>"),
        ("batch", "block", "batch</label>"),
    ],
)
def test_blocks_are_named_asked_for_and_compared(path, block, field, label):
    names = ["2026-01-30", "2026-01-31"] if block == "date" else ["Ann", "Bob & Co"]
    window = Window(path)
    window.open()
    window.send("/new", **NEW, answer="yield", block="heat")
    assert window.status == 422 and "&#39;heat&#39; is a setting" in window.text
    window.send("/new", **NEW, answer="yield", block=block)
    run = Experiment(path)
    for i in range(8):
        value = 90 - 10 * i + 4 * (i % 2) + 0.1 * (i % 3)
        if i < 6:
            known = (
                {"measured": {block: names[i % 2]}} if block == "batch" else {block: names[i % 2]}
            )
            run.tell(value, at={"heat": 20 + 10 * i, "catalyst": "A"}, **known)
            continue
        window.send("/ask", count="1")
        (entry,) = Experiment(path).pending()
        assert window.open().count(label) >= 1
        window.send(f"/tell/{entry['query']}", "value", value=str(value), **{field: names[i % 2]})
    assert [each["block"] for each in Experiment(path).blocks()] == names
    text = window.open()
    assert f"How results of each {block} compare" in text and "below the average" in text
    assert f"what is expected is for an average {block}" in " ".join(text.split())
    assert f"How results of each {block} compare" in window.open("/report.html")
    assert names[0] in window.open("/correct/1")
    window.send("/correct/1", "value", value="", **{field: names[1]})
    assert [each["n_answers"] for each in Experiment(path).blocks()] == [5, 3]
    window.open("/change")
    window.send("/change", low0="20", high0="90", values1="A, B", block="")
    assert Experiment(path).blocks() == [] and "compare" not in window.open()


@pytest.mark.slow
def test_scores_are_named_asked_for_and_drawn(path):
    window = Window(path)
    window.open()
    new = NEW | {"direction": "maximize"}
    window.send("/new", **new, score="0.7*yield - open(cost)")
    assert window.status == 422 and "a score is arithmetic" in window.text and not path.exists()
    window.send("/new", **new, score="0.7*yield - 0.3*cost")
    run = Experiment(path)
    for i in range(6):
        typed = {"limited0": str(50 + 5 * i - 6 * (i == 3)), "limited1": str(20 + 4 * i)}
        if i > 1:
            at, known = {"heat": 20 + 10 * i, "catalyst": "A"}, map(float, typed.values())
            run.tell(at=at, measured=dict(zip(("yield", "cost"), known, strict=True)))
            continue
        window.send("/ask", count="1")
        (entry,) = Experiment(path).pending()
        text = window.open()
        assert ">yield</label>" in text and ">cost</label>" in text and ">Score</label>" not in text
        if not i:
            window.send(f"/tell/{entry['query']}", "value", limited0="50")
            assert Experiment(path).pending()[0]["measured"] == {"yield": 50.0}
            window.open()
        window.send(f"/tell/{entry['query']}", "value", **typed)
    assert [e["answer"] for e in run.history()][:2] == pytest.approx([29.0, 31.3])
    text = window.open()
    assert "best compromises between yield and cost are experiments 1, 2, 3, 5, 6" in text
    for theme in ("light", "dark"):
        window.open(f"/picture/trade-offs-0-{theme}.svg")
        assert window.status == 200 and "best compromises" in window.text
    window.open("/correct/1")
    window.send("/correct/1", "value", limited0="60", limited1="20")
    assert Experiment(path).history()[0]["answer"] == pytest.approx(36.0)
    window.open("/change")
    window.send("/change", low0="20", high0="90", values1="A, B", score="yield - cost")
    assert Experiment(path).history()[0]["answer"] == pytest.approx(40.0)
    assert "The score is yield - cost" in window.open("/report.html")


@pytest.mark.slow
def test_goals_are_named_asked_for_and_drawn(path):
    window = Window(path)
    window.open()
    new = NEW | {"direction": "maximize"}
    window.send("/new", **new, goals="large yield")
    assert window.status == 422 and "two to four goals" in window.text and not path.exists()
    window.send("/new", **new, goals="large yield\nsmall cost")
    run = Experiment(path)
    assert run.status()["goals"] == ["large yield", "small cost"]
    window.send("/ask", count="1")
    (entry,) = run.pending()
    text = window.open()
    assert "Looking for the best compromises between large yield and small cost" in text
    assert ">yield</label>" in text and ">cost</label>" in text and "The score is" not in text
    fields = [text.index(f">{name}</label>") for name in ("cost", "yield")]
    values = ("20", "50") if fields[0] < fields[1] else ("50", "20")
    window.send(f"/tell/{entry['query']}", "value", limited0=values[0], limited1=values[1])
    assert run.history()[0]["measured"] == {"yield": 50.0, "cost": 20.0}
    run.tell(at={"heat": 40, "catalyst": "A"}, measured={"yield": 60.0, "cost": 25.0})
    assert "best compromises between yield and cost are experiments 1, 2" in window.open()
    window.open("/picture/trade-offs-0-light.svg")
    assert window.status == 200 and "best compromises" in window.text
    window.open("/change")
    window.send("/change", low0="20", high0="90", values1="A, B", limits="cost < 22")
    assert run.status()["limits"] == ["cost <= 22"] and run.trade_offs()["best"] == [1]
    assert "The score is" not in window.open("/report.html")


@pytest.mark.slow
def test_a_slip_in_what_a_score_is_computed_from_is_asked_about_once(path):
    run = Experiment.create(path, ["heat=20:90"], score="yield - cost")
    for i in range(6):
        run.tell(query=run.ask()[0]["query"], measured={"yield": 70 + i % 3, "cost": 12 + i % 2})
    run.ask()
    window, typed = Window(path), {"limited0": "7.1", "limited1": "125"}
    window.open()
    text = window.send("/tell/7", "value", **typed)
    assert window.status == 422 and run.history()[6]["status"] == "pending"
    assert "7.1? The expected range is" in text and "perhaps 12.5 was meant" in text
    # The one that was corrected is not asked about again, and neither is the one that was kept.
    window.send("/tell/7", "value", limited0="71", limited1="125")
    assert run.history()[6]["measured"] == {"yield": 71.0, "cost": 125.0}


@pytest.mark.slow
def test_costs_are_typed_seen_with_a_suggestion_and_changed(path):
    window = Window(path)
    window.open()
    window.send("/new", **NEW, costs="100 if catalyst = C")
    assert window.status == 422 and not path.exists()
    assert "catalyst must be A or B, got &#39;C&#39;" in window.text
    window.send("/new", **NEW, costs="100 if speed = A")
    assert "there is no setting named &#39;speed&#39;; the settings are" in window.text
    window.send("/new", **NEW, costs="20 + 0.5*heat\n100 if catalyst = B")
    window.send("/ask", count="2")
    pending = Experiment(path).pending()
    for entry in pending:
        heat, catalyst = entry["params"].values()
        assert entry["cost"] == 20 + 0.5 * heat + 100 * (catalyst == "B")
        assert f"It costs {entry['cost']:g}." in window.text
    window.send("/tell/1", "value", value="3")
    assert f"{pending[0]['cost']:g} spent; 1 to do" in window.text
    assert "An experiment costs 20 + 0.5*heat; 100 if catalyst = B." in window.text
    assert "An experiment costs 20 + 0.5*heat" in window.open("/report.html")
    assert "20 + 0.5*heat\n100 if catalyst = B</textarea>" in window.open("/change")
    typed = {"low0": "20", "high0": "90", "step0": "0.1", "values1": "A, B"}
    window.send("/change", **typed, costs="30 if catalyst = A")
    assert window.status == 422 and "Every experiment must cost something" in window.text
    window.send("/change", **typed, costs="15\n30 if catalyst = A")
    assert Experiment(path).status()["costs"] == ["15", "30 if catalyst = A"]
    window.open("/change")
    window.send("/change", **typed, costs="")
    assert "It costs" not in window.text and "spent" not in window.text


LONG = "9" * 5000


@pytest.mark.parametrize(
    "address",
    [f"/map?x={LONG}&y=1", f"/map/{LONG}-1-dark.svg", f"/picture/slices-{LONG}-dark.svg"],
)
def test_numbers_of_thousands_of_digits_in_an_address_are_no_number(run, path, address):
    run.tell(1.0, 4)
    window = Window(path)
    window.open(address)
    assert window.status == (200 if "?" in address else 404)
    assert "Please choose two different settings" in window.text or window.status == 404


@pytest.mark.slow
def test_numbers_of_thousands_of_digits_in_a_form_are_no_number(path):
    window = Window(path)
    window.open()
    window.send("/new", **NEW | {"n_sides": LONG, "low0": LONG})
    assert window.status == 422 and "must be a finite number" in window.text
    window.send("/new", **NEW | {"n_sides": LONG, "values1": f"{LONG}, {'0' * 5000}"})
    assert path.exists()


def test_limits_of_detection_and_units_are_typed(path):
    Experiment.create(path, SIDES, seed=3, limits=["peak <= 80"], **LABELS).ask()
    window = Window(path)
    window.open()
    window.send("/tell/1", "value", value="<2 %", limited0="n.d.")
    assert window.status == 422 and "may be not determined or not detected" in window.text
    window.send("/tell/1", "value", value="<2 g", limited0="<5")
    assert window.status == 422 and "must be a number" in window.text
    window.send("/tell/1", "value", value="<2 %", limited0="<5")
    (entry,) = Experiment(path).history()
    assert (entry["answer"], entry["measured"]) == (2.0, {"peak": "<5"})
    assert entry["note"] == "the answer was <2, which counts as its limit"
    assert 'value="&lt;5"' in window.open("/correct/1")


def test_not_detected_in_a_pasted_table_is_asked_about(path):
    window = Window(path)
    window.open()
    table = "heat\tcatalyst\tloss\r\n30\tA\t2.5\r\n60\tB\tn.d.\r\n"
    text = html.unescape(window.send("/new", **NEW | {"answer": "loss", "data": table}))
    assert window.status == 422 and not path.exists()
    assert "'n.d.' may be not determined or not detected: leave it empty" in text
    window.send("/new", **NEW | {"answer": "loss", "data": table.replace("n.d.", "<0.5")})
    assert [each["answer"] for each in Experiment(path).history()] == [2.5, 0.5]


@pytest.mark.slow
def test_pictures_end_at_the_range_of_answers(path):
    run = Experiment.create(path, ["heat=0:10"], answer_range="0:5", seed=0)
    for answer in (0.1, 4.9, 0.2):
        run.tell(answer, run.ask()[0]["query"])
    mean, std = run.optimizer.predict(np.linspace(0, 10, 101)[:, None], return_std=True)
    assert (mean - 1.96 * std).min() < 0.0 and (mean + 1.96 * std).max() > 5.0
    ax = draw_experiment(run).axes[0]
    (band,) = (each for each in ax.collections if each.get_label() == "95 % interval")
    ends = band.get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == (0.0, 5.0)
    assert Window(path).client.get("/picture/slices-0-dark.svg").status_code == 200
