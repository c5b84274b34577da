"""The embedded engine: one SQLite file that holds items, their words and nothing else."""
