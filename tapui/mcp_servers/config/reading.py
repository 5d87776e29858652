"""Files with MCP servers, read and checked: an entry that is wrong costs itself alone."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tapui.emitters.config.document import JsonDocument, UnreadableError
from tapui.emitters.config.edits import EditError, with_value, without
from tapui.emitters.config.entries import ConfigProblem
from tapui.emitters.config.fields import EntryRefusedError, JsonPath, Problems, quoted
from tapui.emitters.config.reading import real_folder
from tapui.files import private_file
from tapui.files.foreign_file import open_within, read_up_to, real_path, reason
from tapui.files.locked_folder import locked
from tapui.home.paths import Home
from tapui.mcp_servers.config.entries import (
    MAX_ARGUMENTS,
    MAX_FILE,
    MAX_NAME,
    MAX_SERVERS,
    MAX_VALUE,
    MAX_VARIABLES,
    ServerEntry,
    ServerFile,
    ServerSource,
    Template,
    TemplateError,
    template,
)
from tapui.mcp_servers.messages import MOST_PATIENCE, PATIENCE
from tapui.text import safe_text

OWN_FILE = "mcp.json"
"""The person's servers, beside `config.toml`."""
SERVERS = "mcpServers"
FOLDER_FILES = ((".mcp.json", SERVERS), (".vscode/mcp.json", "servers"))
"""A repository's files, and the key that holds their servers."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_PLACE = re.compile(r"\$\{([^${}]*)\}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_SECRET = re.compile(
    r"token|secret|passw|api.?key|key(?![a-z])|credential|authorization|cookie", re.IGNORECASE
)
_HTTP = ("http://", "https://", "${")
_TYPES = {"stdio": "command", "local": "command", "http": "url", "streamablehttp": "url"}
"""Compared without case, `-` and `_`."""
_URLS = ("url", "httpUrl", "serverUrl")
"""The address as different programs name it."""
_KNOWN = frozenset({"type", "command", "args", "env", "cwd", *_URLS, "headers", "timeout"})
_UNUSED = frozenset({"disabled", "alwaysAllow", "autoApprove", "tools", "gallery"})
"""Keys of other programs about what they ask: they mean nothing here."""


def own_file(home: Home) -> Path:
    """Return where the person's servers are."""
    return home.config / OWN_FILE


def is_name(name: str) -> bool:
    return len(name) <= MAX_NAME and _NAME.match(name) is not None


def is_secret(name: str) -> bool:
    """Return whether a variable or header of this name holds a secret."""
    return _SECRET.search(name) is not None


def read_own(home: Home) -> ServerFile:
    """Read the person's servers. Files are read: not on a loop."""
    path = own_file(home)
    try:
        real = Path(real_path(path))
    except OSError as error:
        return _unreadable(str(path), str(path), 1, 1, f"it cannot be read: {reason(error)}")
    return _read(str(real.parent), real.name, SERVERS, "own", shown=str(path))


def read_folder(cwd: str) -> tuple[ServerFile, ...]:
    """Read the servers of a folder's files, those that are there.

    Of a name that is in several files, the first counts. Files are read: not on a loop.
    """
    try:
        folder = real_folder(cwd)
    except (OSError, ValueError):
        return ()  # without a folder there is no file
    found: list[ServerFile] = []
    names: set[str] = set()
    for name, key in FOLDER_FILES:
        if os.path.lexists(Path(folder, name)):
            file = _read(folder, name, key, "folder", shown=name)
            kept = tuple(one for one in file.entries if one.name not in names)
            names |= {one.name for one in kept}
            found.append(replace(file, entries=kept))
    return tuple(found)


