"""How a provider is, as it says itself: the newest line of its stream `status`.

A line that is only kept says that all is well; one that is also shown to the person, that something
is wrong. Any provider may have the stream; those that ship do.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tapui.projection.state import State, is_connected
from tapui.text import safe_text
from tapui.wire.message import Line
from tapui.wire.subjects import Provider

_SHOWN = 500


class ProviderStatus(NamedTuple):
    """What a provider said last, safe to show, when (RFC 3339), and in which session."""

    provider: Provider
    session_id: str
    text: str
    is_wrong: bool
    since: str


def stream_of(provider: str) -> str:
    """Return the full name of the stream."""
    return f"status@{provider}"


def told_line(line: Line) -> dict[str, Any]:
    """Return a line of the stream for JSON."""
    return {"text": text_of(line), "isWrong": is_wrong(line), "since": line.ts}


def text_of(line: Line) -> str:
    return safe_text(line.event, limit=_SHOWN)


def is_wrong(line: Line) -> bool:
    return line.level != "keep"


def statuses(state: State) -> Iterator[ProviderStatus]:
    """Yield what each connected provider said last, in each of its sessions."""
    by_stream: dict[str, list[Provider]] = {}
    for provider in filter(is_connected, state.providers.values()):
        by_stream.setdefault(stream_of(provider.name), []).append(provider)
    for (session_id, name), stream in state.streams.items():
        if (line := stream.last) is None:
            continue
        for provider in by_stream.get(name, ()):
            if provider.session_id in (session_id, "all"):
                yield ProviderStatus(provider, session_id, text_of(line), is_wrong(line), line.ts)


def told_statuses(state: State) -> list[dict[str, Any]]:
    """Return them for JSON."""
    return [
        {
            "provider": one.provider.name,
            "instance": one.provider.instance,
            "sessionId": one.session_id,
            "text": one.text,
            "isWrong": one.is_wrong,
            "since": one.since,
        }
        for one in statuses(state)
    ]
