"""Folders' files and the person's consents, for the core: read, checked, kept and watched."""

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from tapui.consents.consents import Consented, Proposal
from tapui.consents.emitters import FOLDER, EmitterConsents
from tapui.consents.file_goals import GoalConsents
from tapui.core.effects import CheckEmitter, KeepConsent, KeepGoalConsent, SaveEmitter
from tapui.core.emitters.plans import (
    CannotStart,
    EmitterPlan,
    EmitterStanding,
    FolderEmitters,
    MayStart,
    SavedEmitter,
)
from tapui.emitters.config.entries import ConfigProblem, Configuration, EmitterEntry, ProviderEntry
from tapui.emitters.config.reading import real_folder
from tapui.emitters.config.saving import SaveError
from tapui.emitters.config.watching import MAX_FOLDERS, ConfigChanged, ConfigWatch
from tapui.emitters.shell.plans import asking, folder_emitters, goals_read, problems_in_words
from tapui.emitters.shell.save_order import EmitterKeeping
from tapui.files.foreign_file import reason
from tapui.files.locked_folder import FolderHeldError, LockedFolder
from tapui.folder_tools.files import TOOLS
from tapui.text import safe_text

_NAME = 300
"""Characters of a folder's name in a message."""
_MAX_PROPOSALS = 4
"""Of one emitter: an answer may be on its way while something else is shown already."""


