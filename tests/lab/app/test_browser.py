"""The app in Chromium, without a screen: what people click and type, on two sizes of screen."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from browsing import Person
from served import Served

from skgpb.lab.cli.commands import main
from skgpb.lab.experiments import Experiment

pytestmark = pytest.mark.browser

SEED = 5
# The sides as the form of a new experiment has them: name, kind, smallest, largest, steps, list.
SIDES = [
    ("temperature (°C)", "number", "20", "90", "0.5", ""),
    ("salt (mol/l)", "number, log scale", "1e-4", "0.1", "", ""),
    ("water (%)", "number", "0", "100", "", ""),
    ("oil (%)", "number", "0", "100", "", ""),
    ("catalyst", "list of choices", "", "", "", "A, B"),
]
CONSTRAINT = "water (%) + oil (%) <= 100"
WIDER = ("temperature (°C)", "100")
N_ANSWERS = 30
# Numbers of answers: the limits are widened after the first, a setting is measured once more after
# the second, and one is skipped after the third; the fourth has a note, and the fifth is typed a
# thousand times too large at first.
WIDENED, REPEATED, SKIPPED, NOTED, MISTYPED = 15, 18, 9, 3, 20
REPLICATE_OF = 2


def loss(temperature, salt, water, oil, catalyst):
    """Return the measurement at the settings that the page shows."""
    error = (np.log10(salt) + 2.5) ** 2 + (water - 40) ** 2 / 900 + (oil - 50) ** 2 / 900
    return round(float((temperature - 60) ** 2 / 400 + error + (catalyst == "A")), 4)


# Least contrast of any text on a page with what is behind it, from 1 to 21.
WORST_CONTRAST = """
const numbers = text => text.match(/[\\d.]+/g).map(Number);
const luminance = text => {
  const [r, g, b] = numbers(text).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (numbers(colour)[3] !== 0) return colour;
  }
};
return Math.min(...[...document.body.querySelectorAll("*")]
  .filter(e => e.innerText && e.innerText.trim())
  .map(e => [luminance(getComputedStyle(e).color), luminance(behind(e))].sort((a, b) => a - b))
  .map(([dark, light]) => (light + 0.05) / (dark + 0.05)));
