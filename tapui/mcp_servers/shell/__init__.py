"""MCP servers beside the gateway: asyncio, bridges, questions to the person."""
