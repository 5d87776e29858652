"""What can go wrong between a command and its gateway; each text says what to do."""

from tapui.text import safe_text

_WHY = 300
"""Characters of a gateway's reason that are shown."""


class GatewayError(Exception):
    """Base of this package's errors; the text is for the person."""


class NoGateway(GatewayError):  # noqa: N818 - named for what is the case
    """No gateway answers."""


class GatewayLost(GatewayError):  # noqa: N818
    """The gateway went away, or stopped making sense, in the middle."""


class NoPlace(GatewayError):  # noqa: N818
    """A gateway answers, and takes no further connection."""


class Refused(GatewayError):  # noqa: N818
    """The gateway refused a message. `code` is one of `tapui.wire.errors.ErrorCode`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = str(code)
        self.text = text


def silent(url: str) -> GatewayLost:
    """Return the error for a gateway that took the connection and says nothing."""
    return GatewayLost(f"the gateway at {url} does not answer")


def gone(url: str) -> NoGateway:
    """Return the error for a gateway that nobody listens for any more."""
    return NoGateway(f"the gateway at {url} is gone")


def not_ours(url: str, status: int | None = None, body: bytes | bytearray = b"") -> GatewayError:
    """Return the error for a server that refuses the connection, by its HTTP status, or is none.

    `body` is the text with which a gateway says why.
    """
    if status == 503:
        return no_place(url, body.decode(errors="replace").strip())
    code = "" if status is None else f" (HTTP {status})"
    return NoGateway(f"what answers at {url} is no tapui gateway{code}")


def no_place(url: str, why: str) -> NoPlace:
    """Return the error for a gateway whose places are taken."""
    why = safe_text(why, limit=_WHY)
    return NoPlace(
        f"the gateway at {url} takes no further connection"
        + (f": {why}" if why else "")
        + "; close a tower or disconnect a provider first"
    )
