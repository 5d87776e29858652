"""The Textual app: panes over the projection, fed by one protocol (`feed.py`)."""