@dataclass(slots=True)
class EmitterChanges:
    """What was found since the last look."""

    found: list[FolderEmitters] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Folders in which files that commands name, or consents, may have changed."""
    faults: list[str] = field(default_factory=list)
    """Texts for the person, each once."""


class _EntryName(NamedTuple):
    """Which entry of a file: an emitter and a provider may have the same name."""

    name: str
    is_provider: bool


@dataclass(slots=True)
class _InUse:
    """A folder in use. `configuration` is the last that could be read."""

    configuration: Configuration
    files: dict[_EntryName, tuple[str, ...]] = field(default_factory=dict)
    """Files that are covered by consents, by entry."""
    watched: frozenset[str] = frozenset()
    proposals: dict[_EntryName, OrderedDict[str, Proposal[EmitterPlan]]] = field(
        default_factory=dict
    )
    """What the person was shown, by entry and digest."""

    def entry(self, wanted: _EntryName) -> EmitterEntry | ProviderEntry | None:
        return self.configuration.entry(wanted.name, is_provider=wanted.is_provider)

    def drop_gone(self) -> None:
        for known in (self.files, self.proposals):
            for one in [one for one in known if self.entry(one) is None]:
                del known[one]


class FolderShell:
    """Any thread may use it, none on a loop. `clock` is a steady one, in seconds."""

    def __init__(self, state: Path, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._watch = ConfigWatch()
        self._consents = EmitterConsents(state)
        self._goal_consents = GoalConsents(state)
        self._claims = FolderClaims(state)
        self._folders: dict[str, _InUse] = {}
        """By path, without links."""
        self._elsewhere: set[str] = set()
        """Folders whose emitters another gateway runs."""
        self._told: OrderedDict[str, tuple[ConfigProblem, ...]] = OrderedDict()
        self._damages: dict[type, str] = {}
        self._mark, self._goal_mark = self._consents.mark, self._goal_consents.mark
        self._faults: list[str] = []

    @property
    def is_used(self) -> bool:
        return bool(self._folders)

    def read(self, cwd: str) -> FolderEmitters:
        """Read the file of a session's folder, and watch it from now on."""
        with self._lock:
            try:
                folder = real_folder(cwd)
            except (OSError, ValueError):
                return FolderEmitters(cwd, cwd)  # without a folder there is no file
            return self._added(cwd, folder)

    def leave(self, folder: str) -> None:
        with self._lock:
            self._watch.remove(folder)
            self._folders.pop(folder, None)
            self._elsewhere.discard(folder)
            self._claims.release(folder)

    def close(self) -> None:
        """Nothing runs any more: let other gateways have the folders."""
        with self._lock:
            self._claims.close()

    def check(self, effect: CheckEmitter) -> EmitterStanding:
        with self._lock:
            return self._check(effect.folder, _EntryName(effect.name, effect.is_provider))

    def keep(self, effect: KeepConsent) -> str | None:
        """Keep that the person allowed what they were shown; return why that failed."""
        name = _EntryName(effect.name, effect.is_provider)
        with self._lock:
            in_use = self._folders.get(effect.folder)
            proposals = in_use.proposals.get(name) if in_use is not None else None
            shown = proposals.get(effect.digest) if proposals is not None else None
            if shown is None:
                return "it has changed since it was shown"
            try:
                self._consents.allow(shown, later_versions=effect.later_versions)
            except OSError as error:
                return reason(error)
            return None

    def keep_goal(self, effect: KeepGoalConsent) -> str | None:
        """Keep that the person allowed a goal; return why that failed."""
        with self._lock:
            try:
                self._goal_consents.allow_plan(effect.folder, effect.plan)
            except OSError as error:
                return reason(error)
            return None

    def save(self, effect: SaveEmitter) -> SavedEmitter:
        with self._lock:
            if effect.folder not in self._folders:
                return SavedEmitter(fault="the folder is not in use any more")
            keeping = EmitterKeeping(self._consents, effect)
            try:
                after, own = keeping.save()
            except (SaveError, OSError) as error:
                fault = str(error) if isinstance(error, SaveError) else reason(error)
                return SavedEmitter(fault=fault)
            found = self._added(effect.folder, effect.folder)
            now = self._folders[effect.folder].configuration
            same = frozenset(name for name in own if now.emitter(name) == after.emitter(name))
            return SavedEmitter(found, after.path, same, None, keeping.note)

    def look(self) -> EmitterChanges:
        with self._lock:
            now = self._clock()
            changes = EmitterChanges()
            for change in self._watch.look(now):
                if isinstance(change, ConfigChanged):
                    changes.found.append(self._taken(change.folder, change.configuration))
                else:
                    changes.files.append(change.folder)
            again = [folder for folder in list(self._elsewhere) if self._is_ours(folder)]
            for folder in dict.fromkeys((*again, *self._goals_allowed())):
                changes.found.append(self._told_of(folder, self._folders[folder].configuration))
            mark, self._mark = self._mark, self._consents.mark
            if mark != self._mark:
                changes.files += self._folders  # something was allowed or revoked
            for folder, in_use in self._folders.items():
                names = frozenset(name for names in in_use.files.values() for name in names)
                if names != in_use.watched:
                    in_use.watched = names
                    self._watch.watch_files(folder, sorted(names), now)
                    # What changed before they were watched is found by asking once more.
                    changes.files.append(folder)
            changes.files = list(dict.fromkeys(changes.files))
            changes.faults, self._faults = self._faults, []
            return changes

    # With the lock

    def _added(self, cwd: str, folder: str) -> FolderEmitters:
        """Read a folder's file, and watch it; files that commands name are watched again soon."""
        found = self._taken(cwd, self._watch.add(folder, self._clock()))
        self._folders[found.folder].watched = frozenset()
        return found

    def _taken(self, cwd: str, found: Configuration) -> FolderEmitters:
        folder = found.folder
        in_use = self._folders.get(folder)
        if in_use is None:
            in_use = self._folders[folder] = _InUse(found)
        elif found.is_readable:
            in_use.configuration = found
            in_use.drop_gone()
        if self._told.get(folder, ()) != found.problems:
            self._faults += problems_in_words(folder, found.problems)
        self._told[folder] = found.problems
        self._told.move_to_end(folder)
        while len(self._told) > MAX_FOLDERS:
            self._told.popitem(last=False)
        return self._told_of(cwd, found)

    def _goals_allowed(self) -> list[str]:
        """Return the folders of whose goals one may have been allowed or revoked."""
        mark, self._goal_mark = self._goal_mark, self._goal_consents.mark
        if mark == self._goal_mark:
            return []
        return [
            folder
            for folder, in_use in self._folders.items()
            if in_use.configuration.goals and in_use.configuration.problems == self._told[folder]
        ]

    def _told_of(self, cwd: str, found: Configuration) -> FolderEmitters:
        """Return a file's entries for the core, emitters only where they are ours to run."""
        if found.emitters and not self._is_ours(found.folder):
            found = msgspec.structs.replace(found, emitters=())
        told = folder_emitters(cwd, found)
        if not found.goals:
            return told
        goals = goals_read(found, self._goal_consents)
        self._tell_damage(self._goal_consents)
        return replace(told, goals=goals)

    def _is_ours(self, folder: str) -> bool:
        holder = self._claims.claim(folder)
        if holder is None:
            self._elsewhere.discard(folder)
        elif folder not in self._elsewhere:
            self._elsewhere.add(folder)
            where = safe_text(folder, limit=_NAME)
            self._faults.append(f"the emitters of {where} are run by another tapui ({holder})")
        return holder is None

    def _check(self, folder: str, name: _EntryName) -> EmitterStanding:
        in_use = self._folders.get(folder)
        entry = in_use.entry(name) if in_use is not None else None
        if in_use is None or entry is None:
            return CannotStart("the folder's file does not have it any more")
        try:
            standing = self._consents.standing(in_use.configuration, entry)
        except OSError as error:
            return CannotStart(f"it cannot run in its folder: {reason(error)}")
        self._tell_damage(self._consents)
        if isinstance(standing, Consented):
            in_use.files[name] = _watched(standing.entry, standing.files)
            in_use.proposals.pop(name, None)
            return MayStart(standing.entry)
        if standing.entry.is_folder_tools:  # it may run on, with what was allowed before
            in_use.files[name] = _watched(standing.entry, [path for path, _ in standing.files])
        else:
            in_use.files.pop(name, None)
        shown = in_use.proposals.setdefault(name, OrderedDict())
        asked = asking(standing, entry, in_use.configuration.path)
        shown[asked.digest] = standing
        shown.move_to_end(asked.digest)
        while len(shown) > _MAX_PROPOSALS:
            shown.popitem(last=False)
        return asked

    def _tell_damage(self, consents: EmitterConsents | GoalConsents) -> None:
        damage = consents.damage
        if damage and damage != self._damages.get(type(consents)):
            self._faults.append(damage)
        self._damages[type(consents)] = damage


