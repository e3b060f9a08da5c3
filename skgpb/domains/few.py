"""Settings in which at most some of the sides are not zero: mixtures of few of many parts.

For each choice of parts the others are held at zero, and the settings are those of a box with
constraints (:mod:`skgpb.domains.available`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, combinations, islice, zip_longest
from math import comb
from typing import Any

import numpy as np

from skgpb.domains.available import AvailableSet
from skgpb.domains.box import Box
from skgpb.domains.constraints import FeasibleSet, spread_design
from skgpb.utils.validation import SAME

# The notation of a rule.
RULE = re.compile(
    r"at most (?P<most>\d+) of (?P<names>.+?)"
    r"(?:, each at least (?P<least>[\d.eE+-]+) if used)?\s*$",
    re.IGNORECASE,
)
FORM = "'at most 3 of A, B, C, D' or 'at most 3 of A, B, C, D, each at least 0.1 if used'"
# Limit: largest number of choices of parts.
MOST_CHOICES = 20_000
# Speed: choices of parts that a sample has; other choices that are tried around a setting.
MOST_SAMPLED, N_EXCHANGED = 200, 2
# Speed: share of the points around a setting that have the same parts.
SHARE_OF_SAME = 0.5


def is_rule(text: str) -> bool:
    """Return whether a constraint is a rule on the number of parts."""
    return re.match(r"\s*at most\b", text, re.IGNORECASE) is not None


class FewOfSet:
    """Settings of a box in which at most some of the sides are not zero.

    It has the methods of :class:`~skgpb.domains.constraints.FeasibleSet` that searches call.

    Parameters
    ----------
    space : ParameterSpace
        The box.
    rule : str
        The rule, such as "at most 3 of A, B, C, D, each at least 0.1 if used".
    box : Box
        The sides, and all other constraints.

    Raises
    ------
    ValueError
        If the rule cannot be read, or leaves no setting.
    """

    def __init__(self, space: Any, rule: str, box: Box) -> None:
        self.space: Any = space  # its module imports this one
        self._rule, self._box = rule, box
        found = RULE.match(rule.strip())
        if found is None:
            raise ValueError(f"constraint {rule!r} must be like {FORM}")
        names, axes = [name.strip() for name in found["names"].split(",")], dict(space.axes)
        self._least = float(found["least"] or 0.0)
        #: The parts, indices of axes, with their sides where they are used.
        self._parts: dict[int, Any] = {}
        for name in names:
            if name not in axes or not axes[name].ordered or axes[name].limits[0] != 0.0:
                raise ValueError(
                    f"constraint {rule!r}: {name!r} must be a side whose smallest value is 0; the "
                    f"sides are {space.names}"
                )
            used = _at_least(box[name], axes[name], self._least)
            if used is None:
                raise ValueError(
                    f"constraint {rule!r}: {name!r} must be a pair (0, high), or have steps, got "
                    f"{box[name]!r}"
                )
            self._parts[space.names.index(name)] = used
        most = min(int(found["most"]), len(names))
        self._sizes = range(0 if self._least else most, most + 1)
        if sum(comb(len(names), size) for size in self._sizes) > MOST_CHOICES:
            raise ValueError(f"constraint {rule!r} has more than {MOST_CHOICES} choices of parts")
        #: For each choice of parts its settings; None if there are none.
        self._members: dict[tuple[int, ...], AvailableSet | None] = {}
        self._linear = FeasibleSet(space, box.constraints, None, space.constants)
        if not any(map(self._member, chain(*self._choices))):
            raise ValueError(f"the constraints leave no setting: {rule!r} and the others")

    @cached_property
    def _choices(self) -> list[list[tuple[int, ...]]]:
        """All choices of parts, indices of axes, by their number."""
        return [list(combinations(self._parts, size)) for size in self._sizes]

    def _member(self, parts: tuple[int, ...]) -> AvailableSet | None:
        """Return the settings with these parts; None if there are none."""
        if parts not in self._members:
            sides = dict(self._box)
            for i, used in self._parts.items():
                sides[self.space.names[i]] = used if i in parts else [0.0]
            try:
                now = type(self.space).from_bounds(
                    Box(sides, self._box.constraints, self._box.feasible)
                )
                self._members[parts] = self.space.restricted_to(now).feasible
            except ValueError:  # the constraints leave no setting
                self._members[parts] = None
        return self._members[parts]

    def _numbers(self, points: np.ndarray) -> np.ndarray:
        """Return the numbers (n, n_parts) of the parts at points (n, d)."""
        return np.column_stack([self.space.axes[i][1].numbers(points[:, i]) for i in self._parts])

    def _parts_of(self, points: np.ndarray) -> list[tuple[int, ...]]:
        """Return the parts of each point that are not zero, filled up with zeros if necessary."""
        parts, out = np.array([*self._parts]), []
        for is_used in np.abs(self._numbers(points)) > SAME:
            rest = parts[~is_used][: max(0, self._sizes[0] - is_used.sum())]
            out.append(tuple(sorted([*parts[is_used].tolist(), *rest.tolist()])))
        return out

    def _by_parts(self, points: np.ndarray) -> Iterable[tuple[np.ndarray, AvailableSet]]:
        """Yield the indices of the points of each possible choice of parts, and its settings."""
        every = self._parts_of(points)
        for parts in dict.fromkeys(every):
            member = self._member(parts) if len(parts) <= self._sizes[-1] else None
            if member is not None:
                yield np.flatnonzero([each == parts for each in every]), member

    # -- as a feasible set ------------------------------------------------------------------

    def is_feasible(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the points (n, d) that satisfy all constraints."""
        out = np.zeros(len(points), dtype=bool)
        for which, member in self._by_parts(points):
            out[which] = member.is_feasible(points[which])
        return out

    def is_outside(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the points (n, d) that are not on the sides of now: none."""
        return np.zeros(len(points), dtype=bool)

    def violations(self, point: np.ndarray) -> list[str]:
        """Return the constraints that a point (d,) violates."""
        (numbers,) = self._numbers(point[np.newaxis])
        used = numbers[np.abs(numbers) > SAME]
        few = len(used) <= self._sizes[-1] and bool((used >= self._least - SAME).all())
        return [*self._linear.violations(point), *([] if few else [self._rule])]

    @property
    def every_point(self) -> np.ndarray | None:
        """None: the settings are not listed."""
        return None

    @property
    def vertices(self) -> np.ndarray:
        """Vertices of the constraints: none, because they may be many."""
        return np.empty((0, self.space.n_axes))

    def sample(self, n: int, shift: np.ndarray) -> np.ndarray:
        """Return points (n, d) that fill the set evenly, moved by ``shift`` (d,)."""
        rng = np.random.default_rng(np.floor(shift * 2**32).astype(np.int64))
        # As many choices of each number of parts as there are.
        mixed = zip_longest(
            *([some[i] for i in rng.permutation(len(some))] for some in self._choices)
        )
        possible = (self._member(parts) for parts in chain(*mixed) if parts is not None)
        members = list(islice((each for each in possible if each), min(n, MOST_SAMPLED)))
        each = -(-n // len(members))
        points = np.concatenate([m.sample(each, rng.random(len(shift))) for m in members])
        return points[rng.permutation(len(points))[:n]]

    def design(self, n: int, seed: int, more: int) -> np.ndarray:
        """Return a first design of n points and ``more`` as replacements."""
        return spread_design(self.space, self.sample, n, seed, more)

    def usable(self, points: np.ndarray) -> np.ndarray:
        """Return the points (n, d) that are feasible after rounding to possible settings."""
        found = [member.usable(points[which]) for which, member in self._by_parts(points)]
        return np.concatenate([*found, np.empty((0, self.space.n_axes))])

    def around(self, centers: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n points near centers (k, d): of the same parts, or with one part exchanged."""
        out, n_same = list[np.ndarray](), int(SHARE_OF_SAME * n)
        groups = list(self._by_parts(centers))
        for which, member in groups:
            out.append(member.around(centers[which], -(-n_same // len(groups)), rng))
        others = [
            self._exchanged(center, parts, -(-(n - n_same) // (len(centers) * N_EXCHANGED)), rng)
            for center, parts in zip(centers, self._parts_of(centers), strict=True)
            for _ in range(N_EXCHANGED)
        ]
        points = np.concatenate([*out, *others])
        return points[np.resize(rng.permutation(len(points)), n)]

    def _exchanged(
        self, center: np.ndarray, parts: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return about n points whose parts differ from those of a point (d,) in one."""
        unused = [i for i in self._parts if i not in parts]
        without = [tuple(i for i in parts if i != j) for j in parts]
        ways = [
            without,
            [tuple(sorted([*each, j])) for each in without for j in unused],
            [tuple(sorted([*parts, j])) for j in unused],
        ]
        mixed = chain(
            *([ways[k][i] for i in rng.permutation(len(ways[k]))] for k in rng.permutation(3))
        )
        for each in mixed:
            member = self._member(each) if len(each) in self._sizes else None
            if member is not None:
                found = member.sample(4 * n, rng.random(len(center)))
                near = ((found - center) ** 2).sum(axis=1)
                return found[np.argsort(near, kind="stable")[:n]]
        return center[np.newaxis]

    def satisfy_equations(
        self, points: np.ndarray, kept: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, d) moved onto the equations, and a mask of the feasible ones."""
        moved, possible = self._linear.satisfy_equations(points, kept)
        return moved, possible & [not self.violations(point) for point in moved]


def _at_least(side: Any, axis: Any, least: float) -> Any:
    """Return the numbers of a side from ``least`` on; None if it is neither a pair nor a list."""
    if not least:
        return side
    if isinstance(side, tuple):
        return (max(least, side[0]), side[1])
    if not hasattr(axis, "middles"):
        return None
    values = axis.numbers(axis.middles())
    return values[values >= least - SAME].tolist()
