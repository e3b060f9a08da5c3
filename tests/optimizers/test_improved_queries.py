"""Cells that are moved to where they are worth more before they are asked."""

from __future__ import annotations

import numpy as np
import pytest
from reference.kg import expected_rise
from sklearn.gaussian_process.kernels import RBF

from skgpb import IDSOptimizer, KGOptimizer, TargetsOptimizer
from skgpb.domains import Cells
from skgpb.kernels import CellAverage

SETTINGS = {
    "kernel": RBF([0.3, 0.3]),
    "targets": Cells(0.15),
    "bounds": [(0.0, 1.0)] * 2,
    "alpha": 0.01,
    "n_candidates": 40,
    "random_state": 0,
}


def f(points):
    return float((np.sin(5 * points[:, 0]) + np.cos(3 * points[:, 1])).mean())


def started(cls=KGOptimizer, improved=True, **settings):
    """An optimizer that was told some answers."""
    optimizer = cls(**SETTINGS, queries=Cells([0.1, 0.3], improved=improved), **settings)
    for x in np.random.default_rng(0).random((8, 2)):
        optimizer.tell(x, f(x[None]))
    return optimizer


def gain(optimizer, told, asked, cost):
    """The gain of a cell by the definition, given boxes that were told or are pending."""
    kernel = CellAverage(SETTINGS["kernel"], optimizer.domain_.counts)
    T, q = optimizer.targets_.rows, np.concatenate([asked.lower, asked.upper])[None]
    boxes, rewards, n_known = told
    C = np.linalg.inv(kernel(boxes) + 0.01 * np.eye(len(boxes)))
    X = boxes[:n_known]
    known = np.linalg.inv(kernel(X) + 0.01 * np.eye(n_known))
    mean = kernel(T, X) @ known @ rewards
    var = kernel(q) - kernel(q, boxes) @ C @ kernel(boxes, q)
    across = kernel(q, T) - kernel(q, boxes) @ C @ kernel(boxes, T)
    return expected_rise(mean, across[0] / np.sqrt(var[0, 0] + 0.01)) / cost


@pytest.mark.parametrize("n_pending", [0, 2])
def test_what_is_asked_is_worth_more_than_any_candidate(n_pending):
    """By the definition, with its price, and what is pending taken as answered."""
    cost = {0.1: 1.0, 0.3: 1.5}
    optimizer, plain = (started(improved=each, cost=[1.0, 1.5]) for each in (True, False))
    X = np.random.default_rng(0).random((8, 2))
    boxes, rewards = np.hstack([X, X]), np.array([f(x[None]) for x in X])
    asked = optimizer.ask(n_pending + 1)
    for k, query in enumerate(asked):
        assert optimizer.domain_.slot_of(query) == -1  # it moved
        told = boxes, rewards, len(X)
        side = round(float(query.upper[0] - query.lower[0]), 6)
        best = gain(optimizer, told, query, cost[side])
        posterior = optimizer.posterior(asked[:k])
        candidates = np.exp(plain.acquisition(posterior))
        assert best > candidates.max()
        # A local maximum: no neighbour of its size is worth more by more than the last step.
        for step in 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
            lower = np.clip(query.lower + step, 0.0, 1.0 - side)
            there = type(query)(-1, np.concatenate([lower, lower + side]), query.counts)
            assert gain(optimizer, told, there, cost[side]) <= best * (1 + 1e-5)
        boxes = np.vstack([boxes, np.concatenate([query.lower, query.upper])])


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer, TargetsOptimizer])
def test_whatever_the_rule_it_is_asked_again_and_inside(cls):
    settings = {"rule": "mes"} if cls is TargetsOptimizer else {}
    optimizer = started(cls, **settings)
    for _ in range(3):
        query = optimizer.ask()
        assert query == optimizer.ask()
        assert (query.lower >= 0.0).all() and (query.upper <= 1.0).all()
        assert optimizer.domain_.number_of_size(query) >= 0
        optimizer.tell(query, f(query.points))


def test_it_is_kept_in_files(tmp_path):
    optimizer = started()
    optimizer.tell(optimizer.ask(), 0.5)
    optimizer.save(tmp_path / "run.skgpb")
    again = KGOptimizer.load(tmp_path / "run.skgpb")
    assert again.queries == optimizer.queries != Cells([0.1, 0.3])
    assert again.ask() == optimizer.ask()
    with pytest.raises(ValueError, match="improved must be True or False, got 'yes'"):
        Cells(0.1, improved="yes")
