"""Traces: where the time of turns and calls goes, as spans with W3C ids."""
