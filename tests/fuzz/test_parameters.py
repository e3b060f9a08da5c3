"""Constructor parameters that nobody meant: an estimator works with them, or refuses them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import skgpb.kernels
from fuzz.harness import check_finite, fuzz_settings, patience, refusals
from fuzz.odd_values import values
from fuzz.setups import PUBLIC, SETUPS

#: A kernel of each public class, and rows that it takes.
BOXES = np.array([[0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 1.0, 1.0], [0.2, 0.2, 0.2, 0.2]])
PAIRS = np.array([[0.0], [0.4], [1.0]])
NUMBERED = np.column_stack([PAIRS, [0, 1, 0]])
SETS = skgpb.kernels.WeightedSum(RBF(0.3), PAIRS, [0, 0, 1], [0.5, -1.0, 2.0])
KERNELS = {
    "AdditiveMatern": (skgpb.kernels.AdditiveMatern([0.3, 0.4, 0.5, 0.6]), BOXES),
    "CellAverage": (skgpb.kernels.CellAverage(RBF(0.3), 3), BOXES),
    "CellIntegral": (skgpb.kernels.CellIntegral(RBF(0.3)), BOXES),
    "Columns": (skgpb.kernels.Columns(RBF(0.3), [1, 3]), BOXES),
    "ConditionalMean": (skgpb.kernels.ConditionalMean(RBF(0.3), PAIRS, PAIRS), PAIRS),
    "LowRank": (skgpb.kernels.LowRank(RBF(0.3), PAIRS), PAIRS),
    "PolicyMean": (skgpb.kernels.PolicyMean(RBF(0.3), np.eye(3), PAIRS), PAIRS),
    "Tasks": (skgpb.kernels.Tasks(RBF(0.3)), NUMBERED),
    "WeightedSum": (SETS, SETS.queries([0, 1])),
    "WindowMean": (skgpb.kernels.WindowMean(RBF(0.3), scale=0.1), PAIRS),
}


def test_all_public_estimators_and_kernels_are_here():
    """Runs by default: a new class must be fuzzed as well, and the settings must work."""
    assert {setup.cls for setup in SETUPS.values()} == set(PUBLIC)
    public = {name for name in skgpb.kernels.__all__ if name[0].isupper()}
    assert set(KERNELS) == public - {"WrapperKernel"}  # a base class


@st.composite
def changes(draw, names):
    """One or two parameters, each with an odd value."""
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    return {name: draw(values) for name in chosen}


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SETUPS)
def test_odd_parameters_work_or_are_refused(name):
    setup = SETUPS[name]

    @fuzz_settings(len(SETUPS) + len(KERNELS))
    @given(changes(setup.names()))
    def play(changed):
        with patience(f"{name} with {changed}"), refusals():
            setup.play(setup.new(**{key: value.make() for key, value in changed.items()}))

    play()


@pytest.mark.fuzz
@pytest.mark.parametrize("name", KERNELS)
def test_odd_parameters_of_kernels_work_or_are_refused(name):
    kernel, rows = KERNELS[name]

    @fuzz_settings(len(SETUPS) + len(KERNELS))
    @given(changes(list(kernel.get_params(deep=False))))
    def evaluate(changed):
        with patience(f"{name} with {changed}"), refusals():
            odd = {key: value.make() for key, value in changed.items()}
            changed_kernel = clone(type(kernel)(**{**kernel.get_params(deep=False), **odd}))
            check_finite([changed_kernel(rows), changed_kernel.diag(rows)])
            check_finite(changed_kernel(rows, eval_gradient=True))

    evaluate()
