"""Where the gateway is that a provider's program connects to, and the token that it shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tapui import DEFAULT_PORT
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, find_gateway, gateways
from tapui.home.tokens import default_token_file
from tapui.provider.link import Link, LinkLost
from tapui.secret import Secret

URL_VARIABLE = "TAP_GATEWAY"
TOKEN_VARIABLE = "TAP_PROVIDER_TOKEN"  # noqa: S105 - a variable's name
SESSION_VARIABLE = "TAP_SESSION"
_HERE = ("localhost", "127.0.0.1", "::1")
_MAX_TOKEN = 4096


@dataclass(frozen=True)
class FoundAt:
    """A gateway's address, and the token for it where there is one.

    `socket` is its Unix socket, where its run folder tells of one and nothing else was named.
    """

    url: str
    token: Secret | None
    socket: Path | None = None


class GatewayFinder:
    """Finds the gateway anew for each link: it may have restarted, with another token.

    `environ` may name its address and the token. Else it is the one on `port`, or on 9400, or the
    only one that runs in this home, or where it was found before. A token that is kept on this
    machine goes to no other. An address that is named is used unchanged; one that was found by its
    run folder is reached by the Unix socket there, where that is possible.
    """

    def __init__(self, environ: Mapping[str, str], port: int | None = None) -> None:
        self._environ = environ
        self._port = port
        self._home = Home.of(environ)
        self.found: FoundAt | None = None

    @property
    def port(self) -> int | None:
        return None if self.found is None else _port_of(self.found.url)

    def token(self) -> Secret | None:
        """Return the token for the gateway that is found now."""
        try:
            self.found = self._find()
        except LinkLost:
            return None
        return self.found.token

    async def dial(self) -> Link:
        """Open a link to the gateway. Raises `LinkLost`, whose reason says what to do."""
        from tapui.provider.socket_link import dial_socket

        self.found = found = self._find()
        if found.token is None:
            raise LinkLost(
                f"the token for {found.url} is not known: set {TOKEN_VARIABLE}, "
                "for example to what `tapui token` prints"
            )
        return await dial_socket(found.url, found.socket)

    def _find(self) -> FoundAt:
        url, token = self._environ.get(URL_VARIABLE), self._environ.get(TOKEN_VARIABLE)
        given = Secret(token.strip()) if token else None
        if url:
            _check_address(url)
            said = self._running(_port_of(url)) if _is_here(url) else None
            return FoundAt(url, given or (_kept(Path(said.token_file)) if said else None))
        said = self._running(self._port or DEFAULT_PORT)
        if said is None and self._port is None:
            said = find_gateway(self._home)
        if said is not None:
            end = Path(said.socket) if said.socket else None
            return FoundAt(said.url, given or _kept(Path(said.token_file)), end)
        if others := gateways(self._home):
            ports = ", ".join(str(one.port) for one in others)
            raise LinkLost(f"choose one of the gateways with --port: {ports}")
        kept = given or _kept(default_token_file(self._home.copilot))
        if kept is None:
            raise LinkLost("no gateway runs; start one with `tapui`, in another terminal")
        port = self._port or self.port or DEFAULT_PORT  # a gateway comes back where it was
        return FoundAt(f"ws://localhost:{port}", kept)

    def _running(self, port: int | None) -> GatewayFile | None:
        return None if port is None else find_gateway(self._home, port)


def _check_address(url: str) -> None:
    """Check what `TAP_GATEWAY` has. Raises `LinkLost`."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise LinkLost(
            f"'{url}' is no address of a gateway; set {URL_VARIABLE} to one such as "
            f"ws://localhost:{DEFAULT_PORT}"
        )


def _is_here(url: str) -> bool:
    """Return whether an address is one of this machine, which no other machine can take."""
    try:
        return urlsplit(url).hostname in _HERE
    except ValueError:
        return False


def _port_of(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _kept(path: Path) -> Secret | None:
    try:
        with path.open() as opened:
            text = opened.read(_MAX_TOKEN).strip()
    except (OSError, UnicodeDecodeError):
        return None
    return Secret(text) if text else None