def _watched(entry: EmitterPlan, files: Iterable[str]) -> tuple[str, ...]:
    """Return what is watched: files, and of a folder's tools the folders, to which files come."""
    names = tuple(files)
    if not entry.is_folder_tools:
        return names
    return (*names, *dict.fromkeys([TOOLS, *(name.rpartition("/")[0] for name in names)]))


_log = logging.getLogger(__name__)


class FolderClaims:
    """The folders whose emitters are this gateway's, by their paths without links. A claim ends
    with the process at the latest."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._held: dict[str, LockedFolder | None] = {}

    def claim(self, folder: str) -> str | None:
        """Claim a folder; return None, or who has it.

        Where no lock can be taken the folder is claimed without: then it may run twice.
        """
        if folder in self._held:
            return None
        name = hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        lock = LockedFolder(self._state, FOLDER, "claimed", name, makes_base=True)
        try:
            lock.open()
        except FolderHeldError as error:
            return (error.strerror or "").removesuffix(" writes there")
        except OSError as error:
            _log.warning("the emitters of a folder run without a lock: %s", error)
            self._held[folder] = None
        else:
            self._held[folder] = lock
        return None

    def release(self, folder: str) -> None:
        lock = self._held.pop(folder, None)
        if lock is not None:
            lock.close()

    def close(self) -> None:
        for folder in list(self._held):
            self.release(folder)
