r"""The empirical conditional mean operator, and the learning of its settings without rewards.

Notation, for the N pairs (x_j, a_j) of D1:

====== ========== =======================================================================
symbol shape      meaning
====== ========== =======================================================================
l, L   (N, N)     query kernel and its Gram matrix over a_1..a_N
k, K   (N, N)     embedding kernel over x_1..x_N, which only the *learning* uses
W      (N, m)     (L + N lambda I)^-1 l(a, queries): weights of the points in the answers
M      (N, N)     (L + N lambda I)^-1
====== ========== =======================================================================

Leaving pair j out of the regression of k(x, .) on a changes its residual to
r_j = sum_i M_ji k(x_i, .) / M_jj, so the leave-one-out loss is, in closed form,

    loss = mean_j |r_j|^2 = mean_j (M K M)_jj / M_jj^2.

Large N: with a pivoted Cholesky factor L ~ P P' (N, r) all problems have size r x r.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", section 2 and equation 5.
.. [CMP] S. L. Chau, S. Bouabid, D. Sejdinovic, "Deconditional downscaling with Gaussian processes",
   NeurIPS 2021.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.optimize import minimize
from scipy.spatial import cKDTree
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Kernel

from skgpb import defaults
from skgpb.kernels._products import GaussianProducts, compile_gaussian_products
from skgpb.kernels.evaluator import near, origin_of, relative
from skgpb.utils.roots import pivoted_cholesky
from skgpb.utils.validation import box_around

#: Accuracy: share of the trace at which a pivoted Cholesky factorisation stops.
NEGLIGIBLE_TRACE = 1e-12
#: Accuracy: largest rank of the factor of the embedding kernel, which only the learning uses.
EMBEDDING_RANK = 500
#: Accuracy: share of the trace that this factor may leave out.
EMBEDDING_TRACE = 1e-6
#: Rounding: smallest 1 - leverage, for a pair that determines its own prediction.
SMALLEST_LEVERAGE = 1e-12
#: Memory: number of cached sets of coefficients, and size of the largest, in numbers (32 MB).
REMEMBERED_SETS, REMEMBERED = 4, 2**22
#: Speed: largest number of pairs for which errors of the operator use two fixed forms (N, N).
FORM_PAIRS = 1500
# Memory: largest number of pairs of the exact operator; number of landmarks for more pairs (D-C5).
EXACT_PAIRS, LANDMARKS = 3000, 1000


def cross(kernel: Kernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return noiseless covariances (n, m), even if A and B are the same array."""
    return kernel(A, B.copy() if A is B else B)


def pivoted_gram(
    kernel: Kernel, X: np.ndarray, max_rank: int, tolerance: float = NEGLIGIBLE_TRACE
) -> tuple[np.ndarray, np.ndarray]:
    """Factorise the noiseless Gram matrix of X (N, d) as P P', greedily. O(N r^2).

    Returns
    -------
    factor : ndarray of shape (N, r)
        P; ``factor[pivots]`` is lower triangular.
    pivots : ndarray of shape (r,)
        Rows of X in the order of the pivots.
    """
    N = len(X)
    # The diagonal of K(X, copy of X), in blocks: kernel.diag would include white noise.
    rest = np.concatenate(
        [np.diag(kernel(X[i : i + 64], X[i : i + 64].copy())) for i in range(0, N, 64)]
    )
    scale, limit = rest.max(), tolerance * rest.sum()
    factor, pivots, _ = pivoted_cholesky(
        lambda p: kernel(X[p : p + 1], X)[0] if N > 1 else kernel(X, X.copy())[0],
        rest,
        max_rank,
        # A pivot below the rounding of the diagonal is noise.
        lambda left: left.sum() <= limit or left.max() <= 1e-15 * scale,
    )
    return factor, pivots


