"""Finding in all records: the sheet, and the thread that searches for it."""
