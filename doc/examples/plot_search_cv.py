"""
Tuning an estimator
===================

:class:`~skgpb.model_selection.BanditSearchCV` takes the place of ``RandomizedSearchCV`` and chooses
every setting in view of the scores so far. Here it tunes a support vector machine on handwritten
digits.
"""

# %%
# The space is written as for ``RandomizedSearchCV``. One change of the class is all it takes.

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
# On the left the best score so far. On the right what the engine has learned: the axes of its cube
# are the quantiles of the distributions, so that both scales are logarithmic. A Gaussian process
# does not know that an accuracy is never below zero, and guesses such values where nothing was
# tried beside settings that do badly; colours begin at 0.1, what guessing a digit gives.

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
# All searches end at the same accuracy, for there is a broad plateau of good settings. The one that
# learns is there after a handful of settings; left to chance it takes up to four times as many,
# which matters where one fit takes an hour. The picture also says how precisely the settings have
# to be right: ``gamma`` may be off by a factor of ten, and any ``C`` above one hundred will do.
