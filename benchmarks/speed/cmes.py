"""Milliseconds per ask+tell round of CMES with a learned conditional.

    python -m benchmarks.speed.cmes [--rounds 110] [--pairs 1000] [--side 50] [--runs 1]
        [--seed 0]

One process, one thread, CPU time. Branin behind a linear map, learned from 1,000 pairs; 50 x 50
candidates (``--side``), f* from 100 joint draws on a grid of the same size. The columns:

round     CMESOptimizer with the operator of eq. 5: one ask and one tell, the median of the ten
          rounds up to t, among which at most two learn hyperparameters
all       the mean of these rounds, learning included
window    "all", where the pairs are explained by a learned window instead (operator="auto")
NumPy     eqs 5 and 7 evaluated directly at fixed hyperparameters: Gram matrices, weights of the
          candidates, posterior covariance of f on the grid, its root, draws, information
W known   the same, given what does not depend on the answers: weights of the candidates and all
          prior covariances
BoTorch   qMaxValueEntropy over the candidates, with f* from its joint draws on them, of a GP with
          t observations at fixed hyperparameters; where BoTorch is installed

BoTorch's GP is one of point evaluations, as it has no other: what it computes is less.
"""

from __future__ import annotations

import warnings
from time import process_time
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from sklearn.gaussian_process.kernels import Kernel
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, write_csv
from benchmarks.papers._branin import IndirectBranin
from skgpb import CMESOptimizer

TIMES = (10, 25, 50, 100, 200)
# Rounds whose median and mean are a figure: those up to and including t.
AROUND = 10
N_DRAWS = 100
REPEATS = 3


def unit_grid(side: int) -> np.ndarray:
    """Candidates and the grid of f*, over the unit square."""
    axis = np.linspace(0.0, 1.0, side)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


def play(
    operator: str, rounds: int, n_pairs: int, candidates: np.ndarray, seed: int
) -> tuple[np.ndarray, CMESOptimizer]:
    """Seconds of every round, and the optimizer after the last."""
    problem = IndirectBranin("linear")
    rng = np.random.default_rng(seed)
    X, A = problem.pairs(n_pairs, rng)
    optimizer = CMESOptimizer(
        operator=operator,
        bounds=problem.bounds,
        queries=candidates,
        n_points=len(candidates),
        n_max_values=N_DRAWS,
        n_initial=0,
        alpha=problem.noise_std**2,
        random_state=seed,
    ).fit(X, queries=A)
    seconds = []
    for _ in range(rounds):
        start = process_time()
        query = optimizer.ask()
        asked = process_time() - start
        answer = problem.observe(query, rng)
        start = process_time()
        optimizer.tell(query, answer)
        seconds.append(asked + process_time() - start)
    return np.array(seconds), optimizer


class Direct:
    """Equations 5 and 7 as they stand, for a prior mean of zero."""

    def __init__(
        self,
        k: Kernel,
        ell: Kernel,
        ridge: float,
        X: np.ndarray,
        A: np.ndarray,
        grid: np.ndarray,
        candidates: np.ndarray,
    ) -> None:
        self.k, self.ell, self.ridge, self.X, self.A, self.grid = k, ell, ridge, X, A, grid
        self.candidates = candidates

    def prepare(self) -> None:
        """Compute what does not depend on the answers."""
        N = len(self.X)
        L = self.ell(self.A) + N * self.ridge * np.eye(N)
        self.W = np.linalg.solve(L, self.ell(self.A, self.candidates))
        across = self.k(self.grid, self.X)
        self.Q = self.W.T @ self.k(self.X) @ self.W
        self.across = across @ self.W
        self.K = self.k(self.grid)

    def choose(self, asked: np.ndarray, z: np.ndarray, noise: float, rng: Any) -> int:
        """Number of the best candidate after the answers z (t,) to candidates ``asked`` (t,)."""
        M = np.linalg.inv(self.Q[np.ix_(asked, asked)] + noise * np.eye(len(z)))
        U, V = self.across[:, asked], self.Q[:, asked]
        values, vectors = np.linalg.eigh(self.K - U @ M @ U.T)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws = (U @ M @ z)[:, None] + root @ rng.standard_normal((len(root), N_DRAWS))
        var = np.diag(self.Q) - np.einsum("ij,ij->i", V @ M, V)
        std = np.sqrt(np.maximum(var, 1e-18))
        gamma = (draws.max(axis=0)[:, None] - V @ M @ z) / std
        log_cdf = log_ndtr(gamma)
        mills = np.exp(-0.5 * gamma**2 - 0.5 * np.log(2 * np.pi) - log_cdf)
        return int((0.5 * gamma * mills - log_cdf).mean(axis=0).argmax())


