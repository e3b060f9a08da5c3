"""The app in Chromium, without a screen: what people click and type, on two sizes of screen."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout
from urllib.request import urlopen

import numpy as np
import pytest
from served import Served

from skgpb.cli.commands import main
from skgpb.experiments import Experiment

pytestmark = pytest.mark.browser

HOW = (
    "pip install selenium, and apt-get install chromium chromium-driver (nox -s browser says more)"
)
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


@pytest.fixture(scope="module")
def driver():
    """Chromium, with JavaScript switched off for the pages."""
    pytest.importorskip("flask")
    selenium = pytest.importorskip("selenium.webdriver", reason=f"needs selenium: {HOW}")
    from selenium.webdriver.chrome.service import Service

    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    program = shutil.which("chromedriver")
    if browser is None or program is None:
        pytest.skip(f"needs Chromium and its driver: {HOW}")
    options = selenium.ChromeOptions()
    options.binary_location = browser
    switches = ["headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"]
    switches += ["disable-background-networking", "no-first-run"]
    for switch in switches:
        options.add_argument(f"--{switch}")
    off = {"profile.managed_default_content_settings.javascript": 2}
    options.add_experimental_option("prefs", off)
    driver = selenium.Chrome(options=options, service=Service(program))
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()


class Person:
    """Somebody in front of a window."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        self.driver.get(address)

    def find(self, what, inside=None):
        return (inside or self.driver).find_element("css selector", what)

    def all(self, what):
        return self.driver.find_elements("css selector", what)

    def labelled(self, label, inside=None):
        """The field with a label, the first of them."""
        inside = inside or self.driver
        text = inside.find_element("xpath", f".//label[normalize-space()='{label}']")
        return self.driver.find_element("id", text.get_attribute("for"))

    def type(self, label, text, inside=None):
        field = self.labelled(label, inside)
        field.clear()
        field.send_keys(text)
        return field

    def choose(self, label, text, inside=None):
        field = self.labelled(label, inside)
        field.find_element("xpath", f".//option[normalize-space()='{text}']").click()

    def press(self, text, inside=None):
        path = f".//button[normalize-space()='{text}'] | .//a[normalize-space()='{text}']"
        with self.another_page():
            (inside or self.driver).find_element("xpath", path).click()

    @contextmanager
    def another_page(self):
        """Wait until what is done in the block has led to another page."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.wait import WebDriverWait

        def gone(_):
            # Chromium says that a page is left in several ways, not only by StaleElement...
            try:
                page.is_enabled()
            except WebDriverException:
                return True
            return False

        page = self.find("html")
        yield
        WebDriverWait(self.driver, 120).until(gone)
        WebDriverWait(self.driver, 120).until(lambda _: self.all("footer"))

    @property
    def message(self):
        return self.find(".message").text

    def settings(self, inside):
        """Values on a card, as shown."""
        return [each.text for each in inside.find_elements("css selector", "dd")]


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


def test_what_is_printed_is_whole(driver, run):
    """On paper nothing can be scrolled: the notebook has all columns, and a page a picture."""
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
            assert heights and max(heights) <= 20 / 2.54 * 96 + 1
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
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
