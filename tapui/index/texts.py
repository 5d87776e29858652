"""What of a record is found: its texts, decoded, and what it is about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Raw

from tapui.projection import orders
from tapui.projection.asking import by_whom, command_line, detail_of, subject
from tapui.projection.state import State
from tapui.projection.summary import head_strings, summary_of
from tapui.wire import events as ev
from tapui.wire import subjects

RowKind = Literal[
    "prompt", "message", "call", "result", "line", "approval", "error", "mode", "event"
]
_PROMPTS = frozenset({"user.message", "prompt.injected", "prompt.automatic"})
_MESSAGES = frozenset({"assistant.message", "assistant.intent"})
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)("?)')


MAX_TITLE = 120
"""Characters of a row's title."""


@dataclass(frozen=True, slots=True)
class Found:
    """A row of the index. `title` says what it is about; `is_cut`: the record has not all of it."""

    kind: RowKind
    title: str
    text: str
    call_id: str | None = None
    is_cut: bool = False


def found_in(event: ev.AnyEvent, state: State) -> Found | None:
    """Return what is indexed of an event; None for one that says nothing to look for.

    `state` is the fold of what happened before: it knows the arguments of a call that ends.
    """
    match event:
        case ev.CallStarted(call=call):
            texts = _texts(call.args, call.args_cut, is_data=False)
            title = f"{call.tool} {summary_of(call)}".strip()
            return Found("call", title, _joined(call.tool, *texts), call.id, _is_cut(event, call))
        case ev.CallFinished(call=call):
            return _result(event, call, state)
        case ev.StreamPosted(stream=stream, line=line):
            texts = _texts(line.metadata, None)
            text = _joined(stream, line.event, *texts)
            return Found("line", stream, text, is_cut=_is_cut(event))
        case ev.SessionHappened():
            return _happened(event)
        case ev.ApprovalRequested(approval=approval):
            title = subject(state, approval)
            text = _joined(approval.provider, title, *_strings(detail_of(approval)))
            return Found("approval", title, text, approval.id, _is_cut(event, approval))
        case (
            ev.ApprovalDecided(approval=approval)
            | ev.ApprovalWithdrawn(approval=approval)
            | ev.ApprovalExpired(approval=approval)
        ):
            by = f"by {by_whom(approval.decided_by)}" if approval.decided_by else ""
            title = f"{approval.state} {by}: {subject(state, approval)}".replace(" :", ":")
            return Found("approval", title, _joined(title, approval.reason), approval.id)
        case ev.ModeChanged():
            title = f"{event.source or '?'} → {event.mode} {event.state} by {event.by}"
            return Found("mode", title, _joined(title, event.error))
        case ev.OrderGiven(order=order) if order.kind != "tell":
            title = f"{orders.wanted(order)} by {order.by}"
            return Found("event", title, title, is_cut=_is_cut(event))
        case ev.OrderChanged(state="failed"):
            known = state.orders.get(event.order_id)
            title = f"failed: {orders.wanted(known)}" if known is not None else "order failed"
            return Found("error", title, _joined(title, event.error), is_cut=_is_cut(event))
        case ev.GateChecked(gate=gate) if gate.state == "deny":
            title = f"{gate.tool} denied by {gate.decided_by or 'a rule'}"
            return Found(
                "approval", title, _joined(title, gate.reason), is_cut=_is_cut(event, gate)
            )
        case ev.ErrorSent():
            title = f"{event.code} {event.provider or ''}".strip()
            return Found("error", title, _joined(title, event.message), is_cut=_is_cut(event))
        case ev.CommandAsked():
            title = f"{event.command} {'refused' if event.refused else 'answered'}"
            return Found("approval", title, _joined(title, command_line(event)))
        case ev.SpanEnded(span=span) if span.name == "turn":
            title = f"turn {span.turn or '?'} {span.status}, trace {span.trace_id}"
            return Found("event", title, title)
        case ev.EventLost():
            return Found("error", event.lost, _joined(event.lost, event.error))
        case _:
            return None


def _result(event: ev.CallFinished, call: subjects.Call, state: State) -> Found:
    began = state.calls.get(call.id)
    title = f"{call.tool} {summary_of(began) if began else ''}".strip()
    texts = _texts(call.data, call.data_cut)
    file = call.file.path if call.file is not None else None
    kind: RowKind = "error" if call.state == "failed" else "result"
    text = _joined(call.error, file, *texts, *(call.context or ()))
    return Found(kind, title, text, call.id, _is_cut(event, call))


def _happened(event: ev.SessionHappened) -> Found | None:
    texts = list(_texts(event.data, event.data_cut, is_data=False))
    name, is_cut = event.event, _is_cut(event) or event.data_cut is not None
    if not texts or name == "session.usage":  # sums, told again with each turn
        return None
    title = texts[0].strip().partition("\n")[0][:200]
    if name in _PROMPTS:
        return Found("prompt", title, _joined(*texts), is_cut=is_cut)
    if name in _MESSAGES:
        return Found("message", title, _joined(*texts), is_cut=is_cut)
    kind: RowKind = "error" if name in ("session.error", "prompt.failed") else "event"
    return Found(kind, name, _joined(name, *texts), is_cut=is_cut)


def _is_cut(
    event: ev.Event, view: subjects.Call | subjects.Approval | subjects.Gate | None = None
) -> bool:
    if event.cuts or (view is not None and view.cuts):
        return True
    return isinstance(view, subjects.Call) and (
        view.args_cut is not None or view.data_cut is not None
    )


def _texts(raw: Raw | None, kept: subjects.Cut | None, *, is_data: bool = True) -> Iterator[str]:
    """Yield the texts of JSON from outside, of JSON that was cut those of its beginning."""
    if raw is not None:
        try:
            yield from _strings(msgspec.json.decode(raw), with_keys=is_data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
    elif kept is not None:
        yield from (
            (text for text, _ in _STRING.findall(kept.head) if text)
            if is_data
            else (head_strings(kept.head).values())
        )


def _strings(value: Any, *, with_keys: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if with_keys:
                yield str(name)
            yield from _strings(inner, with_keys=with_keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, with_keys=with_keys)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _joined(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text)
