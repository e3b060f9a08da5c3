r"""An advertising budget to be split over campaigns with unknown response.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020, section 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, sqrt
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern

from skgpb.optimizers.combinatorial import knapsack
from skgpb.utils.typing import Values
from skgpb.utils.validation import MOST_QUERIES, check_size

__all__ = ["AdvertisingBudget"]


@dataclass(frozen=True, eq=False)
class AdvertisingBudget:
    r"""Clicks on several campaigns that share one daily budget.

    The clicks of campaign i with a daily budget x are

    .. math::

        cl_i(x) = \max\left(0,\; cl_{\max} \left( 1 - e^{-\eta_i (x - x_i)} \right)\right)

    plus Gaussian noise: nothing below a threshold :math:`x_i`, then diminishing returns. The
    defaults are the three campaigns of [Nuara2020]_, whose best split of 20 is (9, 6, 5).

    Parameters
    ----------
    max_clicks : float, default=100.0
        :math:`cl_{\max}`.
    thresholds : array-like of shape (n_campaigns,), default=(5, 2, 1)
        :math:`x_i`, in units of the budget.
    rates : array-like of shape (n_campaigns,), default=(0.5, 0.4, 0.1)
        :math:`\eta_i`, per unit of the budget.
    budget : float, default=20.0
        Daily budget for all campaigns together.
    n_arms : int, default=21
        Number of evenly spaced budgets, from 0 to ``budget``, of a campaign.
    noise_variance : float, default=0.1
        Variance of the noise of a campaign's clicks.

    Attributes
    ----------
    arms : ndarray of shape (n_arms, 1)
        Possible budgets of a campaign.
    optimum : float
        The largest expected number of clicks of all campaigns together.
    best_allocation : ndarray of shape (n_campaigns,)
        Budgets with the largest expected number of clicks.
    noise_std : float
        Square root of ``noise_variance``.

    Notes
    -----
    The published formula has no maximum with 0 and is negative below the threshold. Clicks cannot
    be negative, and the published optimum belongs to the clipped formula (decision D-D6).

    Examples
    --------
    >>> from skgpb.problems import AdvertisingBudget
    >>> problem = AdvertisingBudget()
    >>> problem.best_allocation, round(problem.optimum, 3)
    (array([9., 6., 5.]), 199.245)
    >>> problem.clicks([9, 6, 5]).round(1)
    array([86.5, 79.8, 33. ])
    """

    max_clicks: float = 100.0
    thresholds: ArrayLike = (5.0, 2.0, 1.0)
    rates: ArrayLike = (0.5, 0.4, 0.1)
    budget: float = 20.0
    n_arms: int = 21
    noise_variance: float = 0.1
    arms: NDArray[np.float64] = field(init=False, repr=False)
    optimum: float = field(init=False)
    best_allocation: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        for name, least in (("max_clicks", 0.0), ("budget", 0.0), ("noise_variance", None)):
            value = float(getattr(self, name))
            if not isfinite(value) or value < 0.0 or value == least:
                sign = "positive" if least == 0.0 else "not negative"
                raise ValueError(f"{name} must be finite and {sign}; got {value!r}.")
            self._set(name, value)
        if not isinstance(self.n_arms, Integral) or isinstance(self.n_arms, bool):
            raise TypeError(f"n_arms must be an integer; got {self.n_arms!r}.")
        check_size(self.n_arms, "n_arms", 2, MOST_QUERIES)
        thresholds = np.array(self.thresholds, dtype=np.float64)
        rates = np.array(self.rates, dtype=np.float64)
        if thresholds.ndim != 1 or thresholds.shape != rates.shape or not len(rates):
            raise ValueError(
                "thresholds and rates must hold one number for each campaign; got shapes "
                f"{thresholds.shape} and {rates.shape}."
            )
        if not (np.isfinite(thresholds).all() and np.isfinite(rates).all() and (rates > 0).all()):
            raise ValueError("thresholds must be finite, rates finite and positive.")
        self._set("thresholds", thresholds)
        self._set("rates", rates)
        self._set("arms", np.linspace(0.0, self.budget, self.n_arms)[:, np.newaxis])
        grid = self.arms[:, 0]
        values = list(self._clicks(np.tile(grid[:, np.newaxis], self.n_campaigns)).T)
        choice = knapsack(values, [grid] * self.n_campaigns, self.budget)
        self._set("best_allocation", grid[choice])
        self._set("optimum", float(sum(v[k] for v, k in zip(values, choice, strict=True))))

    @property
    def n_campaigns(self) -> int:
        """Number of campaigns."""
        return len(np.asarray(self.rates))

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise of one campaign's clicks."""
        return sqrt(self.noise_variance)

    def kernel(self, scale: float | None = None, length_scale: float | None = None) -> Kernel:
        r"""Return a Matérn kernel (:math:`\nu = 1.5`) for the clicks as a function of one budget.

        The paper states neither parameter; the scale decides which algorithm wins.

        Parameters
        ----------
        scale : float, default=None
            Prior standard deviation of the clicks; None for ``max_clicks``.
        length_scale : float, default=None
            In units of the budget; None for a fifth of the whole budget.

        Returns
        -------
        kernel : Kernel
        """
        scale = self.max_clicks if scale is None else scale
        length_scale = self.budget / 5.0 if length_scale is None else length_scale
        return ConstantKernel(float(scale) ** 2) * Matern(float(length_scale), nu=1.5)

    def clicks(self, allocation: Values) -> NDArray[np.float64]:
        """Return the expected clicks of each campaign.

        Parameters
        ----------
        allocation : Allocation or array-like of shape (n_campaigns,)
            Budget of each campaign, or a query of ``CombinatorialBandit``.

        Returns
        -------
        clicks : ndarray of shape (n_campaigns,)
        """
        budgets = np.asarray(getattr(allocation, "costs", allocation), dtype=np.float64)
        if budgets.shape != (self.n_campaigns,):
            raise ValueError(
                f"allocation must hold one budget for each of {self.n_campaigns} campaigns; got "
                f"shape {budgets.shape}."
            )
        if not (np.isfinite(budgets).all() and (budgets >= 0).all()):
            raise ValueError(f"budgets must be finite and not negative; got {budgets}.")
        return self._clicks(budgets)

    def value(self, allocation: Values) -> float:
        """Return the expected clicks of all campaigns together.

        Parameters
        ----------
        allocation : Allocation or array-like of shape (n_campaigns,)

        Returns
        -------
        value : float
        """
        return float(self.clicks(allocation).sum())

    def observe(self, allocation: Values, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the clicks of each campaign on one day, with noise.

        Parameters
        ----------
        allocation : Allocation or array-like of shape (n_campaigns,)
        rng : numpy.random.Generator
            Source of the noise, one draw per campaign.

        Returns
        -------
        clicks : ndarray of shape (n_campaigns,)
        """
        clicks = self.clicks(allocation)
        return clicks + self.noise_std * rng.standard_normal(len(clicks))

    def _clicks(self, budgets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the clicks for budgets of shape (..., n_campaigns)."""
        # -expm1 keeps its digits just above the threshold; the maximum with 0 prevents overflow far
        # below it.
        beyond = np.maximum(budgets - np.asarray(self.thresholds), 0.0)
        return self.max_clicks * -np.expm1(-np.asarray(self.rates) * beyond)

    def _set(self, name: str, value: Any) -> None:
        # Fields of a frozen dataclass can be set only in this way.
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(self, name, value)
