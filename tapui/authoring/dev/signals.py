"""What the author's program and `tapui provider dev` say to each other: the messages of the
Provider Interface, and these signals.
"""

from msgspec import Struct

from tapui.runtime.children.lines import LineCodec
from tapui.wire.provider import FromProvider, ToProvider


class _Signal(Struct, tag_field="type", frozen=True):
    pass


class FileLoaded(_Signal, tag="dev.loaded", frozen=True):
    """Program → dev: the file is loaded; `files` are the author's that it consists of."""

    files: list[str]


class FileFailed(_Signal, tag="dev.failed", frozen=True):
    """Program → dev: the file cannot be loaded. The program ends. `files` as in `FileLoaded`."""

    text: str
    files: list[str] = []


class ProviderWaits(_Signal, tag="dev.waits", frozen=True):
    """Program → dev: the provider is not bound, and why; or the gateway has refused something."""

    text: str


class DialOpened(_Signal, tag="dev.dial", frozen=True):
    """Program → dev: the provider begins a conversation."""


class DialClosed(_Signal, tag="dev.closed", frozen=True):
    """Program → dev: the provider has ended its conversation. Dev → program: the gateway has."""

    reason: str = ""


class Retire(_Signal, tag="dev.retire", frozen=True):
    """Dev → program: another one has taken over; end what runs beside calls."""


Signal = FileLoaded | FileFailed | ProviderWaits | DialOpened | DialClosed | Retire
AT_DEV: LineCodec[FromProvider | Signal] = LineCodec(FromProvider | Signal, mends=True)
AT_PROGRAM: LineCodec[ToProvider | Signal] = LineCodec(ToProvider | Signal, mends=True)
"""The lines as each of them reads them."""
