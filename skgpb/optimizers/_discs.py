"""Queries and targets that are discs: which kernel averages, and what goes beside them."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from skgpb.domains.cells import Cells
from skgpb.domains.discs import Discs
from skgpb.kernels import BallAverage, CellAverage
from skgpb.optimizers._first_design import takes_boxes


class OverDiscs:
    """What an optimizer over queries and targets does where some are discs."""

    # What it needs of the class that it is mixed into.
    kernel: Kernel | None

    @property
    def _over_discs(self: Any) -> bool:
        """Whether regions are discs, and no cells."""
        given = self._given.values()
        return isinstance(self.kernel, BallAverage) or any(isinstance(x, Discs) for x in given)

    def _check_discs(self: Any) -> None:
        if self._n_tasks:
            raise ValueError(f"queries must be no Fidelities beside Discs; got {self.queries!r}")
        if takes_boxes(self.kernel) and not isinstance(self.kernel, BallAverage):
            raise ValueError(
                f"kernel must be over points, or a BallAverage, beside Discs; got {self.kernel!r}"
            )
        n = self.n_context_
        if isinstance(self.kernel, BallAverage) and self.kernel.n_context != n:
            raise ValueError(
                f"n_context of BallAverage must be {n}, the number of sides of context_bounds; got "
                f"{self.kernel!r}"
            )
        for name, each in self._given.items():
            if isinstance(each, Cells) and not isinstance(each, Discs):
                raise ValueError(
                    f"{name} must be Discs beside other Discs, rows or None; got {each!r}"
                )

    def _average_kernel(self: Any, kernel: Kernel, counts: tuple[int, ...]) -> Kernel:
        """Return the kernel of averages over regions of a kernel over points."""
        if self._over_discs:
            return BallAverage(kernel, self.n_context_)
        return CellAverage(kernel, counts)
