"""Columns of four rows of each kind, of which conditions are asked; some cells are missing."""

import numpy as np

from skgpb.lab.datasets.columns import Column

NAN = np.nan
COLUMNS = {
    "age": Column("age", "numbers", np.array([10.0, 20.0, 30.0, NAN])),
    "net income": Column("net income", "numbers", np.array([30.0, 20.0, 10.0, 5.0])),
    "in": Column("in", "numbers", np.array([1.0, 0.0, 1.0, 0.0])),
    "town": Column("town", "texts", np.array([0.0, 2.0, NAN, 1.0]), ("Bonn", "Jena's", "Ulm")),
    "home": Column("home", "texts", np.array([0.0, 1.0, 1.0, 1.0]), ("Bonn", "Ulm")),
    "day": Column("day", "dates", np.array([0.0, 31.0, 59.0, NAN])),
}
