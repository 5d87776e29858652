"""An attached session."""
