"""`traceparent` of W3C Trace Context, version 00: strictly read, and written."""

import re
from typing import NamedTuple

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
_SAMPLED = 1


class TraceParent(NamedTuple):
    """A span of another program: ids in lower-case hexadecimal, and whether it is recorded."""

    trace_id: str
    span_id: str
    is_sampled: bool


def parse(text: str) -> TraceParent | None:
    """Return what a `traceparent` says; None for anything else than one of version 00."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    trace_id, span_id, flags = found.groups()
    if trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    return TraceParent(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


def written(trace_id: str, span_id: str) -> str:
    """Return the `traceparent` of a span that is recorded."""
    return f"00-{trace_id}-{span_id}-01"
