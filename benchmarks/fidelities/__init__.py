"""Multi-fidelity: a cheap function and an expensive one: ``python -m benchmarks.fidelities``."""
