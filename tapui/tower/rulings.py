"""Why the gateway refuses: its rulings, by the code of an `error` (`tapui/wire/README.md`)."""

from tapui.wire import limits
from tapui.wire.errors import ErrorCode

RULINGS: dict[ErrorCode, str] = {
    ErrorCode.INVALID_JSON: "Text that is not JSON, not UTF-8 or no object, a field that is missing"
    " or of the wrong type, NaN, lone surrogates, text that is too long, nesting over"
    f" {limits.MAX_DEPTH} levels, binary frames: the message is refused with the field's path, and"
    " nothing of it is applied. The connection stays.",
    ErrorCode.UNKNOWN_TYPE: "The type is unknown, or not legal in the state of this connection. The"
    " connection stays.",
    ErrorCode.INVALID_SESSION: "The session does not exist, has ended, or is not one that this"
    " connection may use.",
    ErrorCode.AUTH_FAILED: "The token is not valid, or none came in time. The connection closes"
    " (1008).",
    ErrorCode.DUPLICATE_INSTANCE: "A provider of this name and instance is in that session"
    " already.",
    ErrorCode.TOOL_CONFLICT: "Another provider of the session has a tool of this name, or the"
    " provider is in that session already.",
    ErrorCode.RATE_LIMITED: "More than is allowed in this time, or at a time. It may be sent again"
    " later.",
    ErrorCode.PAYLOAD_TOO_LARGE: f"A tool.result has at most {limits.MAX_RESULT_BYTES:,} bytes, any"
    f" other message {limits.MAX_MESSAGE_BYTES:,}; lists and tables have bounds of their own. The"
    " connection stays; a result's call fails with the same code.",
    ErrorCode.UNSUPPORTED_VERSION: f"protocolVersion must be {limits.PROTOCOL_VERSION}. The"
    " connection closes (1008).",
    ErrorCode.UNAUTHORIZED: "The token is not good for that: a project token is for its"
    " sessions, an external one for what the person allowed.",
    ErrorCode.UNKNOWN_APPROVAL: "The request no longer waits: the first decision wins, and a"
    " request may be withdrawn or run out of time.",
    ErrorCode.NOT_FOUND: "What the message names is not there.",
    ErrorCode.INTERNAL: "A fault of the gateway; its log says more.",
}


def ruling_of(code: object) -> str | None:
    """Return the ruling behind the code of an `error`; None for no known code."""
    try:
        return RULINGS[ErrorCode(str(code))]
    except ValueError:
        return None
