"""Consent to an MCP server of a repository: all that decides what runs or is called, and with which
values. The person's own servers need none.

Values are kept as digests of the file's texts: no secret can be read in them.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from tapui.consents.consents import (
    Changes,
    Consented,
    ConsentFile,
    Consents,
    Proposal,
    names_of,
    was,
)
from tapui.consents.named_files import NamedFiles, ReadCommand, named_files
from tapui.consents.unpinned import unpinned
from tapui.emitters.runner.environment import deciding
from tapui.files.foreign_file import real_path
from tapui.mcp_servers.config.entries import ServerEntry, ServerSource, Template
from tapui.policies.rules import is_within
from tapui.text import safe_text

PLACE = "mcp"
"""The folder of consents and pins, below the state folder."""
_SHOWN = 200


class GivenValue(Struct, frozen=True):
    """A variable or a header: its name, where its value comes from, a digest of what the file
    says."""

    name: str
    sources: tuple[str, ...]
    """In words; empty for a value that stands in the file."""
    digest: str


class Allowable(Struct, frozen=True, kw_only=True):
    """What is shown, allowed and started, and nothing else. It does not change."""

    kind: ServerSource
    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    cwd: str | None = None
    """Where it runs, absolute and without links; None for a server that is called."""
    url: str | None = None
    env: tuple[GivenValue, ...] = ()
    headers: tuple[GivenValue, ...] = ()
    reads: tuple[str, ...] = ()
    """Where values in the command, its arguments or the address come from, in words."""

    @property
    def digest(self) -> str:
        said = msgspec.to_builtins(self)
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def host(self) -> str | None:
        """The host that is called, with its port; None for a server that is started."""
        if self.url is None:
            return None
        try:
            address = urlsplit(self.url)
            name, port = address.hostname, address.port
        except ValueError:
            return "?"
        return f"{name or '?'}:{port}" if port else name or "?"

    @property
    def program(self) -> str:
        """What is started, or the host that is called."""
        return self.host or self.command or ""


class ServerConsents(Consents[Allowable]):
    """All consents to servers."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.time) -> None:
        super().__init__(state, PLACE, _DECODER, _CHANGES, clock)

    def standing(self, entry: ServerEntry) -> Consented[Allowable] | Proposal[Allowable]:
        """Return whether a server may be started. Raises `OSError` for a folder to run in that
        cannot be."""
        wanted, folder = allowable(entry), entry.folder
        if folder is None:
            return Consented(wanted)
        return self.of(folder, wanted, lambda: _files_of(folder, wanted, entry))


def server_detail(proposal: Proposal[Allowable], written: ServerEntry) -> dict[str, object]:
    """Return what is shown, for the approval's sheet (`tapui/wire/README.md` has the keys).

    `written` is the entry as the file has it: the texts of its values are shown, and not kept.
    """
    entry = proposal.entry
    return {
        "purpose": "start",
        "name": entry.name,
        "changed": proposal.why,
        "folder": safe_text(proposal.folder),
        "command": entry.command,
        "args": list(entry.args),
        "cwd": None if entry.cwd is None else safe_text(entry.cwd),
        "isOutside": proposal.is_outside,
        "host": entry.host,
        # A fragment is not sent, and could look like the host.
        "url": entry.url and entry.url.partition("#")[0],
        "variables": [[one.name, ", ".join(one.sources)] for one in entry.env],
        "variableTexts": {name: one.text for name, one in written.env},
        "headers": [[one.name, ", ".join(one.sources)] for one in entry.headers],
        "headerTexts": {name: one.text for name, one in written.headers},
        "reads": list(entry.reads),
        "unpinned": unpinned(entry.command or "", entry.args) or "",
        "file": safe_text(written.file),
        "line": written.line,
        "files": [safe_text(name) for name, _ in proposal.files],
        "uncovered": list(proposal.uncovered),
        "doubts": list(proposal.doubts),
    }


def _files_of(folder: str, wanted: Allowable, written: ServerEntry) -> NamedFiles:
    """Return the files of the folder that a server's command or its variables name, and those that
    its values are filled in from."""
    words = [wanted.command or "", *wanted.args]
    for _, one in written.env:
        words += in_folder(one.text, folder).split()
    parts = (written.command, written.url, *written.args)
    values = [one for _, one in (*written.env, *written.headers)]
    for text in (*(one for one in parts if one is not None), *values):
        words += (path for path in text.files(folder) if is_within(path, folder))
    command = ReadCommand(words[0], wanted.cwd or folder, tuple(dict.fromkeys(words[1:])))
    found = named_files(folder, command)
    found.doubts += tuple(deciding(one.name for one in wanted.env))
    return found


def allowable(entry: ServerEntry) -> Allowable:
    """Return what is started of an entry. Raises `OSError` for a cwd that cannot be."""
    folder = entry.folder
    plain = [one for one in (entry.command, *entry.args, entry.url, entry.cwd) if one is not None]
    cwd = None
    if entry.command is not None:
        base = folder or os.path.expanduser("~")  # noqa: PTH111 - text in, text out
        inner = "" if entry.cwd is None else in_folder(entry.cwd.text, base)
        cwd = real_path_of(base, inner)
    return Allowable(
        kind=entry.source,
        name=entry.name,
        command=None if entry.command is None else in_folder(entry.command.text, folder),
        args=tuple(in_folder(one.text, folder) for one in entry.args),
        cwd=cwd,
        url=None if entry.url is None else entry.url.text,
        env=_given(entry.env, folder),
        headers=_given(entry.headers, folder),
        reads=tuple(dict.fromkeys(one for text in plain for one in text.sources(folder))),
    )


def in_folder(text: str, folder: str | None) -> str:
    """Return a text with the folder filled in: what it names is then known."""
    if folder is None:
        return text
    for name in ("workspaceFolder", "workspaceRoot", "projectFolder"):
        text = text.replace(f"${{{name}}}", folder)
    return text


def real_path_of(base: str, inner: str) -> str:
    """Return where something runs, without links. Raises `OSError`."""
    return real_path(Path(base, os.path.expanduser(inner)))  # noqa: PTH111 - text in, text out


def _given(values: tuple[tuple[str, Template], ...], folder: str | None) -> tuple[GivenValue, ...]:
    return tuple(GivenValue(name, tuple(one.sources(folder)), one.digest) for name, one in values)


def _shown(text: str | None) -> str:
    return "no folder" if text is None else safe_text(text, limit=_SHOWN)


_CHANGES: Changes = {
    "command": "another command",
    "args": "other arguments",
    "url": "another address",
    "reads": "other values are filled in",
    "cwd": was("runs in", _shown),
    "env": names_of("other variables", lambda one: str(one.name), _SHOWN),
    "headers": names_of("other headers", lambda one: str(one.name), _SHOWN),
}
_DECODER = msgspec.json.Decoder(ConsentFile[Allowable])
