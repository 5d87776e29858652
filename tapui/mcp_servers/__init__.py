"""MCP servers as providers: each runs in a bridge process of its own."""
