"""Changes of the person's `mcp.json`: a server is added or removed, all else stays as it stood."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapui.emitters.config.document import JsonDocument, UnreadableError
from tapui.emitters.config.edits import EditError, with_value, without
from tapui.files import private_file
from tapui.files.foreign_file import open_within, read_up_to, real_path, reason
from tapui.files.locked_folder import locked
from tapui.home.paths import Home
from tapui.mcp_servers.config.entries import MAX_FILE
from tapui.mcp_servers.config.reading import SERVERS, own_file

_EMPTY = b'{\n  "mcpServers": {}\n}\n'


class OwnFileError(Exception):
    """The file is not as it must be to be changed: it is left alone."""


def add_server(home: Home, name: str, entry: dict[str, Any]) -> Path:
    """Add a server; return the file. Raises `OwnFileError`, also for a name that is taken."""

    def added(document: JsonDocument) -> JsonDocument:
        if name in _servers(document):
            raise OwnFileError(f"there is a server {name} already; remove it first")
        if SERVERS not in document.value:
            document = with_value(document, (SERVERS,), {})
        return with_value(document, (SERVERS, name), entry)

    return _change(home, added)


def remove_server(home: Home, name: str) -> Path:
    """Remove a server; return the file. Raises `OwnFileError`, also when there is none."""

    def removed(document: JsonDocument) -> JsonDocument:
        if name not in _servers(document):
            raise OwnFileError(f"there is no server {name}")
        return without(document, (SERVERS, name))

    return _change(home, removed)


def _servers(document: JsonDocument) -> dict[str, Any]:
    value = document.value
    servers = value.get(SERVERS, {}) if isinstance(value, dict) else None
    if not isinstance(servers, dict):
        raise OwnFileError(f'"{SERVERS}" is no object')
    return servers


def _change(home: Home, change: Callable[[JsonDocument], JsonDocument]) -> Path:
    path = Path(real_path(own_file(home)))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path.parent) as fd:
            changed = change(JsonDocument(_data(path)))
            private_file.write(fd, path.name, changed.mark + changed.text)
    except UnreadableError as error:
        raise OwnFileError(f"line {error.line}: {error}") from None
    except EditError as error:
        raise OwnFileError(str(error)) from None
    except OSError as error:
        raise OwnFileError(f"it stays as it was: {reason(error)}") from None
    return path


def _data(path: Path) -> bytes:
    try:
        fd, _ = open_within(str(path.parent), path.name)
    except FileNotFoundError:
        return _EMPTY
    try:
        data = read_up_to(fd, MAX_FILE + 1)
    finally:
        os.close(fd)
    if len(data) > MAX_FILE:
        raise OwnFileError(f"it is larger than {MAX_FILE:,} bytes")
    return data or _EMPTY
