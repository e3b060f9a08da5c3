"""Parameters of a bandit that consists of others, by their names."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator


class NamedCampaigns(BaseEstimator):
    """``get_params`` and ``set_params`` of an estimator with a list ``optimizers``.

    They are given as they are or as pairs (name, optimizer); without a name the i-th is
    ``campaign_i``.
    """

    # Each campaign answers.
    _reward_ndim = 1

    optimizers: Any

    def _members(self) -> list[tuple[str, Any]]:
        """Pairs of names and optimizers as given, unchecked."""
        return [
            each
            if isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str)
            else (f"campaign_{i}", each)
            for i, each in enumerate(self.optimizers)
        ]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, with those of the campaigns as ``name__parameter`` if ``deep``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
        """
        params = super().get_params(deep=False)
        if deep and isinstance(self.optimizers, (list, tuple)):
            for name, optimizer in self._members():
                params[name] = optimizer
                if hasattr(optimizer, "get_params"):
                    nested = optimizer.get_params(deep=True)
                    params |= {f"{name}__{key}": value for key, value in nested.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of the campaigns as ``name__parameter``, or a whole campaign.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self : optimizer
        """
        if "optimizers" in params:
            self.optimizers = params.pop("optimizers")
        if isinstance(self.optimizers, (list, tuple)):
            names = [name for name, _ in self._members()]
            for i in [i for i, name in enumerate(names) if name in params]:
                optimizers = list(self.optimizers)
                optimizer = params.pop(names[i])
                pair = isinstance(optimizers[i], tuple)
                optimizers[i] = (names[i], optimizer) if pair else optimizer
                self.optimizers = optimizers
        super().set_params(**params)
        return self
