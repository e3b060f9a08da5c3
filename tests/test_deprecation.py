"""Old names work and warn, for two minor releases and no longer."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import warnings

import pytest
from sklearn.base import BaseEstimator, clone

import skgpb
from skgpb import _deprecation
from skgpb._deprecation import DEPRECATED, deprecated, release_after, renamed_parameter


@pytest.fixture(autouse=True)
def _apart(monkeypatch):
    """What is deprecated here is not deprecated in the package."""
    monkeypatch.setattr(_deprecation, "DEPRECATED", {})


class Thing(BaseEstimator):
    """A thing."""

    def __init__(self, size=1, *, color="red"):
        self.size = size
        self.color = color


def test_a_deprecated_function_works_and_warns_where_it_is_called():
    @deprecated("use total", since="0.3")
    def add_up(values):
        """Return the sum."""
        return sum(values)

    message = "^add_up is deprecated since 0.3 and will be gone in 0.5: use total$"
    with pytest.warns(FutureWarning, match=message) as caught:
        assert add_up([1, 2]) == 3
    assert caught[0].filename == __file__
    assert add_up.__name__ == "add_up" and list(inspect.signature(add_up).parameters) == ["values"]
    assert add_up.__doc__.startswith("Return the sum.")
    assert ".. deprecated:: 0.3\n    Use total." in add_up.__doc__


def test_a_deprecated_class_stays_a_class():
    class Old(Thing):
        """An old thing."""

    marked = deprecated("use Thing", since="1.9")(Old)
    assert marked is Old and ".. deprecated:: 1.9" in Old.__doc__
    with pytest.warns(FutureWarning, match="Old is deprecated since 1.9 and will be gone in 1.11"):
        old = Old(3)
    assert isinstance(old, Thing) and old.get_params() == {"color": "red", "size": 3}
    with pytest.warns(FutureWarning):
        assert clone(old).size == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Thing(2)  # what it inherits from is not


def test_a_renamed_parameter_is_taken_under_both_names():
    class New(Thing):
        @renamed_parameter("colour", "color", since="0.3")
        def __init__(self, size=1, *, color="red"):
            super().__init__(size, color=color)

    with pytest.warns(FutureWarning, match="colour of New is called color since 0.3") as caught:
        thing = New(2, colour="blue")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert thing.get_params() == New(2, color="blue").get_params() == clone(thing).get_params()
    with pytest.raises(TypeError, match="New got both color and colour"):
        New(color="blue", colour="red")
    with pytest.raises(TypeError, match="hue"):
        New(hue="blue")


def test_what_is_deprecated_is_pickled():
    with pytest.warns(FutureWarning):
        assert pickle.loads(pickle.dumps(total))([1, 2]) == 3


def test_two_minor_releases_are_counted():
    assert [release_after(since) for since in ("0.1", "0.9.1", "1.0")] == ["0.3", "0.11", "1.2"]


def test_nothing_deprecated_outlives_its_time():
    for module in pkgutil.walk_packages(skgpb.__path__, "skgpb."):
        if "integrations" not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)
    now = [int(part) for part in skgpb.__version__.split(".")[:2]]
    for name, gone in DEPRECATED.items():
        assert not name.startswith("skgpb") or now < [int(part) for part in gone.split(".")], name


@deprecated("use sum", since="0.3")
def total(values):
    """Return the sum."""
    return sum(values)
