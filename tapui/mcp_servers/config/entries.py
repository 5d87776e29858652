"""What a file says of an MCP server. Values with secrets in them are never in a repr."""

from dataclasses import dataclass
from typing import Literal

from tapui.emitters.config.entries import ConfigProblem
from tapui.mcp_servers.config.templates import Template

MAX_FILE = 1024 * 1024
"""Bytes of a file with servers."""
MAX_SERVERS = 32
"""Servers of one file."""
MAX_NAME = 64
MAX_ARGUMENTS = 64
MAX_VARIABLES = 64
"""Variables of a server, and headers."""
MAX_VALUE = 4 * 1024
"""Characters of a value."""

ServerSource = Literal["own", "folder"]
"""`own`: the person's `mcp.json`; `folder`: a file of a repository, which needs consent."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """An MCP server as a file has it: a `command` with `args`, or a `url` with `headers`.

    `folder` is the repository's, without links; None for the person's own servers. `file` is the
    whole path of the file, `line` where the entry begins in it.
    """

    name: str
    source: ServerSource
    file: str
    line: int
    folder: str | None = None
    command: Template | None = None
    args: tuple[Template, ...] = ()
    env: tuple[tuple[str, Template], ...] = ()
    cwd: Template | None = None
    url: Template | None = None
    headers: tuple[tuple[str, Template], ...] = ()


@dataclass(frozen=True, slots=True)
class ServerFile:
    """What a file says; without one everything is empty.

    With `is_readable` False the file is there and cannot be taken apart: what was known of it
    holds.
    """

    path: str
    entries: tuple[ServerEntry, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    is_readable: bool = True
