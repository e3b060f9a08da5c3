"""Draw the rooms of the package, and which imports which, from the source as it is.

``python doc/architecture.py OUTPUT.svg``; the build of the documentation does it by itself.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

PACKAGE = Path(__file__).resolve().parents[1] / "skgpb"

# Floors from top to bottom: the rooms on each, what is in them, and left and right ends. The ten
# ideas of the page are in capitals.
FLOORS: list[dict[str, tuple[str, int, int]]] = [
    {"lab": ("commands, app, experiments in files, tables, SQL", 0, 520)},
    {
        "integrations": ("Optuna, pandas", 0, 120),
        "model_selection": ("hyperparameters", 135, 290),
        "plotting": ("displays", 305, 400),
        "problems": ("known optima", 415, 520),
    },
    {"optimizers": ("SEARCH, RUN and LOOP; the ROUND, and a RULE in each file", 0, 520)},
    {
        "domains": ("LAYOUT and SET", 0, 160),
        "surrogate": ("POSTERIOR, MODEL", 180, 340),
        "acquisition": ("scores for rules", 360, 520),
    },
    {"kernels": ("FEEDBACK: functionals of f", 0, 340)},
    {"_core": ("Cython: factor, trees, covariances, entropy", 0, 520)},
]
# What any floor may use: single modules, and data that nothing depends on.
CELLAR = [
    *("utils", "exceptions", "defaults", "feedback", "guarantee", "testing"),
    *("__main__", "_version"),
]
WIDTH, HEIGHT, STEP, MARGIN = 520, 52, 84, 12
# Height of a line of what is in a room, and width of a letter of it.
LINE, LETTER = 18, 6.9

STYLE = """
  text { font-family: system-ui, sans-serif; text-anchor: middle; fill: #1b2733; }
  .name { font-size: 16px; font-weight: 600; }
  .what { font-size: 13.5px; fill: #44535f; }
  rect { fill: #eef3f8; stroke: #5b7d9c; stroke-width: 1.2; }
  .cellar { fill: none; stroke-dasharray: 5 4; }
  path { stroke: #33506b; stroke-width: 1.6; fill: none; }
"""


def room_of(module: str) -> str:
    """Name of the room in which a module of the package lives."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("skgpb."))
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module == "skgpb":
                yield from (f"skgpb.{alias.name}" for alias in node.names)
            elif node.module.startswith("skgpb."):
                yield node.module


def arrows(package: Path = PACKAGE) -> set[tuple[str, str]]:
    """Return the pairs of different rooms in which the first imports the second."""
    found = set()
    for path in package.rglob("*.py"):
        inside = path.relative_to(package).parts[0].removesuffix(".py")
        if inside != "__init__":
            found |= {(inside, room_of(module)) for module in imports(path)}
    rooms = {path.stem for path in package.iterdir() if path.suffix in ("", ".py")}
    return {(a, b) for a, b in found if a != b and b in rooms}


def essential(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Leave out arrows that follow from others: the transitive reduction."""

    def reaches(a: str, b: str) -> bool:
        return any(x == a and (y == b or reaches(y, b)) for x, y in pairs)

    return {
        (a, b) for a, b in pairs if not any(x == a and y != b and reaches(y, b) for x, y in pairs)
    }


def draw(package: Path = PACKAGE) -> str:
    """Return the picture; ValueError for a room that is nowhere on it, or an import upwards."""
    place = {
        name: (floor, left, right)
        for floor, rooms in enumerate(FLOORS)
        for name, (_, left, right) in rooms.items()
    }
    pairs = {(a, b) for a, b in arrows(package) if not {a, b} & set(CELLAR)}
    unknown = sorted({room for pair in pairs for room in pair} - set(place))
    if unknown:
        raise ValueError(f"rooms that have no place in the picture: {unknown}")
    upwards = sorted((a, b) for a, b in pairs if place[a][0] > place[b][0] or (b, a) in pairs)
    if upwards:
        raise ValueError(f"imports upwards or in a circle: {upwards}")
    modules = ", ".join(name for name in CELLAR if not name.startswith("_"))
    total = len(FLOORS) * STEP + height_of(lines_of(modules, WIDTH))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} '
        f'{WIDTH + 2 * MARGIN} {total + 2 * MARGIN}" width="{WIDTH + 2 * MARGIN}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
        '<polygon points="0 0, 7 3, 0 6" fill="#33506b"/></marker></defs>',
    ]
    for floor, rooms in enumerate(FLOORS):
        for name, (what, left, right) in rooms.items():
            parts += box(name, what, left, right, floor * STEP, "room")
    parts += box("for every floor", modules, 0, WIDTH, len(FLOORS) * STEP, "cellar")
    for a, b in sorted(essential(pairs)):
        parts.append(f'<path d="{line(place[a], place[b])}" marker-end="url(#head)"/>')
    return "\n".join([*parts, "</svg>\n"])


def box(name: str, what: str, left: int, right: int, top: int, kind: str) -> list[str]:
    """A room with its name and what is in it."""
    x = 0.5 * (left + right)
    lines = lines_of(what, right - left)
    frame = f'x="{left}" y="{top}" width="{right - left}" height="{height_of(lines)}" rx="6"'
    return [
        f'<rect class="{kind}" {frame}/>',
        f'<text class="name" x="{x}" y="{top + 22}">{name}</text>',
        *(
            f'<text class="what" x="{x}" y="{top + 41 + LINE * i}">{line}</text>'
            for i, line in enumerate(lines)
        ),
    ]


def lines_of(what: str, width: int) -> list[str]:
    """The lines of a text in a room of this width."""
    return wrap(what, int(width / LETTER))


def height_of(lines: list[str]) -> int:
    """Height of a room with so many lines."""
    return HEIGHT + LINE * (len(lines) - 1)


def line(a: tuple[int, int, int], b: tuple[int, int, int]) -> str:
    """Path from one room down to another, straight where one is above the other."""
    (i, left, right), (j, low, high) = a, b
    if i == j:
        y = i * STEP + HEIGHT / 2
        return f"M {right} {y} H {low}" if right < low else f"M {left} {y} H {high}"
    start, end = max(left, low), min(right, high)
    x, z = (0.5 * (start + end),) * 2 if start < end else (0.5 * (left + right), 0.5 * (low + high))
    return f"M {x} {i * STEP + HEIGHT} L {z} {j * STEP}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
