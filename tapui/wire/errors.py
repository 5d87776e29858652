"""Error codes and the one error that the wire raises (Provider Interface v2 "Error responses")."""

from enum import StrEnum


class ErrorCode(StrEnum):
    """The codes of `error` messages. The last three are seen by towers and hosts only."""

    INVALID_JSON = "INVALID_JSON"
    UNKNOWN_TYPE = "UNKNOWN_TYPE"
    INVALID_SESSION = "INVALID_SESSION"
    AUTH_FAILED = "AUTH_FAILED"
    DUPLICATE_INSTANCE = "DUPLICATE_INSTANCE"
    TOOL_CONFLICT = "TOOL_CONFLICT"
    RATE_LIMITED = "RATE_LIMITED"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"
    UNAUTHORIZED = "UNAUTHORIZED"
    UNKNOWN_APPROVAL = "UNKNOWN_APPROVAL"
    NOT_FOUND = "NOT_FOUND"
    INTERNAL = "INTERNAL"

    @property
    def is_fatal(self) -> bool:
        """Whether the connection closes after this error."""
        return self in (ErrorCode.AUTH_FAILED, ErrorCode.UNSUPPORTED_VERSION)


class CallError(StrEnum):
    """The codes of a failed tool call's outcome.

    The last two are of a session's own calls: a rule, a provider or the person refused it, and its
    turn was stopped.
    """

    NOT_FOUND = "NOT_FOUND"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    DISCONNECTED = "DISCONNECTED"
    UNAUTHORIZED = "UNAUTHORIZED"
    RATE_LIMITED = "RATE_LIMITED"
    INTERNAL = "INTERNAL"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    INVALID_JSON = "INVALID_JSON"
    DENIED = "DENIED"
    STOPPED = "STOPPED"


class WireError(Exception):
    """A message that is refused. Decoding raises nothing else.

    `code` and `text` go to the peer; `reply_to`, `id`, `request_id` and `query_id` are echoed
    where the refused message had them (the ids only when they were strings). `session_id` is the
    session that the error is about; the peer gets it only if its message named one. `tools` are
    those whose names are taken.
    """

    def __init__(
        self,
        code: ErrorCode,
        text: str,
        *,
        reply_to: str | None = None,
        id: str | None = None,  # noqa: A002 - the field's name on the wire
        request_id: str | None = None,
        query_id: str | None = None,
        session_id: str | None = None,
        tools: list[str] | None = None,
    ) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text
        self.reply_to = reply_to
        self.id = id
        self.request_id = request_id
        self.query_id = query_id
        self.session_id = session_id
        self.tools = tools
