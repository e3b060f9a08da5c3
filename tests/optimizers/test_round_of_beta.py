"""A beta that is a function gets the number of the round, whatever the class."""

from __future__ import annotations

from functools import partial

import pytest
from cases import CASES, INDIRECT, OPTIMIZERS
from sklearn.gaussian_process.kernels import RBF

from skgpb.optimizers import ContextualGPTreeOptimizer

FUNCTIONS = [cls for cls in OPTIMIZERS if callable in cls._parameter_constraints.get("beta", ())]
SETTINGS = {cls: settings for cls, settings, *_ in [*INDIRECT.values(), *CASES.values()][::-1]}
IN_CONTEXT = {"action_bounds": [(0.0, 1.0)], "context_bounds": [(0.0, 1.0)]}
SETTINGS[ContextualGPTreeOptimizer] = IN_CONTEXT | {"kernel": RBF(0.5)}


@pytest.mark.parametrize("cls", FUNCTIONS)
def test_it_counts_what_was_told_and_what_is_pending(cls):
    rounds = []

    def beta(t):
        rounds.append(t)
        return 2.0

    settings = {"bounds": [(0.0, 1.0), (0.0, 1.0)], "random_state": 0} | SETTINGS[cls]
    settings |= {"n_initial": 0, "alpha": 0.01, "beta": beta, "kernel": RBF(0.5)}
    optimizer = cls(**{k: v for k, v in settings.items() if k in cls().get_params()})
    contexts = {"context": [0.5]} if cls is ContextualGPTreeOptimizer else {}
    ask = partial(optimizer.ask, **contexts)
    optimizer.tell(ask(), 0.5).tell(ask(), 0.7)
    rounds.clear()
    ask(3)
    assert set(rounds) == {3, 4, 5}
