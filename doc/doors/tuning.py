from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skgpb.model_selection import BanditSearchCV
from skgpb.plotting import PosteriorDisplay

X, y = load_digits(return_X_y=True)
settings = {"C": loguniform(1e-3, 1e3), "gamma": loguniform(1e-6, 1e1)}
search = BanditSearchCV(SVC(), settings, n_iter=25, random_state=0).fit(X[:600], y[:600])
print("best settings:", search.best_params_)
print("right on digits it never saw:", search.score(X[600:], y[600:]))

# Its picture
names = {"feature_names": list(settings), "value_name": "score"}
PosteriorDisplay.from_optimizer(search.optimizer_, **names).figure_.savefig("tuning.png")
