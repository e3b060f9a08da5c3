"""Scores of queries as functions of a posterior, without state."""
