"""Speed, as ratios within one process."""
