"""The index over the records: full text, changed files and states to begin from, in SQLite."""
