"""Turns and steps: the pane, its rows, and their sheets."""
