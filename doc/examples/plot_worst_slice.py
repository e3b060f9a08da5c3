"""
Where is my model worst? Finding the group with the highest loss
================================================================

A model may be good on average and bad for some group of rows.
:class:`~skgpb.lab.tables.BestSubgroup` finds the group with the highest average *loss*, and says
whether the group is real and which loss to expect for new rows of it.
"""

# %%
# A model and its losses
# ----------------------
# There are six thousand deliveries of eight shops, and a model predicts how long they take. Two
# shops share one driver in the evening. The model does not know this, so its errors are large then.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from skgpb.lab.tables import BestSubgroup


def deliveries(n, seed):
    """Deliveries, and how many minutes they took."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "shop": pd.Categorical(rng.choice(list("ABCDEFGH"), n)),
            "hour": rng.uniform(8, 22, n),
            "km": rng.gamma(2.0, 2.0, n),
            "items": rng.integers(1, 20, n),
            "rain": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(1.0, n)),
        }
    )
    shared = X["shop"].isin(["C", "F"]) & (X["hour"] > 18)
    spread = np.where(shared, 9.0, 4.0)
    return X, 10 + 3 * X["km"] + 0.5 * X["items"] + spread * rng.normal(size=n)


X, minutes = deliveries(6000, seed=0)
model = HistGradientBoostingRegressor(max_iter=40, categorical_features="from_dtype")
# The predictions are from cross-validation: for each row from a model that was fitted without it.
loss = np.abs(minutes - cross_val_predict(model, X, minutes, cv=5))

# %%
# The worst group
# ---------------

search = BestSubgroup(min_rows=0.05).fit(X, loss)
low, high = search.new_rows_interval_
print(f"{search.verdict_} (p = {search.p_value_:.2g}): {search.where_}")
print(f"off by {search.average_:.1f} minutes, on average over all rows {loss.mean():.1f}")
print(f"expected of new deliveries: {search.new_rows_average_:.1f} ({low:.1f} to {high:.1f})")

# %%
# Comparison with a tree, and with chance
# -----------------------------------------
# The best leaf of a regression tree on the same losses has to be evaluated on other rows; here we
# can simulate as many as we want. Trees of scikit-learn take no categories, so each shop
# becomes a column of zeros and ones. (The package sliceline also searches for such groups, over
# binned features; its version 0.3 needs a NumPy older than 2.)


def numbers(X):
    """A column for each shop."""
    return pd.get_dummies(X)


tree = DecisionTreeRegressor(min_samples_leaf=0.05, random_state=0).fit(numbers(X), loss)
worst = tree.predict(numbers(X)).max()

new, new_minutes = deliveries(100_000, seed=1)
new_loss = np.abs(new_minutes - model.fit(X, minutes).predict(new))
groups = {
    "all rows": np.ones(len(new), dtype=bool),
    "worst leaf\nof a tree": tree.predict(numbers(new)) == worst,
    "BestSubgroup": search.predict(new),
}
for name, inside in groups.items():
    print(f"{name.replace(chr(10), ' ')}: {new_loss[inside].mean():.1f} minutes")

# %%
# Shuffled losses have a worst group as well. It looks bad in the table, but the verdict is
# chance:

dealt = np.random.default_rng(2).permutation(loss)
nothing = BestSubgroup(min_rows=0.05).fit(X, dealt)
print(f"{nothing.verdict_} (p = {nothing.p_value_:.2g}): {nothing.where_}")
print(f"off by {nothing.average_:.1f} minutes, of new ones {nothing.new_rows_average_:.1f}")

# %%
# Bars are true averages over a hundred thousand new rows, diamonds are averages in the table. The
# diamond with an interval is the expected average of new rows, from rows that had no part in the
# choice.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
truth = [new_loss[inside].mean() for inside in groups.values()]
ax.bar(range(3), truth, width=0.5, color=["0.6", "C0", "C1"], label="true, of new rows")
ax.plot([0, 1, 2], [loss.mean(), worst, search.average_], "kD", label="in the table")
half = [[search.new_rows_average_ - low], [high - search.new_rows_average_]]
ax.errorbar(2.35, search.new_rows_average_, half, fmt="ko", capsize=4, label="expected, 95 %")
ax.set_xticks(range(3), list(groups))
ax.set(ylabel="average error (minutes)", title="where the model is worst")
ax.legend(loc="upper left")
plt.show()
