"""Settings of a support vector machine that a search tried."""

import numpy as np
from drawn import INK, RED
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skgpb.model_selection import BanditSearchCV


def draw() -> Figure:
    X, y = load_digits(n_class=5, return_X_y=True)
    space = {"svc__C": loguniform(1e-3, 1e4), "svc__gamma": loguniform(1e-6, 1e1)}
    model = make_pipeline(StandardScaler(), SVC())
    search = BanditSearchCV(model, space, n_iter=30, cv=3, random_state=0).fit(X[::3], y[::3])
    tried = search.cv_results_
    C, gamma = (np.asarray(tried[f"param_svc__{name}"], dtype=float) for name in ("C", "gamma"))
    order = np.argsort(tried["mean_test_score"])
    fig, ax = pyplot.subplots(figsize=(5.2, 3.2))
    scores = tried["mean_test_score"][order]
    image = ax.scatter(C[order], gamma[order], c=scores, s=45, edgecolor="white", lw=0.5)
    best = search.best_params_
    style = {"mfc": "none", "mec": RED, "mew": 2}
    ax.plot(best["svc__C"], best["svc__gamma"], "o", ms=13, **style)
    ax.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
    fig.colorbar(image, label="accuracy").outline.set_edgecolor(INK)
    return fig
