"""What an inspection shows of a message: its beginning, without tokens, codes and other secrets."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from tapui.wire import limits
from tapui.wire.codec import encode, envelope_of_start
from tapui.wire.tower import Inspected

REDACTED = "[redacted]"
_SECRETS = frozenset({"token", "reconnectToken", "code", "nonce", "secret", "password"})
_CODED = frozenset({"error", "tool.outcome", "tool.result"})
"""Messages whose `code` is the code of an error."""
_WHOLE = 64 * 1024
"""Bytes of a message that is decoded to find its secrets; of a longer one the head is read."""
_SECRET_FIELD = re.compile(
    r'("(?:token|reconnectToken|nonce|secret|password|code)"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s",}\]]+)'
)


def inspected(data: bytes, ts: str, way: Any, mask: Callable[[str], str]) -> Inspected:
    """Return a frame as an inspection shows it. `mask` takes out what looks like a secret."""
    kind, text = _read(data)
    is_cut = len(text) > limits.INSPECT_HEAD or len(data) > _WHOLE
    text = mask(text[: 2 * limits.INSPECT_HEAD])  # what is cut off there is never shown
    return Inspected(ts, way, len(data), text[: limits.INSPECT_HEAD], kind, is_cut)


def note(size: int, ts: str, text: str) -> Inspected:
    """Return a line about a frame that was not kept."""
    return Inspected(ts, "in", size, text, is_cut=True)


def _redacted(message: dict[str, Any]) -> tuple[str, str]:
    named = message.get("type")
    kind = named[: limits.MAX_ID] if isinstance(named, str) else ""
    hidden = _SECRETS - {"code"} if kind in _CODED else _SECRETS
    if message.get("ephemeral") is True:
        hidden |= {"message"}  # what is to be kept nowhere, such as a pairing code
    shown = {name: REDACTED if name in hidden else one for name, one in message.items()}
    return kind, encode(shown).decode()


def _read(data: bytes) -> tuple[str, str]:
    """Return the type of a message, "" without one, and its text without the fields of secrets."""
    if len(data) <= _WHOLE:
        try:
            found = msgspec.json.decode(data)
            if isinstance(found, dict):
                return _redacted(found)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass  # it is no message: it is shown as text
    head = envelope_of_start(data[: limits.INSPECT_HEAD])
    kind = head.type[: limits.MAX_ID] if head is not None else ""
    # A secret that the head ends in is whole within what is looked at.
    text = data[: 2 * limits.INSPECT_HEAD].decode("utf-8", "replace")
    return kind, _SECRET_FIELD.sub(rf'\1"{REDACTED}"', text)
