"""Heads: what the live state keeps of text and JSON that is too large to keep whole.

A snapshot carries the whole state, so its size must not depend on what others sent. All of a
value is read with `detail.read`.
"""

import hashlib
from typing import Any, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tapui.wire import limits, subjects
from tapui.wire.emitters import Emitter
from tapui.wire.message import Line
from tapui.wire.steering import Order

Whole = TypeVar(
    "Whole",
    subjects.Session,
    subjects.Provider,
    subjects.Call,
    subjects.Approval,
    subjects.Gate,
    Order,
    Emitter,
)


def cut(raw: Raw, limit: int) -> tuple[Raw | None, subjects.Cut | None]:
    """Return the JSON whole if it has at most `limit` bytes, else what is kept of it."""
    data = memoryview(raw)
    if data.nbytes <= limit:
        return raw, None
    head = bytes(data[: limits.CUT_HEAD * 4]).decode("utf-8", "ignore")[: limits.CUT_HEAD]
    return None, subjects.Cut(head=head, size=data.nbytes, sha256=hashlib.sha256(data).hexdigest())


def head_of(text: str) -> str:
    """Return the text, cut with `…` where it is longer than `limits.HEAD_BYTES` characters."""
    return text if len(text) <= limits.HEAD_BYTES else text[: limits.HEAD_BYTES] + "…"


def session_head(session: subjects.Session) -> subjects.Session:
    if any(_is_long(one) for one in session.subagents):
        session = replace(session, subagents=[_subagent_head(one) for one in session.subagents])
    return _shortened(session, ("label", "cwd", "model", "workspace", "reason"))


def _is_long(subagent: subjects.Subagent) -> bool:
    names = (subagent.id, subagent.agent, subagent.tool_call_id or "")
    return any(len(name) > limits.MAX_NAME for name in names)


def _subagent_head(subagent: subjects.Subagent) -> subjects.Subagent:
    call = subagent.tool_call_id
    return replace(
        subagent,
        id=subagent.id[: limits.MAX_NAME],
        agent=subagent.agent[: limits.MAX_NAME],
        tool_call_id=call[: limits.MAX_NAME] if call else call,
    )


def order_head(order: Order) -> Order:
    return _shortened(order, ("text", "error"))


def provider_head(provider: subjects.Provider) -> subjects.Provider:
    """Return what the state keeps of a provider; `is_cut` when that is not all."""
    kept = _shortened(provider, ("origin", "reason", "context"))
    if kept.metadata is not None and len(memoryview(kept.metadata)) > limits.DETAIL_BYTES:
        kept = replace(kept, metadata=msgspec.Raw(_json(_part(kept.metadata))), is_cut=True)
    if any(len(name) > limits.MAX_NAME for name in kept.sections):
        sections = {name[: limits.MAX_NAME]: what for name, what in kept.sections.items()}
        kept = replace(kept, sections=sections, is_cut=True)
    return kept


def call_head(call: subjects.Call) -> subjects.Call:
    """Return what the state keeps of a call; `is_cut` when that is not all."""
    if call.args is not None and len(memoryview(call.args)) > limits.DETAIL_BYTES:
        args, args_cut = cut(call.args, limits.DETAIL_BYTES)
        call = replace(call, args=args, args_cut=args_cut, is_cut=True)
    if call.data is not None and len(memoryview(call.data)) > limits.DETAIL_BYTES:
        data, data_cut = cut(call.data, limits.DETAIL_BYTES)
        call = replace(call, data=data, data_cut=data_cut, is_cut=True)
    if call.context is not None and sum(map(len, call.context)) > limits.HEAD_BYTES:
        call = replace(call, context=_Part().of(call.context), is_cut=True)
    if call.progress is None and call.error is None:
        return call
    return _shortened(call, ("progress", "error"))


def approval_head(approval: subjects.Approval) -> subjects.Approval:
    """Return what the state keeps of an approval; `is_cut` when that is not all."""
    kept = _shortened(approval, ("reason", "provider"))
    if len(_json(kept.detail)) > limits.DETAIL_BYTES:
        kept = replace(kept, detail=_Part().of(kept.detail), is_cut=True)
    return kept


def gate_head(gate: subjects.Gate) -> subjects.Gate:
    return _shortened(gate, ("tool", "reason"))


def emitter_head(emitter: Emitter) -> Emitter:
    """Return what the state keeps of an emitter; `is_cut` when that is not all."""
    kept = _shortened(
        emitter,
        ("cwd", "folder", "command", "prompt", "shell", "description", "error", "why"),
    )
    if sum(map(len, kept.args)) > limits.DETAIL_BYTES:
        kept = replace(kept, args=[head_of(" ".join(kept.args))], is_cut=True)
    if sum(len(rule.match) for rule in kept.rules) <= limits.DETAIL_BYTES:
        return kept
    room, rules = limits.DETAIL_BYTES, []
    for rule in kept.rules:
        room -= len(rule.match)
        if room < 0:
            break
        rules.append(rule)
    return replace(kept, rules=rules, is_cut=True)


def line_head(line: Line) -> Line:
    """Return what the state keeps of a stream's last line."""
    if line.metadata is None and len(line.event) <= limits.HEAD_BYTES:
        return line
    return replace(line, event=head_of(line.event), metadata=None)


def _shortened(whole: Whole, fields: tuple[str, ...]) -> Whole:
    changes: dict[str, Any] = {}
    for name in fields:
        text = getattr(whole, name)
        if text is not None and len(text) > limits.HEAD_BYTES:
            changes[name] = head_of(text)
    if not changes:
        return whole
    if "is_cut" in whole.__struct_fields__:
        changes["is_cut"] = True
    return replace(whole, **changes)


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _part(raw: Raw) -> Any:
    return _Part().of(msgspec.json.decode(raw))


class _Part:
    """Makes a value small: long strings are cut, and what comes after the first
    `limits.DETAIL_BYTES` is left out."""

    def __init__(self) -> None:
        self._room = limits.DETAIL_BYTES

    def of(self, value: Any) -> Any:
        """Return the value, or a part of it of the same kind."""
        if isinstance(value, str):
            kept = head_of(value)[: max(self._room, 1)]
            self._room -= len(kept)
            return kept if kept == value or kept.endswith("…") else kept + "…"
        if isinstance(value, dict):
            made = {}
            for name, inner in value.items():
                if self._room <= 0:
                    break
                short = str(name)[: limits.MAX_NAME]
                self._room -= len(short) + 4
                made[short] = self.of(inner)
            return made
        if isinstance(value, list):
            items = []
            for inner in value:
                if self._room <= 0:
                    break
                self._room -= 2
                items.append(self.of(inner))
            return items
        self._room -= 8
        return value
