"""Benchmarks that asv follows from commit to commit: time, peak memory and regret."""
