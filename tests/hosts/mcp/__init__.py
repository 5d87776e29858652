"""The MCP door."""
