"""Tables in databases, through ibis (https://ibis-project.org): the database does the counting."""

from skgpb.integrations.ibis.connection import connect, shown
from skgpb.integrations.ibis.search import DatabaseSubgroup, find_in_database
from skgpb.integrations.ibis.table import IbisTable, Rest

__all__ = ["DatabaseSubgroup", "IbisTable", "Rest", "connect", "find_in_database", "shown"]
