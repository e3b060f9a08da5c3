"""
Hyperparameter tuning with BanditSearchCV
=========================================

:class:`~skgpb.model_selection.BanditSearchCV` replaces ``RandomizedSearchCV`` and chooses
every setting from the scores so far. Here it tunes a support vector machine on handwritten
digits.
"""

# %%
# The search space is the same as for ``RandomizedSearchCV``; only the name of the class changes.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skgpb.model_selection import BanditSearchCV
from skgpb.plotting import PosteriorDisplay

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
pipeline = make_pipeline(StandardScaler(), SVC())
space = {"svc__C": loguniform(1e-3, 1e4), "svc__gamma": loguniform(1e-6, 1e1)}
cv = StratifiedKFold(5, shuffle=True, random_state=0)

search = BanditSearchCV(pipeline, space, n_iter=30, cv=cv, random_state=0).fit(X, y)
print(f"{search.best_score_:.4f} with {search.best_params_}")

# %%
# Random search with the same folds and the same number of fits, from five seeds.

random = [
    RandomizedSearchCV(pipeline, space, n_iter=30, cv=cv, random_state=seed, refit=False).fit(X, y)
    for seed in range(5)
]

# %%
# On the left the best score so far. On the right the posterior mean of the optimizer. Its axes
# are the quantiles of the distributions, so both scales are logarithmic. A Gaussian process
# does not know that an accuracy is never below zero, and may predict such values next to bad
# settings; the colours start at 0.1, the accuracy of guessing a digit.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
rounds = np.arange(1, 31)
for i, other in enumerate(random):
    best = np.maximum.accumulate(other.cv_results_["mean_test_score"])
    left.plot(
        rounds, best, color="0.6", lw=1, label=None if i else "RandomizedSearchCV, five seeds"
    )
best = np.maximum.accumulate(search.cv_results_["mean_test_score"])
left.plot(rounds, best, lw=2, color="C0", label="BanditSearchCV")
left.set(xlabel="settings evaluated", ylabel="best cross-validated accuracy", ylim=(0.8, 1.0))
left.set_title("best so far")
left.legend(loc="lower right")

display = PosteriorDisplay.from_optimizer(search.optimizer_, right, value_name="accuracy")
display.mappable_.set_clim(0.1, 1.0)
right.set_label("thumbnail")
for axis, name in ((right.xaxis, "svc__C"), (right.yaxis, "svc__gamma")):
    quantiles = np.linspace(0, 1, 5)
    values = [search.space_.setting(np.full(2, q))[name] for q in quantiles]
    axis.set_ticks(quantiles, [f"{value:.0e}" for value in values])
    axis.set_label_text(name)
plt.show()

# %%
# All searches end at the same accuracy, because there is a broad plateau of good settings.
# ``BanditSearchCV`` reaches it after a handful of settings; random search needs up to four times as
# many, which matters if a fit takes an hour. The picture also shows how precise the settings have
# to be: ``gamma`` may be wrong by a factor of ten, and any ``C`` above one hundred is good.
