"""The keys: the table of what they do, how the person changes them, and the order they act in."""
