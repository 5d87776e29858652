"""The core's share of MCP servers: who may have them, their tokens, and what is known of them."""
