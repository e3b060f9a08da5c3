"""Gaussian-process bandits for oracles that answer with averages or indirect measurements.

Every observation is a linear functional of an unknown function f plus noise: f at a point, its
average over a cell, its integral. See :mod:`skgpb.optimizers` for the algorithms,
:mod:`skgpb.kernels` for the kinds of feedback and :mod:`skgpb.surrogate` for the posterior.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skgpb.domains.objectives import of_x
    from skgpb.guarantee import Guarantee
    from skgpb.optimizers import (
        CMESOptimizer,
        CMETSOptimizer,
        ContextualGPTreeOptimizer,
        DAGPUCBOptimizer,
        EIOptimizer,
        ESTOptimizer,
        GPOOOptimizer,
        GPTreeOptimizer,
        GPTSOptimizer,
        GPUCBOptimizer,
        GPZoomingOptimizer,
        IDSOptimizer,
        IGPUCBOptimizer,
        IndirectEIOptimizer,
        IndirectMESOptimizer,
        IndirectPIOptimizer,
        IndirectTargetsOptimizer,
        IndirectUCBOptimizer,
        KGOptimizer,
        MESOptimizer,
        PIOptimizer,
        StoOOOptimizer,
        Stop,
        TargetsOptimizer,
        URGPUCBOptimizer,
    )
    from skgpb.optimizers.combinatorial import CombinatorialBandit
    from skgpb.surrogate import OnlineGaussianProcessRegressor

from skgpb._version import __version__

__all__ = [
    "CMESOptimizer",
    "CMETSOptimizer",
    "CombinatorialBandit",
    "ContextualGPTreeOptimizer",
    "DAGPUCBOptimizer",
    "EIOptimizer",
    "ESTOptimizer",
    "GPOOOptimizer",
    "GPTSOptimizer",
    "GPTreeOptimizer",
    "GPUCBOptimizer",
    "GPZoomingOptimizer",
    "Guarantee",
    "IDSOptimizer",
    "IGPUCBOptimizer",
    "IndirectEIOptimizer",
    "IndirectMESOptimizer",
    "IndirectPIOptimizer",
    "IndirectTargetsOptimizer",
    "IndirectUCBOptimizer",
    "KGOptimizer",
    "MESOptimizer",
    "OnlineGaussianProcessRegressor",
    "PIOptimizer",
    "StoOOOptimizer",
    "Stop",
    "TargetsOptimizer",
    "URGPUCBOptimizer",
    "__version__",
    "of_x",
]


def __getattr__(name: str) -> Any:
    """Import names on first access, so that the command line starts without loading SciPy."""
    if name in __all__:
        home = {
            "CombinatorialBandit": "skgpb.optimizers.combinatorial",
            "Guarantee": "skgpb.guarantee",
            "OnlineGaussianProcessRegressor": "skgpb.surrogate",
            "of_x": "skgpb.domains.objectives",
        }.get(name, "skgpb.optimizers")
        value = globals()[name] = getattr(import_module(home), name)
        return value
    if not name.startswith("__") and find_spec(f"skgpb.{name}") is not None:
        return import_module(f"skgpb.{name}")
    raise AttributeError(f"module 'skgpb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
