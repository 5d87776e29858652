"""Streams: the list, and the tail of one or several."""
