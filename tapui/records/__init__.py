"""The records: every event as one line of JSONL, written ahead, read back and replayed."""
