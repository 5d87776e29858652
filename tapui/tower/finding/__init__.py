"""Finding in all records, and asking them: the sheets, and the thread that searches."""
