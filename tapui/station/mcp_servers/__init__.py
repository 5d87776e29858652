"""MCP servers beside the gateway: which are wanted, their bridges, and what they ask."""
