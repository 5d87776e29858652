"""Runs of emitters: when they begin and end, and the outcome of their lines."""
