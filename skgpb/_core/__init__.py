"""Compiled leaves: no module here imports anything else of skgpb."""
