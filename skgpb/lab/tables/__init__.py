"""Search for the group of rows of a table with the highest average.

A :class:`Subgroup` is a group of rows, defined by its conditions: a :class:`Range` of a number,
some :class:`Categories` of a text. In the space of the features its rows form a *box*, and the
conditions are its *sides*. A search queries a :class:`Table` for *marginals* only: the number of
rows of a box in each level of a feature, and the mean and the variance of their targets. So it can
search rows in memory (:class:`MemoryTable`), a database, and an oracle that adds noise.

A source of answers has these attributes and methods, see :class:`Table`:

``levels``
    For each feature a :class:`Levels`: its name, its kind, and the levels into which its values
    are divided, the same for the whole search. A number has some hundred bins with about as many
    rows each, whose edges are quantiles; a text has one level for each category. Missing values
    are one more level, the last. A :class:`Levels` turns some of its levels into a side of a box.
``n_rows``
    Number of rows with a target.
``totals(boxes)``
    Number of rows in each box, and the mean and the variance of their targets.
``marginals(boxes, features)``
    The totals of each box by levels of features. All boxes of a call belong to one step of the
    search: a database answers them by one query.

Sides of the boxes that a search queries begin and end at edges of levels. Answers are
:class:`Moments`: arrays, one element for each level, or for each box. ``noise`` is None if the
answers are exact.

:func:`find_subgroup` searches any such table. :class:`BestSubgroup` is the estimator for rows in
memory; it also judges whether the group is real.

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
