"""Folders, consents and runs for the core: on the gateway's loop, files in a thread."""
