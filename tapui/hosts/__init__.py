"""Hosts: where sessions come from."""
