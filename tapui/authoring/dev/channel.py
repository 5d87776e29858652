"""The messages between the author's program and `tapui provider dev`, on a socket pair.

A line each: a message of the Provider Interface as on a socket of the gateway's, or, behind a `!`,
one of the signals below.
"""

import asyncio
import socket
from typing import Any, Self

import msgspec
from msgspec import Struct

from tapui.provider.link import LinkLost
from tapui.wire import codec
from tapui.wire.limits import MAX_RESULT_BYTES
from tapui.wire.message import Message
from tapui.wire.provider import FromProvider, ToProvider

MAX_LINE = 2 * MAX_RESULT_BYTES
_MARK = b"!"


class FileLoaded(Struct, tag="loaded", frozen=True):
    """Program → dev: the file is loaded; `files` are the author's that it consists of."""

    files: list[str]


class FileFailed(Struct, tag="failed", frozen=True):
    """Program → dev: the file cannot be loaded. The program ends. `files` as in `FileLoaded`."""

    text: str
    files: list[str] = []


class ProviderWaits(Struct, tag="waits", frozen=True):
    """Program → dev: the provider is not bound, and why; or the gateway has refused something."""

    text: str


class DialOpened(Struct, tag="dial", frozen=True):
    """Program → dev: the provider begins a conversation."""


class DialClosed(Struct, tag="closed", frozen=True):
    """Program → dev: the provider has ended its conversation. Dev → program: the gateway has."""

    reason: str = ""


class Retire(Struct, tag="retire", frozen=True):
    """Dev → program: another one has taken over; end what runs beside calls."""


Signal = FileLoaded | FileFailed | ProviderWaits | DialOpened | DialClosed | Retire


class Channel:
    """One end. `receive` returns None at the end of the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, messages: Any
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._messages = msgspec.json.Decoder(messages)
        self._signals = msgspec.json.Decoder(Signal)

    @classmethod
    async def of_dev(cls, end: socket.socket) -> Self:
        return cls(*await asyncio.open_connection(sock=end, limit=MAX_LINE), FromProvider)

    @classmethod
    async def of_program(cls, end: socket.socket) -> Self:
        return cls(*await asyncio.open_connection(sock=end, limit=MAX_LINE), ToProvider)

    def put(self, what: Message | Signal) -> None:
        """Send something; it waits in memory until the other end reads it."""
        mark = b"" if isinstance(what, Message) else _MARK
        if not self._writer.is_closing():
            self._writer.write(mark + codec.encode(what) + b"\n")

    async def drained(self) -> None:
        """Return once the other end has read most of it. Raises `LinkLost`."""
        try:
            await self._writer.drain()
        except OSError as error:
            raise LinkLost(f"the other end is gone: {error.strerror or error}") from None

    async def receive(self) -> Message | Signal | None:
        """Return what comes next; None when nothing will, or when what came is none of it."""
        try:
            line = await self._reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            return None
        decoder = self._signals if line.startswith(_MARK) else self._messages
        try:
            found: Message | Signal = decoder.decode(line.removeprefix(_MARK))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return found

    def close(self) -> None:
        """End it; what was put before still goes out."""
        self._writer.close()
