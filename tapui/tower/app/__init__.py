"""The app: what its screens share, the main screen, keys to it, and the model that panes read."""
