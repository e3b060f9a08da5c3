"""Seconds and memory of one call of ``fit``, next to scikit-learn and GPyTorch.

    python -m benchmarks.speed.fit [--parts given learned] [--threads 1 2] [--dimensions 2 6 10]
        [--given 5000] [--learned 2000] [--runs 3] [--seed 0]

Every figure is of the first call in a process of its own, with as many threads of BLAS as the
column says; of several runs, which alternate, the one of least time counts. Memory is the peak of
what is resident beyond what was before the call, data and imports included. ``given`` are fits with
hyperparameters as they are, ``learned`` those that maximise the marginal likelihood. The columns:

seconds  by the wall clock, and of processor time
MB       peak of memory beyond that before the call
ratio    of seconds and of MB to those of scikit-learn
log p    log marginal likelihood, of the whole data

scikit-learn computes the likelihood at given hyperparameters as well; GPyTorch puts that off, as it
does the factor, so that its figure has one prediction. It learns by the same search, L-BFGS-B, from
the same start, by Cholesky factors in double precision. It is left out where it is not installed.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, positive_int, write_csv

NOISE = 0.1
LIBRARIES = ("skgpb", "scikit-learn", "GPyTorch")
KERNELS = ("RBF", "C * Matern", "C * RBF(d) + White")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def data(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the unit cube and noisy values of a function; later axes matter less."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    f = (np.sin(6 * X + np.arange(d)) / np.arange(1, d + 1)).sum(axis=1)
    return X, f + NOISE * rng.standard_normal(n)


def kernel_named(name: str, d: int) -> Any:
    """Return a kernel of scikit-learn."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    if name == "RBF":
        return RBF(0.5)
    if name == "C * Matern":
        return ConstantKernel(1.0) * Matern(0.5, nu=2.5)
    return ConstantKernel(1.0) * RBF([0.5] * d) + WhiteKernel(0.1)