def _read(folder: str, name: str, key: str, source: ServerSource, *, shown: str) -> ServerFile:
    path = str(Path(folder, name))
    try:
        fd, _ = open_within(folder, name)
    except FileNotFoundError:
        return ServerFile(path)
    except OSError as error:
        return _unreadable(path, shown, 1, 1, f"it cannot be read: {reason(error)}")
    try:
        data = read_up_to(fd, MAX_FILE + 1)
    except OSError as error:
        return _unreadable(path, shown, 1, 1, f"it cannot be read: {reason(error)}")
    finally:
        os.close(fd)
    if len(data) > MAX_FILE:
        return _unreadable(path, shown, 1, 1, f"it is larger than {MAX_FILE:,} bytes")
    try:
        document = JsonDocument(data)
    except UnreadableError as error:
        return _unreadable(path, shown, error.line, error.column, str(error))
    reader = _Reader(
        document, Problems(shown, document.place, document.value), path, source, folder
    )
    return reader.read(key)


def _unreadable(path: str, shown: str, line: int, column: int, why: str) -> ServerFile:
    problem = ConfigProblem(safe_text(shown), line, column, "", safe_text(why))
    return ServerFile(path, problems=(problem,), is_readable=False)


class _Reader:
    """Reads the servers of one document."""

    def __init__(
        self,
        document: JsonDocument,
        problems: Problems,
        path: str,
        source: ServerSource,
        folder: str,
    ) -> None:
        self._document = document
        self._problems = problems
        self._path = path
        self._source = source
        self._folder = folder

    def read(self, key: str) -> ServerFile:
        value = self._document.value
        servers = value.get(key, {}) if isinstance(value, dict) else None
        if isinstance(value, dict) and key not in value:
            for other, found in value.items():
                if isinstance(found, dict):
                    text = f'it is not read: the servers of this file stand in "{key}"'
                    self._problems.error((other,), text)
        if not isinstance(servers, dict):
            self._problems.error((key,), "servers are an object: {NAME: {…}}")
            servers = {}
        entries: list[ServerEntry] = []
        for name, given in servers.items():
            if len(entries) >= MAX_SERVERS:
                self._problems.error((key,), f"at most {MAX_SERVERS} servers are taken")
                break
            try:
                entries.append(self._entry((key, name), name, given))
            except EntryRefusedError as error:
                self._problems.error(error.path, str(error))
        return ServerFile(self._path, tuple(entries), self._problems.all())

    def _entry(self, path: JsonPath, name: str, given: Any) -> ServerEntry:
        if not is_name(name):
            raise EntryRefusedError(
                path, f"a name has at most {MAX_NAME} letters, digits, '.', '_' and '-'"
            )
        if not isinstance(given, dict):
            raise EntryRefusedError(path, f"a server is an object, not {quoted(given)}")
        given = {key: value for key, value in given.items() if value is not None}
        url = next((key for key in _URLS if key in given), "url")
        self._check_kind(path, given, url)
        if "envFile" in given:
            raise EntryRefusedError(
                (*path, "envFile"), "it is not read: give its variables in env, as ${env:NAME}"
            )
        for key in given:
            if key in _UNUSED:
                self._problems.warning((*path, key), "it has no effect here")
            elif key not in _KNOWN:
                self._problems.warning((*path, key), "this key is not known")
        entry = ServerEntry(
            name=name,
            source=self._source,
            file=self._path,
            line=self._document.place(path)[0],
            folder=self._folder if self._source == "folder" else None,
            command=self._text(path, given, "command"),
            args=self._args((*path, "args"), given.get("args", [])),
            env=self._table((*path, "env"), given.get("env", {})),
            cwd=self._text(path, given, "cwd"),
            url=self._text(path, given, url),
            headers=self._table((*path, "headers"), given.get("headers", {}), are_headers=True),
            patience=self._patience((*path, "timeout"), given.get("timeout", 0)),
        )
        if entry.cwd is not None and any(one.kind != "folder" for one in entry.cwd.places):
            raise EntryRefusedError((*path, "cwd"), "only ${workspaceFolder} is filled in here")
        if entry.url is not None and not entry.url.text.lower().startswith(_HTTP):
            raise EntryRefusedError((*path, url), "a URL begins with http:// or https://")
        return entry

    def _check_kind(self, path: JsonPath, given: dict[str, Any], url: str) -> None:
        kind = given.get("type")
        plain = re.sub("[-_]", "", kind).lower() if isinstance(kind, str) else kind
        if plain == "sse":
            raise EntryRefusedError(
                (*path, "type"), "the old SSE transport is not supported: use its HTTP address"
            )
        if kind is not None and (not isinstance(plain, str) or plain not in _TYPES):
            raise EntryRefusedError((*path, "type"), f"it is stdio or http, not {quoted(kind)}")
        found = "command" if "command" in given else "url"
        if ("command" in given) == (url in given) or _TYPES.get(plain or "", found) != found:
            raise EntryRefusedError(path, "a server has a command (stdio) or a url (http)")

    def _text(self, path: JsonPath, given: dict[str, Any], key: str) -> Template | None:
        if key not in given:
            return None
        found = self._template((*path, key), given[key])
        if not found.text:
            raise EntryRefusedError((*path, key), "it is empty")
        return found

    def _template(self, path: JsonPath, value: Any) -> Template:
        if not isinstance(value, str):
            raise EntryRefusedError(path, "it must be a text")  # which may be a secret: not quoted
        if len(value) > MAX_VALUE:
            raise EntryRefusedError(path, f"it has more than {MAX_VALUE:,} characters")
        if "\0" in value:
            raise EntryRefusedError(path, "it has a NUL in it")
        try:
            value.encode()
            return template(_PLACE.sub(self._filled, value))
        except TemplateError as error:
            raise EntryRefusedError(path, str(error)) from None
        except UnicodeEncodeError:
            raise EntryRefusedError(path, "it is not valid Unicode") from None

    def _filled(self, place: re.Match[str]) -> str:
        """Return what an editor's place stands for; all others are filled in at the start."""
        places = {"userHome": os.path.expanduser("~"), "pathSeparator": os.sep, "/": os.sep}  # noqa: PTH111
        if self._source == "folder":
            places["workspaceFolderBasename"] = Path(self._folder).name
            places["cwd"] = "${workspaceFolder}"
        elif place[1] in ("workspaceFolderBasename", "cwd"):
            raise TemplateError(f"{place[0]} is filled in for the servers of a folder only")
        return places.get(place[1], place[0])

    def _patience(self, path: JsonPath, value: Any) -> float:
        """Return how many seconds a server may take to start: its `timeout`, which is in ms."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise EntryRefusedError(path, "it is a number of milliseconds")
        return max(PATIENCE, min(value, 1000 * MOST_PATIENCE) / 1000)

    def _args(self, path: JsonPath, value: Any) -> tuple[Template, ...]:
        if not isinstance(value, list) or len(value) > MAX_ARGUMENTS:
            raise EntryRefusedError(path, f"arguments are a list of at most {MAX_ARGUMENTS} texts")
        return tuple(self._template((*path, at), one) for at, one in enumerate(value))

    def _table(
        self, path: JsonPath, value: Any, *, are_headers: bool = False
    ) -> tuple[tuple[str, Template], ...]:
        if not isinstance(value, dict) or len(value) > MAX_VARIABLES:
            raise EntryRefusedError(path, f"it is an object of at most {MAX_VARIABLES} texts")
        found = []
        for name, text in value.items():
            at = (*path, name)
            if are_headers and not _HEADER.match(name):
                raise EntryRefusedError(at, "no header has this name")
            if not name or "=" in name or len(name) > MAX_NAME * 2 or not name.isprintable():
                raise EntryRefusedError(at, "no variable has this name")
            one = self._template(at, _written(text))
            if one.is_literal and is_secret(name) and one.text:
                self._problems.warning(at, "it is written in clear: use ${env:NAME}")
            found.append((name, one))
        return tuple(sorted(found))


def _written(value: Any) -> Any:
    """Return a number or a boolean as JSON and the programs that it is for write it."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value) if isinstance(value, int | float) else value


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
