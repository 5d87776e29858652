"""The Textual app: panes over the projection, fed by one protocol (`app/feed.py`)."""
