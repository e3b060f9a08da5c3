"""Real data for a search over a pool: columns of a table, pixels of a photograph.

:class:`PrivateAverages` is all that a search may see of a column that is to be protected, and
:class:`PrivacyLedger` keeps in a file what was told of it.
"""

from skgpb.lab.datasets.accounting import epsilon_of, rho_of
from skgpb.lab.datasets.ledger import PrivacyLedger
from skgpb.lab.datasets.private import PrivateAverages

__all__ = [
    "PrivacyLedger",
    "PrivateAverages",
    "epsilon_of",
    "rho_of",
]
