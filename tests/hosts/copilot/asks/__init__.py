"""What a session asks."""
