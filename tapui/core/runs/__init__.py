"""Runs of emitters: when they begin and end, and what becomes of their lines."""
