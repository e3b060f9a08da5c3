"""skgpb next to the optimizers that people would use instead: ``python -m benchmarks.peers``."""
