"""Which gateways of this person run, which of them is meant, and what can go wrong."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tapui import __version__, invocation, update
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, find_gateway, gateways
from tapui.text import safe_text
from tapui.wire.limits import MAX_RESULT_BYTES

_WHY = 300
"""Characters of a gateway's reason that are shown."""
MAX_SNAPSHOT_BYTES = 8 * MAX_RESULT_BYTES
"""A snapshot holds the details of hundreds of calls, so it may be larger than any one message."""


def _start_one() -> str:
    return f"start one with `{invocation.command()}` or `{invocation.command('serve')}`"


@dataclass(frozen=True, slots=True)
class FoundGateway:
    """A running gateway, and where its internal token lies."""

    url: str
    port: int
    pid: int
    version: str
    started_at: str
    token_file: Path
    socket: Path | None = None
    """Its Unix socket; None: it has none (it is older)."""
    was_updated: bool = field(default=False, compare=False)
    """Whether the files of tapui were replaced under it."""
    settings: Mapping[str, Any] | None = field(default=None, compare=False)
    """Those with which it began; None: it does not say."""

    def token(self) -> str:
        """Return the internal token; raises `NoGateway` when it cannot be read."""
        try:
            return self.token_file.read_text().strip()
        except FileNotFoundError:
            raise NoGateway(f"the gateway at {self.url} is gone; {_start_one()}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise NoGateway(
                f"the gateway's token in {self.token_file} cannot be read: {error}"
            ) from None


def find(home: Home, port: int, *, is_explicit: bool) -> FoundGateway:
    """Return the gateway on `port`, or the only other one unless `is_explicit`.

    Raises `NoGateway`, which says what to do.
    """
    said = find_gateway(home, port) or (None if is_explicit else find_gateway(home))
    if said is not None:
        return found_in(said)
    if others := gateways(home):
        ports = ", ".join(str(one.port) for one in others)
        raise NoGateway(f"no gateway runs on port {port}; choose one with --port: {ports}")
    where = f" on port {port}" if is_explicit else ""
    raise NoGateway(f"no gateway runs{where}; {_start_one()}")


def difference(version: str) -> str | None:
    """Return what a gateway of `version` is to this command, in words; None for the same."""
    if version == __version__:
        return None
    age = "older" if _numbers(version) < _numbers(__version__) else "newer"
    return (
        f"of {'an' if age == 'older' else 'a'} {age} tapui ({version}; this one is {__version__})"
    )


def restart_line(port: int) -> str:
    """Return the line that ends the gateway on `port` and starts one of this version there."""
    stop = invocation.command(f"stop --port {port}")
    return f"{stop} && {invocation.command(f'serve --detach --port {port}')}"


def warning_of(gateway: "FoundGateway") -> str | None:
    """Return what the person should know of a gateway of another version, and how to mend it."""
    if gateway.was_updated:
        return f"the gateway at {gateway.url}: {update.RESTART}: {restart_line(gateway.port)}"
    told = difference(gateway.version)
    if told is None:
        return None
    return (
        f"the gateway at {gateway.url} is {told}; not everything may work. "
        f"Restart it: {restart_line(gateway.port)}"
    )


def _numbers(version: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d{1,9}", version)]


def still_runs(home: Home, gateway: FoundGateway) -> bool:
    """Return whether this very gateway (not one that came after it) still runs."""
    said = find_gateway(home, gateway.port)
    return said is not None and found_in(said) == gateway


def found_in(said: GatewayFile) -> FoundGateway:
    return FoundGateway(
        url=said.url,
        port=said.port,
        pid=said.pid,
        version=said.version,
        started_at=said.started_at,
        token_file=Path(said.internal_token_file),
        socket=Path(said.socket) if said.socket else None,
        settings=said.settings,
        was_updated=said.was_updated is True,
    )


class GatewayError(Exception):
    """Base of this package's errors; the text is for the person."""


class NoGateway(GatewayError):  # noqa: N818 - named for what is the case
    """No gateway answers."""


class NothingThere(NoGateway):
    """Nothing listens on the gateway's port."""


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


def gone(url: str) -> NothingThere:
    return NothingThere(f"the gateway at {url} is gone")


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
