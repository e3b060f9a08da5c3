"""Take the pictures of the app that the user guide shows, of a run that is played for them.

    python doc/app_screenshot.py

writes ``user_guide/app-light.png`` and ``app-dark.png``. It needs Flask, selenium, Chromium and its
driver, and Pillow, and so is no part of the build.
"""

from __future__ import annotations

import base64
import io
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from skgpb.lab.experiments import Experiment

FOLDER = Path(__file__).resolve().parent / "user_guide"
WIDTH = 900
SIDES = ["temperature (°C)=20:90", "salt (mol/l)=1e-4:0.1:log", "catalyst=A,B"]
# Colours that are kept: two pages of text and lines have few.
COLOURS = 128


def growth(temperature: float, salt: float, catalyst: str) -> float:
    """Return the result of the simulated experiment, in per cent."""
    away = 6.0 * (math.log10(salt) + 2.5) ** 2 + 0.02 * (temperature - 63.0) ** 2
    return round(60.0 - away + 4.0 * (catalyst == "B"), 1)


def play(path: Path) -> None:
    """Answer twelve queries, let one fail, and leave one to do."""
    run = Experiment.create(path, SIDES, title="Third batch", answer="yield", unit="%")
    for i in range(13):
        entry = run.ask()[0]
        if i == 4:
            run.fail(entry["query"])
        else:
            run.tell(growth(*entry["params"].values()), entry["query"])
    run.ask()


def main() -> None:
    """Play a run, serve it, and take its picture on a light and on a dark screen."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{switch}")
    with tempfile.TemporaryDirectory() as folder:
        play(Path(folder, "run.skgpb"))
        command = [sys.executable, "-u", "-m", "skgpb", "app", "run.skgpb", "--port", "0"]
        pipe = {"stdout": subprocess.PIPE, "text": True}
        server = subprocess.Popen([*command, "--no-browser"], cwd=folder, **pipe)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            address = server.stdout.readline().split(" is shown at ")[1].split()[0]
            for scheme in ("light", "dark"):
                picture(driver, address, scheme).save(FOLDER / f"app-{scheme}.png", optimize=True)
        finally:
            driver.quit()
            server.terminate()


def picture(driver: webdriver.Chrome, address: str, scheme: str) -> Image.Image:
    """Return the page down to the end of its pictures."""
    size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    driver.get(address)
    end = "return document.querySelector('[aria-labelledby=pictures]').getBoundingClientRect()"
    height = driver.execute_script(f"{end}.bottom") + 12
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
    )
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    return image.quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
