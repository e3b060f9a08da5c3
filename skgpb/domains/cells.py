"""Cells of sizes that the user names, at any place in a box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from skgpb.domains.space import ParameterSpace, SeparateAxis
from skgpb.utils.typing import Sizes

__all__ = ["Cells"]

# Rounding: sizes that differ by less than this share of the box are the same.
SAME_SIZE = 1e-9
# Speed: a size is frequent if at least FEWEST boxes have it; there are at most MOST_SIZES of them.
FEWEST, MOST_SIZES = 8, 11


class Cells:
    """Cells of one size or of several sizes, anywhere in the box.

    Pass it as ``queries`` or ``targets`` of an optimizer such as :class:`~skgpb.KGOptimizer`.

    Parameters
    ----------
    sizes : float or dict, or a list of sizes
        Sides of a cell, in units of ``bounds``: one number for all dimensions, a tuple of d
        numbers, or a dict by the names of the sides. A list has several sizes. 0 stands for points.
        Along a side of separate values, integers or categories, the size is the number of
        consecutive values in the cell: one, unless a tuple or a dict gives another number. Along a
        logarithmic side it is the share of its length.

    Examples
    --------
    >>> from skgpb.domains import Cells
    >>> Cells([0.1, 0.4])  # squares, in two dimensions
    Cells([0.1, 0.4])
    >>> Cells((0.1, 0.4))  # one rectangle
    Cells((0.1, 0.4))
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("sizes",)

    sizes: Sizes

    def __init__(self, sizes: Sizes) -> None:
        if isinstance(sizes, list) and not sizes:
            raise ValueError("sizes must not be empty")
        self.sizes = sizes

    def sides(
        self, bounds: np.ndarray, space: ParameterSpace | None, name: str = "Cells"
    ) -> np.ndarray:
        """Return the sides (n_sizes, d) of the cells in a box, or raise ValueError.

        Parameters
        ----------
        bounds : ndarray of shape (d, 2)
            The box.
        space : ParameterSpace or None
            Names of the sides.
        name : str, default="Cells"
            Name of the parameter, for messages.
        """
        sizes = self.sizes if isinstance(self.sizes, list) else [self.sizes]
        return np.array([self._sides_of(size, bounds, space, name) for size in sizes])

    def _sides_of(
        self, size: Any, bounds: np.ndarray, space: ParameterSpace | None, name: str
    ) -> np.ndarray:
        d, names = len(bounds), [] if space is None else space.names
        values = np.zeros(d, dtype=np.intp) if space is None else space.n_values
        separate = values > 0
        given = size
        if isinstance(size, Mapping):
            if not names:
                raise ValueError(
                    f"sizes of {name} must be numbers if the sides of bounds have no names; got "
                    f"{size!r}"
                )
            needed = [name for name, n in zip(names, values, strict=True) if not n]
            if not set(needed) <= set(size) <= set(names):
                raise ValueError(
                    f"sizes of {name} must have a number for each of {needed or names}, got "
                    f"{size!r}"
                )
            size = [size.get(name, 1) for name in names]
        elif separate.any() and np.ndim(size) == 0 and size != 0:
            if separate.all():
                raise ValueError(
                    f"sizes of {name} must be a dict with the number of values of a cell for each "
                    f"side, with keys among {names}; got {size!r}"
                )
            size = np.where(separate, 1, size)
        sides = np.asarray(size)
        if sides.dtype.kind not in "fiu" or sides.shape not in ((), (d,)):
            raise ValueError(
                f"sizes of {name} must be numbers, or tuples of {d} numbers, one for each side of "
                f"the box; got {given!r}"
            )
        sides = np.broadcast_to(sides.astype(np.float64), (d,))
        extent = np.where(separate, values, bounds[:, 1] - bounds[:, 0])
        if not ((sides >= 0.0) & (sides <= extent))[~separate].all():
            raise ValueError(
                f"sizes of {name} must be at least 0 and no longer than the box, "
                f"{extent[~separate].tolist()}, got {given!r}"
            )
        if space is None or not separate.any():
            return sides
        whole = (sides == np.floor(sides)) & (sides >= 0.0) & (sides <= extent)
        if not whole[separate].all():
            raise ValueError(
                f"sizes of {name} on integer or categorical sides must be integers from 1 to the "
                f"number of values, {values[separate].tolist()}; got {given!r}"
            )
        for i in np.flatnonzero(separate & (sides > 1)):
            check_even(space, int(i), name)
        # A single setting is a point, in whatever form its size is given.
        is_point = (sides <= separate).all()
        return np.zeros(d) if is_point else np.where(separate, np.maximum(sides, 1.0), sides)

    def __repr__(self) -> str:
        return f"Cells({self.sizes!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


