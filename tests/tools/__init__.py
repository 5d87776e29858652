"""The built-in tools, called by a host, in conversation with the core."""
