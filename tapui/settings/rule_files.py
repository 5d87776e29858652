"""The files that hold rules: the person's, the administrator's, and those of repositories."""

import os
import threading
import tomllib
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tapui.files.foreign_file import ROOT, ManagedFileError, managed_text, text_of
from tapui.home.paths import MANAGED, Home, short_path
from tapui.policies.guards import Guards
from tapui.policies.rule_reader import FolderRules, RuleFault, RuleFile, RuleReader
from tapui.policies.rules import PolicyRule
from tapui.settings.toml_file import key_lines, line_of, syntax_fault
from tapui.wire.subjects import RuleSource

FOLDER_FILES = (".github/tapui.toml", "tapui.toml")
"""A repository's files, from the folder that has them."""
_MAX_LEVELS = 40
_MAX_FOLDERS = 300
"""Folders whose files are watched; the one that was asked for longest ago is left out."""

Signature = tuple[tuple[int, int, int] | None, ...]
"""What of files changes with them, in their order; None for one that is not there."""


@dataclass(slots=True)
class FoundRules:
    """The rules of the person and the administrator, and all that is wrong in their files."""

    rules: list[PolicyRule] = field(default_factory=list)
    faults: list[RuleFault] = field(default_factory=list)


@dataclass(slots=True)
class RuleChanges:
    """What was changed since the last look. `found` is None while it is as it was."""

    found: FoundRules | None = None
    folders: list[FolderRules] = field(default_factory=list)
    faults: list[RuleFault] = field(default_factory=list)
    """Those of the files that were changed."""


@dataclass(slots=True)
class _Folder:
    read: FolderRules
    signature: Signature
    paths: tuple[Path, ...]


class RuleFiles:
    """Reads the files, and tells what was changed in them. Any thread may use it.

    A file that cannot be parsed, because it is being written, goes on forbidding what it forbade,
    and allows nothing. `owner` is the user whose file the administrator's must be.
    """

    def __init__(self, config: Path, managed: Path = MANAGED, *, owner: int = ROOT) -> None:
        self._config = config
        self._managed = managed
        self._owner = owner
        self._lock = threading.Lock()
        self._last: dict[Path, RuleFile] = {}
        self._signature: Signature | None = None
        self._folders: OrderedDict[str, _Folder] = OrderedDict()
        """By the folder as it was asked for."""
        self._new_faults: list[RuleFault] = []

    def read(self) -> FoundRules:
        with self._lock:
            return self._read()

    def folder(self, cwd: str) -> FolderRules:
        """Read the rules that the files of a folder add, and watch them from now on."""
        with self._lock:
            found = self._read_folder(cwd)
            self._folders[cwd] = found
            self._folders.move_to_end(cwd)
            while len(self._folders) > _MAX_FOLDERS:
                self._folders.popitem(last=False)
            return found.read

    def look(self) -> RuleChanges:
        changes = RuleChanges()
        with self._lock:
            if self._signature != _signature((self._config, self._managed)):
                changes.found = self._read()
                changes.faults += changes.found.faults
            for cwd, known in list(self._folders.items()):
                if known.signature != _signature(known.paths):
                    self._folders[cwd] = now = self._read_folder(cwd)
                    changes.folders.append(now.read)
            changes.faults += self._new_faults
            self._new_faults = []
        return changes

    # With the lock

    def _read(self) -> FoundRules:
        self._signature = _signature((self._config, self._managed))
        found = FoundRules()
        managed, own = self._file(self._managed, "managed"), self._file(self._config, "person")
        if managed.faults:
            # What it forbids is not known whole: nothing is allowed by a rule until it is.
            managed, own = managed.without_allowing(), own.without_allowing()
        for read in (managed, own):
            found.rules += read.rules
            found.faults += read.faults
        return found

    def _read_folder(self, cwd: str) -> _Folder:
        try:
            real = os.path.realpath(cwd)
        except ValueError:  # no folder has this name
            return _Folder(FolderRules(cwd, cwd, []), _signature(()), ())
        paths = _folder_files(Path(real))
        signature = _signature(paths)
        rules: list[PolicyRule] = []
        for path in paths:
            base = path.parent.parent if path.parent.name == ".github" else path.parent
            read = self._file(path, "folder", str(base))
            rules += read.rules
            self._new_faults += read.faults
        return _Folder(FolderRules(cwd, real, rules), signature, paths)

    def _file(self, path: Path, source: RuleSource, folder: str | None = None) -> RuleFile:
        shown = short_path(path)
        text = ""
        try:
            given = managed_text(path, self._owner) if source == "managed" else text_of(path)
            if given is None:
                raise FileNotFoundError
            text = given
            table = tomllib.loads(text)
        except FileNotFoundError:
            self._last.pop(path, None)
            return RuleFile()
        except ManagedFileError as error:
            what = f"{error}; until it is mended, no rule allows anything"
            return self._kept(path, RuleFault(shown, 1, "rules", what))
        except OSError as error:
            return self._kept(path, RuleFault(shown, 1, "rules", error.strerror or str(error)))
        except UnicodeDecodeError:
            return self._kept(path, RuleFault(shown, 1, "rules", "not valid UTF-8"))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            line, what = syntax_fault(text, str(error))
            return self._kept(path, RuleFault(shown, line or 1, "rules", what))
        read = _parsed(text, table, shown, source, folder)
        self._last[path] = read
        return read

    def _kept(self, path: Path, fault: RuleFault) -> RuleFile:
        """Return what still holds of a file that cannot be read."""
        last = self._last.get(path, RuleFile())
        return RuleFile(last.without_allowing().rules, [fault])