"""


# Numbers that are broken across lines, of all that a page shows but the path of the file.
BROKEN_NUMBERS = """
const broken = [], main = document.querySelector("main");
const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  for (const found of node.data.matchAll(/[-+]?\\d[\\w.]*(-\\d+)*/g)) {
    const range = document.createRange();
    range.setStart(node, found.index);
    range.setEnd(node, found.index + found[0].length);
    const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
    if (lines.size > 1) broken.push(found[0]);
  }
}
return broken;
"""


class Browser(Person):
    """A campaign by clicks and forms."""

    def begin(self, data=None):
        for _ in range(len(SIDES) - 2):
            self.press("Add a setting")
        labels = [
            "Smallest value",
            "Largest value",
            "Steps of",
            "Choices",
        ]
        for box, (name, kind, *texts) in zip(self.all("fieldset"), SIDES, strict=True):
            self.type("Name, with its unit", name, box)
            self.choose("Kind", kind, box)
            for label, text in zip(labels, texts, strict=True):
                self.type(label, text, box)
        self.type("Rules between settings", CONSTRAINT)
        self.type("Its name", "loss")
        self.choose("Look for the", "smallest result")
        self.type("Random seed (leave empty)", str(SEED))
        if data is not None:
            self.labelled("Or a file, Excel or CSV").send_keys(str(data))
        self.press("Start")
        assert "has begun" in self.message

    def asked(self):
        *numbers, catalyst = self.settings(self.find(".card"))
        return *map(float, numbers), catalyst

    def ask(self):
        self.press("Suggest")
        return self.asked()

    def tell(self, value, note):
        card = self.find(".card")
        if note:
            card.find_element("xpath", ".//summary[.='Notebook']").click()
            self.type("Note", note, card)
        self.type("Loss", repr(value), card)
        self.press("Save", card)
        assert "is saved" in self.message

    def mistype(self, value):
        card = self.find(".card")
        self.type("Loss", repr(value), card)
        self.press("Save", card)
        assert "The expected range is" in self.find(".error").text

    def skip(self):
        self.press("Skip this one", self.find(".card"))
        assert "is skipped" in self.message

    def repeat(self, number):
        row = self.find(f"a[aria-label='Correct the result of experiment {number}']")
        with self.another_page():
            row.click()
        self.press("Measure these settings once more")
        return self.asked()

    def widen(self, side, high):
        self.press("Change ranges, choices, rules, limits or costs")
        box = self.driver.find_element("xpath", f"//fieldset[legend='{side}']")
        self.type("Largest value", high, box)
        self.press("Go on with these")
        assert "The changes are saved" in self.message


class Python:
    """Run the same experiment by calls of the library."""

    def __init__(self, path):
        self.path = path

    def begin(self):
        sides = [_text(*side) for side in SIDES]
        options = {
            "constraints": CONSTRAINT,
            "direction": "minimize",
            "answer": "loss",
            "seed": SEED,
        }
        self.run = Experiment.create(self.path, sides, **options)

    def _settings(self, entry):
        self.number = entry["query"]
        return tuple(entry["params"].values())

    def ask(self):
        return self._settings(self.run.ask(another=True)[0])

    def tell(self, value, note):
        self.run.tell(value, self.number, note=note)

    def mistype(self, value):
        assert self.run.surprise(value, self.number) is not None

    def skip(self):
        self.run.skip(self.number)

    def repeat(self, number):
        return self._settings(self.run.repeat(number))

    def widen(self, side, high):
        low = next(each.ends[0] for each in self.run.sides if each.name == side)
        self.run.change([f"{side}={low}:{high}:0.5"])


class Shell(Python):
    """Run the same experiment by commands."""

    def call(self, command, *arguments):
        out = io.StringIO()
        with redirect_stdout(out):
            assert main([command, str(self.path), *map(str, arguments), "--json"]) == 0
        return json.loads(out.getvalue())

    def begin(self):
        sides = [_text(*side) for side in SIDES]
        what = ["--constraint", CONSTRAINT, "--minimize", "--answer", "loss", "--seed", SEED]
        self.call("new", "--bounds", *sides, *what)

    def ask(self):
        return self._settings(self.call("ask", "--another")["queries"][0])

    def tell(self, value, note):
        self.call("tell", repr(value), "--query", self.number, *(["--note", note] if note else []))

    def mistype(self, value):
        """A shell does not ask: it takes the answer, with a warning."""

    def skip(self):
        self.call("tell", "--skip", "--query", self.number)

    def repeat(self, number):
        return self._settings(self.call("ask", "--repeat", number)["queries"][0])

    def widen(self, side, high):
        low = next(each[2] for each in SIDES if each[0] == side)
        self.call("change", "--bounds", f"{side}={low}:{high}:0.5")


def _text(name, kind, low, high, step, values):
    scale = ":log" if "log" in kind else f":{step}" if step else ""
    return f"{name}={values.replace(', ', ',')}" if values else f"{name}={low}:{high}{scale}"


def play(door):
    """Play a campaign through a door; the settings that were asked and what was told."""
    told = []
    door.begin()
    settings = door.ask()
    while len(told) < N_ANSWERS:
        n = len(told)
        value = loss(*settings)
        if n == MISTYPED:
            door.mistype(1000.0 * (value + 1.0))
        door.tell(value, "new bottle" if n == NOTED else None)
        told.append((settings, value))
        if n == WIDENED:
            door.widen(*WIDER)
        settings = door.repeat(REPLICATE_OF) if n == REPEATED else door.ask()
        if n == SKIPPED:
            door.skip()
            settings = door.ask()
    return told


def test_a_campaign_is_the_same_through_every_door(driver, tmp_path):
    path = tmp_path / "run.skgpb"
    browser = Browser(driver)
    with Served(path) as served:
        browser.open(served.address)
        told = play(browser)
        shown = browser.settings(browser.find(".best"))
        with urlopen(f"{served.address}results.xlsx", timeout=60) as answer:
            (tmp_path / "results.xlsx").write_bytes(answer.read())
    for door in (Python(tmp_path / "python.skgpb"), Shell(tmp_path / "shell.skgpb")):
        assert play(door) == told
        assert Experiment(door.path).best() == Experiment(path).best()
        assert Experiment(door.path).history() == Experiment(path).history()
    run = Experiment(path)
    best = run.best()
    assert [float(text) for text in shown[:-1]] == list(best["params"].values())[:-1]
    for (temperature, salt, water, oil, _), _ in told:
        assert (temperature / 0.5).is_integer() and water + oil <= 100 + 1e-9
        assert float(f"{salt:.3g}") == salt
    status = run.status()
    # One setting was repeated on demand, and the best one to see whether answers are exact.
    assert (status["n_answered"], status["n_skipped"], len(run.replicates())) == (30, 1, 2)
    assert run.history()[NOTED]["note"] == "new bottle"
    # It has found something: the least value is 0.
    assert best["params"]["catalyst"] == "B" and loss(*best["params"].values()) < 1.0
    # Out to Excel and back.
    again = tmp_path / "again.skgpb"
    with Served(again) as served:
        browser.open(served.address)
        high = SIDES[0]
        SIDES[0] = (*high[:3], WIDER[1], *high[4:])
        try:
            browser.begin(tmp_path / "results.xlsx")
        finally:
            SIDES[0] = high
    assert Experiment(again).history() == run.history()


@pytest.fixture
def run(tmp_path):
    """An experiment with two results and two queries to do, 3 and 4."""
    names = ["temperature of the oven (°C)=20:90", "salt=1e-4:0.1:log", "catalyst=A,B"]
    run = Experiment.create(tmp_path / "run.skgpb", names, answer="loss", direction="minimize")
    for answer in (1.5, 2.5):
        run.tell(answer, run.ask()[0]["query"])
    run.ask(2)
    return run


def test_two_windows_and_the_command_line_lose_nothing(driver, run):
    person = Person(driver)
    with Served(run.path) as served:
        person.open(served.address)
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        person.open(served.address)
        person.type("Loss", "0.25", person.all(".card")[0])
        person.press("Save", person.all(".card")[0])
        driver.close()
        driver.switch_to.window(first)
        person.type("Loss", "0.75", person.all(".card")[0])
        person.press("Save", person.all(".card")[0])
        assert "saved as 0.25" in person.message
        assert person.labelled("Loss").get_attribute("value") == "0.75"
        person.press("Leave it as it is")
        command = [sys.executable, "-m", "skgpb", "tell", str(run.path), "0.5", "--query", "4"]
        assert subprocess.run(command, check=False, capture_output=True).returncode == 0
        person.type("Loss", "1,5", person.all(".card")[0])
        person.press("Save", person.all(".card")[0])
        assert "saved as 0.5" in person.message
        assert person.labelled("Loss").get_attribute("value") == "1,5"
        person.press("Save")
        assert "write 1.5" in person.find(".error").text
    assert [entry["answer"] for entry in run.history()] == [1.5, 2.5, 0.25, 0.5]


def test_what_is_printed_is_whole(driver, run, tmp_path):
    """On paper nothing can be scrolled: the notebook has all columns, and a page a picture."""
    report = tmp_path / "report.html"
    words = "the stirrer stopped for some minutes before somebody noticed it; "
    run.annotate(1, note=8 * words, measured={"colour after an hour": "light red"})
    run.correct(2, 1.25, by="Ada Lovelace")
    person = Person(driver)
    try:
        with Served(run.path) as served:
            person.open(served.address)
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
            size = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            assert driver.execute_script("return document.documentElement.scrollWidth") <= 718
            tables = driver.execute_script(
                "return [...document.querySelectorAll('table')].map("
                "t => t.getBoundingClientRect().right - document.documentElement.clientWidth)"
            )
            assert len(tables) == 2 and max(tables) <= 0
            heights = [image.size["height"] for image in person.all("figure img")]
            assert len(heights) == 4 and max(heights) <= 20 / 2.54 * 96 + 1
            # Buttons are of no use there, but the box for a result is.
            assert not any(button.is_displayed() for button in person.all("button"))
            assert person.find(".card input[name=value]").is_displayed()
            with urlopen(f"{served.address}report.html", timeout=60) as answer:
                report.write_bytes(answer.read())
            person.open(report.as_uri())
            feature = {"name": "prefers-color-scheme", "value": "dark"}
            for media, shown in (("screen", "dark"), ("print", "light")):
                emulated = {"media": media, "features": [feature]}
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
                images = person.all("figure img")
                assert len(images) == 8
                assert all(
                    image.is_displayed() == (image.get_attribute("class") == shown)
                    for image in images
                )
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_links_are_large_enough_for_a_finger(driver, run):
    person = Person(driver)
    with Served(run.path) as served:
        person.open(served.address)
        sizes = [link.size for link in person.all("main a") if link.is_displayed()]
        assert len(sizes) > 8
        assert all(min(size["width"], size["height"]) >= 24 for size in sizes)


def test_a_keyboard_is_enough(driver, run):
    person = Person(driver)
    with Served(run.path) as served:
        person.open(served.address)
        with person.another_page():
            person.type("Loss", "0.25\n", person.all(".card")[0])
        assert "the next one is suggested" in person.message
        body = person.find("body")
        body.send_keys("\t")
        assert driver.switch_to.active_element.text == "Skip to the content"
        # From there on everything that can be done is reached, and shows that it is.
        reached = set()
        for _ in range(40):
            driver.switch_to.active_element.send_keys("\t")
            element = driver.switch_to.active_element
            reached.add(element.text or element.get_attribute("name"))
            assert element.value_of_css_property("outline-style") != "none" or (
                element.tag_name == "body"
            )
    assert {"value", "It failed", "Suggest", "Correct", "Take back the last entry"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_as_wide_as_the_screen_and_legible(driver, run, width, scheme, tmp_path):
    person = Person(driver)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    report = tmp_path / "report.html"
    try:
        opened = Served(run.path), Served(tmp_path / "new.skgpb"), Served(tmp_path)
        with opened[0] as served, opened[1] as new, opened[2] as folder:
            with urlopen(f"{served.address}report.html", timeout=60) as answer:
                report.write_bytes(answer.read())
            names = ("", "correct/1", "expect", "change", "add", "map")
            pages = [f"{served.address}{name}" for name in names]
            pages += [new.address, folder.address, report.as_uri()]
            for page in pages:
                person.open(page)
                assert driver.execute_script("return innerWidth") == width
                wide = driver.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width, page
                # As the guidelines for accessible pages ask for text of this size.
                assert driver.execute_script(WORST_CONTRAST) >= 4.5, page
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_no_number_is_broken_across_lines(driver, tmp_path):
    name = "concentration of the catalyst in the bath after 1e-3 s (mol/l)"
    sides = {name: "1.34e-9:1e-5:log", "oil": (0, 1)}
    path = tmp_path / "run 2026-01-31 with a name that is longer than a line.skgpb"
    run = Experiment.create(
        path, sides, unit="mol/l", title="Run of 2026-01-31", answer="what is left"
    )
    for answer in (1.5e-7, -2.25e-7, 3.5e-7):
        run.tell(
            answer, run.ask()[0]["query"], note="after 1.5e-03 s, weighed on 2026-01-31, twice"
        )
    run.tell(1.25e-7, run.repeat(1)["query"])
    table = tmp_path / "table.csv"
    table.write_text(f"{name},oil,what is left\n1.5e-6,0.5,1e-7\n1.234567e-12,0.5,1e-7\n")
    with pytest.warns(UserWarning, match="left out"):
        run.add_table(table, skip_outside=True)
    run.ask()
    person, seen = Person(driver), 0
    try:
        with Served(path) as served, Served(tmp_path) as folder:
            names = (
                "",
                "correct/1",
                "expect?side0=1e-6&side1=0.5",
                "expect?side0=1.5e-12&side1=1e-9",
            )
            names += ("change", "map")
            pages = [f"{served.address}{name}" for name in names] + [folder.address]
            # Wherever a line ends: on screens of many widths.
            for width in range(320, 400, 13):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                for page in pages:
                    person.open(page)
                    for each in person.all("details"):
                        driver.execute_script("arguments[0].open = true", each)
                    assert driver.execute_script(BROKEN_NUMBERS) == [], (page, width)
                    seen += person.find("body").text.count("e-")
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert seen > 100


# Rules beyond those that axe checks anyway, if it knows them.
MORE_RULES = ["target-size"]
RUN_AXE = """
const done = arguments[arguments.length - 1];
const known = new Set(axe.getRules().map(each => each.ruleId));
const rules = Object.fromEntries(arguments[0].map(id => [id, {enabled: true}])
  .filter(([id, _]) => known.has(id)));
