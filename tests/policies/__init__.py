"""Rules and their verdicts."""
