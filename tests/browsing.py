"""Somebody who clicks and types in the pages of the app, in a browser or without one."""

from __future__ import annotations

import html
import re
from contextlib import contextmanager


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


class Window:
    """A browser without pictures: opens pages and sends the forms that it finds on them."""

    def __init__(self, path, **headers):
        from skgpb.lab.app.pages import make_app

        self.client = make_app(path).test_client()
        self.headers = {"Host": "127.0.0.1:8650"} | headers

    def open(self, address="/"):
        """Text of a page, which is kept until another is opened."""
        response = self.client.get(address, headers=self.headers)
        self.status, self.text = response.status_code, response.get_data(as_text=True)
        return self.text

    def send(self, action, outcome="", **typed):
        """Press a button of the form on the page in the window; the page that follows."""
        body = re.search(rf'<form method="post" action="{action}".*?</form>', self.text, re.S)[0]
        hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', body)
        data = dict(hidden) | {"outcome": outcome} | typed
        origin = {"Origin": f"http://{self.headers['Host']}"}
        response = self.client.post(action, data=data, headers=origin | self.headers)
        self.status, self.text = response.status_code, response.get_data(as_text=True)
        if self.status == 303:
            return self.open(response.headers["Location"])
        return self.text


def typed_on(text):
    """What is typed in the fields of a page."""
    fields = re.findall(r'<input type="text" [^>]*?name="(\w+)" value="([^"]*)"', text)
    areas = re.findall(r'<textarea [^>]*?name="(\w+)"[^>]*>([^<]*)</textarea>', text)
    return {name: html.unescape(value) for name, value in fields + areas}
