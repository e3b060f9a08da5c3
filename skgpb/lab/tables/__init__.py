"""Search for the group of rows of a table with the highest average.

A :class:`Subgroup` is a group of rows, told by its conditions: a :class:`Range` of a number,
some :class:`Categories` of a text. In the space of the features its rows form a *box*, and the
conditions are its *sides*. A search asks a :class:`Table` for nothing but *marginals*: how many
rows of a box fall into each level of a feature, and the mean and the variance of the target over
them. So rows in memory (:class:`MemoryTable`), a database, and an oracle that adds noise are the
same to it.

A source of answers has these attributes and methods, see :class:`Table`:

``levels``
    For each feature a :class:`Levels`: its name, its kind, and the levels into which its values
    are put once and for all. A number has some hundred bins with about as many rows each, whose
    edges are quantiles; a text has one level for each category. Where values are missing, they are
    one more level, the last. A :class:`Levels` turns some of its levels into a side of a box.
``n_rows``
    How many rows have a target.
``totals(boxes)``
    How many rows are in each of some boxes, with the mean and the variance of their targets.
``marginals(boxes, features)``
    The same by levels of features. All boxes of a call belong to one step of the search: a
    database answers them by one query.

Sides of the boxes that a search asks for begin and end where levels do. Answers are
:class:`Moments`: arrays, one element for each level, or for each box. ``noise`` is None where
answers are exact.

:func:`find_subgroup` searches any such table. :class:`BestSubgroup` is the estimator for rows in
memory, which says as well whether what was found is real.

Examples
--------
>>> import numpy as np
>>> from skgpb.lab.tables import MemoryTable
>>> columns = {"age": [30.0, 40.0, 50.0, np.nan], "town": ["A", "B", "B", "A"]}
>>> table = MemoryTable(columns, [1, 2, 6, 5])
>>> box = table.levels[0].subgroup(1, 2)
>>> print(box)
age >= 35 and age < 45
>>> answer = table.marginals([box.without("age")])[0]["town"]
>>> answer.n, answer.mean
(array([2, 2]), array([3., 4.]))
"""

from skgpb.lab.tables.levels import Levels, Moments
from skgpb.lab.tables.memory import MemoryTable
from skgpb.lab.tables.search import find_subgroup
from skgpb.lab.tables.source import Table
from skgpb.lab.tables.subgroup import BestSubgroup

__all__ = [
    "BestSubgroup",
    "Levels",
    "MemoryTable",
    "Moments",
    "Table",
    "find_subgroup",
]
