"""Multi-fidelity queries: a function and cheaper approximations of it, at points or over cells."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np

from skgpb.domains.cells import Cells
from skgpb.domains.space import ParameterSpace
from skgpb.utils.typing import Sizes

__all__ = ["Fidelities"]


class Fidelities(Cells):
    """Multi-fidelity queries: points or cells, at a high fidelity and at lower ones.

    Pass it as ``queries`` of an optimizer such as :class:`~skgpb.KGOptimizer`. Examples are an
    experiment and its simulation, or a long and a short training run. Fidelity 0 is the highest,
    the function that is maximised. The search learns how well each lower fidelity predicts it
    (:class:`~skgpb.kernels.Tasks`). See :doc:`/user_guide/multi_fidelity`.

    Parameters
    ----------
    n : int, default=2
        Number of fidelities, 0, 1, ...; ``query.task`` is the fidelity of a query.
    sizes : float or dict, or a list of sizes, default=0.0
        Sides of the cells at every fidelity, as for :class:`Cells`; 0 for points.

    Examples
    --------
    >>> from skgpb import KGOptimizer
    >>> from skgpb.domains import Fidelities
    >>> def answer(query):  # the simulation has half the height, a tilt, and a tenth of the cost
    ...     x = float(query.points[0, 0])
    ...     truth = -((x - 0.3) ** 2)
    ...     return truth if query.task == 0 else 0.5 * truth + 0.1 * x
    >>> opt = KGOptimizer(
    ...     queries=Fidelities(2), cost=[1.0, 0.1], bounds=[(0, 1)], random_state=0
    ... )
    >>> result = opt.run(answer, max_cost=8)
    >>> bool(abs(result.x.points[0, 0] - 0.3) < 0.05)
    True
    """

    arguments: ClassVar[tuple[str, ...]] = ("n", "sizes")

    n: int

    def __init__(self, n: int = 2, sizes: Sizes = 0.0) -> None:
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n of Fidelities must be an integer >= 1, got {n!r}")
        super().__init__(sizes)
        self.n = int(n)

    def sides(
        self, bounds: np.ndarray, space: ParameterSpace | None, name: str = "Fidelities"
    ) -> np.ndarray:
        """Return the sizes (n * n_sizes, d) of fidelity 0, followed by those of the next ones."""
        return np.tile(super().sides(bounds, space, name), (self.n, 1))

    @property
    def tasks(self) -> np.ndarray:
        """Fidelity of the cells of each size, shape (n * n_sizes,)."""
        n_sizes = len(self.sizes) if isinstance(self.sizes, list) else 1
        return np.repeat(np.arange(self.n), n_sizes)

    def __repr__(self) -> str:
        sizes = "" if self.sizes == 0.0 else f", {self.sizes!r}"
        return f"Fidelities({self.n}{sizes})"
