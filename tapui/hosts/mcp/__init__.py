"""The MCP door: any MCP client gets the tools of providers, in a session of its own.

It is a process that the client starts (`tapui mcp-door`, or `tapui provider mcp` for the tools of a
file); no other process imports it.
"""
