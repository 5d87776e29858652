"""Who may open a connection: the opening handshake's rules for Host and Origin.

A browser sends `Origin` and cannot forge it, and a page that rebinds its name to 127.0.0.1 cannot
forge `Host`: both are compared exactly. The path carries no meaning: every path is the gateway.
"""

import http

from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

MAX_HEAD_BYTES = 16 * 1024
"""Request line and headers together."""

_SERVER = "tapui"


def hosts(port: int) -> frozenset[str]:
    """Return the values of `Host` that name this gateway."""
    names = ("127.0.0.1", "localhost", "[::1]")
    allowed = {f"{name}:{port}" for name in names}
    if port == 80:  # clients leave the default port out
        allowed.update(names)
    return frozenset(allowed)


def answer(
    protocol: ServerProtocol,
    request: Request,
    port: int,
    refusal: str | None,
    *,
    is_local: bool = False,
) -> Response:
    """Return the response to an opening handshake: 101, or the reason why not.

    `refusal` says why no connection is taken at the moment (503), or is None. The wrong Host or
    Origin is 403, and any Origin where the connection `is_local`, on a Unix socket, which no page
    reaches; what is no WebSocket handshake gets 400, 405, 426 or 505.
    """
    if reason := _misdirected(request, port) or _bad_origin(request, is_local=is_local):
        response = protocol.reject(http.HTTPStatus.FORBIDDEN, f"{reason}\n")
    elif refusal is not None:
        response = protocol.reject(http.HTTPStatus.SERVICE_UNAVAILABLE, f"{refusal}\n")
        response.headers["Retry-After"] = "5"
    else:
        response = protocol.accept(request)
    response.headers["Server"] = _SERVER
    return response


def malformed(protocol: ServerProtocol) -> Response:
    response = protocol.reject(http.HTTPStatus.BAD_REQUEST, "This is not a valid HTTP request.\n")
    response.headers["Server"] = _SERVER
    return response


def oversized(protocol: ServerProtocol) -> Response:
    """Return the response to a head over `MAX_HEAD_BYTES`."""
    response = protocol.reject(
        http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        f"Request line and headers must fit in {MAX_HEAD_BYTES} bytes.\n",
    )
    response.headers["Server"] = _SERVER
    return response


def _misdirected(request: Request, port: int) -> str | None:
    if request.headers.get_all("Host") and _single(request, "Host") in hosts(port):
        return None
    return f"Host must be 127.0.0.1:{port}, localhost:{port} or [::1]:{port}, and be given once."


def _bad_origin(request: Request, *, is_local: bool) -> str | None:
    values = request.headers.get_all("Origin")
    if not values:
        return None
    if is_local:
        return "Pages connect to the gateway's port, not to its socket."
    origin = _single(request, "Origin")
    if origin is None:
        return "Origin must be given once."
    if not origin or origin.lower() == "null":
        return "This page has no Origin of its own (null), so its site is unknown."
    if any(char in origin for char in " \t,"):
        return "Origin must name one origin."
    return None


def _single(request: Request, name: str) -> str | None:
    values = request.headers.get_all(name)
    return values[0] if len(values) == 1 else None


def origin_of(request: Request) -> str | None:
    """Return the Origin of a handshake that was accepted; None for a native client."""
    return _single(request, "Origin")
