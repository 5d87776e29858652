"""What the person has allowed to run, folder by folder: emitters, a project's providers, MCP
servers. It is kept in the state folder.

The way is: `standing()` says what is allowed; what is not is a proposal, which is shown and handed
to `allow()` unchanged; then `standing()` is asked again, and what it gives is started. So what was
shown is what is allowed, and what is allowed is what is started.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import msgspec

from tapui.consents.kept import ConsentFile, E, Kept, KeptConsents
from tapui.consents.named_files import NamedFiles
from tapui.policies.rules import is_within
from tapui.text import safe_text

_NAMES = 300
"""Characters of the names of files that have changed."""


@dataclass(frozen=True, slots=True)
class Proposal(Generic[E]):
    """What the person is shown, and what `allow()` keeps."""

    folder: str
    entry: E
    files: tuple[tuple[str, str], ...]
    """Files of the folder that it names, with a digest of each. Their paths are as they are: not
    safe to show."""
    uncovered: tuple[str, ...]
    """What it names besides: a change there is not noticed."""
    doubts: tuple[str, ...]
    """Why the command may run programs that it does not name."""
    why: str = ""
    """What has changed since it was allowed, in words; empty when it never was."""

    @property
    def digest(self) -> str:
        """A digest over all that is shown: two proposals with the same are the same."""
        said = msgspec.to_builtins((self.folder, self.entry, self.files))
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def is_outside(self) -> bool:
        """Whether it runs in another folder than that of the session."""
        cwd = self.entry.cwd
        return cwd is not None and not is_within(cwd, self.folder)


@dataclass(frozen=True, slots=True)
class Consented(Generic[E]):
    """It may be started: exactly `entry`."""

    entry: E
    files: tuple[str, ...] = ()
    """Files whose contents are covered; none when later versions are, too."""


class Consents(Generic[E]):
    """All consents to one kind of thing. Several processes may use them; not on a loop: files are
    read.

    `place` is their folder below the state folder; `changes` says in words what differs between
    two entries.
    """

    def __init__(
        self,
        state: Path,
        place: str,
        decoder: "msgspec.json.Decoder[ConsentFile[E]]",
        changes: Callable[[E, E], tuple[str, ...]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._kept = KeptConsents(state, place, decoder)
        self._changes = changes
        self._clock = clock

    @property
    def damage(self) -> str:
        """Why what was kept cannot be read, so that nothing is allowed; empty when all is well."""
        return self._kept.damage

    @property
    def mark(self) -> object:
        """What changes with each consent that any process gives or revokes."""
        return self._kept.mark

    def of(
        self, folder: str, wanted: E, named: Callable[[], NamedFiles]
    ) -> Consented[E] | Proposal[E]:
        """Return whether an entry of a folder may be started. `named` reads the files that it
        names, where these decide."""
        kept = self._kept.one(folder, wanted.kind, wanted.name)
        is_same = kept is not None and kept.entry == wanted
        if kept is not None and is_same and kept.later_versions:
            self._kept.used(folder, kept, self._clock())
            return Consented(wanted)
        found = named()
        files = tuple(sorted(found.digests.items()))
        why = ""
        if kept is not None and not is_same:
            why = "; ".join(self._changes(kept.entry, wanted))
        elif kept is not None and (names := {name for name, _ in {*kept.files} ^ {*files}}):
            words = ", ".join(safe_text(name) for name in sorted(names))
            why = f"files that it names: {safe_text(words, limit=_NAMES)}"
        elif kept is not None:
            self._kept.used(folder, kept, self._clock())
            return Consented(wanted, tuple(name for name, _ in files))
        return Proposal(folder, wanted, files, tuple(found.uncovered), tuple(found.doubts), why)

    def allow(self, proposal: Proposal[E], *, later_versions: bool = False) -> None:
        """Keep the consent to what was shown. Raises `OSError`: it is not kept then.

        With `later_versions` the files that it names may change.
        """
        now = self._clock()
        kept = Kept(
            entry=proposal.entry,
            files=proposal.files,
            later_versions=later_versions,
            allowed_at=now,
            used_at=now,
        )
        self._kept.put(proposal.folder, kept)

    def revoke(self, folder: str, name: str | None = None, kind: str | None = None) -> int:
        """Forget the consents of a folder with this name and kind, None for any; return how many.
        Raises `OSError`."""
        return self._kept.remove(os.path.realpath(folder), kind, name)

    def listed(self, folder: str | None = None) -> list[tuple[str, Kept[E]]]:
        """Return what is allowed, with its folder, in the order in which it was."""
        only = None if folder is None else os.path.realpath(folder)
        found = [(one, kept) for one, kept in self._kept.all() if only in (None, one)]
        return sorted(found, key=lambda one: one[1].allowed_at)