def default_embedding_kernel(X: np.ndarray) -> Kernel:
    """Return a Gaussian kernel with half the median distance of standardised points as scale."""
    spread = X.std(axis=0)
    spread[spread <= 1e-12 * np.maximum(1.0, np.abs(X).max(axis=0))] = np.inf
    rows = near(RBF(), X)[:: max(1, len(X) // 500)] / spread
    distances = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=-1))
    distances = distances[distances > 0.0]
    scale = 0.5 * float(np.median(distances)) if len(distances) else 1.0
    spread[np.isinf(spread)] = 1.0
    return RBF(spread * scale, "fixed")


def default_query_kernel(A: np.ndarray) -> Kernel:
    """Return a Gaussian kernel with a free length scale for each column that varies in A (N, q)."""
    spread = A.std(axis=0)
    constant = spread <= 1e-12 * np.maximum(1.0, np.abs(A).max(axis=0))
    spread[constant] = np.maximum(1.0, np.abs(A).max(axis=0))[constant]
    if constant.all():
        return RBF(spread, "fixed")
    bounds = np.outer(spread, defaults.OPERATOR_LENGTH_LIMITS)
    bounds[constant] = spread[constant, None] * np.array([0.999, 1.001])
    return RBF(0.5 * spread * (1 + constant), bounds)


