"""What searches share that score finitely many rows: first design, best row, kernels over boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import TIE_TOLERANCE, first_maximum
from skgpb.domains.arms import Arm
from skgpb.domains.first_design import N_INITIAL
from skgpb.domains.partition import points_per_axis
from skgpb.kernels import CellAverage, Derivative, Tasks
from skgpb.kernels._boxes import axis_counts
from skgpb.kernels._cell import CellKernel
from skgpb.locks import locked


class FirstDesign:
    """The queries that fill the space before a rule is followed."""

    # What it needs of the class that it is mixed into.
    kernel: Any
    n_initial: int | None
    domain_: Any
    acquisition: Any
    posterior: Any

    def _first_arm(self: Any) -> Arm | None:
        """Arm of the first design, None once enough is known or where there are no more."""
        n_initial = self.n_initial_
        if n_initial <= self._filled:
            return None
        observed = self._gp.observed.rows
        evaluated = [query for query, until in self._pending.items() if until is None]
        known = np.concatenate([observed, *map(self._block, evaluated)])
        # What failed does not count, but nothing is asked again beside it.
        failures = [self._block(query) for _, query, _ in self._failures]
        failed = np.concatenate([observed[:0], *failures])
        if not (self._round or self._pending or failures):
            # A rule that cannot be followed says so before anything is evaluated.
            self.acquisition(self.posterior())
        arm = self.domain_.first_arm(n_initial, known, failed, self._seed)
        if arm is None and not evaluated:
            self._filled = n_initial
        return arm

    @property
    @locked
    def n_initial_(self: Any) -> int:
        """Size of the first design: ``n_initial``, or what it stands for."""
        if self.n_initial is not None:
            return int(self.n_initial)
        return N_INITIAL if self.kernel is None else 0


def best_known(means: np.ndarray, variances: np.ndarray) -> int:
    """Number of the largest mean; of those that tie the one that is known best.

    After one answer all that is far from it is expected to be as good.
    """
    tied = np.flatnonzero(means >= means.max() - TIE_TOLERANCE)
    return int(tied[first_maximum(-variances[tied])])


def takes_boxes(kernel: Any, behind: bool = False) -> bool:
    """Whether a kernel takes box descriptors, anywhere in its expression.

    ``behind`` says whether a further column may stand behind them, as that of a task.
    """
    if not isinstance(kernel, Kernel) or (isinstance(kernel, Tasks | Derivative) and not behind):
        return False
    parts = kernel.get_params(deep=False).values()
    return isinstance(kernel, CellKernel) or any(takes_boxes(part, behind) for part in parts)


def representatives_of(kernel: Kernel, d: int) -> tuple[int, ...]:
    """Representatives of a box: those of the kernel's average, else as many as GPOO takes."""
    for part in [kernel, *kernel.get_params(deep=True).values()]:
        if isinstance(part, CellAverage):
            return axis_counts(part.n_representatives, d, "n_representatives")
    return points_per_axis(None, d)
