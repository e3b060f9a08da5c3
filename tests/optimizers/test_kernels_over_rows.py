"""Which kernel relates what is asked: the default one, and the points of the user's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb.domains import Cells, Fidelities
from skgpb.kernels import AdditiveMatern, CellAverage, Tasks
from skgpb.optimizers import EIOptimizer, GPOOOptimizer, GPUCBOptimizer, KGOptimizer

SQUARE = {"bounds": [(0.0, 1.0), (0.0, 1.0)], "random_state": 0}
BOXES = np.array([[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0]])


@pytest.mark.parametrize(
    ("cls", "settings", "has"),
    [
        (GPUCBOptimizer, {}, True),
        (EIOptimizer, {}, True),
        (EIOptimizer, {"bounds": [(0.0, 1.0)]}, False),  # what single sides do is all there is
        (KGOptimizer, {}, True),
        (KGOptimizer, {"queries": np.random.default_rng(0).random((20, 2))}, True),
        (KGOptimizer, {"queries": Cells(0.3)}, False),
        (KGOptimizer, {"queries": Fidelities(2)}, False),
        (GPOOOptimizer, {"feedback": "average"}, False),
    ],
)
def test_single_sides_have_an_effect_of_their_own_where_one_f_is_asked_at_points(
    cls, settings, has
):
    optimizer = cls(**SQUARE | settings)
    optimizer.tell(optimizer.ask(), 0.5)
    parts = optimizer.surrogate_.kernel_.get_params().values()
    assert any(isinstance(part, AdditiveMatern) for part in parts) == has
    assert {part.nu for part in parts if isinstance(part, Matern | AdditiveMatern)} <= {2.5}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("in_context", [False, True], ids=["", "in a context"])
@pytest.mark.parametrize(
    ("cls", "settings", "n_tasks"),
    [
        (GPUCBOptimizer, {"arms": BOXES, "bounds": None}, 0),
        (KGOptimizer, {"queries": BOXES, "targets": BOXES}, 0),
        (KGOptimizer, {"queries": Cells(0.3)}, 0),
        (KGOptimizer, {"queries": Fidelities(1, sizes=0.3)}, 1),
        (KGOptimizer, {"queries": Fidelities(2, sizes=0.3)}, 2),
    ],
)
def test_a_cell_has_the_points_over_which_the_kernel_averages(cls, settings, n_tasks, in_context):
    contexts = {"context_bounds": [(0.0, 1.0)]} if in_context else {}
    kernel = CellAverage(RBF(0.3), (1, 2, 3) if in_context else (2, 3))
    kernel = Tasks(kernel, n_tasks=n_tasks) if n_tasks else kernel
    optimizer = cls(kernel, **SQUARE | {"alpha": 0.01} | contexts | settings)
    query = optimizer.ask(context=[0.5]) if in_context else optimizer.ask()
    assert [len(np.unique(column)) for column in query.points.T] == [1] * in_context + [2, 3]
