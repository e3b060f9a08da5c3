"""Bridges to other libraries; each module needs its library, and nothing imports them."""
