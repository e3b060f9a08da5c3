"""Values that a parameter may be given and was not made for, each with a name to report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

import skgpb
from fuzz.harness import UsersError
from skgpb.kernels import (
    CellAverage,
    CellIntegral,
    Columns,
    ConditionalMean,
    LowRank,
    PolicyMean,
    WindowMean,
)


def _raises(*arguments: Any, **keywords: Any) -> Any:
    raise UsersError("from a function of the user")


def _table(*rows: Any) -> Callable[[], np.ndarray]:
    return lambda: np.array(rows)


def _read_only() -> np.ndarray:
    array = np.array([[0.0, 1.0], [0.0, 1.0]])
    array.flags.writeable = False
    return array


ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "empty string": str,
    "string": lambda: "kernels",
    "theory": lambda: "theory",
    "kernel": lambda: "kernel",
    "auto": lambda: "auto",
    "bytes": lambda: b"1",
    "complex": lambda: 1 + 2j,
    "huge integer": lambda: 10**30,
    "10**9": lambda: 10**9,
    "10**12": lambda: 10**12,
    "float32": lambda: np.float32(0.5),
    "int64": lambda: np.int64(3),
    "zero-dimensional": lambda: np.array(0.5),
    "one entry": lambda: np.array([0.5]),
    "empty list": list,
    "empty tuple": tuple,
    "empty dict": dict,
    "set": lambda: {1, 2},
    "list of None": lambda: [None],
    "(1, 2)": lambda: (1, 2),
    "(3.0, 0.6)": lambda: (3.0, 0.6),
    "(0.0, 0.0)": lambda: (0.0, 0.0),
    "(1e300, 0.5)": lambda: (1e300, 0.5),
    "interval": lambda: [(0, 1)],
    "square": lambda: [(0, 1), (0, 1)],
    "cube": lambda: [(-1, 1)] * 3,
    "reversed": lambda: [(1, 0), (0, 1)],
    "no side": lambda: [(0, 0), (0, 1)],
    "nan side": lambda: [(0, float("nan")), (0, 1)],
    "far away": lambda: [(1e15, 1e15 + 1), (0, 1)],
    "very wide": lambda: [(-1e308, 1e308)] * 2,
    "wide": lambda: [(-1e150, 1e150)] * 2,
    "denormal": lambda: [(0, 5e-324)] * 2,
    "narrow": lambda: [(0, 1e-300), (0, 1)],
    "one row": _table([0.3, 0.4]),
    "equal rows": lambda: np.ones((5, 2)),
    "pairs of rows": lambda: np.repeat([[0.0, 0.0], [1.0, 1.0]], 3, axis=0),
    "huge rows": lambda: np.array([[0.0, 1e200], [1e200, 0.0]]),
    "no rows": lambda: np.zeros((0, 2)),
    "no columns": lambda: np.zeros((2, 0)),
    "three axes": lambda: np.zeros((2, 2, 2)),
    "ragged": lambda: [[1, 2], [3]],
    "objects": lambda: np.array([[0, 1], [0, "a"]], dtype=object),
    "masked": lambda: np.ma.masked_array([[0.0, 1.0], [0.0, 1.0]], mask=[[0, 1], [0, 0]]),
    "sparse": lambda: csr_matrix(np.eye(2)),
    "read-only": _read_only,
    "strided": lambda: np.arange(16.0).reshape(4, 4)[::2, ::2],
    "booleans": _table([False, True], [False, True]),
    "complex rows": _table([0, 1j], [0, 1]),
    "function": lambda: lambda *arguments, **keywords: 0.1,
    "function of nan": lambda: lambda *arguments, **keywords: float("nan"),
    "function of None": lambda: lambda *arguments, **keywords: None,
    "function of strings": lambda: lambda *arguments, **keywords: "a",
    "function that raises": lambda: _raises,
    "class": lambda: RBF,
    "object": object,
    "RandomState": lambda: np.random.RandomState(0),
    "Generator": lambda: np.random.default_rng(0),
    "RBF": lambda: RBF(0.3),
    "RBF of three": lambda: RBF([0.1, 0.2, 0.3]),
    "short RBF": lambda: RBF(1e-6),
    "long RBF": lambda: RBF(1e6),
    "RBF of nan": lambda: RBF(float("nan")),
    "negative RBF": lambda: RBF(-1.0),
    "no variance": lambda: ConstantKernel(1e-300) * RBF(),
    "huge variance": lambda: ConstantKernel(1e300) * RBF(),
    "white": lambda: WhiteKernel(0.1),
    "RBF and white": lambda: RBF(0.3) + WhiteKernel(0.1),
    "Matern": lambda: Matern(0.3, nu=0.5),
    "Matern of infinity": lambda: Matern(0.3, nu=np.inf),
    "linear": lambda: DotProduct(0.0),
    "periodic": ExpSineSquared,
    "rational": RationalQuadratic,
    "pairwise": lambda: PairwiseKernel(metric="linear"),
    "power": lambda: RBF(0.2) ** 2.0,
    "compound": lambda: CompoundKernel([RBF(), RBF()]),
    "averages": lambda: CellAverage(RBF(0.2), 3),
    "integrals": lambda: CellIntegral(RBF(0.2)),
    "windows": lambda: WindowMean(RBF(0.2), scale=0.1),
    "low rank": lambda: LowRank(RBF(0.3), [[0.0, 0.0], [1.0, 1.0]]),
    "first column": lambda: Columns(RBF(0.3), [0]),
    "sixth column": lambda: Columns(RBF(0.3), [5]),
    "conditional": ConditionalMean,
    "policies": PolicyMean,
    "optimizer": lambda: skgpb.GPUCBOptimizer(bounds=[(0, 1)]),
    "campaigns": lambda: [("a", skgpb.EIOptimizer(arms=[[0.0], [1.0]]))] * 2,
}


class Odd:
    """A value, made anew for every case, and the name under which it is reported."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.make = make

    def __repr__(self) -> str:
        return f"<{self.name}>"


values = st.one_of(
    st.sampled_from([Odd(name, make) for name, make in ODD.items()]),
    st.one_of(
        st.sampled_from([0, 1, 2, 3, 7, 100, -1, 0.0, 0.5, 1.0, 1.5, 1e-300, 1e300, 5e-324]),
        st.floats(),
        st.integers(-5, 300),
        st.text(max_size=3),
        st.lists(st.floats(), max_size=3),
    ).map(lambda value: Odd(repr(value), lambda: value)),
)
