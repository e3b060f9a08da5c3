"""Real data for a search over a pool: columns of a table, pixels of a photograph.

:class:`PrivateAverages` answers questions about a protected column, which a search cannot read, and
:class:`PrivacyLedger` records these answers and their privacy loss in a file.
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
