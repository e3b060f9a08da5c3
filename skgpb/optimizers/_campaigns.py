"""Parameters of a bandit that consists of others, by their names."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator


class NamedCampaigns(BaseEstimator):
    """Parameters of an optimizer with a list ``optimizers``.

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

    def _set_params(self, params: dict[str, Any]) -> None:
        """Set parameters, also of campaigns as ``name__parameter``, or a whole campaign."""
        others = dict(params)
        if "optimizers" in others:
            self.optimizers = others.pop("optimizers")
        if isinstance(self.optimizers, (list, tuple)):
            names = [name for name, _ in self._members()]
            for i in [i for i, name in enumerate(names) if name in others]:
                optimizers = list(self.optimizers)
                optimizer = others.pop(names[i])
                pair = isinstance(optimizers[i], tuple)
                optimizers[i] = (names[i], optimizer) if pair else optimizer
                self.optimizers = optimizers
        super()._set_params(others)
