"""Messages as they can be sent: checked and mended before they leave their author's code."""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Raw

from tapui.provider.errors import DeclarationError
from tapui.wire import codec
from tapui.wire.errors import WireError
from tapui.wire.limits import MAX_CONTEXT, MAX_MESSAGE_BYTES
from tapui.wire.message import Message
from tapui.wire.surrogates import without_surrogates

M = TypeVar("M", bound=Message)


def sendable(message: M) -> M:
    """Return a message as it can be sent, its text mended. Raises `DeclarationError`."""
    try:
        message = codec.encodable(message)
    except WireError as error:
        raise DeclarationError(error.text) from None
    if len(codec.encode(message)) > MAX_MESSAGE_BYTES:
        tag = message.__struct_config__.tag
        raise DeclarationError(f"{tag}: larger than {MAX_MESSAGE_BYTES // 2**20} MiB")
    return message


def json_object(what: str, value: Mapping[str, Any]) -> Raw:
    """Return a dict as JSON. Raises `DeclarationError`, which begins with `what` it is."""
    try:
        return codec.raw(dict(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DeclarationError(f"{what}: JSON cannot hold it: {error}") from None


def short_context(what: str, text: str | None) -> str | None:
    """Return a context that can be sent. Raises `DeclarationError` for one that is too long."""
    if text is not None and len(text) > MAX_CONTEXT:
        raise DeclarationError(f"{what}: at most {MAX_CONTEXT:,} characters")
    return without_surrogates(text)
