"""Tools for all packages of the library: validation, locks, files, warnings and types."""
