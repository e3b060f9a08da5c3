"""Through how many files of the package one round passes, see decision D-H18."""

from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import skgpb
from skgpb import (
    CMESOptimizer,
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
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    URGPUCBOptimizer,
)
from skgpb.domains import Cells
from skgpb.kernels import WindowMean
from skgpb.optimizers import TreeSearch

ROOT = str(Path(skgpb.__file__).parent)


def walk(optimizer, answer):
    """Files whose functions one round of ask and tell calls, in the order of the calls."""
    files = []

    def note(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ROOT):
            files.append(name[len(ROOT) + 1 :])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        query = optimizer.ask()
        sys.setprofile(before)
        reward = answer(query)
        sys.setprofile(note)
        optimizer.tell(query, reward)
    finally:
        sys.setprofile(before)
    return files


def moves(files):
    """Return the number of calls into a different file than the previous call."""
    return sum(a != b for a, b in pairwise(files))


def walks(optimizer, answer, n_before=20, n=5):
    """Rounds that follow some others, and whether what they ask was asked before.

    Rounds in which hyperparameters are learned do not count, and rounds in which all answers are
    compared with the model are left out.
    """
    for _ in range(n_before):
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
    rounds = []
    while n:
        learned, known = (
            optimizer._schedule.learned_at,
            {row.tobytes() for row in descriptors(optimizer)},
        )
        due = optimizer._schedule.check_due
        files = walk(optimizer, answer)
        if optimizer._schedule.learned_at == learned:
            n -= 1
            if optimizer._schedule.check_due == due:
                rounds.append((files, descriptors(optimizer)[-1].tobytes() in known))
    return rounds


def descriptors(optimizer):
    return optimizer.history_["descriptor"]


def on_average(query):
    return float(np.sin(9.0 * query.points).mean())


def at_query(query):
    return float(np.sin(9.0 * query.a).mean())


@pytest.mark.parametrize("kernel", [0.1 * RBF(0.05), None])
@pytest.mark.parametrize("expansion", ["before", "posterior"])
def test_a_round_of_gpoo_passes_through_nine_files(kernel, expansion):
    optimizer = GPOOOptimizer(
        kernel, bounds=[(0, 1)], alpha=0.01, expansion=expansion, max_depth=10, random_state=0
    )
    for files, _ in walks(optimizer, on_average):
        assert len(set(files)) <= 9, sorted(set(files))
        # Most are those of the leaves that are split, one after the other.
        assert moves(files) <= 65


def test_a_round_of_gpoo_over_a_pool_passes_through_nine_files():
    pool = np.random.default_rng(0).random((100, 2))
    optimizer = GPOOOptimizer(RBF(0.3), pool=pool, alpha=0.01, random_state=0)
    for files, _ in walks(optimizer, on_average):
        assert len(set(files)) <= 9, sorted(set(files))
        # Most are those of the leaves that are split, one after the other.
        assert moves(files) <= 65


class LeastKnown(TreeSearch):
    """A tree search of one's own."""

    def acquisition(self, leaves):
        return leaves.std

    def splits(self, leaves):
        return leaves.asked & (leaves.n_evaluations >= 2)


@pytest.mark.parametrize(
    ("make", "most_files"),
    [
        (LeastKnown, 9),
        # In addition to GPOO's calls: constants of a horizon, and points of cells and balls.
        (partial(GPTreeOptimizer, horizon=60), 10),
        (partial(GPZoomingOptimizer, horizon=60), 10),
    ],
)
def test_rounds_of_other_trees_pass_through_few_files(make, most_files):
    optimizer = make(RBF(0.1), bounds=[(0, 1)], alpha=0.01, random_state=0)
    for files, _ in walks(optimizer, on_average, n_before=10):
        assert len(set(files)) <= most_files, sorted(set(files))


LIST = {"arms": np.linspace(0, 1, 21)[:, None]}
BOX = {"bounds": [(0, 1)], "n_candidates": 60}
CELLS = BOX | {"queries": Cells([0.1, 0.3]), "targets": Cells(0.1)}


# The loop and its lock, the search, the set, its queries and their layout, what is tracked, the
# round, the model, the process and its kernel, the rule and its formula. Some rules have a base
# class, look at pairs of arms, draw jointly, or have intervals.
FILES = {
    EIOptimizer: 13,
    PIOptimizer: 13,
    ESTOptimizer: 13,
    GPUCBOptimizer: 13,
    KGOptimizer: 14,
    URGPUCBOptimizer: 14,
    DAGPUCBOptimizer: 15,
    GPTSOptimizer: 15,
    MESOptimizer: 15,
    IDSOptimizer: 16,
    IGPUCBOptimizer: 16,
}


