"""Calls that are wrong: mypy and pyright find them before the script runs, and the library when."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import Ridge

from skgpb import (
    DAGPUCBOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    MESOptimizer,
    StoOOOptimizer,
)
from skgpb.model_selection import BanditSearchCV

BOX = {"x": (0.0, 10.0)}
ARMS = np.linspace(0.0, 1.0, 16)[:, None]

# Each is one line, so that each comment is about one call. That mypy finds them is checked by
# ``warn_unused_ignores``.
# fmt: off
WRONG: list[Callable[[], object]] = [
    lambda: EIOptimizer(bounds=BOX, direction="min").ask(),  # type: ignore[arg-type]
    lambda: EIOptimizer(bounds="nonsense").ask(),  # type: ignore[arg-type]
    lambda: EIOptimizer(bounds=BOX, queries=3).ask(),  # type: ignore[arg-type]
    lambda: EIOptimizer(arms=ARMS, cost={}).ask(),  # type: ignore[arg-type]
    lambda: EIOptimizer(arms="all").ask(),  # type: ignore[arg-type]
    lambda: EIOptimizer(bounds=BOX, xi="0.1").ask(),  # type: ignore[arg-type]
    lambda: EIOptimizer(bounds=BOX, pool=ARMS).ask(),  # type: ignore[call-arg]
    lambda: EIOptimizer(bounds=BOX, n_iter=10).ask(),  # type: ignore[call-arg]
    lambda: EIOptimizer(None, BOX).ask(),  # type: ignore[call-arg]
    lambda: EIOptimizer(bounds=BOX, random_state="seed").ask(),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX, regret="small").ask(),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX, relearn="often").ask(),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX, optimizer="adam").ask(),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX, horizon=2.5).ask(),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX, beta="large").ask(),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX).ask("3"),  # type: ignore[call-overload]
    lambda: GPUCBOptimizer(bounds=BOX).recommend("best"),  # type: ignore[call-overload]
    lambda: GPUCBOptimizer(bounds=BOX).run(lambda query: 1.0, "20"),  # type: ignore[arg-type]
    lambda: MESOptimizer(bounds=BOX, max_values="many").ask(),  # type: ignore[arg-type]
    lambda: DAGPUCBOptimizer(bounds=BOX, weights="equal").ask(),  # type: ignore[arg-type]
    lambda: GPOOOptimizer(bounds=BOX, feedback="mean").ask(),  # mypy does not know what a kernel is
    lambda: GPOOOptimizer(bounds=BOX, n_children="two").ask(),  # type: ignore[arg-type]
    lambda: GPZoomingOptimizer(bounds=BOX, metric="manhattan").ask(),  # type: ignore[arg-type]
    lambda: StoOOOptimizer(bounds=BOX, width="wide").ask(),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX).tell(None, 1.0),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX).fit(3, 1.0),  # type: ignore[arg-type]
    lambda: GPUCBOptimizer(bounds=BOX, context_bounds={"c": (0, 1)}).ask(context=3),  # type: ignore[call-overload]
    lambda: GPUCBOptimizer(bounds=BOX, context_bounds={"c": (0, 1)}).run(float, contexts=3),  # type: ignore[arg-type]
    lambda: BanditSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, scoring=3).fit(ARMS, ARMS[:, 0]),  # type: ignore[arg-type]
    lambda: BanditSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv="three").fit(ARMS, ARMS[:, 0]),  # type: ignore[arg-type]
    lambda: BanditSearchCV(Ridge(), param_distributions=0.1).fit(ARMS, ARMS[:, 0]),  # type: ignore[arg-type]
    lambda: BanditSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, select="best").fit(ARMS, ARMS[:, 0]),  # type: ignore[arg-type]
]
# fmt: on
