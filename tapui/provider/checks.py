"""What is declared and sent, checked here as the gateway would check it."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Raw

from tapui.provider.errors import DeclarationError
from tapui.wire import codec, limits
from tapui.wire.errors import WireError
from tapui.wire.limits import MAX_CONTEXT, MAX_MESSAGE_BYTES
from tapui.wire.message import Message
from tapui.wire.provider import HookMatch
from tapui.wire.surrogates import without_surrogates


def check_name(what: str, name: str, most: int, *, without: str = "") -> None:
    if not 1 <= len(name) <= most or (without and without in name):
        but = f", without {without}" if without else ""
        raise DeclarationError(f"{what}: a name has 1 to {most} characters{but}")
    if name != without_surrogates(name):
        raise DeclarationError(f"{what}: the name has half a character, which JSON cannot hold")


def call_match(
    tool: str | None, args: str | None, file: str | None, provider: str | None
) -> HookMatch:
    """Return which calls a rule is about. Raises `DeclarationError`."""
    args = None if args is None else checked_regex("args", args)
    return HookMatch(tool, args, provider, None if file is None else short_pattern("file", file))


def short_pattern(what: str, pattern: str) -> str:
    if len(pattern) > limits.MAX_PATTERN:
        raise DeclarationError(f"{what}: a pattern has at most {limits.MAX_PATTERN} characters")
    return pattern


def checked_regex(what: str, pattern: str) -> str:
    """Check a regex, as far as Python's own syntax goes. Raises `DeclarationError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what Python will read otherwise some day
            re.compile(short_pattern(what, pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise DeclarationError(f"{what}: '{pattern}' is no regex: {error}") from None
    return pattern


def checked_part(value: Any, kind: Any, what: str) -> Any:
    """Return a part of a hello, checked as the gateway checks it. Raises `DeclarationError`."""
    try:
        return codec.decode_as(codec.raw(value), kind, what)
    except WireError as error:
        raise DeclarationError(error.text) from None


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