@pytest.mark.parametrize("make", FILES)
def test_a_round_over_a_list_passes_through_few_files(make):
    optimizer = make(RBF(0.2), alpha=0.01, random_state=0, **LIST)
    for files, _ in walks(optimizer, on_average, n_before=10):
        assert len(set(files)) <= FILES[make], sorted(set(files))
        assert moves(files) <= 130
        # What nobody asked for: contexts, prices, white noise.
        assert not {each for each in files if each.endswith(("_contexts.py", "_prices.py"))}
        assert "kernels/_white.py" not in files


@pytest.mark.parametrize("make", FILES)
def test_a_round_in_a_box_passes_through_three_more(make):
    optimizer = make(RBF(0.2), alpha=0.01, random_state=0, **BOX)
    for files, _ in walks(optimizer, on_average, n_before=10):
        # Candidates that stand for the box, where they may lie, and what they follow.
        assert len(set(files)) <= FILES[make] + 3, sorted(set(files))
        assert moves(files) <= 180


def test_a_round_over_cells_passes_through_few_files():
    optimizer = KGOptimizer(RBF(0.2), alpha=0.01, random_state=0, **CELLS)
    for files, _ in walks(optimizer, on_average, n_before=10):
        assert len(set(files)) <= 17, sorted(set(files))
        assert moves(files) <= 165


def blurred(alpha, **what):
    """CMES where answers are means over a window of known width."""
    conditional = WindowMean(scale=0.1)
    return CMESOptimizer(
        RBF(0.2), conditional=conditional, bounds=[(0, 1)], alpha=alpha, random_state=0, **what
    )


@pytest.mark.parametrize("alpha", [0.01, None])
def test_a_round_of_cmes_over_candidates_passes_through_few_files(alpha):
    optimizer = blurred(alpha, queries=np.linspace(0, 1, 21)[:, None])
    for files, known in walks(optimizer, at_query):
        # The first time a query is made, and its covariances are found by the kernel.
        assert not known or len(set(files)) <= 9, sorted(set(files))
        assert known or alpha is None or len(set(files)) <= 12, sorted(set(files))
        assert moves(files) <= 100


def in_a_box(alpha):
    return blurred(alpha, query_bounds=[(0, 1)])


def by_pairs(alpha, **what):
    """CMES in the box around 200 queries; each led to a point."""
    rng = np.random.default_rng(0)
    A = rng.random((200, 1))
    X = 0.8 * A + 0.1 + 0.05 * rng.normal(size=(200, 1))
    optimizer = CMESOptimizer(RBF(0.2), alpha=alpha, random_state=0, **what)
    return optimizer.fit(X, queries=A)


def by_operator(alpha):
    return by_pairs(alpha, operator="embedding")


# A law of x given a that is learned takes a regression, or an operator on the pairs themselves;
# then each of about 16 evaluations of the acquisition function (4 make its end exact) moves 24
# times, where a window takes 14.
@pytest.mark.parametrize(
    ("make", "alpha", "n_before", "most_files", "most_moves", "noise"),
    [
        (in_a_box, 0.01, 5, 13, 350, 0.0),
        (in_a_box, 0.01, 20, 13, 350, 0.0),
        (in_a_box, 0.01, 20, 13, 350, 0.1),
        (in_a_box, None, 20, 13, 350, 0.0),
        (in_a_box, None, 20, 13, 350, 0.1),
        (by_pairs, 0.01, 5, 14, 350, 0.0),
        pytest.param(by_pairs, 0.01, 20, 14, 350, 0.0, marks=pytest.mark.slow),
        pytest.param(by_pairs, None, 20, 14, 350, 0.0, marks=pytest.mark.slow),
        pytest.param(by_operator, 0.01, 20, 15, 450, 0.0, marks=pytest.mark.slow),
    ],
)
def test_a_round_of_cmes_in_a_box_passes_through_few_files(
    make, alpha, n_before, most_files, most_moves, noise
):
    rng = np.random.default_rng(1)

    def answer(query):
        return at_query(query) + noise * rng.normal()

    rounds = walks(make(alpha), answer, n_before, n=5)
    n_files, n_moves = np.median([(len(set(files)), moves(files)) for files, _ in rounds], axis=0)
    # The prior is resolved anew in a round right after learning.
    assert n_files <= most_files
    # Most are calls of local searches, whose length depends on the answers.
    assert n_moves <= most_moves
