"""What consent to a server covers: all that decides what runs or is called, and with which values.

Values are kept as digests of what the file says: what is kept tells nobody a secret.
"""

import hashlib
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from tapui.files.foreign_file import real_path
from tapui.mcp_servers.config.entries import ServerEntry, ServerSource
from tapui.mcp_servers.config.templates import Template
from tapui.text import safe_text

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
        """A digest over all of it."""
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


def changes(before: Allowable, after: Allowable) -> tuple[str, ...]:
    """Say what is different, each in a few words that are safe to show."""
    found = [
        words
        for name, words in (
            ("command", "another command"),
            ("args", "other arguments"),
            ("url", "another address"),
            ("reads", "other values are filled in"),
        )
        if getattr(before, name) != getattr(after, name)
    ]
    if before.cwd != after.cwd:
        found.append(f"runs in {_shown(after.cwd)} (it was {_shown(before.cwd)})")
    for key, words in (("env", "other variables"), ("headers", "other headers")):
        former, now = getattr(before, key), getattr(after, key)
        if former != now:
            names = sorted({one.name for one in {*former} ^ {*now}})
            found.append(f"{words}: {safe_text(', '.join(names), limit=_SHOWN)}")
    return tuple(found)


def _shown(text: str | None) -> str:
    return "no folder" if text is None else safe_text(text, limit=_SHOWN)
