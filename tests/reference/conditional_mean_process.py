"""The conditional mean process as the indirect-query paper prints it: equations 2 to 5, naively.

Everything is an explicit inverse or an explicit sum over points; no factor, no updating, nothing
shared with the library.
"""

import itertools

import numpy as np


class KnownConditional:
    """Equations 2 to 4 where p(x|a) is known: X given a has ``probabilities`` on ``points``.

    ``distribution(a)`` returns points (s, d) and probabilities (s,).
    """

    def __init__(self, k, m, distribution, a_t, z_t, noise):
        self.k, self.m, self.distribution = k, m, distribution
        self.a_t, self.z_t = a_t, z_t
        Q = np.array([[self.q(a, b) for b in a_t] for a in a_t])
        self.M = np.linalg.inv(Q + np.diag(np.broadcast_to(noise, len(a_t))))

    def nu(self, a):  # equation 2
        points, p = self.distribution(a)
        return p @ self.m(points)

    def q(self, a, b):  # equation 3, with independent copies also for a = b
        (x, p), (y, r) = self.distribution(a), self.distribution(b)
        return p @ self.k(x, y.copy()) @ r

    def upsilon(self, x, a):
        points, p = self.distribution(a)
        return self.k(x, points) @ p

    def _rest(self):
        return np.array([z - self.nu(a) for a, z in zip(self.a_t, self.z_t, strict=True)])

    def posterior_f(self, X):  # equation 4
        U = np.column_stack([self.upsilon(X, a) for a in self.a_t])
        return self.m(X) + U @ self.M @ self._rest(), self.k(X, X.copy()) - U @ self.M @ U.T

    def posterior_g(self, A):
        U = np.array([[self.q(a, b) for b in self.a_t] for a in A])
        prior = np.array([[self.q(a, b) for b in A] for a in A])
        mean = np.array([self.nu(a) for a in A]) + U @ self.M @ self._rest()
        return mean, prior - U @ self.M @ U.T

    def posterior_fg(self, X, A):
        U = np.column_stack([self.upsilon(X, a) for a in self.a_t])
        V = np.array([[self.q(a, b) for b in self.a_t] for a in A])
        return np.column_stack([self.upsilon(X, a) for a in A]) - U @ self.M @ V.T


class EmpiricalConditional:
    """Equation 5, with D1 = (x, a) and D2 = (a_t, z_t)."""

    def __init__(self, k, m, ell, lam, x, a, a_t, z_t, noise):
        N = len(x)
        self.k, self.m, self.ell, self.x, self.a = k, m, ell, x, a
        self.inverse = np.linalg.inv(ell(a, a.copy()) + N * lam * np.eye(N))
        self.W_t = self.inverse @ ell(a, a_t)
        Q = self.q(a_t, a_t)
        self.M = np.linalg.inv(Q + np.diag(np.broadcast_to(noise, len(a_t))))
        self.weights = self.M @ (z_t - self.nu(a_t))

    def nu(self, A):
        return self.ell(A, self.a) @ self.inverse @ self.m(self.x)

    def q(self, A, B):
        K = self.k(self.x, self.x.copy())
        return self.ell(A, self.a) @ self.inverse @ K @ self.inverse @ self.ell(self.a, B)

    def posterior_f(self, X):
        U = self.k(X, self.x) @ self.W_t
        return self.m(X) + U @ self.weights, self.k(X, X.copy()) - U @ self.M @ U.T

    def posterior_g(self, A):
        V = self.ell(A, self.a) @ self.inverse @ self.k(self.x, self.x.copy()) @ self.W_t
        return self.nu(A) + V @ self.weights, self.q(A, A) - V @ self.M @ V.T

    def posterior_fg(self, X, A):
        U = self.k(X, self.x) @ self.W_t
        W = self.inverse @ self.ell(self.a, A)
        V = W.T @ self.k(self.x, self.x.copy()) @ self.W_t
        return self.k(X, self.x) @ W - U @ self.M @ V.T


def window_distribution(scale, window, domain=None, n=60):
    """X = h + scale * xi on each axis, clipped to ``domain``, as many equally good points.

    Gaussian: the trapezoidal rule, which converges faster than any power of its step on the line.
    Uniform: Gauss-Legendre. Clipping moves the points themselves.
    """

    def distribution(a):
        axes = []
        for axis, (center, s) in enumerate(zip(a, np.broadcast_to(scale, len(a)), strict=True)):
            if window == "gaussian":
                xi = np.linspace(-8.5, 8.5, n)
                p = np.exp(-0.5 * xi**2)
            else:
                xi, p = np.polynomial.legendre.leggauss(n)
            x, p = (center + s * xi, p / p.sum()) if s > 0 else (np.array([center]), np.ones(1))
            if domain is not None:
                x = np.clip(x, *domain[axis])
            axes.append((x, p))
        points = np.array(list(itertools.product(*(x for x, _ in axes))))
        return points, np.array([np.prod(p) for p in itertools.product(*(p for _, p in axes))])

    return distribution
