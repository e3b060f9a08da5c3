r"""Functions drawn from a Gaussian process on finitely many arms.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020, sections 6.1 and 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import RBF, DotProduct, Kernel, Matern
from sklearn.utils import check_random_state

from skgpb.utils.roots import symmetric_root
from skgpb.utils.typing import Seed

__all__ = ["gp_draw"]

_NOISE_VARIANCE = 0.1
_N_ARMS = 100
# Directions with a prior variance below this fraction of the largest have rounding errors only.
_RANK_TOLERANCE = 1e-12

_KERNELS: dict[str, Kernel] = {
    "linear": DotProduct(sigma_0=0.0, sigma_0_bounds="fixed"),
    "se": RBF(1.0),
    "matern": Matern(0.2, nu=1.5),
}


def gp_draw_kernel(name: str) -> Kernel:
    r"""Return one of the three kernels of the paper's synthetic settings.

    Parameters
    ----------
    name : {"linear", "se", "matern"}
        :math:`x x'`; squared exponential with length scale 1; Matérn with :math:`\nu = 1.5` and
        length scale 0.2.

    Returns
    -------
    kernel : Kernel
    """
    if name not in _KERNELS:
        raise ValueError(f'kernel must be "linear", "se" or "matern"; got {name!r}.')
    kernel = _KERNELS[name]
    return kernel.clone_with_theta(kernel.theta)


def gp_draw(
    kernel: str | Kernel = "se",
    arms: ArrayLike | None = None,
    *,
    noise_variance: float = _NOISE_VARIANCE,
    random_state: Seed = None,
) -> ArmsProblem:
    """Draw a function from a Gaussian process with mean zero, with values on finitely many arms.

    Parameters
    ----------
    kernel : {"linear", "se", "matern"} or Kernel, default="se"
        Prior covariance over the rows of ``arms``; or the name of a kernel of the paper.
    arms : array-like of shape (n_arms, d), default=None
        None for the 100 evenly spaced points of [0, 1] of the paper.
    noise_variance : float, default=0.1
        Variance of the Gaussian noise of an answer.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    problem : ArmsProblem
        Has ``arms``, ``values``, ``value(query)``, the noisy ``observe(query, rng)`` with
        ``noise_variance``, the ``kernel``, the ``rkhs_norm``, and ``optimum`` with ``argmax``.

    Notes
    -----
    The draw uses the symmetric root of the covariance: smooth kernels make it singular (100 points
    under the squared exponential have a numerical rank of about 8), so that a Cholesky factor does
    not exist. ``rkhs_norm`` is the norm of the draw within the remaining directions, the smallest
    norm of any function with these values.

    Examples
    --------
    >>> from skgpb.problems import gp_draw
    >>> problem = gp_draw("matern", random_state=0)
    >>> problem.arms.shape, problem.value(problem.argmax) == problem.optimum
    ((100, 1), True)
    """
    kernel = gp_draw_kernel(kernel) if isinstance(kernel, str) else kernel
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a name or a scikit-learn kernel; got {kernel!r}.")
    if arms is None:
        arms = np.linspace(0.0, 1.0, _N_ARMS)[:, np.newaxis]
    arms = np.array(arms, dtype=np.float64)
    if arms.ndim != 2 or not len(arms) or not np.isfinite(arms).all():
        raise ValueError(f"arms must be finite, of shape (n_arms, d); got shape {arms.shape}.")
    rng = check_random_state(random_state)
    directions, std = symmetric_root(kernel(arms), _RANK_TOLERANCE)
    coordinates = directions.T @ rng.standard_normal(len(arms))
    return ArmsProblem(
        arms=arms,
        values=directions @ (std * coordinates),
        noise_variance=noise_variance,
        kernel=kernel,
        rkhs_norm=float(np.linalg.norm(coordinates)),
    )


@dataclass(frozen=True, eq=False)
class ArmsProblem:
    """A function on finitely many arms, with noisy answers.

    Parameters
    ----------
    arms : ndarray of shape (n_arms, d)
        The arms.
    values : ndarray of shape (n_arms,)
        Values of the function on the arms.
    noise_variance : float, default=0.1
        Variance of the Gaussian noise of an answer.
    kernel : Kernel, default=None
        Kernel that the function was drawn from, if it was drawn.
    rkhs_norm : float, default=None
        Norm under that kernel, which is ``guarantee.norm_bound`` of IGP-UCB.

    Attributes
    ----------
    optimum : float
        Largest value.
    argmax : int
        First arm with this value.
    """

    arms: NDArray[np.float64] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    noise_variance: float = _NOISE_VARIANCE
    kernel: Kernel | None = None
    rkhs_norm: float | None = None
    optimum: float = field(init=False)
    argmax: int = field(init=False)

    def __post_init__(self) -> None:
        arms = np.array(self.arms, dtype=np.float64)
        values = np.array(self.values, dtype=np.float64)
        if arms.ndim != 2 or values.shape != (len(arms),) or not len(arms):
            raise ValueError(
                "arms must have shape (n_arms, d) and values (n_arms,); got "
                f"{arms.shape} and {values.shape}."
            )
        noise_variance = float(self.noise_variance)
        if not isfinite(noise_variance) or noise_variance < 0.0:
            raise ValueError(f"noise_variance must be finite and >= 0; got {noise_variance!r}.")
        best = int(np.argmax(values))
        fields = {"arms": arms, "values": values, "noise_variance": noise_variance}
        fields |= {"optimum": float(values[best]), "argmax": best}
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def value(self, query: Any) -> float:
        """Return the function at an arm.

        Parameters
        ----------
        query : query or int
            Query of an optimizer over these arms, whose ``index`` is used, or the index of an arm.

        Returns
        -------
        value : float
        """
        index = int(getattr(query, "index", query))
        if not 0 <= index < len(self.values):
            raise ValueError(f"there is no arm {index}; arms are numbered 0..{len(self.arms) - 1}.")
        return float(self.values[index])

    def observe(self, query: Any, rng: np.random.Generator) -> float:
        """Answer a query with Gaussian noise.

        Parameters
        ----------
        query : query or int
            See :meth:`value`.
        rng : numpy.random.Generator
            Source of the noise, one draw per answer.

        Returns
        -------
        reward : float
        """
        return self.value(query) + sqrt(self.noise_variance) * float(rng.standard_normal())
