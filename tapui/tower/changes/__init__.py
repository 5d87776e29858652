"""What a session changed in files: the pane, the diff of a file, and patches of them."""