def direct_rounds(
    optimizer: CMESOptimizer, times: list[int], candidates: np.ndarray
) -> dict[int, tuple[float, float]]:
    """Seconds of a direct round after t answers: from nothing, and with W known."""
    kernel = optimizer.surrogate_.kernel_
    operator = kernel.operator_
    history = optimizer.history_
    z = (history["reward"] - history["reward"].mean()) / history["reward"].std()
    asked = np.array([np.argmin(((candidates - a) ** 2).sum(1)) for a in history["a"]])
    low, high = optimizer.bounds_.T
    direct = Direct(
        kernel.base,
        operator.query_kernel,
        operator.regularization,
        np.asarray(kernel.X),
        np.asarray(kernel.A),
        low + candidates * (high - low),
        candidates,
    )
    found = {}
    for t in times:
        parts = []
        for _ in range(REPEATS):
            start = process_time()
            direct.prepare()
            prepared = process_time() - start
            start = process_time()
            direct.choose(asked[:t], z[:t], 1e-2, np.random.default_rng(0))
            parts.append((prepared, process_time() - start))
        prepared, chosen = np.median(parts, axis=0)
        found[t] = prepared + chosen, chosen
    return found


def botorch_rounds(
    optimizer: CMESOptimizer, times: list[int], candidates: np.ndarray
) -> dict[int, float]:
    """Seconds of a round of BoTorch's max-value entropy search; empty where it is missing."""
    try:
        import torch
        from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy
        from botorch.models import SingleTaskGP
        from gpytorch.kernels import RBFKernel
    except ImportError as error:
        print(f"BoTorch is left out ({error}); python -m pip install botorch\n")
        return {}
    torch.set_num_threads(1)
    grid = torch.tensor(candidates)
    history = optimizer.history_
    z = (history["reward"] - history["reward"].mean()) / history["reward"].std()
    found = {}
    for t in times:
        seconds = []
        for _ in range(REPEATS):
            start = process_time()
            torch.manual_seed(0)
            kernel = RBFKernel(ard_num_dims=2)
            kernel.lengthscale = 0.2
            X, y = torch.tensor(history["a"][:t]), torch.tensor(z[:t, None])
            model = SingleTaskGP(
                X,
                y,
                train_Yvar=torch.full_like(y, 1e-2),
                covar_module=kernel,
                outcome_transform=None,
            )
            model.eval()
            with torch.no_grad():
                rule = qMaxValueEntropy(
                    model, grid, num_mv_samples=N_DRAWS, use_gumbel=False, maximize=True
                )
                int(rule(grid[:, None]).argmax())
            seconds.append(process_time() - start)
        found[t] = float(np.median(seconds))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("speed.cmes", __doc__, 1, rounds=110, pairs=1000, side=50)
    options = parser.parse_args(arguments)
    times = [t for t in TIMES if t <= options.rounds]
    if not times or options.pairs < 2:
        parser.error("rounds must be at least 10 and pairs at least 2")
    grid = unit_grid(options.side)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jitter and early stops of the likelihood
        play("embedding", 10, options.pairs, grid, options.seed)  # warm up
        seeds = range(options.seed, options.seed + options.runs)
        plays = [play("embedding", options.rounds, options.pairs, grid, seed) for seed in seeds]
        optimizer = plays[0][1]
        ours = np.array([seconds for seconds, _ in plays])
        window = np.array([play("auto", options.rounds, options.pairs, grid, s)[0] for s in seeds])
        direct = direct_rounds(optimizer, times, grid)
        peer = botorch_rounds(optimizer, times, grid)
    print(f"CMES, |D1| = {options.pairs}: ms of CPU per round after t answers")
    print(
        f"{'t':>5}{'round':>9}{'all':>9}{'window':>9}{'NumPy':>10}{'ratio':>7}{'W known':>10}"
        f"{'ratio':>7}{'BoTorch':>10}{'ratio':>7}"
    )
    rows = []
    for t in times:
        part = np.s_[:, t - AROUND : t]
        typical, mean = np.median(ours[part]), ours[part].mean()
        everything, known = direct[t]
        cells = f"{t:>5}{1e3 * typical:>9.1f}{1e3 * mean:>9.1f}{1e3 * window[part].mean():>9.1f}"
        for other in (everything, known, peer.get(t)):
            cells += (
                f"{'-':>10}{'-':>7}"
                if other is None
                else f"{1e3 * other:>10.0f}{other / mean:>7.0f}"
            )
        print(cells)
        seconds = (typical, mean, window[part].mean(), everything, known, peer.get(t, np.nan))
        rows.append((t, *(1e3 * s for s in seconds)))
    path = options.output / "speed_cmes.csv"
    write_csv(
        path, ("t", "round_ms", "all_ms", "window_ms", "numpy_ms", "known_ms", "botorch_ms"), rows
    )
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
