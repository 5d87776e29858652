"""Emitters: whose they are, when they run, what becomes of their lines, and who allowed them."""
