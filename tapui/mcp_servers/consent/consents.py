"""Which servers of repositories the person has allowed, kept in the state folder.

As with emitters, what `standing()` proposes is shown and handed to `allow()` as it is; then
`standing()` is asked again, and what it gives is started. The person's own servers need none.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tapui.emitters.consent.kept import ConsentFile, Kept, KeptConsents
from tapui.emitters.consent.named_files import NamedFiles, named_files
from tapui.emitters.consent.startable import Startable
from tapui.emitters.runner.environment import deciding
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.consent.allowable import Allowable, allowable, changes, in_folder
from tapui.mcp_servers.consent.unpinned import NODE_SETTINGS, looks_into_folder, unpinned
from tapui.policies.rules import is_within
from tapui.text import safe_text

PLACE = "mcp"
"""The folder of consents and pins, below the state folder."""
_KIND = "folder"
_NAMES = 300


class KeptServer(Kept, frozen=True, kw_only=True):
    """That a server was allowed."""

    entry: Allowable

    @property
    def kind(self) -> str:
        """Servers of repositories are all there is."""
        return self.entry.kind

    @property
    def name(self) -> str:
        """The server's name."""
        return self.entry.name


_DECODER = msgspec.json.Decoder(ConsentFile[KeptServer])


@dataclass(frozen=True, slots=True)
class ServerProposal:
    """What the person is shown, and what `allow()` keeps. `why` says what has changed since it was
    allowed; it is empty when it never was."""

    folder: str
    entry: Allowable
    written: ServerEntry
    """As the file has it: the texts of its values are shown, and not kept."""
    files: tuple[tuple[str, str], ...]
    """Files of the folder that the command names, with a digest of each."""
    uncovered: tuple[str, ...]
    doubts: tuple[str, ...]
    why: str = ""

    @property
    def digest(self) -> str:
        """A digest over all that is shown: two proposals with the same are the same."""
        said = (self.folder, self.entry.digest, self.files)
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    @property
    def detail(self) -> dict[str, object]:
        """What is shown, for the approval's sheet (`tapui/wire/README.md` has the keys)."""
        entry = self.entry
        package = unpinned(entry.command or "", entry.args)
        return {
            "purpose": "start",
            "name": entry.name,
            "changed": self.why,
            "folder": safe_text(self.folder),
            "command": entry.command,
            "args": list(entry.args),
            "cwd": None if entry.cwd is None else safe_text(entry.cwd),
            "isOutside": entry.cwd is not None and not is_within(entry.cwd, self.folder),
            "host": entry.host,
            # A fragment is not sent, and could look like the host.
            "url": entry.url and entry.url.partition("#")[0],
            "variables": [[one.name, ", ".join(one.sources)] for one in entry.env],
            "variableTexts": {name: one.text for name, one in self.written.env},
            "headers": [[one.name, ", ".join(one.sources)] for one in entry.headers],
            "headerTexts": {name: one.text for name, one in self.written.headers},
            "reads": list(entry.reads),
            "unpinned": package or "",
            "file": safe_text(self.written.file),
            "line": self.written.line,
            "files": [safe_text(name) for name, _ in self.files],
            "uncovered": list(self.uncovered),
            "doubts": list(self.doubts),
        }


@dataclass(frozen=True, slots=True)
class MayRun:
    """It may be started: exactly `entry`."""

    entry: Allowable
    files: tuple[str, ...] = ()
    """Files of the folder whose contents are covered."""


class ServerConsents:
    """All consents to servers. Several processes may use them; not on a loop: files are read."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.time) -> None:
        self._kept: KeptConsents[KeptServer] = KeptConsents(state, PLACE, _DECODER)
        self._clock = clock

    @property
    def damage(self) -> str:
        """Why what was kept cannot be read, so that nothing is allowed; empty when all is well."""
        return self._kept.damage

    @property
    def mark(self) -> object:
        """What changes whenever something is allowed or revoked, by whatever process."""
        return self._kept.mark

    def standing(self, entry: ServerEntry) -> MayRun | ServerProposal:
        """Return whether a server may be started. Raises `OSError` for a folder to run in that
        cannot be."""
        wanted = allowable(entry)
        if entry.folder is None:
            return MayRun(wanted)
        folder = entry.folder
        kept = self._kept.one(folder, _KIND, entry.name)
        is_same = kept is not None and kept.entry == wanted
        if kept is not None and is_same and kept.later_versions:
            self._kept.used(folder, kept, self._clock())
            return MayRun(wanted)
        named = _named_files(folder, wanted, entry)
        files = tuple(sorted(named.digests.items()))
        why = ""
        if kept is not None and not is_same:
            why = "; ".join(changes(kept.entry, wanted))
        elif kept is not None and kept.files != files:
            names = ", ".join(sorted({name for name, _ in {*kept.files} ^ {*files}}))
            why = f"files that it names: {safe_text(names, limit=_NAMES)}"
        elif kept is not None:
            self._kept.used(folder, kept, self._clock())
            return MayRun(wanted, tuple(name for name, _ in files))
        found_there: tuple[str, ...] = ()
        if looks_into_folder(wanted.command or "", wanted.args):
            found_there = (
                f"{safe_text(wanted.program)} takes what is in node_modules there first",
            )
        loads = tuple(deciding(one.name for one in wanted.env))
        return ServerProposal(
            folder,
            wanted,
            entry,
            files,
            tuple(named.uncovered),
            (*named.doubts, *found_there, *loads),
            why,
        )

    def allow(self, proposal: ServerProposal, *, later_versions: bool = False) -> None:
        """Keep the consent to what was shown. Raises `OSError`: it is not kept then.

        With `later_versions` the files that it names may change.
        """
        now = self._clock()
        kept = KeptServer(
            entry=proposal.entry,
            files=proposal.files,
            later_versions=later_versions,
            allowed_at=now,
            used_at=now,
        )
        self._kept.put(proposal.folder, kept)

    def revoke(self, folder: str, name: str) -> bool:
        """Forget the consent to a folder's server; return whether there was one. Raises
        `OSError`."""
        return self._kept.remove(folder, _KIND, name) > 0


def _named_files(folder: str, allowed: Allowable, entry: ServerEntry) -> NamedFiles:
    """Return the files of the folder that a server's command or its variables name, and those that
    its values are filled in from."""
    words = [allowed.command or "", *allowed.args]
    for _, one in entry.env:
        words += in_folder(one.text, folder).split()
    parts = (entry.command, entry.url, *entry.args)
    values = [one for _, one in (*entry.env, *entry.headers)]
    for text in (*(one for one in parts if one is not None), *values):
        words += (path for path in text.files(folder) if is_within(path, folder))
    if looks_into_folder(allowed.command or "", allowed.args):
        words += NODE_SETTINGS
    command = Startable(
        kind="provider",
        name=allowed.name,
        command=words[0],
        args=tuple(dict.fromkeys(words[1:])),
        cwd=allowed.cwd or folder,
    )
    return named_files(folder, command)
