"""What a file says of an MCP server. Values with secrets in them are never in a repr.

A value has places in it: `${env:NAME}`, `${file:PATH}`, `${workspaceFolder}`. What stands in a file
is a template; its value is put together when the server starts, and is a secret from then on.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tapui.emitters.config.entries import ConfigProblem
from tapui.secret import Secret

MAX_SECRET_FILE = 64 * 1024
"""Bytes of a file that a value is read from."""
_PLACE = re.compile(r"\$\{([^${}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FOLDERS = ("workspaceFolder", "workspaceRoot", "projectFolder")

PlaceKind = Literal["env", "file", "folder"]


class TemplateError(ValueError):
    """A template with a place that tapui does not fill in."""


class MissingValueError(Exception):
    """A place whose value is not there: a variable that is not set, a file that is not readable."""


@dataclass(frozen=True, slots=True)
class FilledPlace:
    """A place in a template. `name` is a variable's or a path; `default` stands for a variable that
    is not set (`${NAME:-default}`)."""

    kind: PlaceKind
    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A value as a file has it. Make it with `template()`, which checks the places."""

    text: str = field(repr=False)

    @property
    def places(self) -> tuple[FilledPlace, ...]:
        return tuple(_place(found[1]) for found in _PLACE.finditer(self.text))

    @property
    def is_literal(self) -> bool:
        return _PLACE.search(self.text) is None

    @property
    def digest(self) -> str:
        """A digest of the text: what is kept and compared instead of it."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def sources(self, folder: str | None = None) -> Iterator[str]:
        """Yield where its values come from, in words: `$TOKEN`, `the file ~/.token`. With the
        folder, also where links lead to. Raises `OSError` for what can be no file."""
        for place in self.places:
            if place.kind == "env":
                yield f"${place.name}"
            elif place.kind == "file":
                path = None if folder is None else file_path(place.name, folder)
                real = path and os.path.realpath(path)
                yield f"the file {place.name}" + ("" if real == path else f", which is {real}")

    def files(self, folder: str) -> Iterator[str]:
        for place in self.places:
            if place.kind == "file":
                yield file_path(place.name, folder)

    def value(self, environ: Mapping[str, str], folder: str) -> Secret:
        """Return the value. Files are read: not on a loop. Raises `MissingValueError`."""
        filled = _PLACE.sub(lambda found: _filled(_place(found[1]), environ, folder), self.text)
        return Secret(filled)


def template(text: str) -> Template:
    """Return a value of a file. Raises `TemplateError` for a place that is not known."""
    for found in _PLACE.finditer(text):
        _place(found[1])
    return Template(text)


def _place(inner: str) -> FilledPlace:
    kind, colon, rest = inner.partition(":")
    if inner in _FOLDERS:
        return FilledPlace("folder", inner)
    if kind == "input" and colon:
        raise TemplateError(
            "${input:…} asks for a value while the server starts, which tapui does not: put the "
            "value into a variable and write ${env:NAME}"
        )
    if kind == "env" and colon:
        return _variable(rest)
    if kind == "file" and colon:
        if not rest or "\0" in rest:
            raise TemplateError("${file:PATH} names no file")
        return FilledPlace("file", rest)
    if _NAME.match(inner.partition(":-")[0]):
        return _variable(inner)
    raise TemplateError("tapui fills in ${env:NAME}, ${file:PATH} and ${workspaceFolder} only")


def _variable(text: str) -> FilledPlace:
    name, dash, default = text.partition(":-")
    if not _NAME.match(name):
        raise TemplateError("${env:NAME} names no variable")
    return FilledPlace("env", name, default if dash else None)


def _filled(place: FilledPlace, environ: Mapping[str, str], folder: str) -> str:
    if place.kind == "folder":
        return folder
    if place.kind == "file":
        return _file_text(place.name, folder)
    value = environ.get(place.name, place.default)
    if value is None:
        raise MissingValueError(f"the variable {place.name} is not set where tapui was started")
    return value


def file_path(name: str, folder: str) -> str:
    """Return the whole path of a file that a place names, without `..`."""
    # Not that of `Path`, which raises.
    return os.path.normpath(os.path.join(folder, os.path.expanduser(name)))  # noqa: PTH111, PTH118


def _file_text(name: str, folder: str) -> str:
    """Return what is in a file, without blanks at its end."""
    from tapui.files.foreign_file import encoding_fault, text_of

    try:
        text = text_of(Path(file_path(name, folder)))
    except OSError as error:
        why = error.strerror or str(error)
        raise MissingValueError(f"the file {name} cannot be read: {why}") from None
    except UnicodeDecodeError as error:
        raise MissingValueError(f"the file {name}: {encoding_fault(error)[1]}") from None
    if len(text) > MAX_SECRET_FILE:
        raise MissingValueError(f"the file {name} has more than {MAX_SECRET_FILE:,} characters")
    return text.rstrip()


MAX_FILE = 1024 * 1024
"""Bytes of a file with servers."""
MAX_SERVERS = 32
"""Servers of one file."""
MAX_NAME = 64
MAX_ARGUMENTS = 64
MAX_VARIABLES = 64
"""Variables of a server, and headers."""
MAX_VALUE = 4 * 1024
"""Characters of a value."""

ServerSource = Literal["own", "folder"]
"""`own`: the person's `mcp.json`; `folder`: a file of a repository, which needs consent."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """An MCP server as a file has it: a `command` with `args`, or a `url` with `headers`.

    `folder` is the repository's, without links; None for the person's own servers. `file` is the
    whole path of the file, `line` where the entry begins in it.
    """

    name: str
    source: ServerSource
    file: str
    line: int
    folder: str | None = None
    command: Template | None = None
    args: tuple[Template, ...] = ()
    env: tuple[tuple[str, Template], ...] = ()
    cwd: Template | None = None
    url: Template | None = None
    headers: tuple[tuple[str, Template], ...] = ()
    patience: float = 60.0
    """Seconds that it may take to start, unless it goes on speaking."""


@dataclass(frozen=True, slots=True)
class ServerFile:
    """What a file says; without one everything is empty.

    With `is_readable` False the file is there and cannot be taken apart: what was known of it
    holds.
    """

    path: str
    entries: tuple[ServerEntry, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    is_readable: bool = True
