"""The default prior of multi-fidelity models: a function and its low fidelities.

.. math:: f_t(x) = w_t u(x) + a_t g(x) + v_t(x) + s_t(x) + c_t

with a function u and a slow trend g that all fidelities share, differences :math:`v_t` as rough as
u, differences :math:`s_t` as slow as g, and levels :math:`c_t`. Task 0, the highest fidelity,
consists almost entirely of u and g. A low fidelity with a tilt, an offset or another scale still
shows where the highest fidelity is large [Kennedy2000]_. Without g the model would explain a smooth
low fidelity by :math:`s_t` alone, and it would be no evidence of a smooth highest fidelity
(decision D-H28).

References
----------
.. [Kennedy2000] M. C. Kennedy and A. O'Hagan, "Predicting the output from a complex computer code
   when fast approximations are available", Biometrika 87 (1), 2000. There u is the cheap function.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern

from skgpb import defaults
from skgpb.kernels._settings import AxisMatern, OnSettings
from skgpb.kernels.tasks import Tasks
from skgpb.surrogate.likelihood import Prior


def slow_kernel(bounds: np.ndarray, smooth: bool = False, space: Any = None) -> Kernel:
    """Return the kernel of the slow parts over a box (d, 2); see ``default_kernel`` for ``smooth``.

    ``space`` gives the values of integer and categorical sides.
    """
    side = bounds[:, 1] - bounds[:, 0]
    scale = defaults.TASK_SLOW_LENGTH_SCALE * sqrt(len(side)) * np.where(side > 0.0, side, 1.0)
    if space is not None and space.uses_columns:
        return OnSettings(AxisMatern(scale, "fixed", groups=space.groups), space)
    return RBF(scale, "fixed") if smooth else Matern(scale, "fixed", nu=2.5)


def multi_fidelity_kernel(kernel: Kernel, slow: Kernel, n: int) -> Kernel:
    """Return a kernel over n tasks with ``kernel`` for task 0, in which all else is fixed."""
    rough, slowly = (np.append(0.0, each[1:]) for each in _own_variances(n))
    alike: dict[str, Any] = {"n_tasks": n, "W_bounds": "fixed", "kappa_bounds": "fixed"}
    shared = Tasks(kernel, W=np.ones((n, 1)), kappa=rough, **alike)
    level = np.append(0.0, np.ones(n - 1))
    own = (Tasks(slow, 0, kappa=slowly, **alike), Tasks(_one(), 0, kappa=level, **alike))
    return shared + own[0] + own[1]


def tasks_kernel(kernel: Kernel, slow: Kernel, n: int) -> Kernel:
    """Return a kernel over rows of ``kernel`` and ``slow`` and the index of the task, learned."""
    rough, slowly = _own_variances(n)
    shared = Tasks(kernel, n_tasks=n, W=np.ones((n, 1)), kappa=rough)
    trend = Tasks(slow, n_tasks=n, W=np.ones((n, 1)), kappa=slowly)
    return shared + trend + Tasks(_one(), 0, n_tasks=n, kappa=1.0, kappa_bounds="fixed")


def tasks_prior(prior: Prior, n: int) -> Prior:
    """Return the prior of the hyperparameters of :func:`tasks_kernel`, from that of its kernel."""
    rough, slowly = _own_variances(n)
    spread = np.full(n, defaults.PART_SPREAD)
    return Prior(
        np.concatenate([np.ones(n), np.log(rough), prior.center, np.ones(n), np.log(slowly)]),
        np.concatenate(
            [
                np.full(n, defaults.TASK_WEIGHT_SPREAD),
                spread,
                prior.spread,
                np.full(n, defaults.TASK_TREND_SPREAD),
                spread,
            ]
        ),
    )


def takes_tasks(kernel: Kernel) -> bool:
    """Return whether any part of a kernel expression takes the index of a task."""
    parts = [kernel, *kernel.get_params(deep=True).values()]
    return any(isinstance(part, Tasks) for part in parts)


def _one() -> Kernel:
    return ConstantKernel(1.0, "fixed")


def _own_variances(n: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(
        np.append(defaults.TASK_LEAST, np.full(n - 1, each))
        for each in (defaults.TASK_ROUGH, defaults.TASK_SLOW)
    )  # type: ignore[return-value]
