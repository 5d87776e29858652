"""Sessions: which are open, who is in them, how they end."""
