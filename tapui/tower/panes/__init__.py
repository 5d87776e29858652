"""The panes of the tower, one module each."""
