"""Scores of queries as functions of a posterior; nothing here has a state."""
