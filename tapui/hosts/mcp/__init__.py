"""The MCP door: any MCP client gets the tools of providers, in a session of its own.

It is a process that the client starts (`tapui mcp-door`); no other process imports it.
"""
