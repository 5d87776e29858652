"""A `ToolContext` for tests of tool files: it keeps what a tool tells it."""

import os
from dataclasses import dataclass, field

from tapui.folder_tools.base import ToolContext, install_base

install_base()


@dataclass
class RecordedContext(ToolContext):
    """As `execute` is given one. `synced` has (path, content), `opened` (uri, language, text)."""

    synced: list[tuple[str, str]] = field(default_factory=list)
    opened: list[tuple[str, str, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """What `progress` was given."""
    logged: list[str] = field(default_factory=list)
    is_cancelled: bool = False
    """Set it, and `cancelled()` is True."""


def tool_context(folder: str | os.PathLike[str]) -> RecordedContext:
    """Return a context whose workspace is a folder, such as pytest's `tmp_path`."""
    made = RecordedContext(os.path.abspath(folder))  # noqa: PTH100 - links stay as they are
    made.sync_file_to_server = lambda path, content: made.synced.append((path, content))
    made.open_document = lambda uri, language, text: made.opened.append((uri, language, text))
    made.progress = made.told.append
    made.log = made.logged.append
    made.cancelled = lambda: made.is_cancelled
    return made
