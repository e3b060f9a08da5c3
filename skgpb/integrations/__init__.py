"""Bridges to other libraries. Each module needs its library; no other module imports it."""
