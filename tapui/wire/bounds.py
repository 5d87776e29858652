"""How long the text and lists of messages may be: every field that comes in has one of these types.

What is longer than its type allows is refused: text with `INVALID_JSON`, lists and tables with
`PAYLOAD_TOO_LARGE`. JSON that is passed through is as long as its message may be, like `Text`.
"""

from typing import Annotated

from msgspec import Meta

from tapui.wire import limits


def checked(limit: str) -> Meta:
    """Return the note that the core checks a field against the limit of this name.

    It has an error of its own to say, or counts what other messages brought.
    """
    return Meta(extra={"limit": limit})


Id = Annotated[str, Meta(max_length=limits.MAX_ID)]
"""An id, or a name that another program gave."""
Path = Annotated[str, Meta(max_length=limits.MAX_PATH)]
"""A path, or a command with one."""
Text = Annotated[str, Meta(extra={"text": True})]
"""Text that may be as long as its message.

Records keep `records.inline` of it, snapshots a head.
"""
ShellText = Annotated[str, Meta(max_length=limits.MAX_SHELL_TEXT)]
Note = Annotated[str, Meta(max_length=limits.MAX_NOTE)]
Name = Annotated[str, checked("MAX_NAME")]
Pattern = Annotated[str, checked("MAX_PATTERN")]
Context = Annotated[str, checked("MAX_CONTEXT")]
Ids = Annotated[list[Id], Meta(max_length=limits.MAX_IDS)]
