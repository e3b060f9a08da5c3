import numpy as np
from sklearn.datasets import load_diabetes

data = load_diabetes(scaled=False)
header = ",".join([*data.feature_names, "progression"])
rows = np.column_stack([data.data, data.target])
np.savetxt("patients.csv", rows, fmt="%g", delimiter=",", header=header, comments="")
