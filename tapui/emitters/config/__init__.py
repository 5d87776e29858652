"""`tap.config.json`: found, read, checked, written and watched."""
