"""What goes to the shell about the sessions in which MCP servers are offered."""

from msgspec import Struct


class McpSession(Struct, frozen=True):
    """A session that has MCP servers. `own` are the servers that its program runs itself, by name;
    None: its host does not say. In an `unattended` one nobody is asked."""

    id: str
    cwd: str
    own: frozenset[str] | None = None
    is_unattended: bool = False
