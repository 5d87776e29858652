"""What can go wrong for a provider's author and for a provider; each text says what to do."""

from tapui.wire.errors import CallError, ErrorCode

INVALID_ARGS = "INVALID_ARGS"
"""The code of a call whose arguments do not fit the tool's schema."""


class ToolError(Exception):
    """Raise it in a tool to tell the model what is wrong.

    `code` is a word such as `NOT_FOUND` (see `tapui.wire.errors.CallError`) or one of your own,
    `text` says what the model can do about it. `retryable` says that the same call may work when
    it is made again: another instance of the provider may then be tried.
    """

    def __init__(
        self, code: CallError | str, text: str = "", retryable: bool | None = None
    ) -> None:
        super().__init__(f"{code}: {text}" if text else str(code))
        self.code = str(code)
        self.text = text or str(code)
        self.retryable = retryable


class DeclarationError(Exception):
    """A tool, rule or other part of a provider cannot be declared like this."""


class GatewayRefusal(Exception):  # noqa: N818 - named for what is the case
    """The gateway refused what the provider asked for; the same again would not help."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text