class ConditionalMeanOperator:
    """Weights W of the points of D1 in the answers to queries; see the module. Immutable.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Points.
    A : ndarray of shape (N, q)
        Queries of the pairs.
    query_kernel : Kernel or None
        Kernel whose free hyperparameters are learned; None is a Gaussian kernel with all free.
    regularization : float or None
        lambda; None if it is learned.
    n_landmarks : int or None
        Rank of the approximation; None is exact up to 3,000 pairs.
    embedding_kernel : Kernel or None
        Kernel over points in whose norm the learning measures errors.

    Attributes
    ----------
    query_kernel, regularization : Kernel, float
        Learned values.
    origin : ndarray of shape (q,) or None
        Origin that is subtracted from queries for the query kernel.
    near_A : ndarray of shape (N, q)
        Queries of the pairs minus the origin.
    loss : float
        Mean squared leave-one-out residual, in units of the embedding kernel.
    """

    features: np.ndarray
    pivots: np.ndarray

    def __init__(
        self,
        X: np.ndarray,
        A: np.ndarray,
        query_kernel: Kernel | None,
        regularization: float | None,
        n_landmarks: int | None,
        embedding_kernel: Kernel | None,
    ) -> None:
        self.settings: tuple[Any, ...] = (
            query_kernel,
            regularization,
            n_landmarks,
            embedding_kernel,
        )
        self._neighbourly: tuple[np.ndarray, float, float] | None = None
        self._last: list[tuple[np.ndarray, np.ndarray]] = []
        self._forms: list[np.ndarray] | None = None
        self._grams: tuple[GaussianProducts, list[np.ndarray]] | None = None
        self.X, self.A = X.copy(), A.copy()
        self.query_kernel: Kernel = (
            default_query_kernel(A) if query_kernel is None else clone(query_kernel)
        )
        self.origin: np.ndarray | None = origin_of(self.query_kernel, box_around(A))
        self.near_A: np.ndarray = relative(self.A, self.origin)
        learn_kernel = len(self.query_kernel.theta) > 0
        if len(X) < 2 and (learn_kernel or query_kernel is None or regularization is None):
            raise ValueError(
                "one pair is too few for leave-one-out cross-validation of the conditional mean: "
                "pass a query_kernel with fixed hyperparameters and a regularization"
            )
        self.embedding_kernel: Kernel = embedding_kernel or default_embedding_kernel(X)
        self.regularization: float = (
            defaults.REGULARIZATION if regularization is None else float(regularization)
        )
        if learn_kernel:
            self._learn_kernel(regularization is None)
        self._factorise(n_landmarks)
        self.loss: float = np.nan
        if len(X) > 1:
            self._learn_regularization(regularization is None)
        self._prepare()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": [], "_forms": None, "_grams": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    # -- weights ----------------------------------------------------------------------------

    @property
    def n_coefficients(self) -> int:
        """Length r of the coefficients of a query: N, or the number of landmarks."""
        return len(self.X) if self.exact else len(self.pivots)

    def _factorise(self, n_landmarks: int | None) -> None:
        N = len(self.X)
        wanted, most = n_landmarks, LANDMARKS
        if wanted is None:
            wanted = N if N <= EXACT_PAIRS else most
        self.exact: bool = wanted >= N
        self.features, self.pivots = pivoted_gram(
            self.query_kernel, self.near_A, min(wanted, most) if self.exact else wanted
        )

    def _prepare(self) -> None:
        """Factorise the system of the coefficients, at the final regularization."""
        N = len(self.X)
        if self.exact:
            L = cross(self.query_kernel, self.near_A, self.near_A)
            L[np.diag_indices(N)] += N * self.regularization
            self.factor: tuple[np.ndarray, bool] = cho_factor(L, lower=True, overwrite_a=True)
            return
        # The same with l(a, a') ~ phi(a)' phi(a'): W = P (P'P + N lambda I)^-1 phi = R' c with
        # c = T^-1 phi and R = T^-1 P', T T' = P'P + N lambda I, so that R R' <= I.
        P = self.features
        inner = P.T @ P
        inner[np.diag_indices(len(inner))] += N * self.regularization
        T = np.linalg.cholesky(inner)
        self.factor = (T, True)
        self.projection: np.ndarray = solve_triangular(T, P.T, lower=True).T  # R' (N, r)

    def coefficients(self, A: np.ndarray) -> np.ndarray:
        """Return the coefficients (n, r) of queries A (n, q); the weights (n, N) if exact.

        The last sets of queries are cached with their coefficients: learning the kernel of f uses
        the same ones many times, and tracked queries are the same before and after it.
        """
        A = relative(A, self.origin)
        for i, (known, coefficients) in enumerate(self._last):
            if np.array_equal(known, A):
                self._last.insert(0, self._last.pop(i))
                return coefficients
        if self.exact:
            covariances = cross(self.query_kernel, self.near_A, A)
            found = cho_solve(self.factor, covariances, overwrite_b=True, check_finite=False).T
        else:
            covariances = cross(self.query_kernel, self.near_A[self.pivots], A)
            phi = solve_triangular(self.features[self.pivots], covariances, lower=True)
            found = solve_triangular(self.factor[0], phi, lower=True).T
        found = np.ascontiguousarray(found)
        if len(A) > 1 and found.size <= REMEMBERED:
            self._last = [(A.copy(), found), *self._last[: REMEMBERED_SETS - 1]]
        return found

    def weights(self, A: np.ndarray) -> np.ndarray:
        """Return the weights W' (n, N) of the points of D1 in the answers to queries A (n, q)."""
        c = self.coefficients(A)
        return c if self.exact else c @ self.projection.T

    # -- learning ---------------------------------------------------------------------------

    def _learn_kernel(self, learn_regularization: bool) -> None:
        """Minimise the leave-one-out loss over length scales and lambda, on a subsample."""
        N = len(self.X)
        rng = np.random.RandomState(0)
        most = defaults.SELECTION_PAIRS
        rows = rng.permutation(N)[:most] if most < N else np.arange(N)
        A, X = self.near_A[rows], near(self.embedding_kernel, self.X)[rows]
        K = cross(self.embedding_kernel, X, X)
        kernel = clone(self.query_kernel)
        bounds = kernel.bounds
        starts = [kernel.theta, np.clip(kernel.theta - np.log(4.0), *bounds.T)]
        limits = limits_of_log_lambda()
        fixed = np.log(self.regularization) if self.regularization > 0 else limits[0]
        extra = [limits] if learn_regularization else []

        def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            kernel.theta = parameters[: len(bounds)]
            log_lambda = parameters[-1] if learn_regularization else fixed
            value, gradient = leave_one_out(kernel, A, K, log_lambda)
            return value, gradient if learn_regularization else gradient[:-1]

        best = None
        for start in starts:
            start = np.append(start, fixed) if learn_regularization else start
            result = minimize(
                objective,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=[*bounds, *extra],
                options={"maxiter": 60},
            )
            if np.isfinite(result.fun) and (best is None or result.fun < best.fun):
                best = result
        if best is not None:
            self.query_kernel.theta = best.x[: len(bounds)]
            if learn_regularization:
                self.regularization = float(np.exp(best.x[-1]))

    def _learn_regularization(self, learn: bool) -> None:
        """Minimise the leave-one-out loss of all pairs over lambda."""
        N = len(self.X)
        values, vectors = eigh(self.features.T @ self.features)
        self._values = np.maximum(values, 0.0)
        self._U = self.features @ vectors  # L ~ U U', U'U = diag(values)
        X = near(self.embedding_kernel, self.X)
        E, _ = pivoted_gram(self.embedding_kernel, X, EMBEDDING_RANK, EMBEDDING_TRACE)
        UE = self._U.T @ E

        def loss(log_lambda: float) -> float:
            return float((self._residuals(E, UE, np.exp(log_lambda)) ** 2).sum() / N)

        if learn:
            grid = np.linspace(*limits_of_log_lambda(), 24)
            losses = [loss(point) for point in grid]
            i = int(np.argmin(losses))
            low, high = grid[max(0, i - 1)], grid[min(len(grid) - 1, i + 1)]
            self.regularization = float(np.exp(golden_section(loss, low, high)))
        self.loss = float((self._residuals(E, UE, self.regularization) ** 2).sum() / N)

    def leave_one_out_residuals(self, Y: np.ndarray) -> np.ndarray:
        """Return leave-one-out residuals (N, d) of the regression of Y (N, d) on the queries."""
        return self._residuals(Y, self._U.T @ Y, self.regularization)

    def _residuals(self, E: np.ndarray, UE: np.ndarray, regularization: float) -> np.ndarray:
        """Return leave-one-out residuals (N, rank) of a factor E of the kernel, given UE = U'E."""
        shrink = self._shrink(regularization)
        leverage = (self._U**2) @ shrink
        residuals = E - self._U @ (shrink[:, None] * UE)
        return residuals / np.maximum(1.0 - leverage, SMALLEST_LEVERAGE)[:, None]

    def _shrink(self, regularization: float) -> np.ndarray:
        ridged = self._values + len(self.X) * regularization
        return np.divide(1.0, ridged, out=np.zeros_like(ridged), where=ridged > 0.0)

    def error(self, kernel: Kernel) -> float:
        """Estimate the mean squared error of the conditional mean, in the norm of ``kernel``.

        For f ~ GP(0, kernel) it is the variance of g(a) minus its estimate by the operator, on
        average over the queries of D1. It does not depend on rewards.

        A leave-one-out residual is the pair's own scatter around the true conditional mean, of
        variance s, minus the operator's error, of squared size e: mean |r_j|^2 = s + e. Scatters of
        two pairs are independent while errors at neighbouring queries are similar, so that over
        nearest neighbours mean r_j . r_j' = e - u s, where u is the sum of their weights in each
        other's prediction. Two equations, two unknowns. By chance the solution may be small or
        negative; e is at least the error by scatter alone, s times the mean sum of squared weights.
        """
        N = len(self.X)
        if N < 2:
            return 0.0
        products = quick_products(kernel, self.X)
        if products is not None:
            return self._error_by_forms(products)[0]
        E, _ = pivoted_gram(kernel, near(kernel, self.X), EMBEDDING_RANK, EMBEDDING_TRACE)
        r = self.leave_one_out_residuals(E)
        neighbours, weight, share = self._influence()
        total = float((r**2).sum() / N)
        product = float(np.mean((r * r[neighbours]).sum(axis=1)))
        floor = total * share / (1.0 + share)
        return max((product + weight * total) / (1.0 + max(weight, 0.0)), floor, 0.0)

    def errors(self, Y: np.ndarray) -> np.ndarray:
        """Return mean squared errors (d,) by scatter in the regression of targets Y (N, d).

        They are s times the mean sum of squared weights, as in :meth:`error`. The products of
        neighbours' residuals, which would show a bias as well, vary by s / sqrt(N): more than the
        bias of a few smooth targets.
        """
        _, _, share = self._influence()
        return (self.leave_one_out_residuals(Y) ** 2).mean(axis=0) * share / (1.0 + share)

    def error_gradient(self, kernel: Kernel) -> np.ndarray | None:
        """Return the derivatives (p,) of :meth:`error` by the hyperparameters of ``kernel``.

        None for more than ``FORM_PAIRS`` pairs, and for kernels that are no Gaussian products.
        """
        if len(self.X) < 2:
            return np.zeros(len(kernel.theta))
        products = quick_products(kernel, self.X)
        return None if products is None else self._error_by_forms(products, True)[1]

    def _error_by_forms(
        self, products: GaussianProducts, gradient: bool = False
    ) -> tuple[float, np.ndarray | None]:
        """Return :meth:`error` for Gaussian products, and its derivatives.

        Residuals are linear in the embeddings of the pairs, so that the two means in the error are
        inner products of the Gram matrix with matrices that do not depend on the kernel.
        """
        _, weight, share = self._influence()
        if self._forms is None:
            self._forms = self._residual_forms()
        squares, neighbours = self._forms
        parts = self.grams(products)
        K = sum_of(parts)
        every, beside = (float(np.vdot(form, K)) for form in (squares, neighbours))
        scale = 1.0 / (1.0 + max(weight, 0.0))
        choices = ((scale, weight * scale), (0.0, share / (1.0 + share)), (0.0, 0.0))
        values = [by_product * beside + by_total * every for by_product, by_total in choices]
        best = int(np.argmax(values))
        if not gradient:
            return values[best], None
        by_product, by_total = choices[best]
        form = by_product * neighbours + by_total * squares
        return values[best], products_slopes(products, self.X, [form * K for K in parts])

    def grams(self, products: GaussianProducts) -> list[np.ndarray]:
        """Return Gram matrices (N, N) of the points of D1, one for each product; cached.

        Covariances, their derivatives and the error at one set of hyperparameters all need them.
        """
        if self._grams is not None:
            known, parts = self._grams
            if np.array_equal(known.weights, products.weights) and np.array_equal(
                known.precisions, products.precisions
            ):
                return parts
        parts = products_gram(products, self.X)
        for part in parts:
            part.flags.writeable = False
        self._grams = products, parts
        return parts

    def _residual_forms(self) -> list[np.ndarray]:
        """Return symmetric S (N, N) with <S, K> the means of |r_j|^2 and of r_j . r_j'."""
        N = len(self.X)
        j, _, _ = self._influence()
        U, weighted = self._U, self._U * self._shrink(self.regularization)
        kept = np.maximum(1.0 - (weighted * U).sum(axis=1), SMALLEST_LEVERAGE)
        residual = -(weighted @ U.T)
        residual[np.diag_indices(N)] += 1.0
        residual /= kept[:, None]  # r = residual @ embeddings
        squares = residual.T @ residual
        product = residual.T @ residual[j]
        return [squares / N, 0.5 * (product + product.T) / N]

    def _influence(self) -> tuple[np.ndarray, float, float]:
        """Return nearest neighbours (N,), u of :meth:`error`, mean sum of squared weights."""
        if self._neighbourly is None:
            weighted = self._U * self._shrink(self.regularization)  # H = weighted U'
            leverage = (weighted * self._U).sum(axis=1)
            kept = np.maximum(1.0 - leverage, SMALLEST_LEVERAGE)
            j = self._neighbours()
            mutual = (weighted * self._U[j]).sum(axis=1)
            weight = float(np.mean(mutual / kept + mutual / kept[j]))
            squares = (weighted**2) @ self._values - leverage**2  # sum over i of H_ji^2, i not j
            self._neighbourly = j, weight, float(np.mean(squares / kept**2))
        return self._neighbourly

    def _neighbours(self) -> np.ndarray:
        """Return the row with the nearest query to each row of D1, except itself."""
        spread = self.A.std(axis=0)
        scaled = self.near_A / np.where(spread > 0.0, spread, 1.0)
        _, near = cKDTree(scaled).query(scaled, k=2)
        # among duplicates the first neighbour may be another row than the row itself
        return np.where(near[:, 0] == np.arange(len(scaled)), near[:, 1], near[:, 0])


