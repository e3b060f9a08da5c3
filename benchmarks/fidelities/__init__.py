"""A cheap function beside a dear one: ``python -m benchmarks.fidelities``."""
