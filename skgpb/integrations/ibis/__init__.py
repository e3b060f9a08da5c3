"""Tables in databases, through ibis (https://ibis-project.org): the database does the counting."""

from skgpb.integrations.ibis.search import find_in_database
from skgpb.integrations.ibis.table import IbisTable

__all__ = ["IbisTable", "find_in_database"]
