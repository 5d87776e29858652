"""The person's consent to a repository's MCP servers, and the pins of all servers' tools."""
