"""Spans as OTLP/JSON: a `TracesData` of one resource, as OpenTelemetry's file exporter writes one a
line, and as an `ExportTraceServiceRequest` is.

The JSON is put together from pieces, each text encoded once: an export of all records is bound by
this. Spans may come from records that anyone has written: one without a time or with ids that are
none is left out.
"""

import re
from calendar import timegm
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tapui import __version__
from tapui.telemetry import semantic_names as names
from tapui.wire.subjects import Span, SpanName

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}", re.ASCII).fullmatch
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}", re.ASCII).fullmatch
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII
).fullmatch
_MOST = 2**63 - 1
_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_OPERATIONS: dict[SpanName, str] = {
    "turn": names.INVOKE_AGENT,
    "agent": names.INVOKE_AGENT,
    "tool": names.EXECUTE_TOOL,
    "provider": names.EXECUTE_TOOL,
}


class CallContent(NamedTuple):
    """What was said in a call, as records have it: JSON texts, None where there is none."""

    arguments: str | None = None
    result: str | None = None


class ExportedSpan(NamedTuple):
    """A span with its session. `content` is None but where the person wants it exported."""

    span: Span
    session_id: str | None
    content: CallContent | None = None


class Document(NamedTuple):
    """OTLP/JSON in UTF-8, on one line, how many spans it has, and how many could not be told."""

    body: bytes
    spans: int
    damaged: int


def document(spans: Iterable[ExportedSpan]) -> Document:
    """Return spans as one document."""
    told: list[str] = []
    damaged = 0
    for one in spans:
        text = _span(one)
        if text is None:
            damaged += 1
        else:
            told.append(text)
    body = f"{_HEAD}{','.join(told)}{_FOOT}".encode("utf-8", "replace")
    return Document(body, len(told), damaged)


def _span(exported: ExportedSpan) -> str | None:
    span, session_id, content = exported
    start = _nanoseconds(span.started_at)
    if start is None or _TRACE_ID(span.trace_id) is None or _SPAN_ID(span.span_id) is None:
        return None
    duration = span.duration if 0 < span.duration < _MOST else 0.0
    end = min(start + int(duration * 1_000_000), _MOST)
    parent = ""
    if span.parent_id is not None and _SPAN_ID(span.parent_id) is not None:
        parent = f'"parentSpanId":"{span.parent_id}",'
    kind = _CLIENT if span.name == "provider" else _INTERNAL
    attributes = ",".join(_attributes(span, session_id, content))
    return (
        f'{{"traceId":"{span.trace_id}","spanId":"{span.span_id}",{parent}'
        f'"name":{_text(_title(span))},"kind":{kind},'
        f'"startTimeUnixNano":"{start}","endTimeUnixNano":"{end}",'
        f'"attributes":[{attributes}],"status":{_status(span, content)}}}'
    )


def _title(span: Span) -> str:
    """Return the name that viewers list a span by: what is done, and to what."""
    match span.name:
        case "turn":
            return names.INVOKE_AGENT
        case "agent":
            return f"{names.INVOKE_AGENT} {span.agent}" if span.agent else names.INVOKE_AGENT
        case "tool" | "provider":
            return f"{names.EXECUTE_TOOL} {span.tool}" if span.tool else names.EXECUTE_TOOL
    about = span.tool or span.emitter or span.provider
    return f"{span.name} {about}" if about else span.name


def _status(span: Span, content: CallContent | None) -> str:
    if span.status != "error":
        return "{}"
    message = span.error if content is not None and span.error else ""
    return (
        f'{{"code":{_ERROR},"message":{_encoded(message)}}}' if message else f'{{"code":{_ERROR}}}'
    )


