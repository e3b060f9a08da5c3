"""The app in Chromium, without a screen: what people click and type, on two sizes of screen."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from urllib.request import urlopen

import numpy as np
import pytest
from numpy.testing import assert_allclose
from served import Served

from skgpb import GPUCBOptimizer
from skgpb.experiments import Experiment

pytestmark = pytest.mark.browser

HOW = (
    "pip install selenium, and apt-get install chromium chromium-driver (nox -s browser says more)"
)
SEED = 5
# The sides as the form of a new experiment has them: name, kind, smallest, largest, list.
SIDES = [
    ("temperature (°C)", "number", "20", "90", ""),
    ("salt (mol/l)", "number, log scale", "1e-4", "0.1", ""),
    ("catalyst", "list of choices", "", "", "A, B"),
]
N_ANSWERS = 30
# Of the answers: the one after which the app is started again, the one that is wrong at first and
# the one after which this is seen; the failure comes before one of them.
RESTART, WRONG, SEEN, FAILURE = 9, 12, 17, 14


def loss(temperature, salt, catalyst):
    """What is measured at the settings that the page shows."""
    salt_error = (np.log10(salt) + 2.5) ** 2
    return round(float((temperature - 60) ** 2 / 400 + salt_error + (catalyst == "A")), 4)


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
        from selenium.webdriver.support.expected_conditions import staleness_of
        from selenium.webdriver.support.wait import WebDriverWait

        page = self.find("html")
        yield
        WebDriverWait(self.driver, 120).until(staleness_of(page))
        WebDriverWait(self.driver, 120).until(lambda _: self.all("footer"))

    @property
    def message(self):
        return self.find(".message").text

    def settings(self, inside):
        """Values on a card, as shown."""
        return [each.text for each in inside.find_elements("css selector", "dd")]

    def begin(self, seed):
        """Fill in the form of a new experiment."""
        self.press("Add a setting")
        for box, (name, kind, low, high, values) in zip(self.all("fieldset"), SIDES, strict=True):
            self.type("Name, with its unit", name, box)
            self.choose("Kind", kind, box)
            self.type("Smallest value", low, box)
            self.type("Largest value", high, box)
            self.type("Choices, for a list", values, box)
        self.type("Its name", "loss")
        self.choose("Look for the", "smallest result")
        self.type("Number that fixes all random choices", str(seed))
        self.press("Start")


def typed_kinds(texts):
    temperature, salt, catalyst = texts
    return float(temperature), float(salt), catalyst


def play_in_the_browser(driver, path):
    """Play a campaign by clicks and forms; what was told, in its order, None for the failure."""
    person, told = Person(driver), []
    with Served(path) as served:
        person.open(served.address)
        person.begin(SEED)
        assert "has begun" in person.message
        person.press("Suggest")
        while len(told) < RESTART:
            answer_the_next(person, told)
    with Served(path) as served:
        person.open(served.address)
        while sum(answer is not None for _, answer in told) < N_ANSWERS:
            n = len(told)
            if n == FAILURE:
                card = person.find(".card")
                told.append((person.settings(card), None))
                person.press("It failed", card)
                assert "noted as failed" in person.message
                person.press("Suggest")
            elif n == WRONG:
                answer_the_next(person, told, factor=1000.0)
            else:
                answer_the_next(person, told)
            if n == SEEN:
                row = person.find(f"a[aria-label='Correct the result of experiment {WRONG + 1}']")
                with person.another_page():
                    row.click()
                texts, _ = told[WRONG]
                told[WRONG] = texts, loss(*typed_kinds(texts))
                person.type("Loss", str(told[WRONG][1]))
                person.press("Save the corrected result")
                assert "is corrected" in person.message
    assert served.process.returncode == 0
    return told


def answer_the_next(person, told, factor=1.0):
    card = person.find(".card")
    texts = person.settings(card)
    answer = factor * loss(*typed_kinds(texts))
    told.append((texts, answer))
    person.type("Loss", repr(answer), card)
    person.press("Save and suggest the next", card)
    assert "the next one is suggested" in person.message


def play_in_python(told):
    """Play the same campaign with the optimizer alone: it has to ask for the same."""
    from scipy.stats import loguniform

    sides = [(20.0, 90.0), loguniform(1e-4, 0.1), ["A", "B"]]
    bounds = dict(zip([name for name, *_ in SIDES], sides, strict=True))
    optimizer = GPUCBOptimizer(bounds=bounds, alpha=None, direction="minimize", random_state=SEED)
    for i, (texts, answer) in enumerate(told):
        query = optimizer.ask()
        shown = [v if isinstance(v, str) else f"{v:.6g}" for v in query.params.values()]
        assert shown == texts
        if i == WRONG:
            optimizer.tell(query, 1000.0 * answer)
        else:
            optimizer.tell(query, answer)
        if i == SEEN:
            optimizer.ask()  # the page suggested the next one before the correction
            optimizer = corrected(optimizer, told[WRONG][1])
    return optimizer


def corrected(optimizer, answer):
    """Return the run in which the answer that was wrong is right."""
    events = optimizer.events_
    at = [i for i, event in enumerate(events) if event[0] in ("tell", "fail")][WRONG]
    events[at] = ("tell", events[at][1], answer, None)
    kept = [e for i, e in enumerate(events) if i < at or e[0] not in ("learned", "unlearned")]
    return optimizer.repeated(kept)


def test_a_campaign_recommends_what_it_does_in_python(driver, tmp_path):
    path = tmp_path / "run.skgpb"
    told = play_in_the_browser(driver, path)
    python = play_in_python(told)
    best = Experiment(path).best()
    assert best["n_answers"] == N_ANSWERS == len(python.history_)
    assert best["params"] == python.recommend().params
    mean, std = python.predict_query([python.recommend()], return_std=True)
    assert_allclose([best["mean"], best["std"]], [*mean, *std], rtol=1e-7)
    with Served(path) as served:
        person = Person(driver)
        person.open(served.address)
        shown = typed_kinds(person.settings(person.find(".best")))
    assert_allclose(shown[:2], list(best["params"].values())[:2], rtol=1e-5)
    assert shown[2] == best["params"]["catalyst"] == "B"
    assert len(told) == N_ANSWERS + 1


@pytest.fixture
def run(tmp_path):
    """An experiment with two results and two queries to do, 3 and 4."""
    names = ["temperature of the oven (°C)=20:90", "salt=1e-4:0.1:log", "catalyst=A,B"]
    run = Experiment.create(tmp_path / "run.skgpb", names, answer="loss", goal="minimize")
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
        person.press("Save the corrected result")
        assert "write 1.5" in person.find(".error").text
    assert [entry["answer"] for entry in run.history()] == [1.5, 2.5, 0.25, 0.5]


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
        with Served(run.path) as served, Served(tmp_path / "new.skgpb") as new:
            with urlopen(f"{served.address}report.html", timeout=60) as answer:
                report.write_bytes(answer.read())
            pages = [served.address, f"{served.address}correct/1", new.address, report.as_uri()]
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
