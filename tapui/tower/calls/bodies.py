"""Long values as sheets show them: the one place through which a sheet gets a body.

What the state holds of a call, an approval or a provider may be its head alone (`is_cut`). Sheets
ask here for the rest and nowhere else: `whole` returns what there is, and asks the gateway for the
rest; when that comes, the pane's topic is touched, so that the sheet looks again.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.changes import Edit, edits_of
from tapui.projection.paragraphs import readable
from tapui.projection.requests.kind import detail_of
from tapui.tower.app.view import DetailKey, Happening, View, Whole
from tapui.wire import subjects
from tapui.wire.emitters import Emitter
from tapui.wire.message import Line, Message
from tapui.wire.tower import DetailRead

Part = TypeVar("Part", subjects.Call, subjects.Approval, subjects.Provider)

_LONG = ("cwd", "folder", "command", "prompt", "shell", "description", "error", "why", "rules")
"""What of an emitter may be cut."""

SHOWN_CHARS = 512 * 1024
"""Characters of one value that a sheet shows; the record has all of it."""

SET_OUT_BYTES = 1024 * 1024
"""Bytes of JSON that are set out; what is longer is shown as it came."""


class Body(NamedTuple):
    """A value as text to be read (not made safe), and whether that is all of it."""

    text: str
    is_whole: bool = True


class Bodies:
    """The bodies of what a view holds; what is not here is asked for with `send`."""

    def __init__(self, view: View, send: Callable[[Message], None]) -> None:
        self._view = view
        self._send = send
        self._read_ids = count(1)

    def whole(self, part: Part) -> Part:
        """Return all of a call, approval or provider, or the head that there is; `is_cut` says
        which."""
        if not part.is_cut:
            return part
        key = _key(part)
        if key in self._view.details:
            return _filled(part, self._view.details[key])
        self._ask(key)
        return part

    def recorded(self, session_id: str, call_id: str) -> subjects.Call | None:
        """Return a call that the state keeps no longer, as the records have it; None until it has
        come, and where they do not have it."""
        key: DetailKey = ("call", call_id, "recorded")
        if key in self._view.details:
            found = self._view.details[key]
            return found if isinstance(found, subjects.Call) else None
        self._ask(key, session_id)
        return None

    def is_recorded_awaited(self, call_id: str) -> bool:
        """Return whether `recorded` has asked and there was no answer yet."""
        return self._view.is_awaited(("call", call_id, "recorded"))

    def emitter(self, emitter: Emitter) -> Emitter:
        """Return all of an emitter, or the head that there is; `is_cut` says which."""
        if not emitter.is_cut:
            return emitter
        key: DetailKey = ("emitter", emitter.id, _version(emitter))
        if key in self._view.details:
            whole = self._view.details[key]
            if not isinstance(whole, Emitter):
                return emitter
            return replace(
                emitter, is_cut=whole.is_cut, **{name: getattr(whole, name) for name in _LONG}
            )
        self._ask(key)
        return emitter

    def _ask(self, key: DetailKey, session_id: str | None = None) -> None:
        if not self._view.is_awaited(key):
            read_id = f"detail-{next(self._read_ids)}"
            self._view.expect_detail(read_id, key)
            self._send(DetailRead(read_id, key[0], key[1], session_id))

    def is_awaited(self, part: subjects.Call | subjects.Approval | subjects.Provider) -> bool:
        """Return whether the rest of it was asked for and has not come yet."""
        return part.is_cut and self._view.is_awaited(_key(part))

    def arguments(self, call: subjects.Call) -> Body:
        return body_of(self._view.arguments(call))

    def result(self, call: subjects.Call) -> Body:
        return body_of(self._view.result(call))

    def edits(self, call: subjects.Call) -> list[Edit]:
        """Return what a call changed in files, as far as that is known whole."""
        args = self._view.arguments(call)
        return edits_of(replace(call, args=args), call) if isinstance(args, Raw) else []

    def happening(self, happening: Happening) -> Body | None:
        """Return the data of a session's own event; None where it brought none."""
        data = happening.data
        if data is not None:
            return None if bytes(data) == b"{}" else body_of(data)
        return None if happening.data_cut is None else body_of(happening.data_cut)

    def line(self, line: Line) -> Body:
        return _shortened(line.event)

    def metadata(self, owner: Line | subjects.Provider) -> Body | None:
        """Return the metadata of a line or a provider; None where there is none."""
        return None if owner.metadata is None else body_of(owner.metadata)

    def detail(self, approval: subjects.Approval) -> Mapping[str, Any]:
        return detail_of(approval)


def _version(emitter: Emitter) -> str:
    return f"{emitter.state} {emitter.runs} {hash(tuple(emitter.rules))}"


def _key(part: subjects.Call | subjects.Approval | subjects.Provider) -> DetailKey:
    if isinstance(part, subjects.Call):
        return "call", part.id, part.state
    if isinstance(part, subjects.Approval):
        return "approval", part.id, ""
    return "provider", part.id, f"{part.revision} {part.state}"


def _filled(part: Part, whole: Whole | None) -> Part:
    """Return the present `part`, with the long values of `whole`."""
    if isinstance(part, subjects.Call) and isinstance(whole, subjects.Call):
        return replace(
            part,
            args=whole.args,
            args_cut=whole.args_cut,
            data=whole.data,
            data_cut=whole.data_cut,
            error=whole.error,
            is_cut=whole.is_cut,
        )
    if isinstance(part, subjects.Approval) and isinstance(whole, subjects.Approval):
        return replace(part, detail=whole.detail, provider=whole.provider, is_cut=whole.is_cut)
    if isinstance(part, subjects.Provider) and isinstance(whole, subjects.Provider):
        return replace(
            part,
            origin=whole.origin,
            context=whole.context,
            metadata=whole.metadata,
            sections=whole.sections,
            is_cut=whole.is_cut,
        )
    return part


def json_body(data: Raw) -> Body:
    """Return JSON as JSON, set out on lines; a text alone is shown as the text that it is."""
    found = bytes(data)
    if found[:1] == b'"' or len(found) > SET_OUT_BYTES:
        return body_of(data)
    with suppress(msgspec.DecodeError, RecursionError):  # no JSON: it is shown unchanged
        found = msgspec.json.format(found, indent=2)
    return _shortened(found.decode("utf-8", "replace"))


def body_of(kept: Raw | subjects.Cut | None) -> Body:
    """Return JSON set out to be read, other text unchanged, or what is kept and how much
    there was."""
    if kept is None:
        return Body("(nothing)")
    if isinstance(kept, subjects.Cut):
        return Body(f"{kept.head}\n… {kept.size:,} bytes in all; the record has them", False)
    data = bytes(kept)
    text = data.decode("utf-8", "replace")
    if len(data) > SET_OUT_BYTES:
        return _shortened(text)
    with suppress(msgspec.DecodeError, RecursionError):  # no JSON: it is shown unchanged
        text = readable(msgspec.json.decode(data))
    return _shortened(text)


def _shortened(text: str) -> Body:
    over = len(text) - SHOWN_CHARS
    if over <= 0:
        return Body(text)
    return Body(f"{text[:SHOWN_CHARS]}\n… {over:,} more characters; the record has them", False)
