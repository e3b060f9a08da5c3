"""Real data for a search over a pool: columns of a table, pixels of a photograph.

:class:`PrivateAverages` is all that a search may see of a column that is to be protected, and
:class:`PrivacyLedger` keeps in a file what was told of it.
"""

from skgpb.datasets.account import PrivateAnswer
from skgpb.datasets.accounting import epsilon_of, rho_of
from skgpb.datasets.columns import Column
from skgpb.datasets.format import TableFormat
from skgpb.datasets.ledger import PrivacyLedger
from skgpb.datasets.photograph import load_flower
from skgpb.datasets.private import PrivateAverages
from skgpb.datasets.table import TableFile, copy_rows, read_table

__all__ = [
    "Column",
    "PrivacyLedger",
    "PrivateAnswer",
    "PrivateAverages",
    "TableFile",
    "TableFormat",
    "copy_rows",
    "epsilon_of",
    "load_flower",
    "read_table",
    "rho_of",
]
