"""Measurements: reproductions of the papers and speed."""
