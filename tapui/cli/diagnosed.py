"""A finding of `tapui doctor`."""

import shlex
from typing import Literal

from msgspec import Struct

DiagnosedState = Literal["ok", "warning", "error"]


class Diagnosed(Struct):
    """Something that was looked at. `command` mends it, or does more of it; None: nothing to do.

    `id` is the thing that was looked at, the same in every version; several findings may have it.
    """

    id: str
    state: DiagnosedState
    text: str
    command: str | None = None


def moved(path: str) -> str:
    """Return the command that moves a file of the person's out of the way."""
    return f"mv {shlex.quote(path)} {shlex.quote(path + '.mine')}"
