"""The goals of sessions: the pane, a goal's sheet with its timeline, and what the person orders."""
