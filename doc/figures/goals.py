"""The front of a search for a large yield and a small cost."""

from __future__ import annotations

import math
from typing import Any

from skgpb import EIOptimizer
from skgpb.plotting import FrontDisplay


def reactor(query: Any) -> tuple[float, dict[str, float]]:
    """Return the yield and the cost."""
    heat, time = query.params["heat"], query.params["time"]
    reaction_yield = 90 * (1 - math.exp(-heat * time / 1200))
    return reaction_yield, {"cost": 0.3 * time + 0.002 * heat**2}


def draw() -> Any:
    """Return the figure."""
    opt = EIOptimizer(
        bounds={"heat": (20, 90), "time": (1, 60)}, goals={"cost": "minimize"}, random_state=0
    )
    opt.run(reactor, budget=30)
    return FrontDisplay.from_optimizer(opt, value_name="yield").figure_
