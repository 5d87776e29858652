"""Long values as sheets show them: the one place through which a sheet gets a body.

What the state holds of a call, an approval, a provider or a goal may be its head alone (`is_cut`).
Sheets ask here for the rest and nowhere else: `whole` returns what there is, and asks the gateway
for the rest; when that comes, the pane's topic is touched, so that the sheet looks again.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.changes import Edit, edits_of
from tapui.projection.paragraphs import readable
from tapui.tower.app.view import DetailKey, Happening, View
from tapui.wire import limits, subjects
from tapui.wire.emitters import Emitter
from tapui.wire.goals import Goal, GoalsRead
from tapui.wire.message import Message
from tapui.wire.tower import DetailRead

Part = TypeVar("Part", subjects.Call, subjects.Approval, subjects.Provider, Emitter, Goal)

_EMITTERS = (
    "cwd",
    "folder",
    "command",
    "prompt",
    "shell",
    "description",
    "error",
    "why",
    "rules",
)
_LONG: dict[type, tuple[str, ...]] = {
    subjects.Call: ("args", "args_cut", "data", "data_cut", "error", "shell"),
    subjects.Approval: ("detail", "provider"),
    subjects.Provider: ("origin", "context", "metadata", "sections"),
    Emitter: _EMITTERS,
    Goal: ("criteria", "note"),
}
"""What may be cut."""

SHOWN_CHARS = 512 * 1024
"""Characters of one value that a sheet shows; the record has all of it."""

SET_OUT_BYTES = 1024 * 1024
"""Bytes of JSON that are set out; what is longer is shown as it came."""


class Bodies:
    """The bodies of what a view holds; what is not here is asked for with `send`."""

    def __init__(self, view: View, send: Callable[[Message], None]) -> None:
        self._view = view
        self._send = send
        self._read_ids = count(1)

    def whole(self, part: Part) -> Part:
        """Return all of it, or the head that there is; `is_cut` says which."""
        if not part.is_cut:
            return part
        key = _key(part)
        if key not in self._view.details:
            self._ask(key, part.session_id if isinstance(part, Goal) else None)
            return part
        whole = self._view.details[key]
        if type(whole) is not type(part):
            return part
        long = {name: getattr(whole, name) for name in _LONG[type(part)]}
        return replace(part, is_cut=whole.is_cut, **long)

    def recorded(self, session_id: str, call_id: str) -> subjects.Call | None:
        """Return a call that the state keeps no longer, as the records have it; None until it has
        come, and where they do not have it."""
        key: DetailKey = ("call", call_id, "recorded")
        if key in self._view.details:
            call = self._view.details[key]
            return call if isinstance(call, subjects.Call) else None
        self._ask(key, session_id)
        return None

    def is_recorded_awaited(self, call_id: str) -> bool:
        """Return whether `recorded` has asked and there was no answer yet."""
        return self._view.is_awaited(("call", call_id, "recorded"))

    def _ask(self, key: DetailKey, session_id: str | None = None) -> None:
        if not self._view.is_awaited(key):
            read_id = f"detail-{next(self._read_ids)}"
            self._view.expect_detail(read_id, key)
            of, subject, _ = key
            if of == "goal":
                ids = [one.id for one in self._view.state.goals_of(session_id or "")]
                last = len(ids) - ids.index(subject) if subject in ids else limits.MAX_GOALS
                self._send(GoalsRead(read_id, session_id, last=last))
            else:
                self._send(DetailRead(read_id, of, subject, session_id))

    def is_awaited(self, part: subjects.Call | subjects.Approval | Goal) -> bool:
        """Return whether the rest of it was asked for and has not come yet."""
        return part.is_cut and self._view.is_awaited(_key(part))

    def arguments(self, call: subjects.Call) -> str:
        return body_of(self._view.arguments(call))

    def result(self, call: subjects.Call) -> str:
        return body_of(self._view.result(call))

    def edits(self, call: subjects.Call) -> list[Edit]:
        """Return what a call changed in files, as far as that is known whole."""
        args = self._view.arguments(call)
        return edits_of(replace(call, args=args), call) if isinstance(args, Raw) else []


def _key(
    part: subjects.Call | subjects.Approval | subjects.Provider | Emitter | Goal,
) -> DetailKey:
    match part:
        case subjects.Call():
            return "call", part.id, f"{part.state} {part.exit_code}"
        case subjects.Approval():
            return "approval", part.id, ""
        case subjects.Provider():
            return "provider", part.id, f"{part.revision} {part.state}"
        case Emitter():
            return "emitter", part.id, f"{part.state} {part.runs} {hash(tuple(part.rules))}"
        case Goal():
            return "goal", part.id, f"{part.revision}"


def data_of(happening: Happening) -> str | None:
    """Return the data of a session's own event; None where it brought none."""
    data = happening.data
    if data is not None:
        return None if bytes(data) == b"{}" else body_of(data)
    return None if happening.data_cut is None else body_of(happening.data_cut)


def json_body(data: Raw) -> str:
    """Return JSON as JSON, set out on lines; a text alone is shown as the text that it is."""
    raw = bytes(data)
    if raw[:1] == b'"' or len(raw) > SET_OUT_BYTES:
        return body_of(data)
    with suppress(msgspec.DecodeError, RecursionError):  # no JSON: it is shown unchanged
        raw = msgspec.json.format(raw, indent=2)
    return shortened(raw.decode("utf-8", "replace"))


def body_of(kept: Raw | subjects.Cut | None) -> str:
    """Return JSON set out to be read (not made safe), other text unchanged, or what is kept and
    how much there was."""
    if kept is None:
        return "(nothing)"
    if isinstance(kept, subjects.Cut):
        return f"{kept.head}\n… {kept.size:,} bytes in all; the record has them"
    data = bytes(kept)
    text = data.decode("utf-8", "replace")
    if len(data) > SET_OUT_BYTES:
        return shortened(text)
    with suppress(msgspec.DecodeError, RecursionError):  # no JSON: it is shown unchanged
        text = readable(msgspec.json.decode(data))
    return shortened(text)


def shortened(text: str) -> str:
    over = len(text) - SHOWN_CHARS
    if over <= 0:
        return text
    return f"{text[:SHOWN_CHARS]}\n… {over:,} more characters; the record has them"
