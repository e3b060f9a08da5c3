"""Somebody who clicks and types in the pages of the app."""

from __future__ import annotations

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
