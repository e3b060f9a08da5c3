"""The routes of ``search``, and the options that work in each of them."""

from __future__ import annotations

import argparse
from enum import Enum
from typing import Any

from skgpb.lab.cli.arguments import UsageError


class Route(Enum):
    """Way of a search, by the option that chooses it; the last one of those given counts."""

    EXACT = ""
    ASKED = "--budget"
    PRIVATE = "--epsilon"
    DATABASE = "--sql"


_EACH = frozenset(Route)
_FILE = _EACH - {Route.DATABASE}
# Each option of ``search``, and the routes in which it works.
OPTIONS = {
    option: routes
    for options, routes in (
        ("--features --target --minimize --min-rows --where --seed --output --report", _EACH),
        ("--separator --decimal --encoding --dates --sheet --skip-lines --header", _FILE),
        ("--unreadable --drop-missing --one-hot --plot", _FILE),
        ("--save-rows", _FILE - {Route.PRIVATE}),
        ("--group", {Route.EXACT}),
        ("--budget --groups --stop-within --confidence", {Route.ASKED, Route.PRIVATE}),
        ("--noise --alpha", {Route.ASKED}),
        ("--epsilon --delta --target-range --ledger", {Route.PRIVATE}),
        ("--sql --table --sample --max-scans", {Route.DATABASE}),
    )
    for option in options.split()
}
# Reasons why --epsilon refuses options of other searches.
NOT_PRIVATE = {
    "--noise": "the noise follows from --epsilon",
    "--alpha": "the noise follows from --epsilon",
    "--save-rows": "it writes the values of the target, which --epsilon protects; --output has the "
    "numbers of the rows",
}


def searches_with(option: str) -> str:
    """Describe the searches in which an option works, such as "--budget or --epsilon"."""
    routes = OPTIONS[option]
    if Route.EXACT not in routes:
        return " or ".join(each.value for each in Route if each in routes)
    return f"searches without {' or '.join(each.value for each in Route if each not in routes)}"


def _refusal(option: str, route: Route) -> UsageError:
    """Return the error of an option that does not work in a route."""
    works = "" if option in {each.value for each in Route} else f"it is for {searches_with(option)}"
    if route is Route.EXACT:
        return UsageError(f"{option} is for {searches_with(option)}")
    reason = NOT_PRIVATE.get(option) if route is Route.PRIVATE else None
    why = "; ".join(filter(None, [reason, works]))
    return UsageError(f"{option} cannot be combined with {route.value}{why and ': '}{why}")


class RoutedParser:
    """A parser, or a group of its options, that says in the help where each option works.

    Parameters
    ----------
    parser : ArgumentParser or argument group
    defaults : dict, default=None
        Defaults of the options by the names of the arguments, to which options are added. The
        namespace of the parser has only the options that the user gives.
    """

    def __init__(self, parser: Any, defaults: dict[str, Any] | None = None) -> None:
        self._parser = parser
        self.defaults: dict[str, Any] = {} if defaults is None else defaults

    def add_argument_group(self, title: str, description: str) -> RoutedParser:
        """Add a group of options."""
        return RoutedParser(self._parser.add_argument_group(title, description), self.defaults)

    def add_argument(
        self, option: str, *other_names: str, help: str, default: Any = None, **settings: Any
    ) -> None:
        """Add an option of the table, with the arguments of ``ArgumentParser.add_argument``."""
        if OPTIONS[option] != _EACH:
            help = f"{help} (for {searches_with(option)})"
        self._parser.add_argument(
            option, *other_names, help=help, default=argparse.SUPPRESS, **settings
        )
        if settings.get("action") == "store_true":
            default = False
        self.defaults[option[2:].replace("-", "_")] = default

    def choose_route(self, arguments: argparse.Namespace) -> None:
        """Set the route, and the defaults; refuse options that do not work in the route."""
        given = {f"--{name.replace('_', '-')}" for name in vars(arguments)}
        route = [Route.EXACT, *(each for each in Route if each.value in given)][-1]
        for option, routes in OPTIONS.items():
            if option in given and route not in routes:
                raise _refusal(option, route)
        for name, value in self.defaults.items():
            vars(arguments).setdefault(name, value)
        arguments.route = route
