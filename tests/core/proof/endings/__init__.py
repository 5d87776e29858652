"""Endings of turns: what an agent said, what really happened, and what was shown of it."""
