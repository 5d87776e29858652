"""Requests to the person: one object for each kind, read by the tower, the commands and the fold.

A new kind is a file with a `RequestKind` and its line in `kinds.py`.
"""
