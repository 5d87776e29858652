"""The process that runs one MCP server and offers its tools to sessions.

Only here and in the MCP door is the package `mcp` imported, which costs 50 MB and most of a second.
"""
