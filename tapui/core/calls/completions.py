"""`tool.execution_complete`: what providers that subscribe are told of a call that has ended."""

import msgspec
from msgspec import Raw

from tapui.wire import limits
from tapui.wire.codec import compact, raw

_ELLIPSIS = "…"


def completion(  # noqa: PLR0917 - the fields of the event
    tool: str,
    args: Raw,
    output: Raw | str | None,
    is_ok: bool,
    duration_ms: float,
    provider: str | None = None,
) -> Raw:
    """Return the event's data. `output` is a text, or JSON that becomes one; None if there is none.

    A session's own tools have no `provider`.
    """
    result = {"type": "success" if is_ok else "failure"}
    if output is not None:
        result["output"] = _cut(output if isinstance(output, str) else _text(output))
    data: dict[str, object] = {"tool": tool}
    if provider is not None:
        data["provider"] = provider
    return raw(data | {"args": args, "result": result, "durationMs": duration_ms})


def _text(output: Raw) -> str:
    """Return a JSON string's text, and any other JSON as it is."""
    data = bytes(output)
    if data.lstrip()[:1] == b'"':
        return msgspec.json.decode(data, type=str)
    return bytes(compact(output)).decode()


def _cut(text: str) -> str:
    """Return at most 64 KiB of a text, as UTF-8, with an ellipsis where it was cut."""
    data = text.encode()
    if len(data) <= limits.MAX_EVENT_OUTPUT:
        return text
    head = data[: limits.MAX_EVENT_OUTPUT - len(_ELLIPSIS.encode())]
    return head.decode(errors="ignore") + _ELLIPSIS