axe.run(document, {resultTypes: ["violations"], rules}).then(
  found => done(found.violations.map(
    each => [each.id, ...each.nodes.map(node => node.target.join(" ") + node.failureSummary)])),
  error => done([[String(error)]]));
"""


def axe_source():
    """Return the newest axe there is: from npm in SKGPB_AXE, or from a package of Python."""
    if "SKGPB_AXE" in os.environ:
        return Path(os.environ["SKGPB_AXE"]).read_text(encoding="utf-8")
    package = pytest.importorskip("axe_core_python", reason="needs pip install axe-core-python")
    return (Path(package.__path__[0]) / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_barrier(driver_with_scripts, tmp_path, width, scheme):
    source, driver = axe_source(), driver_with_scripts
    sides = ["temperature of the oven (°C)=20:90", "salt=1e-4:0.1:log", "catalyst=A,B"]
    labels = {"answer": "loss", "limits": ["pH <= 8"], "block": "operator"}
    run = Experiment.create(tmp_path / "run.skgpb", sides, direction="minimize", **labels)
    for answer, operator in ((1.5, "Ada"), (2.5, "Ben"), (3.5, "Ada")):
        told = run.tell(answer, run.ask()[0]["query"], operator=operator, measured={"pH": 7.0})
    run.tell(1.25, run.repeat(told["query"])["query"], operator="Ben", measured={"pH": 7.5})
    run.correct(1, 1.0, by="Ada")
    run.ask(2)
    table = tmp_path / "table.csv"
    table.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 7}\n" for i in range(100)))
    searched, report = tmp_path / "searched.html", tmp_path / "report.html"
    search = ["search", str(table), "--features", "a", "b", "--target", "y"]
    assert main([*search, "--report", str(searched)]) == 0
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    feature = {"name": "prefers-color-scheme", "value": scheme}
    found = {}
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        opened = Served(run.path), Served(tmp_path / "new.skgpb"), Served(tmp_path)
        with opened[0] as served, opened[1] as new, opened[2] as folder:
            with urlopen(f"{served.address}report.html", timeout=60) as answer:
                report.write_bytes(answer.read())
            at = "expect?side0=50&side1=0.01&side2=A"
            names = ("", "correct/1", at, "expect?side0=low", "change", "add", "map?x=0&y=2", "no")
            pages = [f"{served.address}{name}" for name in names]
            for page in [*pages, new.address, folder.address, report.as_uri(), searched.as_uri()]:
                driver.get(page)
                driver.execute_script(
                    "document.querySelectorAll('details').forEach(each => each.open = true)"
                )
                driver.execute_script(source)
                if barriers := driver.execute_async_script(RUN_AXE, MORE_RULES):
                    found[page] = barriers
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found == {}


@pytest.mark.parametrize("width", [390, 1280])
def test_costs_are_the_same_through_every_door(driver, tmp_path, width):
    costs = ["20 + 0.5*time (min)", "100 if catalyst = Pd"]
    path, person = tmp_path / "run.skgpb", Person(driver)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        with Served(path) as served:
            person.open(served.address)
            first, second = person.all("fieldset")
            for label, text in (("Name, with its unit", "time (min)"), ("Smallest value", "10")):
                person.type(label, text, first)
            person.type("Largest value", "60", first)
            person.type("Name, with its unit", "catalyst", second)
            person.choose("Kind", "list of choices", second)
            person.type("Choices", "Pd, Ni", second)
            person.type("Costs of an experiment", "\n".join(costs))
            person.press("Start")
            person.press("Suggest")
            seen = person.find(".card").text
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
            person.press("Change ranges, choices, rules, limits or costs")
            assert person.labelled("Costs of an experiment").get_attribute("value") == "\n".join(
                costs
            )
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    sides = ["time (min)=10:60", "catalyst=Pd,Ni"]
    python = Experiment.create(tmp_path / "python.skgpb", sides, costs=costs)
    (entry,) = python.ask()
    assert f"It costs {entry['cost']:g}." in seen
    options = [each for text in costs for each in ("--cost", text)]
    shell = tmp_path / "shell.skgpb"
    with redirect_stdout(io.StringIO()):
        assert main(["new", str(shell), "--bounds", *sides, *options]) == 0
        assert main(["ask", str(shell)]) == 0
    assert [Experiment(each).history() for each in (path, shell)] == [python.history()] * 2
