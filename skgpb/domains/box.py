"""A box with named sides and constraints between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

__all__ = ["Box"]


class Box(Mapping[str, Any]):
    """A box with named sides and constraints between them.

    Pass it as ``bounds`` to an optimizer that observes f at points. It is a mapping from names to
    sides, like a dict.

    Parameters
    ----------
    sides : dict
        Names and sides, as in ``bounds={...}``.
    constraints : str or sequence of str, default=()
        Linear equations and inequalities between sides that are numbers, such as
        ``"A + B <= 100"``, ``"A + B + C = 1"`` or ``"10 <= 2*A - B <= 50"``; and one rule for parts
        of a mixture, ``"at most 3 of A, B, C, D"``, to which ``", each at least 0.1 if used"`` may
        be added.
    feasible : callable, default=None
        Takes a setting as a dict and returns whether it is feasible, for constraints that are not
        linear.
    earlier : dict, default=None
        Where earlier answers are, if that is not on the sides: for the name of a side that was
        wider, that side; for a side that is new, the value that all earlier answers had. Earlier
        answers count for the model. Suggestions and recommendations are on ``sides``.

    Raises
    ------
    ValueError
        If a constraint cannot be read. The optimizer checks at its start whether any setting
        satisfies all constraints.

    Notes
    -----
    The first design and the candidates, and therefore all suggestions and recommendations, satisfy
    all constraints, after rounding to settings that are possible. Answers given to ``tell`` need
    not: a measurement outside is information as well.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.domains import Box, Steps
    >>> parts = {name: Steps(0, 1, 0.05) for name in "ABC"}
    >>> box = Box(parts, ["A + B + C = 1", "A >= 2*B"])
    >>> setting = GPUCBOptimizer(bounds=box, random_state=0).ask().params
    >>> round(sum(setting.values()), 12), setting["A"] >= 2 * setting["B"]
    (1.0, True)

    Catalyst B is sold out, and from now on the stirring varies, which was 300 before:

    >>> opt = GPUCBOptimizer(bounds={"heat": (20, 90), "catalyst": ["A", "B"]}, random_state=0)
    >>> _ = opt.tell([{"heat": 30, "catalyst": "B"}, {"heat": 60, "catalyst": "A"}], [2.0, 5.0])
    >>> sides = {"heat": (20, 90), "catalyst": ["A"], "stirring": (100, 500)}
    >>> _ = opt.set_params(bounds=Box(sides, earlier={"stirring": 300}))
    >>> len(opt.history_), opt.ask().params["catalyst"]
    (2, 'A')
    """

    #: Names of the arguments in a file.
    arguments: ClassVar[tuple[str, ...]] = ("sides", "constraints", "feasible", "earlier")

    def __init__(
        self,
        sides: Mapping[str, Any],
        constraints: str | Sequence[str] = (),
        feasible: Callable[[dict[str, Any]], bool] | None = None,
        earlier: Mapping[str, Any] | None = None,
    ) -> None:
        self.sides: dict[str, Any] = dict(sides)
        given = [constraints] if isinstance(constraints, str) else list(constraints)
        for each in given:
            if not isinstance(each, str):
                raise TypeError(f"constraints must be texts such as 'A + B <= 100', got {each!r}")
        if feasible is not None and not callable(feasible):
            raise TypeError(f"feasible must be a function of a setting, or None; got {feasible!r}")
        unknown = [name for name in earlier or () if name not in self.sides]
        if unknown:
            raise ValueError(
                f"earlier must have names of the sides {list(self.sides)}, got {unknown[0]!r}"
            )
        self.constraints: list[str] = given
        self.feasible = feasible
        self.earlier: dict[str, Any] = dict(earlier or {})

    @property
    def is_constrained(self) -> bool:
        """True if constraints limit the settings, or earlier answers are at others."""
        return bool(self.constraints or self.earlier) or self.feasible is not None

    @property
    def of_now(self) -> Box:
        """The box without the earlier sides and values."""
        return Box(self.sides, self.constraints, self.feasible)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and all(
            getattr(self, name) == getattr(other, name) for name in self.arguments
        )

    def __getitem__(self, name: str) -> Any:
        return self.sides[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sides)

    def __len__(self) -> int:
        return len(self.sides)

    def __repr__(self) -> str:
        more = f", {self.constraints!r}" if self.constraints or self.feasible is not None else ""
        function = "" if self.feasible is None else f", {self.feasible!r}"
        earlier = f", earlier={self.earlier!r}" if self.earlier else ""
        return f"Box({self.sides!r}{more}{function}{earlier})"
