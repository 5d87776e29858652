"""What the person has allowed to run: one shape for emitters, providers and MCP servers."""
