"""Binding the gateway's port on both loopback addresses, and naming the process that holds it.

`localhost` means 127.0.0.1 to one client and ::1 to the next, so one program must own both. Only a
machine without IPv6 has the first alone. Nothing is ever bound to a wildcard address.
"""

import asyncio
import contextlib
import errno
import os
import socket
from dataclasses import dataclass

BACKLOG = 256
"""Connections that wait to be accepted. The system drops the begin of a TCP connection that comes
beyond them, and its client tries again a second later."""
_TRIES = 64
_PROBE_TIMEOUT = 1.0
_NO_FAMILY = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT, errno.EPFNOSUPPORT}


@dataclass(frozen=True, slots=True)
class PortHolder:
    """Who listens on a port: whether it answers as a tapui gateway, and its process if visible."""

    address: str
    gateway: bool
    pid: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        what = "a tapui gateway" if self.gateway else "another program"
        if self.pid is None:
            return what
        return f"{what} ({self.name or 'process'}, pid {self.pid})"


class ListenError(Exception):
    """The port cannot be listened on. The text says what to do."""

    def __init__(self, port: int, text: str) -> None:
        super().__init__(text)
        self.port = port


class PortTaken(ListenError):  # noqa: N818 - a state of the world, not a fault
    """Another program listens on 127.0.0.1 or ::1 at this port."""

    def __init__(self, port: int, holder: PortHolder) -> None:
        whose = " of another user or another TAPUI_HOME" if holder.gateway else ""
        super().__init__(
            port,
            f"port {port} is held by {holder}{whose} on {holder.address};"
            " choose another one with --port N",
        )
        self.holder = holder


async def open_loopback(port: int) -> list[socket.socket]:
    """Return sockets that listen on 127.0.0.1 and ::1 (where there is IPv6) at one port.

    Port 0 picks one that is free in both families. Raises `PortTaken` when another program holds
    the port in either family, and `ListenError` when the system refuses for another reason.
    """
    if not 0 <= port <= 65535:
        raise ListenError(port, f"port {port} does not exist; choose one from 1 to 65535")
    if port:
        for address in ("127.0.0.1", "::1"):
            # Some systems let a second socket bind beside a wildcard; so ask first.
            if await _answers(address, port):
                raise PortTaken(port, await _identify(address, port))
    for _ in range(1 if port else _TRIES):
        taken = None
        with contextlib.ExitStack() as stack:
            sockets: list[socket.socket] = []
            for address in ("127.0.0.1", "::1"):
                wanted = sockets[0].getsockname()[1] if sockets else port
                try:
                    opened = _listen(address, wanted)
                except OSError as error:
                    if error.errno == errno.EADDRINUSE:
                        taken = address
                        break
                    if address == "::1" and error.errno in _NO_FAMILY:
                        continue
                    raise ListenError(port, _explain(port, error)) from None
                stack.callback(opened.close)
                sockets.append(opened)
            if taken is None:
                stack.pop_all()
                return sockets
        if port:
            raise PortTaken(port, await _identify(taken, port))
    raise ListenError(port, "found no port that is free on both 127.0.0.1 and ::1; use --port N")


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's delay off only where it sees TCP.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # A restart need not wait for old connections; two listeners are refused all the same.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.setblocking(False)
        opened.bind((address, port))
        opened.listen(BACKLOG)
    except OSError:
        opened.close()
        raise
    return opened


def _explain(port: int, error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"no permission to listen on port {port}; choose one above 1023 with --port N"
    return f"cannot listen on port {port}: {error.strerror or error}; choose another with --port N"


async def _answers(address: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT):
            _, writer = await asyncio.open_connection(address, port)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


async def _identify(address: str, port: int) -> PortHolder:
    """Find out what listens there: ask it one HTTP question and look among our processes."""
    pid, name = _process(port)
    return PortHolder(address, gateway=await _is_gateway(address, port), pid=pid, name=name)


async def _is_gateway(address: str, port: int) -> bool:
    host = f"[{address}]" if ":" in address else address
    question = f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
    reply = b""
    writer = None
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT):
            reader, writer = await asyncio.open_connection(address, port)
            writer.write(question)
            while len(reply) < 2048 and (part := await reader.read(2048)):
                reply += part
    except (OSError, TimeoutError):
        pass  # what it sent until then counts
    finally:
        if writer is not None:
            writer.transport.abort()
    return b"\r\nServer: tapui\r\n" in reply


def _process(port: int) -> tuple[int | None, str | None]:
    """Return the pid and the name of the process that listens, if the system shows them to us."""
    import psutil

    try:
        for entry in psutil.net_connections("tcp"):
            if entry.status == psutil.CONN_LISTEN and entry.laddr.port == port and entry.pid:
                return entry.pid, psutil.Process(entry.pid).name()
    except (psutil.Error, OSError):
        pass  # another user's process, or a system that shows these to root only
    return None, None