def quick_products(kernel: Kernel, X: np.ndarray) -> GaussianProducts | None:
    """Return the Gaussian products of a kernel over X (N, d); None for others and many pairs."""
    if len(X) > FORM_PAIRS:
        return None
    products = compile_gaussian_products(kernel, X.shape[1])
    return products if products is not None and len(products.weights) else None


def products_gram(products: GaussianProducts, X: np.ndarray) -> list[np.ndarray]:
    """Return Gram matrices (N, N) over points X (N, d), one for each term of a sum of products."""
    centred = X - X.mean(axis=0)
    out = []
    for w, q in zip(products.weights, products.precisions, strict=True):
        Z = centred * np.sqrt(q)
        half = 0.5 * (Z * Z).sum(axis=1)
        K = Z @ Z.T
        K -= half[:, None]
        K -= half[None]
        np.minimum(K, 0.0, out=K)
        np.exp(K, out=K)
        K *= w
        K[np.diag_indices(len(X))] = w
        out.append(K)
    return out


def sum_of(parts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of matrices; a single one is returned itself and must not be changed."""
    return parts[0] if len(parts) == 1 else sum(parts[1:], start=parts[0])


def products_slopes(
    products: GaussianProducts, X: np.ndarray, parts: list[np.ndarray]
) -> np.ndarray:
    """Return the derivatives (p,) of sum_k <S, K_k> given ``parts`` S * K_k, S symmetric."""
    out = np.zeros(products.weights_jacobian.shape[1])
    centred = X - X.mean(axis=0)
    for k, part in enumerate(parts):
        rows = part.sum(axis=1)
        if products.weights[k] != 0.0:
            out += rows.sum() / products.weights[k] * products.weights_jacobian[k]
        across = part @ centred
        for a, x in enumerate(centred.T):
            squared = 2.0 * (rows @ (x * x) - x @ across[:, a])
            out -= 0.5 * squared * products.precisions_jacobian[k, a]
    return out


def limits_of_log_lambda() -> tuple[float, float]:
    """Return the bounds of the logarithm of the regularisation."""
    low, high = defaults.REGULARIZATION_LIMITS
    return float(np.log(low)), float(np.log(high))


def golden_section(function: Any, low: float, high: float, n: int = 20) -> float:
    """Minimise a unimodal function on an interval in ``n`` steps; deterministic."""
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    f_left, f_right = function(left), function(right)
    for _ in range(n):
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - ratio * (high - low)
            f_left = function(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + ratio * (high - low)
            f_right = function(right)
    return left if f_left <= f_right else right


def leave_one_out(
    kernel: Kernel, A: np.ndarray, K: np.ndarray, log_lambda: float
) -> tuple[float, np.ndarray]:
    """Return the leave-one-out loss and its gradient in (theta of kernel, log lambda). O(N^3).

    With D = diag(M)^-1 and B = M K M, loss = tr(B D^2) / N, and dM = -M dS M for a change dS of
    L + N lambda I gives dloss = -tr(dS M (2 K M D^2 - 2 diag(B) D^3) M) / N.
    """
    N = len(A)
    L, slopes = kernel(A, eval_gradient=True)
    ridge = N * np.exp(log_lambda)
    L[np.diag_indices(N)] += ridge
    try:
        factor = cho_factor(L, lower=True)
    except np.linalg.LinAlgError:
        return 1e25, np.zeros(len(kernel.theta) + 1)
    M = cho_solve(factor, np.eye(N))
    M = 0.5 * (M + M.T)
    KM = K @ M
    D = 1.0 / np.diag(M)
    B = np.einsum("ij,ij->j", M, KM)
    loss = float(np.mean(B * D**2))
    inner = 2.0 * KM * D**2
    inner[np.diag_indices(N)] -= 2.0 * B * D**3
    G = M @ inner @ M
    gradient = -np.einsum("ijk,ji->k", slopes, G) / N
    return loss, np.append(gradient, -ridge * np.trace(G) / N)
