"""What can go wrong between a command and its gateway; each text says what to do."""


class GatewayError(Exception):
    """Base of this package's errors; the text is for the person."""


class NoGateway(GatewayError):  # noqa: N818 - named for what is the case
    """No gateway answers."""


class GatewayLost(GatewayError):  # noqa: N818
    """The gateway went away, or stopped making sense, in the middle."""


class Refused(GatewayError):  # noqa: N818
    """The gateway refused a message. `code` is one of `tapui.wire.errors.ErrorCode`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = str(code)
        self.text = text
