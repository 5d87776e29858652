"""The files that hold rules: the person's, the administrator's, and those of repositories."""

import os
import threading
import tomllib
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from tapui.files.foreign_file import ROOT, ManagedFileError, encoding_fault, managed_text, text_of
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
class RuleChanges:
    """What was changed since the last look. `found` is None while it is as it was."""

    found: RuleFile | None = None
    folders: list[FolderRules] = field(default_factory=list)
    faults: list[RuleFault] = field(default_factory=list)
    """Those of the files that were changed."""


@dataclass(slots=True)
class _Folder:
    read: FolderRules
    signature: Signature
    paths: tuple[Path, ...]


class _SyntaxFaultError(Exception):
    """A file is no TOML: its line, from 1, and what is wrong there."""

    def __init__(self, line: int | None, what: str) -> None:
        super().__init__(what)
        self.line, self.what = line or 1, what


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

    def read(self) -> RuleFile:
        """Return the rules of the person and the administrator, and all that is wrong in them."""
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

    def _read(self) -> RuleFile:
        self._signature = _signature((self._config, self._managed))
        managed, own = self._file(self._managed, "managed"), self._file(self._config, "person")
        if managed.faults:
            # What it forbids is not known whole: nothing is allowed by a rule until it is.
            managed, own = managed.without_allowing(), own.without_allowing()
        return RuleFile(managed.rules + own.rules, managed.faults + own.faults)

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
        try:
            given = managed_text(path, self._owner) if source == "managed" else text_of(path)
            if given is None:
                raise FileNotFoundError
            only = "a file in a repository" if source == "folder" else ""
            read = self._last[path] = _parsed(given, shown, source, folder, only)
        except FileNotFoundError:
            self._last.pop(path, None)
            return RuleFile()
        except _FAULTS as error:
            last = self._last.get(path, RuleFile())
            return RuleFile(last.without_allowing().rules, [_fault(shown, error)])
        return read


_FAULTS = (OSError, UnicodeDecodeError, ManagedFileError, _SyntaxFaultError)
"""Why a file of rules cannot be read."""


def _fault(shown: str, error: Exception) -> RuleFault:
    match error:
        case ManagedFileError():
            what = f"{error}; until it is mended, no rule allows anything"
        case _SyntaxFaultError():
            return RuleFault(shown, error.line, "rules", error.what)
        case UnicodeDecodeError():
            line, what = encoding_fault(error)
            return RuleFault(shown, line, "rules", what)
        case _:
            what = getattr(error, "strerror", None) or str(error)
    return RuleFault(shown, 1, "rules", what)


def _parsed(text: str, shown: str, source: RuleSource, folder: str | None, only: str) -> RuleFile:
    """Read rules. `only` is what a file is called that may have nothing else."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _SyntaxFaultError(*syntax_fault(text, str(error))) from None
    lines = key_lines(text)
    home = str(Path.home())
    reader = RuleReader(
        shown, source, lambda path: line_of(lines, path), resolved, home=home, folder=folder
    )
    read = reader.read(table.get("rules", []))
    if only and (unknown := sorted(set(table) - {"rules"})):
        line = line_of(lines, (unknown[0],))
        fault = RuleFault(shown, line, unknown[0], f"{only} has rules, and nothing else")
        return RuleFile(read.rules, [*read.faults, fault])
    return read


def read_rules(path: Path) -> RuleFile:
    """Read a file of rules that the person names; one with a fault allows nothing."""
    shown = short_path(path)
    try:
        return _parsed(text_of(path, None), shown, "person", None, "a file of rules")
    except _FAULTS as error:
        return RuleFile(faults=[_fault(shown, error)])


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
