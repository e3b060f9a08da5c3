"""Addresses of the classes' pages, for the "?" in scikit-learn's HTML display."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata
from itertools import accumulate
from typing import Any, Self

from skgpb.utils.names import check_parameter_names


@lru_cache
def documentation_address() -> str:
    """Return the address of the documentation in the package's metadata, without a final slash.

    It is empty if the package is not installed.
    """
    try:
        urls = metadata("skgpb").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")


def public_name(cls: type) -> str:
    """Return the name of the page of a class, by its first public module; empty if not public.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> from skgpb.utils.documentation import public_name
    >>> public_name(GPOOOptimizer)
    'skgpb.GPOOOptimizer'
    """
    for home in accumulate(cls.__module__.split("."), "{}.{}".format):
        if cls.__name__ in getattr(import_module(home), "__all__", ()):
            return f"{home}.{cls.__name__}"
    return ""


class DocumentedMixin:
    """Link to the documentation of an estimator, and checks of its parameter names.

    The HTML display has a link to the page of a class, but not for subclasses in other packages.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Raise an error with the likely parameter if a name is wrong."""
        if kwargs:
            estimator: Any = cls
            check_parameter_names(cls, kwargs, estimator._get_param_names())
        return super().__new__(cls)

    _doc_link_module = "skgpb"
    _doc_link_template = "{address}"

    def _doc_link_url_param_generator(self) -> dict[str, Any]:
        address, name = documentation_address(), public_name(type(self))
        page = f"{address}/api/generated/{name}.html"
        return {"address": page if address and name else ""}
