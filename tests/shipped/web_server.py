"""A server on loopback in the place of a service, and what it was asked."""

import ssl
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec


class Asked(NamedTuple):
    """A request. Names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def token(self) -> str | None:
        return self.headers.get("authorization")


class Said(NamedTuple):
    """An answer; a body that is no bytes is JSON."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = {}


Answer = Callable[[Asked], Said]


class WebServer:
    """Answers with a function until its block ends. `asked` has the requests, in their order."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.broken: list[BaseException | None] = []
        """What `answer` has raised."""
        self._connections: set[Any] = set()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                web._connections.add(self.request)
                super().setup()

            def handle(self) -> None:
                with suppress(OSError):  # the client has gone, or the server is closed
                    super().handle()

            def finish(self) -> None:
                web._connections.discard(self.request)
                with suppress(OSError):  # likewise
                    super().finish()

            def _answer(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                asked = Asked(
                    self.command,
                    parts.path,
                    dict(parse_qsl(parts.query)),
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(length),
                )
                web.asked.append(asked)
                said = web.answer(asked)
                is_json = not isinstance(said.body, bytes)
                body = msgspec.json.encode(said.body) if is_json else said.body
                self.send_response(said.status)
                given = {"Content-Type": "application/json"} if is_json else {}
                for name, value in {**given, **said.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler._answer)

        class Server(ThreadingHTTPServer):
            def get_request(self) -> Any:
                connection, address = super().get_request()
                if tls is not None:
                    connection = tls.wrap_socket(
                        connection, server_side=True, do_handshake_on_connect=False
                    )
                return connection, address

            def handle_error(self, *_: Any) -> None:
                error = sys.exc_info()[1]
                if not isinstance(error, OSError):  # a client that has gone, or trusts it not
                    web.broken.append(error)

        self._server = Server(("127.0.0.1", 0), Handler)
        port = self._server.server_address[1]
        self.address = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"

    @contextmanager
    def serving(self) -> Iterator["WebServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()
            for connection in list(self._connections):
                with suppress(OSError):  # it has ended by itself
                    connection.shutdown(2)
        assert self.broken == []
