"""Sizes that would fill the memory or never end are refused before anything is allocated."""

import tracemalloc

import pytest

import skgpb

SIZES = (
    "n_children",
    "n_candidates",
    "n_draws",
    "n_max_values",
    "n_points",
    "n_representatives",
    "n_restarts_optimizer",
)
CASES = [
    (name, parameter)
    for name in skgpb.__all__
    if name.endswith("Optimizer")
    for parameter in getattr(skgpb, name)().get_params(deep=False)
    if parameter in SIZES
]


def started(name, **parameters):
    """An optimizer over the unit square, or over an interval and queries in another."""
    cls = getattr(skgpb, name)
    accepted = cls().get_params(deep=False)
    if "query_bounds" in accepted:
        parameters |= {"bounds": [(0, 1)], "query_bounds": [(0, 1)]}
    elif "context_bounds" in accepted:
        parameters |= {"context_bounds": [(0, 1)], "bounds": [(0, 1)]}
    else:
        parameters |= {"bounds": [(0, 1), (0, 1)]}
    if "n_representatives" in parameters:
        parameters["feedback"] = "average"
    return cls(**parameters)


@pytest.mark.parametrize(("name", "parameter"), CASES)
@pytest.mark.parametrize("size", [10**9, 10**30])
def test_sizes_that_cannot_work_are_refused_first(name, parameter, size):
    optimizer = started(name, **{parameter: size})
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=parameter):
            optimizer.ask(*[0.5] * ("context_bounds" in optimizer.get_params()))
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
    assert not hasattr(optimizer, "bounds_")


def test_points_of_a_cell_are_counted_over_all_axes():
    with pytest.raises(ValueError, match="at most 100000 points"):
        skgpb.GPOOOptimizer(bounds=[(0, 1)] * 3, n_representatives=100).ask()


@pytest.mark.parametrize("n", [10**9, 10**30])
def test_batches_have_a_largest_size(n):
    optimizer = skgpb.GPOOOptimizer(bounds=[(0, 1)])
    contextual = skgpb.ContextualGPTreeOptimizer(context_bounds=[(0, 1)], bounds=[(0, 1)])
    for ask in (optimizer.ask, lambda n: contextual.ask(0.5, n)):
        with pytest.raises(ValueError, match="n must be None or an integer from 1 to 10000"):
            ask(n)
    assert not hasattr(optimizer, "bounds_")
