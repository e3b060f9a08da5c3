"""Tools for all rooms of the library: validation, locks, files, warnings and types."""
