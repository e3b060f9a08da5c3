"""Parameters of a class in its docstring and on its page, from where they are declared.

    python doc/parameters.py [--check]

Editors read the literal docstring of a class, so it has to hold a line on each parameter that a
first user sets (``FIRST``), also of those that a base class declares. This script writes these
lines: the first sentence of the declaring class. ``conf.py`` puts the full descriptions of all
parameters on the page of the class. ``--check`` changes nothing and returns 1 if a docstring
differs.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

FIRST = {"bounds", "arms", "queries", "kernel", "alpha", "direction", "cost", "limits"}
FIRST |= {"random_state"}
HEADING = re.compile(r"^Parameters\n-{10}\n", re.M)
# Sections that follow the parameters; these are the ones in use.
NEXT = re.compile(r"^(?:Attributes|Raises|See Also|Notes|References|Examples)\n-+\n", re.M)
SENTENCE = re.compile(r"(.+?\.)(?= [A-Z\"`]|$)")
OTHERS = re.compile(
    r"Other\sparameters are inherited\sfrom\s[^`]*`~[^`]*`(?:\sand\s[^`]*`~[^`]*`)?\.\s?"
)
WIDTH = 100
ROOT = Path(__file__).resolve().parents[1]


class Described(NamedTuple):
    """A parameter: its name, the line with its type and default, and its description."""

    name: str
    head: str
    text: list[str]

    @property
    def summary(self) -> Described:
        """The same with its first sentence only."""
        first = SENTENCE.match(" ".join(line.strip() for line in self.text))[1]
        return self._replace(text=[4 * " " + line for line in textwrap.wrap(first, WIDTH - 8)])


def split(doc: str) -> tuple[str, str, str]:
    """Divide a docstring into the text before the parameters, their section, and the rest."""
    heading = HEADING.search(doc)
    if heading is None:
        following = NEXT.search(doc)
        place = following.start() if following else len(doc)
        before, rest = doc[:place].rstrip("\n"), doc[place:]
        return before, "", rest
    section, _, rest = doc[heading.end() :].partition("\n\n")
    return doc[: heading.start()].rstrip("\n"), section, rest


def entries(doc: str) -> list[Described]:
    """Return the parameters that a docstring describes."""
    found: list[Described] = []
    for line in split(doc)[1].splitlines():
        if line[:1].strip():
            found.append(Described(line.partition(" : ")[0], line, []))
        else:
            found[-1].text.append(line)
    return found


def joined(before: str, parameters: list[Described], rest: str) -> str:
    """Return the docstring with these parameters."""
    lines = [line for each in parameters for line in (each.head, *each.text)]
    section = "\n".join(["Parameters", "----------", *lines])
    return "\n\n".join(part for part in (before, section, rest) if part.strip())


def docstring(cls: type) -> str:
    """Return the text of the class itself, without that of its base classes."""
    return inspect.cleandoc(vars(cls).get("__doc__") or "")


def is_declared(cls: type, name: str) -> bool:
    """Return whether the class itself declares a parameter, not a base class."""
    return name in vars(cls).get("__annotations__", {}) or (
        "__init__" in vars(cls)
        and "__dataclass_fields__" not in vars(cls)
        and name in inspect.signature(vars(cls)["__init__"]).parameters
    )


def described(cls: type) -> list[Described]:
    """Return all parameters of a class, as the nearest declaring class describes them."""
    found = []
    for name in inspect.signature(cls).parameters:
        for home in cls.__mro__:
            own = [each for each in entries(docstring(home)) if name in each.name.split(", ")]
            if own and is_declared(home, name):
                found += [each for each in own if each not in found]
                break
    return found


def inherited(cls: type) -> list[Described]:
    """Return the parameters that base classes describe."""
    return [each for each in described(cls) if not is_declared(cls, each.name.split(",")[0])]


def with_first(cls: type) -> str:
    """Return the docstring with a line on each parameter of ``FIRST`` that is inherited."""
    before, _, rest = split(docstring(cls))
    others = inherited(cls)
    shown = [
        each.summary if each in others else each
        for each in described(cls)
        if each not in others or each.name in FIRST
    ]
    return joined(before, shown, rest)


def on_page(cls: type) -> str:
    """Return the docstring with all parameters in full, without a reference to base classes."""
    before, _, rest = split(docstring(cls))
    return joined(OTHERS.sub("", before).rstrip(), described(cls), rest)


def classes() -> list[type]:
    """Return the public classes with parameters that are described."""
    sys.path.insert(0, str(ROOT))  # never those of another installation
    import skgpb
    from skgpb import optimizers

    names = [getattr(module, name) for module in (optimizers, skgpb) for name in module.__all__]
    found = dict.fromkeys(filter(inspect.isclass, names))
    return [cls for cls in found if described(cls)]


def rewrite(path: Path, changed: list[type]) -> str:
    """Return the source of a module with new docstrings of classes."""
    source = path.read_text(encoding="utf-8")
    nodes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    lines = source.splitlines(keepends=True)
    for cls in sorted(changed, key=lambda cls: -nodes[cls.__name__].lineno):
        place = nodes[cls.__name__].body[0]
        quotes = re.match(r'\s*r?"""', lines[place.lineno - 1])[0]
        text = with_first(cls)
        if not quotes.strip().startswith("r"):
            text = text.replace("\\", "\\\\")
        body = textwrap.indent(text, "    ").strip()
        lines[place.lineno - 1 : place.end_lineno] = [f'{quotes}{body}\n    """\n']
    return "".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Write the docstrings, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    homes: dict[Path, list[type]] = {}
    for cls in classes():
        if with_first(cls) != docstring(cls):
            homes.setdefault(Path(inspect.getfile(cls)), []).append(cls)
    for path, changed in homes.items():
        print(f"{path}: {', '.join(cls.__name__ for cls in changed)}")
        if not options.check:
            path.write_text(rewrite(path, changed), encoding="utf-8")
    return int(options.check and bool(homes))


if __name__ == "__main__":
    sys.exit(main())
