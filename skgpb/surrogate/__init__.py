"""The posterior of f given noisy linear functionals of it, its learning, and draws from it.

:class:`GaussianProcess` is the posterior that every algorithm stands on,
:class:`OnlineGaussianProcessRegressor` its interface for scikit-learn, and
:class:`ConditionalMeanProcess` the joint posterior of f and of the averages that indirect queries
measure.
"""

from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.regressor import OnlineGaussianProcessRegressor

__all__ = ["ConditionalMeanProcess", "GaussianProcess", "OnlineGaussianProcessRegressor"]
