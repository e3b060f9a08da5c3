"""Several length scales for one set of answers; the answers rule out some of them.

Each length scale has its own ball of functions that fit (:mod:`skgpb.surrogate.widths`). If f has
norm at most B for any one of them, its ball contains f at all times with probability 1 - delta.
This ball is then never empty, and f is in the smallest interval that covers the intervals of all
balls that are not empty. No union bound over the length scales is needed, because only that one has
to hold. A length scale is also dropped if its functions leave residuals larger than noise allows,
with the other half of delta. The search uses the remaining ones in turn: the longest alone may
never visit the points that contradict it [Berkenkamp2019]_, the shortest alone explores too much
[Ziomek2024]_.

References
----------
.. [Berkenkamp2019] F. Berkenkamp, A. P. Schoellig and A. Krause, "No-Regret Bayesian Optimization
   with Unknown Hyperparameters", JMLR 20, 2019.
.. [Ziomek2024] J. Ziomek, M. Adachi and M. A. Osborne, "Bayesian Optimisation with Unknown
   Hyperparameters: Regret Bounds Logarithmically Closer to Optimal", NeurIPS 2024.
"""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.widths import fits


def are_length_scales(kernel: Kernel) -> np.ndarray:
    """Return a mask (n_theta,) of the free hyperparameters that are length scales."""
    return np.array(
        [
            each.name.endswith("length_scale")
            for each in kernel.hyperparameters
            if not each.fixed
            for _ in range(each.n_elements)
        ],
        dtype=bool,
    )


def shorter(kernel: Kernel, theta: np.ndarray) -> list[np.ndarray]:
    """Return hyperparameters with the length scales of theta and shares of them, longest first.

    Parameters
    ----------
    kernel : Kernel
        Kernel with free length scales; shares below their bounds are left out.
    theta : ndarray of shape (n_theta,)
        Logarithms of the hyperparameters.
    """
    scales = are_length_scales(kernel)
    if not scales.any():
        raise ValueError(
            "optimizer='consistent' tries length scales, and kernel has none that is free: got "
            f"{kernel!r}"
        )
    shares = 2.0 ** (-0.5 * np.arange(defaults.N_LENGTH_SCALES))
    thetas = [theta + np.log(share) * scales for share in shares]
    return thetas[:1] + [each for each in thetas[1:] if (each >= kernel.bounds[:, 0]).all()]


def consistent(
    gp: GaussianProcess,
    thetas: list[np.ndarray],
    B: float,
    share: float,
    failure_probability: float,
) -> list[GaussianProcess]:
    """Return the processes whose length scales the answers do not contradict.

    Parameters
    ----------
    gp : GaussianProcess
        Process with the observations.
    thetas : list of ndarray of shape (n_theta,)
        Hyperparameters.
    B, share, failure_probability : float
        As for :func:`~skgpb.surrogate.widths.fits`.

    Returns
    -------
    processes : list of GaussianProcess
        In the order of ``thetas``, without tracked functionals; only the process of the last theta
        if the answers contradict all.
    """
    merged = gp.merged()
    processes = [gp.with_kernel(gp.kernel.clone_with_theta(theta), merged) for theta in thetas]
    left = [each for each in processes if fits(each, B, share, failure_probability)]
    return left or processes[-1:]