def _attributes(span: Span, session_id: str | None, content: CallContent | None) -> list[str]:
    found = [_of_text(names.SPAN, span.name)]
    operation = _OPERATIONS.get(span.name)
    if operation is not None:
        found.append(_of_text(names.OPERATION, operation))
    if session_id is not None:
        found.append(_of_text(names.SESSION_ID, session_id))
        found.append(_of_text(names.CONVERSATION_ID, session_id))
    if span.tool is not None:
        found.append(_of_text(names.TOOL_NAME, span.tool))
    if span.call_id is not None:
        found.append(_of_id(names.CALL_ID, span.call_id))
        found.append(_of_id(names.TOOL_CALL_ID, span.tool_call_id or span.call_id))
    for name, text in (
        (names.AGENT_ID, span.agent_id),
        (names.AGENT_NAME, span.agent),
        (names.PROVIDER, span.provider),
        (names.REQUEST_MODEL, span.model),
        (names.EMITTER, span.emitter),
        (names.EMITTER_ID, span.emitter_id),
        (names.STREAM, span.stream),
    ):
        if text is not None:
            found.append(_of_text(name, text))
    if span.status == "error":
        found.append(_of_text(names.ERROR_TYPE, span.code or "_OTHER"))
    elif span.status != "ok":
        found.append(_of_text(names.STATUS, span.status))
    for name, number in (
        (names.TURN, span.turn),
        (names.DROPPED, span.dropped or None),
        (names.RUN, span.run),
    ):
        if number is not None:
            found.append(_of_number(name, number))
    if span.emitter is not None:
        for name, number in (
            (names.FROM_SEQ, span.from_seq),
            (names.TO_SEQ, span.to_seq),
            (names.LINES, span.lines),
            (names.KEPT, span.kept),
            (names.SURFACED, span.surfaced),
            (names.INJECTED, span.injected),
            (names.HELD, span.held),
        ):
            if number is not None:
                found.append(_of_number(name, number))
    if (usage := span.usage) is not None:
        found.append(_of_number(names.INPUT_TOKENS, usage.input))
        found.append(_of_number(names.OUTPUT_TOKENS, usage.output))
        found.append(_of_number(names.CACHE_READ_TOKENS, usage.cache_read))
        found.append(_of_number(names.CACHE_WRITE_TOKENS, usage.cache_write))
    if content is not None:
        if content.arguments is not None:
            found.append(_of_id(names.TOOL_ARGUMENTS, content.arguments))
        if content.result is not None:
            found.append(_of_id(names.TOOL_RESULT, content.result))
    return found


_json = msgspec.json.Encoder()


def _encoded(text: str) -> str:
    """Return a text as JSON; a lone surrogate becomes a question mark."""
    try:
        return _json.encode(text).decode()
    except UnicodeEncodeError:
        return _json.encode(text.encode("utf-8", "replace").decode()).decode()


_text = lru_cache(4096)(_encoded)
"""The same for texts that come again, such as names of tools."""


@lru_cache(4096)
def _of_text(name: str, text: str) -> str:
    return f'{{"key":"{name}","value":{{"stringValue":{_encoded(text)}}}}}'


def _of_id(name: str, text: str) -> str:
    """Return the attribute of a text that does not come again."""
    return f'{{"key":"{name}","value":{{"stringValue":{_encoded(text)}}}}}'


def _of_number(name: str, number: int) -> str:
    return f'{{"key":"{name}","value":{{"intValue":"{max(min(number, _MOST), -_MOST)}"}}}}'


_HEAD = (
    '{"resourceSpans":[{"resource":{"attributes":['
    f"{_of_text(names.SERVICE_NAME, 'tapui')},{_of_text(names.SERVICE_VERSION, __version__)}"
    f']}},"schemaUrl":"{names.SCHEMA_URL}","scopeSpans":[{{"scope":{{"name":"tapui","version":'
    f'{_encoded(__version__)}}},"schemaUrl":"{names.SCHEMA_URL}","spans":['
)
_FOOT = "]}]}]}"


@lru_cache(4096)
def _seconds(text: str) -> int | None:
    """Return the seconds since the epoch of a time to the second; None for none."""
    found = _TIME(text)
    try:
        return None if found is None else timegm(tuple(map(int, found.groups()[:6])))
    except ValueError:
        return None  # a month that there is not


def _nanoseconds(text: str) -> int | None:
    """Return an RFC 3339 time in UTC as nanoseconds since the epoch; None for another text."""
    if _TIME(text) is None:
        return None
    second = _seconds(f"{text[:19]}Z")
    if second is None or second < 0:
        return None
    return second * 1_000_000_000 + int(text[20:-1].ljust(9, "0") or 0)
