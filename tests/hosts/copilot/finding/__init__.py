"""How CLIs and stored sessions are found."""
