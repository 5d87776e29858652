"""What the person has allowed to run, folder by folder, kept in the state folder.

The way is: `standing()` says what is allowed; what is not comes with a proposal, which is shown
and handed to `allow()` as it is; then `standing()` is asked again, and what it gives is started.
So what was shown is what is allowed, and what is allowed is what is started.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tapui.emitters.config.entries import Configuration, EmitterEntry, ProviderEntry
from tapui.emitters.consent.kept import FOLDER, ConsentFile, KeptConsent, KeptConsents
from tapui.emitters.consent.named_files import named_files
from tapui.emitters.consent.startable import Kind, Startable, changes, startable
from tapui.policies.rules import is_within

_DECODER = msgspec.json.Decoder(ConsentFile[KeptConsent])


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the person is shown, and what `allow()` keeps."""

    folder: str
    entry: Startable
    files: tuple[tuple[str, str], ...]
    """Files of the folder that it names, with a digest of each. Their paths are as they are: not
    safe to show."""
    uncovered: tuple[str, ...]
    """What it names besides: a change there is not noticed."""
    doubts: tuple[str, ...]
    """Why the command may run more than its words name."""

    @property
    def digest(self) -> str:
        """A digest over all that is shown: two proposals with the same are the same."""
        said = msgspec.to_builtins((self.folder, self.entry, self.files))
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def is_outside(self) -> bool:
        """Whether it runs in another folder than that of the session."""
        return not is_within(self.entry.cwd, self.folder)


@dataclass(frozen=True, slots=True)
class Consented:
    """It may be started: exactly `entry`."""

    entry: Startable
    files: tuple[str, ...]
    """Files whose contents are covered; none when later versions are, too."""


@dataclass(frozen=True, slots=True)
class NeverConsented:
    """The person has not been asked, or has said no."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class EntryChanged:
    """Something else was allowed under this name; `what` is different, in words."""

    proposal: Proposal
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """The entry is as it was allowed; files that it names are not. Names are not safe to show."""

    proposal: Proposal
    names: tuple[str, ...]


ConsentStanding = Consented | NeverConsented | EntryChanged | FilesChanged


class EmitterConsents:
    """All consents of a person. Several processes may use them; not on a loop: files are read."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.time) -> None:
        self._kept = KeptConsents(state, FOLDER, _DECODER)
        self._clock = clock

    @property
    def damage(self) -> str:
        """Why what was kept cannot be read, so that nothing is allowed; empty when all is well."""
        return self._kept.damage

    @property
    def mark(self) -> object:
        """What changes whenever something is allowed or revoked, by whatever process."""
        return self._kept.mark

    def standing(
        self, configuration: Configuration, entry: EmitterEntry | ProviderEntry
    ) -> ConsentStanding:
        """Return whether an entry of a configuration may be started.

        Raises `ValueError` for an entry of another configuration, `OSError` for a folder to run in
        that cannot be.
        """
        if entry not in (*configuration.emitters, *configuration.providers):
            raise ValueError("the entry is not of this configuration")
        wanted = startable(configuration, entry)
        kept = self._kept.one(configuration.folder, wanted.kind, wanted.name)
        is_same = kept is not None and kept.entry == wanted
        if kept is not None and is_same and kept.later_versions:
            self._kept.used(configuration.folder, kept, self._clock())
            return Consented(wanted, ())
        named = named_files(configuration.folder, wanted)
        files = tuple(sorted(named.digests.items()))
        proposal = Proposal(
            configuration.folder, wanted, files, tuple(named.uncovered), named.doubts
        )
        if kept is None:
            return NeverConsented(proposal)
        if not is_same:
            return EntryChanged(proposal, changes(kept.entry, wanted))
        if names := sorted({name for name, _ in set(kept.files) ^ set(files)}):
            return FilesChanged(proposal, tuple(names))
        self._kept.used(configuration.folder, kept, self._clock())
        return Consented(wanted, tuple(name for name, _ in files))

    def allow(self, proposal: Proposal, *, later_versions: bool) -> None:
        """Keep the consent to what was shown. Raises `OSError`: it is not kept then.

        With `later_versions` the files that it names may change.
        """
        now = self._clock()
        kept = KeptConsent(
            entry=proposal.entry,
            files=proposal.files,
            later_versions=later_versions,
            allowed_at=now,
            used_at=now,
        )
        self._kept.put(proposal.folder, kept)

    def revoke(self, folder: str, kind: Kind | None = None, name: str | None = None) -> int:
        """Forget a consent, or all of a kind or a folder; return how many. Raises `OSError`."""
        return self._kept.remove(os.path.realpath(folder), kind, name)

    def listed(self, folder: str | None = None) -> list[tuple[str, KeptConsent]]:
        """Return what is allowed, with its folder, in the order in which it was."""
        only = None if folder is None else os.path.realpath(folder)
        found = [(one, kept) for one, kept in self._kept.all() if only in (None, one)]
        return sorted(found, key=lambda one: one[1].allowed_at)
