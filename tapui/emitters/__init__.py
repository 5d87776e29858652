"""Emitters: commands and prompts that run beside a session and feed its streams."""