def _parsed(
    text: str, table: dict[str, Any], shown: str, source: RuleSource, folder: str | None
) -> RuleFile:
    lines = key_lines(text)
    reader = RuleReader(
        shown,
        source,
        lambda path: line_of(lines, path),
        resolved,
        home=str(Path.home()),
        folder=folder,
    )
    read = reader.read(table.get("rules", []))
    if source == "folder" and (unknown := sorted(set(table) - {"rules"})):
        line = line_of(lines, (unknown[0],))
        what = "a file in a repository has rules, and nothing else"
        return RuleFile(read.rules, [*read.faults, RuleFault(shown, line, unknown[0], what)])
    return read


def read_rules(path: Path) -> RuleFile:
    """Read a file of rules that the person names; one with a fault allows nothing."""
    shown = short_path(path)
    text = ""
    try:
        text = text_of(path, None)
        table = tomllib.loads(text)
    except OSError as error:
        return RuleFile(faults=[RuleFault(shown, 1, "rules", error.strerror or str(error))])
    except UnicodeDecodeError:
        return RuleFile(faults=[RuleFault(shown, 1, "rules", "not valid UTF-8")])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line, what = syntax_fault(text, str(error))
        return RuleFile(faults=[RuleFault(shown, line or 1, "rules", what)])
    read = _parsed(text, table, shown, "person", None)
    if unknown := sorted(set(table) - {"rules"}):
        line = line_of(key_lines(text), (unknown[0],))
        fault = RuleFault(shown, line, unknown[0], "a file of rules has rules, and nothing else")
        return RuleFile(read.rules, [*read.faults, fault])
    return read


def guards(home: Home, config: Path, port: int) -> Guards:
    """Return what is asked about in any case: our own folders, and our port."""
    folders = (home.state, home.config, home.copilot, config)
    paths = {str(path) for path in folders} | {os.path.realpath(path) for path in folders}
    return Guards(frozenset({port} - {0}), tuple(sorted(paths)))


def resolved(path: str) -> str:
    """Return a path without links; `~/` is the person's folder."""
    return os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 - text in, text out


def _folder_files(real: Path) -> tuple[Path, ...]:
    """Return where rules may be, from a folder up to the one that is the repository's."""
    levels = [real, *list(real.parents)[:_MAX_LEVELS]]
    top = next((at for at, one in enumerate(levels) if (one / ".git").exists()), 0)
    return tuple(one / name for one in levels[: top + 1] for name in FOLDER_FILES)


def _signature(paths: tuple[Path, ...]) -> Signature:
    found: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            info = path.stat()
        except OSError:
            found.append(None)
        else:
            found.append((info.st_ctime_ns, info.st_size, info.st_ino))
    return tuple(found)
