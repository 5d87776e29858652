"""Processes and terminals as the kernel knows them."""
