"""Finding in everything that was recorded."""
