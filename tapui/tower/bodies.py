"""Long values as sheets show them: the one place through which a sheet gets a body.

What the tower holds of a value may be its head alone. Sheets ask here and nowhere else, with what
they show (a call, a line, an approval), and know by `Body.is_whole` whether that was all of it.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from tapui.tower import requests
from tapui.tower.view import Happening, View
from tapui.wire import events as ev
from tapui.wire.message import Line

SHOWN_CHARS = 512 * 1024
"""Characters of one value that a sheet shows; the record has all of it."""


class Body(NamedTuple):
    """A value as text to be read (not made safe), and whether that is all of it."""

    text: str
    is_whole: bool = True


class Bodies:
    """The bodies of what a view holds."""

    def __init__(self, view: View) -> None:
        self._view = view

    def arguments(self, call: ev.Call) -> Body:
        """Return a call's arguments."""
        return _of(self._view.arguments(call))

    def result(self, call: ev.Call) -> Body:
        """Return a call's result data."""
        return _of(self._view.result(call))

    def happening(self, happening: Happening) -> Body | None:
        """Return the data of a session's own event; None where it brought none."""
        data = happening.data
        if data is not None:
            return None if bytes(data) == b"{}" else _of(data)
        return None if happening.data_cut is None else _of(happening.data_cut)

    def line(self, line: Line) -> Body:
        """Return the text of a stream's line."""
        return _shortened(line.event)

    def metadata(self, owner: Line | ev.Provider) -> Body | None:
        """Return the metadata of a line or a provider; None where there is none."""
        return None if owner.metadata is None else _of(owner.metadata)

    def detail(self, approval: ev.Approval) -> Mapping[str, Any]:
        """Return everything that a request says, for who decides it."""
        return requests.detail_of(approval)


def _of(kept: Raw | ev.Cut | None) -> Body:
    """Return JSON indented, what is not JSON as it is, or what is kept and how much there was."""
    if kept is None:
        return Body("(nothing)")
    if isinstance(kept, ev.Cut):
        return Body(f"{kept.head}\n… {kept.size:,} bytes in all; the record has them", False)
    data = bytes(kept)
    with suppress(msgspec.DecodeError, RecursionError):
        data = msgspec.json.format(data, indent=2)
    return _shortened(data.decode("utf-8", "replace"))


def _shortened(text: str) -> Body:
    over = len(text) - SHOWN_CHARS
    if over <= 0:
        return Body(text)
    return Body(f"{text[:SHOWN_CHARS]}\n… {over:,} more characters; the record has them", False)
