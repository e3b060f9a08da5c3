"""Tables in databases, through ibis (https://ibis-project.org): the database does the counting."""

from skgpb.lab.sql.search import find_in_database
from skgpb.lab.sql.table import IbisTable

__all__ = ["IbisTable", "find_in_database"]
