r"""How much better the best expected value will be after some further answers.

After answers to queries that are chosen at once the posterior means are normal variables, whose
covariance is what these answers explain of f. The gain is by how much the largest of them is
expected to exceed the largest mean of today: the knowledge gradient of several queries [Wu2016]_.
Queries that are chosen one by one, each by all answers before it, gain more.

References
----------
.. [Wu2016] J. Wu and P. Frazier, "The Parallel Knowledge Gradient Method for Batch Bayesian
   Optimization", NeurIPS 2016.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, qmc

from skgpb.acquisition.improvement import log_own_gain
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gaussian_process import GaussianProcess

# Accuracy: draws of further answers.
N_DRAWS = 256
# Rounding: share of a prior variance below which a variance is none.
KNOWN = 1e-9


class _Further:
    """Functionals of a process, of which some will be answered.

    Attributes
    ----------
    mean, var : ndarray of shape (n,)
        Their posterior, the variances as they will be, in the user's units.
    """

    def __init__(self, gp: GaussianProcess, blocks: Sequence[np.ndarray]) -> None:
        self._gp, self._functionals = gp, Functionals.of(list(blocks), gp.n_columns)
        V = gp.covariance(self._functionals, gp.observed)
        self.mean: np.ndarray = (V @ gp.posterior.weights()) * gp.scale
        gp.posterior.solve_rows(V)
        self._explained = V
        self._prior = gp.variance(self._functionals) * gp.scale**2
        left = self._prior - np.einsum("ij,ij->i", V, V) * gp.scale**2
        self.var: np.ndarray = np.maximum(left, 0.0)
        # By how much the means move with the next answer, in standard deviations of that.
        self.moves: list[np.ndarray] = []

    def answer(self, i: int, noise: float) -> None:
        """Take it that functional i will be answered."""
        gp, V = self._gp, self._explained
        column = gp.covariance(self._functionals, self._functionals.one(i))[:, 0] - V @ V[i]
        column = column * gp.scale**2 - sum(move * move[i] for move in self.moves)
        total = float(column[i]) + noise
        # What is known already moves nothing; else digits that cancelled would.
        move = column / np.sqrt(total) if total > KNOWN * self._prior[i] else 0.0 * column
        self.moves.append(move)
        self.var = np.maximum(self.var - move**2, 0.0)


def promising(gp: GaussianProcess, blocks: Sequence[np.ndarray], noise: float, n: int) -> list[int]:
    """Return the numbers of n functionals to answer, each as if it taught nothing of others."""
    further, chosen = _Further(gp, blocks), list[int]()
    for _ in range(n):
        gains = log_own_gain(further.mean, further.var, np.full(len(blocks), noise))
        chosen.append(int(np.argmax(gains)))
        further.answer(chosen[-1], noise)
    return chosen


def expected_gain(
    gp: GaussianProcess, blocks: Sequence[np.ndarray], noise: float, chosen: Sequence[int]
) -> float:
    """Return by how much the largest mean is expected to rise by further answers.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    blocks : sequence of ndarray of shape (n_rows, n_columns)
        Descriptor rows of what may be asked and recommended.
    noise : float
        Noise variance of an answer, in the user's units.
    chosen : sequence of int
        Numbers of what will be answered.

    Returns
    -------
    gain : float
        In the user's units, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.surrogate import GaussianProcess
    >>> gp = GaussianProcess(RBF(0.3), n_columns=1)
    >>> _ = gp.observe(np.array([[0.0]]), 2.0, noise=0.01)
    >>> blocks = list(np.linspace(0, 1, 21)[:, None, None])
    >>> chosen = promising(gp, blocks, 0.01, 3)
    >>> print(f"{expected_gain(gp, blocks, 0.01, chosen):.2f}")
    0.11
    """
    further = _Further(gp, blocks)
    for i in chosen:
        further.answer(i, noise)
    normals = norm.ppf(qmc.Sobol(len(chosen), rng=0).random(N_DRAWS))
    later = further.mean + normals @ np.array(further.moves)
    return max(0.0, float(later.max(axis=1).mean() - further.mean.max()))
