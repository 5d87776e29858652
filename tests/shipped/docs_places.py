"""Packages as an installer leaves them, and a service of documents, for the tests of `docs`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

SITE = ".venv/lib/python3.11/site-packages"


def install(
    folder: Path,
    name: str,
    files: dict[str, str],
    *,
    version: str = "1.0",
    about: str = "",
    record: str | None = None,
) -> Path:
    """Put a package of Python into the folder's environment; return its site-packages."""
    site = folder / SITE
    (folder / ".venv").mkdir(parents=True, exist_ok=True)
    (folder / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    place = site / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir(parents=True, exist_ok=True)
    (place / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: About {name}\n\n{about}"
    )
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    listed = "".join(f"{path},,\n" for path in files) if record is None else record
    (place / "RECORD").write_text(listed)
    return site


def install_node(folder: Path, name: str, files: dict[str, str], about: str = "{}") -> Path:
    """Put a package into the folder's `node_modules`; return its own folder."""
    place = folder / "node_modules" / name
    place.mkdir(parents=True, exist_ok=True)
    extra = about.strip()[1:-1]
    (place / "package.json").write_text(
        f'{{"name": "{name}", "version": "2.0.0", "description": "About {name}"'
        f"{', ' + extra if extra else ''}}}"
    )
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    return place


Answer = Callable[[str, dict[str, str]], "tuple[int, bytes]"]


class DocsService:
    """A server in the place of Context7. `asked` has the path, query and key of each request."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[tuple[str, dict[str, str], str | None]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {key: one[0] for key, one in parse_qs(parts.query).items()}
                service.asked.append((parts.path, query, self.headers.get("Authorization")))
                status, body = answer(parts.path, query)
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator["DocsService"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()