def are_among(sizes: np.ndarray, others: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return a mask (n,) of the sizes (n, d) of cells in a box that are among others (k, d)."""
    side = bounds[:, 1] - bounds[:, 0]
    away = np.abs(sizes[:, np.newaxis] - others) / np.where(side > 0.0, side, 1.0)
    return away.max(axis=2).min(axis=1) <= SAME_SIZE


def check_even(space: ParameterSpace, i: int, name: str) -> None:
    """Raise ValueError unless all values of a side have intervals of equal length."""
    side, axis = space.axes[i]
    assert isinstance(axis, SeparateAxis)
    first, last = axis.run(0.0, 1.0)
    middles = axis.middles_of(np.arange(first, last + 1))
    if not np.allclose(np.diff(middles), 1.0 / (last - first + 1), rtol=0.0, atol=SAME_SIZE):
        raise ValueError(
            f"sizes of {name} must be 1 for {side!r}, because its distribution gives its "
            "values different probabilities; pass a list of its values for larger cells"
        )


def runs_around(axis: SeparateAxis, u: np.ndarray, k: int) -> np.ndarray:
    """Return ends (n, 2) of runs of k values around coordinates (n,); its middle if k <= 1."""
    if k <= 1:
        return np.repeat(axis.snap(u)[:, np.newaxis], 2, axis=1)
    begins = first_values(axis, u, k)
    ends = [axis.ends_of_run(n, n + k - 1) for n in begins.tolist()]
    return np.array(ends).reshape(-1, 2)


def first_values(axis: SeparateAxis, u: np.ndarray, k: int) -> np.ndarray:
    """Return the indices (n,) of the first values of runs of k values around coordinates (n,).

    If k > 1, all values have intervals of equal length; of two runs as near the later is returned.
    """
    if k <= 1:
        return np.array([axis.run(x, x)[0] for x in u.tolist()], dtype=np.intp)
    first, last = axis.run(0.0, 1.0)
    begins = first + np.floor(u * (last + 1 - first) - 0.5 * (k - 1) + SAME_SIZE)
    return np.clip(begins, first, last + 1 - k).astype(np.intp)


def points_in_runs(sizes: np.ndarray, counts: tuple[int, ...], space: Any) -> tuple[int, ...]:
    """Return numbers of representatives along each side, equal for all values of a run.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes, d)
        Sizes of all cells.
    counts : tuple of d ints
        Representatives along continuous sides.
    space : ParameterSpace
        The box.
    """
    runs = np.lcm.reduce(np.maximum(sizes, 1.0).astype(np.intp), axis=0).tolist()
    values = space.n_values.tolist()
    return tuple(r if n else c for r, n, c in zip(runs, values, counts, strict=True))


def frequent_sizes(boxes: np.ndarray) -> np.ndarray:
    """Return the sizes (n_sizes, d) that many of the boxes have, and the size of a point."""
    lower, upper = np.split(boxes, 2, axis=1)
    # Equal sides of boxes at several places differ by rounding.
    sides = (upper - lower).round(12)
    sizes, first, counts = np.unique(sides, axis=0, return_index=True, return_counts=True)
    chosen = np.argsort(-counts, kind="stable")[:MOST_SIZES]
    chosen = chosen[(counts[chosen] >= FEWEST) & (sizes[chosen] > 0.0).any(axis=1)]
    return np.concatenate([np.zeros((1, sizes.shape[1])), (upper - lower)[first[chosen]]])
