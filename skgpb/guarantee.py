"""Assumptions of a guarantee about f and the noise, and its failure probability."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from sklearn.base import BaseEstimator

from skgpb.utils.documentation import DocumentedMixin
from skgpb.utils.validation import Interval, Real

__all__ = ["Guarantee"]


@dataclass(eq=False, repr=False)
class Guarantee(DocumentedMixin, BaseEstimator):
    r"""Assumptions of intervals and of confidence bounds that hold with a given probability.

    Pass it as ``guarantee`` to an optimizer. The intervals of ``interval()`` and ``beta="rkhs"``
    use all of its parameters (:doc:`/user_guide/guarantees`). ``beta="theory"`` uses
    ``failure_probability``, and for IGP-UCB and GP-TS also the two bounds. Nothing else depends on
    a guarantee, except the resolution of the grid that ``beta="theory"`` uses in a box.

    Parameters
    ----------
    norm_bound : float, default=1.0
        B, a bound on the norm of f in the reproducing kernel Hilbert space of ``kernel``. It is a
        property of the unknown f: in experiments an oracle, in practice a guess.
    noise_bound : float, default=None
        R, in units of the reward: the noise is R-sub-Gaussian. For an answer with its own noise
        variance, R is scaled with that. None is sqrt(alpha), which is exact for Gaussian noise.
    misspecification : float, default=0.0
        epsilon, in units of the reward: the largest difference between f and a function of norm at
        most ``norm_bound``.
    failure_probability : float, default=0.1
        delta or theta, in (0, 1): the guarantee holds with probability at least 1 minus this value.

    Notes
    -----
    Like the steps of a scikit-learn pipeline, a guarantee has parameters that can be set through
    the optimizer: ``set_params(guarantee__norm_bound=2.0)``. This also works if ``guarantee`` is
    None, which means all defaults.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import GPUCBOptimizer, Guarantee
    >>> opt = GPUCBOptimizer(
    ...     RBF(0.3), bounds=[(0, 1)], alpha=0.01, beta="rkhs",
    ...     guarantee=Guarantee(norm_bound=2.0, failure_probability=0.05), random_state=0,
    ... )
    >>> _ = opt.tell([[0.2], [0.5], [0.9]], [0.1, 0.8, 0.3])
    >>> lower, upper = opt.interval([[0.5]])
    >>> opt.set_params(guarantee__norm_bound=4.0).guarantee
    Guarantee(failure_probability=0.05, norm_bound=4.0)
    >>> bool(opt.interval([[0.5]])[1] > upper)
    True
    """

    norm_bound: float = 1.0
    _: KW_ONLY
    noise_bound: float | None = None
    misspecification: float = 0.0
    failure_probability: float = 0.1

    _parameter_constraints = {
        "norm_bound": [Interval(Real, 0, None, closed="left")],
        "noise_bound": [Interval(Real, 0, None, closed="left"), None],
        "misspecification": [Interval(Real, 0, None, closed="left")],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }


#: Guarantee of an optimizer with ``guarantee=None``.
DEFAULT_GUARANTEE = Guarantee()
