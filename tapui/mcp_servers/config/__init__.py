"""The MCP servers that are configured: the person's own, and those of a repository's files."""
