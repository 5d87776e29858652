"""The conversations: what each kind of peer sends, and which message is legal in which state.

One file for each kind of peer: `host`, `provider`, `tower`, `builtin`, `tool_hosts`; the others
serve several: `connections`, `legal`, `hello` (auth, binding), `caller` (tool calls), `reading`.
"""
