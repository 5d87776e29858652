"""`tapui mcp`: MCP servers whose tools are offered in sessions."""
