"""Bytes to messages and back (order of checks: size, envelope, state, fields).

`envelope()` reads what a refusal must echo; `decode()` then reads the message as the type that
the connection's state allows. Both raise `WireError` and nothing else.
"""

import json
import re
from array import array
from collections.abc import Callable, Iterable
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar, Union, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.limits import CUT_HEAD, MAX_DEPTH, MAX_EXPLANATION, MAX_ID
from tapui.wire.message import Message
from tapui.wire.normalize import normalized
from tapui.wire.surrogates import without_surrogates

M = TypeVar("M", bound=Message)

_NEITHER = bytes(set(range(256)) - set(b'[]{}"'))
_IN_AND_OUT = b"\x01\xff"
_STEPS = bytes.maketrans(b"[{]}", _IN_AND_OUT[:1] * 2 + _IN_AND_OUT[1:] * 2)
"""Brackets as steps of depth: +1 in, -1 (as a signed byte) out."""
_SCANS = 8
_PATH = re.compile(r" - at `\$?\.?(?P<path>.*)`$")
_TOO_MANY = re.compile(r"Expected `(array|object)` of length <=")
_MISSING = re.compile(r"missing required field `(.+)`$")
_QUOTE, _LF, _CR = b'"\n\r'
_encoder = msgspec.json.Encoder()
_json_decoder = json.JSONDecoder()
_ECHOED = frozenset({"type", "id", "requestId", "queryId", "sessionId"})
_SPACE_AND_BRACE = re.compile(r"[ \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Envelope(Struct):
    """What every message has, and what an error about it echoes."""

    type: str
    id: Raw | UnsetType = UNSET
    request_id: Raw | UnsetType = msgspec.field(default=UNSET, name="requestId")
    query_id: Raw | UnsetType = msgspec.field(default=UNSET, name="queryId")
    session_id: Raw | UnsetType = msgspec.field(default=UNSET, name="sessionId")
    session: Raw | UnsetType = UNSET
    sessions: Raw | UnsetType = UNSET

    def refusal(self, code: ErrorCode, text: str, *, session_id: str | None = None) -> WireError:
        """Return the error that refuses this message."""
        return WireError(
            code,
            text,
            reply_to=self.type[:CUT_HEAD],
            id=_echo(self.id),
            request_id=_echo(self.request_id),
            query_id=_echo(self.query_id),
            session_id=self._named(session_id),
        )

    def _named(self, session_id: str | None) -> str | None:
        """Return the session that the message named; `session_id` where it is in an inner field.

        A message that names none has no session in its error.
        """
        session = _echo(self.session_id)
        if session is None:
            session = _echo(self.session)
            if session == "all":
                return None
        if session is not None:
            return session
        inner = (self.session, self.sessions)
        is_named = any(one is not UNSET and bytes(one) != b"null" for one in inner)
        return session_id if is_named else None


_envelope_decoder = msgspec.json.Decoder(Envelope)
_string_decoder = msgspec.json.Decoder(str)


def _echo(raw: Raw | UnsetType) -> str | None:
    """Return what an error echoes of a field: nothing of what is no text, or too long for an id."""
    if raw is UNSET:
        return None
    try:
        text = _string_decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return text if len(text) <= MAX_ID else None


def envelope(data: bytes) -> Envelope:
    """Read a frame's envelope, and check the whole frame's encoding.

    Raises `WireError` (`INVALID_JSON`) for anything that is not one JSON object with a string
    `type`: not UTF-8, NaN, lone surrogates, nested so deep that it cannot be read.
    """
    try:
        if not data.isascii():
            data.decode()
        head = _envelope_decoder.decode(data)
    except UnicodeDecodeError as error:
        raise WireError(ErrorCode.INVALID_JSON, f"not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise _too_deep(None) from None
    except msgspec.DecodeError as error:
        raise WireError(ErrorCode.INVALID_JSON, explain(error)) from None
    return head


def envelope_of(message: Message) -> Envelope:
    """Return the envelope of a message that never was bytes."""

    def field(name: str) -> Raw | UnsetType:
        value = getattr(message, name, None)
        return UNSET if value is None else raw(value)

    return Envelope(
        type=str(message.__struct_config__.tag),
        id=field("id"),
        request_id=field("request_id"),
        query_id=field("query_id"),
        session_id=field("session_id"),
        session=field("session"),
        sessions=field("sessions"),
    )


def envelope_of_start(start: bytes) -> Envelope | None:
    """Read what an error echoes from the beginning of a frame that is too large to be read.

    Looks at the members of the outer object that are whole in `start`; returns None where no
    `type` is among them.
    """
    text = start.decode("utf-8", "ignore")
    names: dict[str, str] = {}
    at = _SPACE_AND_BRACE.match(text)
    try:
        while at is not None:
            name, end = _json_decoder.raw_decode(text, at.end())
            at = _COLON.match(text, end)
            if at is None or not isinstance(name, str):
                break
            value, end = _json_decoder.raw_decode(text, at.end())
            if name in _ECHOED and isinstance(value, str) and not _SURROGATE.search(value):
                names[name] = value
            at = _COMMA.match(text, end)
    except (ValueError, RecursionError):
        pass  # here it was cut, or it is no JSON
    if "type" not in names:
        return None
    echoed = {name: raw(value) for name, value in names.items()}
    return Envelope(
        type=names["type"],
        id=echoed.get("id", UNSET),
        request_id=echoed.get("requestId", UNSET),
        query_id=echoed.get("queryId", UNSET),
        session_id=echoed.get("sessionId", UNSET),
    )


def _too_deep(head: Envelope | None, field: str = "") -> WireError:
    text = f"{field}nested deeper than {MAX_DEPTH} levels"
    return (
        head.refusal(ErrorCode.INVALID_JSON, text)
        if head
        else WireError(ErrorCode.INVALID_JSON, text)
    )


def depth_exceeds(data: bytes | Raw, limit: int) -> bool:
    """Return whether valid JSON nests deeper than `limit`, at the speed of a few scans."""
    view = memoryview(data)
    if view.nbytes <= 2 * limit or view[0] == _QUOTE:
        return False
    data = bytes(view)
    if data.count(b"[") + data.count(b"{") <= limit:
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Strings without brackets are empty now; of the others, every other part is outside.
    steps = data.translate(_STEPS, _NEITHER).replace(b'""', b"")
    if b'"' in steps:
        steps = b"".join(steps.split(b'"')[::2])
    # Most nesting is shallow: a few scans leave nothing, and what they leave is counted.
    scans = min(limit, _SCANS)
    for _ in range(scans):
        steps = steps.replace(_IN_AND_OUT, b"")
        if not steps:
            return False
    return scans + max(accumulate(array("b", steps))) > limit


@cache
def _passed_through(kind: type[Message]) -> tuple[str, ...]:
    """Return the fields of a message that are handed on unread."""
    return tuple(
        field.name
        for field in msgspec.structs.fields(kind)
        if field.type is Raw or Raw in get_args(field.type)
    )


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def decode(data: bytes, head: Envelope, kind: type[M]) -> M:
    """Read the frame as a `kind`, and check the nesting of what will be passed through.

    Raises `WireError` (`INVALID_JSON`, or `PAYLOAD_TOO_LARGE` for too many entries), which names
    the field by its path.
    """
    try:
        message: M = _decode(data, kind)
    except RecursionError:
        raise _too_deep(head) from None
    except UnicodeDecodeError as error:
        raise head.refusal(
            ErrorCode.INVALID_JSON, f"not valid UTF-8 at byte {error.start}"
        ) from None
    except msgspec.DecodeError as error:
        raise head.refusal(_code_of(error), explain(error)) from None
    for name in _passed_through(kind):
        value = getattr(message, name)
        if isinstance(value, Raw) and depth_exceeds(value, MAX_DEPTH):
            raise _too_deep(head, f"{name}: ")
    return message


def _decode(data: bytes | Raw, kind: Any) -> Any:
    """Decode as `kind`; what does not fit as it stands is tried once more in its normal form."""
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError:
        is_struct = isinstance(kind, type) and issubclass(kind, Struct)
        again = normalized(data, kind) if is_struct else None
        if again is None:
            raise
    return _decoder(kind).decode(again)


Reader = msgspec.json.Decoder[Any]
"""Reads a frame as whichever of several messages it is."""


def reader(kinds: Iterable[type[Message]]) -> Reader | None:
    """Return what `read` reads with; None for fewer than two kinds.

    (The decoder of a single kind would take a frame without `type` for one of it.)
    """
    union = tuple(kinds)
    return msgspec.json.Decoder(Union[union]) if len(union) > 1 else None  # noqa: UP007 - a tuple


def read(data: bytes, decoder: Reader) -> Message | None:
    """Read a frame in one pass, checked like `envelope` and `decode` do it in two.

    Returns None when something is wrong: those two then find out what comes first.
    """
    try:
        if not data.isascii():
            data.decode()
        message: Message = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if len(data) > 2 * MAX_DEPTH:  # shorter ones have no room for too deep a nesting
        for name in _passed_through(type(message)):
            value = getattr(message, name)
            if isinstance(value, Raw) and depth_exceeds(value, MAX_DEPTH):
                return None
    return message


def require_object(given: Raw, field: str) -> None:
    """Check that valid JSON is an object. Raises `WireError` (`INVALID_JSON`) naming `field`."""
    if memoryview(given)[:1].tobytes() != b"{" and bytes(given).lstrip()[:1] != b"{":
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: expected an object")


def is_null(given: Raw) -> bool:
    return bytes(memoryview(given)[:5]).strip() == b"null"


def optional_object(given: Raw | None, field: str) -> Raw | None:
    """Return an optional object; `null` is as good as absent. Raises like `require_object`."""
    if given is None or is_null(given):
        return None
    require_object(given, field)
    return given


def given_object(given: Raw, field: str) -> Raw:
    """Return an object, which is empty when it was `null`. Raises like `require_object`."""
    if memoryview(given)[:1].tobytes() == b"{":
        return given
    return optional_object(given, field) or Raw(b"{}")


def decode_object(given: Raw, field: str) -> dict[str, Any]:
    """Decode an object that was passed through. Raises `WireError` (`INVALID_JSON`).

    JSON allows numbers that no program holds, such as `1e999`: they are refused here at the latest.
    """
    try:
        fields: dict[str, Any] = msgspec.json.decode(given, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: {explain(error)}") from None
    return fields


def decode_as(given: Raw, kind: Any, field: str) -> Any:
    """Decode a small object as `kind`. Raises `WireError` like `decode`, naming `field`."""
    try:
        return _decode(given, kind)
    except RecursionError:
        raise _too_deep(None, f"{field}: ") from None
    except msgspec.DecodeError as error:
        raise WireError(_code_of(error), f"{field}: {explain(error)}") from None


def _code_of(error: msgspec.DecodeError) -> ErrorCode:
    """Return the code of a decoding error: a list or table may have too many entries."""
    is_too_long = _TOO_MANY.match(str(error)) is not None
    return ErrorCode.PAYLOAD_TOO_LARGE if is_too_long else ErrorCode.INVALID_JSON


def explain(error: msgspec.DecodeError) -> str:
    """Put a decoding error into words that name the field by its path first."""
    words = _explained(error)
    return words if len(words) <= MAX_EXPLANATION else words[:MAX_EXPLANATION] + "…"


def _explained(error: msgspec.DecodeError) -> str:
    text = str(error)
    path, reason = "", text
    if found := _PATH.search(text):
        path, reason = found["path"], text[: found.start()]
    if missing := _MISSING.search(reason):
        return f"{path}.{missing[1]}: missing".lstrip(".")
    return f"{path}: {reason}" if path else reason


encode: Callable[[Any], bytes] = _encoder.encode
"""Encodes a message, an event or a decoded JSON value to compact JSON."""


def raw(value: Any) -> Raw:
    """Encode a value of this process, for a field that is passed through.

    Text in it is made encodable (see `surrogates`). Raises `TypeError` or `RecursionError` for
    what JSON does not know or what is nested too deep.
    """
    try:
        return Raw(_encoder.encode(value))
    except UnicodeEncodeError:
        return Raw(_encoder.encode(without_surrogates(value)))


def encodable(message: M) -> M:
    """Return a message of this process as it may enter the gateway: with text that JSON carries.

    Raises `WireError` when it cannot be JSON at all (too deep, or values of types that JSON does
    not know: `INVALID_JSON`), or would be refused on a socket (see `decode`).
    """
    tag = str(message.__struct_config__.tag)
    try:
        try:
            data = _encoder.encode(message)
        except UnicodeEncodeError:
            message = without_surrogates(message)
            data = _encoder.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WireError(
            ErrorCode.INVALID_JSON, f"{tag} cannot be encoded: {error}", reply_to=tag
        ) from None
    try:
        _decoder(type(message)).decode(data)
    except msgspec.DecodeError as error:
        raise WireError(_code_of(error), explain(error), reply_to=tag) from None
    return message


def compact(given: Raw) -> Raw:
    """Return the same JSON on one line, as a copy that may be kept.

    JSON that was decoded is a view of the whole message, which stays in memory with it.
    """
    data = bytes(given)
    if _LF in data or _CR in data:
        data = msgspec.json.format(data, indent=-1)
    return Raw(data)
