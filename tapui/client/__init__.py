"""Connections to a running gateway: what the commands and the second tower talk through."""
