"""Emitters: whose they are, when they run, and who allowed them. Their runs: `core/runs`."""
