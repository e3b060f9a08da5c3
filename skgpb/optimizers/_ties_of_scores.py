"""Notice that candidates of a grid search tie, because their scores do not depend on a search.

Scikit-learn scores one candidate at a time. Scores that are equal to the last digit, on the same
data and with different parameters, are those of equal predictions.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import joblib
from sklearn.base import BaseEstimator

from skgpb._warnings import warn

# Memory: number of data sets whose last score is remembered: one for each split of a
# cross-validation.
REMEMBERED = 64

_last: OrderedDict[str, tuple[float, dict[str, str]]] = OrderedDict()


def warn_of_tie(optimizer: BaseEstimator, score: float, data: Any) -> None:
    """Warn if an optimizer has the score on these data that one with other parameters had."""
    parameters = optimizer.get_params(deep=False)
    # Seeds are not compared: random states have no value that could be.
    named = {name: repr(each) for name, each in parameters.items() if name != "random_state"}
    key = joblib.hash((type(optimizer).__name__, data))
    before, others = _last.pop(key, (None, {}))
    _last[key] = score, named
    if len(_last) > REMEMBERED:
        _last.popitem(last=False)
    differ = [name for name in named if named[name] != others.get(name)]
    if score == before and differ:
        warn(
            f"score() is the same as with another {', '.join(differ)}: it judges the predictions "
            "(R^2), which do not depend on how a search asks. To compare such parameters by what "
            "is found, as in GridSearchCV, pass scoring=skgpb.model_selection.bandit_scorer(...)",
            UserWarning,
        )
