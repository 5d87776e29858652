"""Large fields of events: what is recorded of them, and how the fold puts them together again.

JSON and text from outside are recorded whole up to a limit (`records.inline`); above it a shortened
value stays in the field and `cuts` holds head, size and sha256 of what was there. A large field
that is repeated unchanged in the next event about the same thing is left out: its entry in `cuts`
then has an empty head, and the fold takes the value that it knows. (What the live state keeps of
what was recorded is another matter: see `heads`.)
"""

import hashlib
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.emitters import Emitter
from tapui.wire.events import Event
from tapui.wire.message import Line
from tapui.wire.steering import Order
from tapui.wire.subjects import Approval, Call, Cut, Gate, Provider, Session

E = TypeVar("E", bound=Event)
V = TypeVar("V", Session, Provider, Approval, Call, Gate, Emitter)

_REPEATED = frozenset({"metadata", "context", "sections", "detail", "command", "prompt", "rules"})
"""Fields that events about the same thing repeat: recorded again only when they changed."""
_NEVER = frozenset({"cuts", "workspace"})
_VIEWS = (Session, Provider, Approval, Call, Gate, Order, Emitter)
_REPEATING = (Provider, Approval, Emitter)
_LISTS = frozenset({"detail", "rules"})
"""Lists that may be large."""
_REMEMBERED = 1000
_HEAD = limits.CUT_HEAD


class Bounds:
    """Bounds a run's events: no field over `inline` bytes, large ones not repeated."""

    def __init__(self, inline: int) -> None:
        self._inline = inline
        self._written: dict[str, dict[str, Cut]] = {}
        """The large fields that were recorded last, by the thing's id, oldest first."""

    def bounded(self, event: E) -> E:
        """Return the event in the form that is recorded. Raises what encoding raises."""
        changes, cuts = self._cuts(event, None)
        for name in event.__struct_fields__:
            value = getattr(event, name)
            if not isinstance(value, (*_VIEWS, Line)):
                continue
            written = self._written_of(value.id) if isinstance(value, _REPEATING) else None
            inner, inner_cuts = self._cuts(value, written)
            if not inner_cuts:
                continue
            if isinstance(value, Line):  # it has no cuts of its own: it is what providers are sent
                cuts |= {f"{name}.{field}": kept for field, kept in inner_cuts.items()}
                changes[name] = replace(value, **inner)
            else:
                changes[name] = replace(value, cuts=inner_cuts, **inner)
        return replace(event, cuts=cuts, **changes) if changes else event

    def _written_of(self, id_: str) -> dict[str, Cut]:
        written = self._written.setdefault(id_, {})
        if len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]
        return written

    def _cuts(
        self, view: Struct, written: dict[str, Cut] | None
    ) -> tuple[dict[str, Any], dict[str, Cut]]:
        """Return what changes in a struct's own fields, and what they were before, by name."""
        cuts: dict[str, Cut] = {}
        changes: dict[str, Any] = {}
        for name in view.__struct_fields__:
            value = getattr(view, name)
            is_repeated = written is not None and name in _REPEATED
            data = None if name in _NEVER else _data(name, value)
            if data is None or len(data) <= (limits.DETAIL_BYTES if is_repeated else self._inline):
                if is_repeated and written is not None:
                    written.pop(name, None)
                continue
            kept = _kept(data)
            if is_repeated and written is not None:
                if written.get(name) == kept:
                    cuts[name], changes[name] = replace(kept, head=""), _nothing(value)
                    continue
                written[name] = kept
            if len(data) > self._inline:
                cuts[name], changes[name] = kept, _shortened(value, self._inline)
        return changes, cuts


def restored(view: V, known: V | None) -> V:
    """Return what an event tells, with the fields that it did not repeat as they are known.

    `known` is what the state keeps of the same thing: a large field's head may be all of it.
    """
    if not view.cuts:
        return view
    cuts, changes = dict(view.cuts), {}
    for name, kept in view.cuts.items():
        if kept.head or known is None:
            continue
        changes[name] = getattr(known, name)
        del cuts[name]
        if name in known.cuts:
            cuts[name] = known.cuts[name]
    if "is_cut" in view.__struct_fields__:
        changes["is_cut"] = bool(cuts) or getattr(known, "is_cut", False)
    return replace(view, cuts=cuts, **changes)


def _data(name: str, value: Any) -> bytes | None:
    """Return a field's bytes, or None for one that is never large."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, dict) or (name in _LISTS and isinstance(value, list)):
        return encode(value)
    return None


def _kept(data: bytes | memoryview) -> Cut:
    head = bytes(data[: _HEAD * 4]).decode("utf-8", "ignore")[:_HEAD]
    return Cut(head=head, size=len(data), sha256=hashlib.sha256(data).hexdigest())


def _nothing(value: Any) -> Any:
    if isinstance(value, str):
        return ""
    if isinstance(value, dict):
        return {}
    return [] if isinstance(value, list) else None


def _shortened(value: Any, inline: int) -> Any:
    """Return what stays in a field: its text cut, or its JSON with each long text in it cut."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, Raw):
        shorter = Raw(encode(_leaves(msgspec.json.decode(value))))
        return shorter if len(memoryview(shorter)) <= inline else None
    shorter_value = _leaves(value)
    return shorter_value if len(encode(shorter_value)) <= inline else _nothing(value)


def _leaves(value: Any) -> Any:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, dict):
        return {_short(key): _leaves(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_leaves(one) for one in value]
    return value


def _short(text: str) -> str:
    return text if len(text) <= _HEAD else text[:_HEAD] + "…"