def resident(peak: bool) -> float:
    """Resident memory of this process in MB, now or at its peak; NaN where none is told."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = re.search(rf"{'VmHWM' if peak else 'VmRSS'}:\s+(\d+) kB", status.read_text())
    return int(found.group(1)) / 1024 if found else float("nan")


def regressor_of(library: str) -> type:
    """Return the regressor of skgpb or of scikit-learn."""
    if library == "skgpb":
        from skgpb.surrogate import OnlineGaussianProcessRegressor

        return OnlineGaussianProcessRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor

    return GaussianProcessRegressor


def fit_torch(model: Any, X: Any, learned: bool) -> float:
    """Condition a model of GPyTorch, learned or not, and predict once; its log likelihood."""
    import gpytorch
    import torch
    from scipy.optimize import minimize

    parameters = list(model.parameters())
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        torch.nn.utils.vector_to_parameters(torch.from_numpy(x.copy()), parameters)
        model.zero_grad()
        value = -len(X) * objective(model(X), model.train_targets)
        value.backward()
        return value.item(), np.concatenate([p.grad.numpy().ravel() for p in parameters])

    value = float("nan")
    with gpytorch.settings.max_cholesky_size(10**6):
        if learned:
            model.train()
            start = torch.nn.utils.parameters_to_vector(parameters).detach().numpy()
            found = minimize(negative, start, jac=True, method="L-BFGS-B")
            negative(found.x)
            value = -found.fun
        model.eval()
        with torch.no_grad():
            model(X[:1]).mean.numpy()
    return value


def torch_model(kernel: str, X: np.ndarray, y: np.ndarray, d: int) -> tuple[Any, Any]:
    """Return the same model in GPyTorch, and its points."""
    import gpytorch
    import torch

    torch.set_num_threads(int(os.environ[THREADS[0]]))
    torch.set_default_dtype(torch.float64)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, base: Any, *given: Any) -> None:
            super().__init__(*given)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), base

        def forward(self, x: Any) -> Any:
            mean, covariance = self.mean_module(x), self.covar_module(x)
            return gpytorch.distributions.MultivariateNormal(mean, covariance)

    if kernel == "C * Matern":
        shape = gpytorch.kernels.MaternKernel(nu=2.5)
    else:
        shape = gpytorch.kernels.RBFKernel(ard_num_dims=d if "d" in kernel else None)
    shape.lengthscale = 0.5
    base = shape if kernel == "RBF" else gpytorch.kernels.ScaleKernel(shape)
    if base is not shape:
        base.outputscale = 1.0
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    points = torch.from_numpy(X)
    return Model(base, points, torch.from_numpy(y), likelihood), points


def one(library: str, kernel: str, n: int, d: int, seed: int) -> tuple[float, ...]:
    """Seconds, processor time, MB and the log likelihood of the first fit in this process."""
    X, y = data(n, d, seed)
    learned = "White" in kernel
    if library == "GPyTorch":
        model, points = torch_model(kernel, X, y, d)

        def fit() -> float:
            return fit_torch(model, points, learned)
    else:
        noise = {"alpha": 0.0 if learned else 0.1}
        if not learned:
            noise["optimizer"] = None
        regressor = regressor_of(library)(kernel_named(kernel, d), **noise)

        def fit() -> float:
            return regressor.fit(X, y).log_marginal_likelihood_value_

    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")  # the peak begins anew
    before, wall, cpu = resident(False), perf_counter(), process_time()
    value = fit()
    return perf_counter() - wall, process_time() - cpu, resident(True) - before, float(value)


def in_a_fresh_process(threads: int, *arguments: Any) -> tuple[float, ...]:
    """Return what ``one`` measures."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(THREADS, str(threads)))
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            return process.submit(one, *arguments).result()
    finally:
        os.environ.clear()
        os.environ.update(before)


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.fit", __doc__, 3, given=5000, learned=2000)
    parser.add_argument(
        "--threads", type=positive_int, nargs="+", default=(1, 2), help="of BLAS (default 1 2)"
    )
    parser.add_argument(
        "--dimensions", type=positive_int, nargs="+", default=(2, 6, 10), help="default 2 6 10"
    )
    parser.add_argument("--parts", nargs="+", choices=("given", "learned"), help="default both")
    options = parser.parse_args(arguments)
    libraries = [name for name in LIBRARIES if name != "GPyTorch" or find_spec("gpytorch")]
    if len(libraries) < len(LIBRARIES):
        print("GPyTorch is not installed and left out", file=sys.stderr)
    parts = options.parts or ("given", "learned")
    cases = [(name, options.given) for name in KERNELS[:2] if "given" in parts]
    cases += [(name, options.learned) for name in KERNELS[2:] if "learned" in parts]
    rows = []
    header = ("kernel", "n", "d", "threads", "library", "seconds", "cpu", "MB", "log_p")
    print(f"{'':63}{'seconds':>9}{'cpu':>8}{'MB':>7}{'ratio':>7}{'of MB':>7}{'log p':>11}")
    for kernel, n in cases:
        for d in options.dimensions:
            for threads in options.threads:
                found: dict[str, list[tuple]] = {name: [] for name in libraries}
                for r in range(options.runs):
                    for name in libraries:
                        measured = in_a_fresh_process(threads, name, kernel, n, d, options.seed + r)
                        found[name].append(measured)
                best = {name: min(found[name]) for name in libraries}
                theirs = best["scikit-learn"]
                for name in libraries:
                    seconds, cpu, memory, value = best[name]
                    label = f"{kernel}, n = {n}, d = {d}, {threads} thread(s)"
                    cells = [seconds, cpu, memory, seconds / theirs[0], memory / theirs[2], value]
                    texts = [
                        "-" if np.isnan(cell) else f"{cell:.{digits}f}"
                        for cell, digits in zip(cells, (2, 2, 0, 2, 2, 2), strict=True)
                    ]
                    widths = (9, 8, 7, 7, 7, 11)
                    columns = (f"{text:>{w}}" for text, w in zip(texts, widths, strict=True))
                    print(f"{label:50} {name:12}", *columns, sep="", flush=True)
                    rows.append((kernel, n, d, threads, name, *best[name]))
    path = options.output / "speed_fit.csv"
    write_csv(path, header, rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
