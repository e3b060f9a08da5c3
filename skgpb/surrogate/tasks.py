"""A prior for a function and its likenesses, where their user gives none.

.. math:: f_t(x) = w_t u(x) + a_t g(x) + v_t(x) + s_t(x) + c_t

with a function u and a slow trend g that all share, differences :math:`v_t` as rough as u, others
:math:`s_t` as slow as g, and levels :math:`c_t`. Of task 0, the truth, u and g are
nearly all. A likeness that is tilted, off by a constant or on another scale still says where the
truth is large [Kennedy2000]_. Without g a smooth likeness would be explained by :math:`s_t` alone,
and would say nothing of a truth that is as smooth (decision D-H28).

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

from skgpb.kernels._settings import AxisMatern, OnSettings
from skgpb.kernels.tasks import Tasks
from skgpb.surrogate.likelihood import Prior

# Of the weights the deviation of the prior.
WEIGHT_SPREAD = 0.5
# Variances of what a likeness has beside u, as rough as u and slow, and what is left of both for
# the truth; deviations of their logarithms.
ROUGH, SLOW, LEAST = 0.1, 1.0, 1e-3
SPREAD, LEAST_SPREAD = 1.5, 0.5
# Length scale of slow differences and of the trend, in units of sqrt(d) sides.
SLOW_LENGTH_SCALE = 2.0
# Of the weights of the trend the mean and the deviation of the prior.
TREND, TREND_SPREAD = 1.0, 1.0
# The noise variance, in units of the variance of the answers, and the deviation of its logarithm: a
# likeness is often computed, and exact.
NOISE, NOISE_SPREAD = 0.01, 2.0


def slow_kernel(bounds: np.ndarray, smooth: bool = False, space: Any = None) -> Kernel:
    """Kernel of what varies slowly over a box (d, 2); see ``default_kernel`` for ``smooth``.

    Where sides have separate values ``space`` says what they are.
    """
    side = bounds[:, 1] - bounds[:, 0]
    scale = SLOW_LENGTH_SCALE * sqrt(len(side)) * np.where(side > 0.0, side, 1.0)
    if space is not None and space.discrete:
        return OnSettings(AxisMatern(scale, "fixed", groups=space.groups), space.columns)
    return RBF(scale, "fixed") if smooth else Matern(scale, "fixed", nu=2.5)


def around(kernel: Kernel, slow: Kernel, n: int) -> Kernel:
    """Kernel over n tasks of which ``kernel`` is that of task 0, nothing else being learned."""
    rough, slowly = (np.append(0.0, each[1:]) for each in _own_variances(n))
    alike: dict[str, Any] = {"n_tasks": n, "W_bounds": "fixed", "kappa_bounds": "fixed"}
    shared = Tasks(kernel, W=np.ones((n, 1)), kappa=rough, **alike)
    level = np.append(0.0, np.ones(n - 1))
    own = (Tasks(slow, 0, kappa=slowly, **alike), Tasks(_one(), 0, kappa=level, **alike))
    return shared + own[0] + own[1]


def over_tasks(kernel: Kernel, slow: Kernel, n: int) -> Kernel:
    """Kernel over the rows of ``kernel`` and ``slow`` with one of n tasks in a further column."""
    rough, slowly = _own_variances(n)
    shared = Tasks(kernel, n_tasks=n, W=np.ones((n, 1)), kappa=rough)
    trend = Tasks(slow, n_tasks=n, W=np.full((n, 1), TREND), kappa=slowly)
    return shared + trend + Tasks(_one(), 0, n_tasks=n, kappa=1.0, kappa_bounds="fixed")


def prior_over_tasks(prior: Prior, n: int) -> Prior:
    """Prior on the hyperparameters of :func:`over_tasks`, that of its kernel being ``prior``."""
    rough, slowly = _own_variances(n)
    spread = np.append(LEAST_SPREAD, np.full(n - 1, SPREAD))
    trend = np.full(n, TREND)
    return Prior(
        np.concatenate([np.ones(n), np.log(rough), prior.center, trend, np.log(slowly)]),
        np.concatenate(
            [np.full(n, WEIGHT_SPREAD), spread, prior.spread, np.full(n, TREND_SPREAD), spread]
        ),
    )


def takes_tasks(kernel: Kernel) -> bool:
    """Whether a kernel takes numbers of tasks, anywhere in its expression."""
    parts = [kernel, *kernel.get_params(deep=True).values()]
    return any(isinstance(part, Tasks) for part in parts)


def _one() -> Kernel:
    return ConstantKernel(1.0, "fixed")


def _own_variances(n: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.append(LEAST, np.full(n - 1, each)) for each in (ROUGH, SLOW))  # type: ignore[return-value]
