"""A collector of spans on a thread of its own: it answers as a test wants, and keeps what came."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.rig.waiting import HUNG


class Collector(ThreadingHTTPServer):
    """`answers` are taken in turn, the last one for ever: a status, or what to do with the socket.

    `hangs`: no answer; `drips`: a byte of a header now and then; `drips on`: of an
    answer without a length; `closes`: the connection ends.
    """

    daemon_threads = True

    def __init__(self, *answers: Any, body: bytes = b"{}") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers or (200,))
        self.body = body
        self.came: list[tuple[str, str, bytes]] = []
        """Path, content type and body of each post."""
        self.over = threading.Event()
        self.arrived = threading.Condition()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self) -> Any:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def wait_for(self, posts: int) -> None:
        """Wait until so many posts came."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.came) >= posts, HUNG), self.came


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.arrived:
            server.came.append((self.path, self.headers["Content-Type"], body))
            server.arrived.notify_all()
        answer = server.answer()
        if answer == "hangs":
            server.over.wait(HUNG)
        elif answer in ("drips", "drips on"):
            head = b"HTTP/1.1 200 OK\r\n"
            self.wfile.write(head + (b"X: " if answer == "drips" else b"\r\n"))
            while not server.over.wait(0.02):
                try:
                    self.wfile.write(b"x")
                except OSError:
                    return
        elif answer == "closes":
            self.close_connection = True
        elif answer == "talks":
            self.wfile.write(b"\x00\x01 this is no HTTP\r\n\r\n")
            self.close_connection = True
        else:
            self.send_response(answer)
            if 300 <= answer < 400:
                self.send_header("Location", f"{server.address}/elsewhere")
            self.send_header("Content-Length", str(len(server.body)))
            self.end_headers()
            self.wfile.write(server.body)

    def do_GET(self) -> None:
        self.server.came.append(("GET " + self.path, "", b""))
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""


@contextmanager
def collecting(*answers: Any, body: bytes = b"{}") -> Iterator[Collector]:
    collector = Collector(*answers, body=body)
    thread = threading.Thread(target=collector.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.over.set()
        collector.shutdown()
        collector.server_close()
        thread.join(HUNG)
