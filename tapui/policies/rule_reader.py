"""Rules out of the tables of a TOML file, each with its place, and what is wrong with them.

A file with a fault allows nothing; what it forbids and asks holds as far as it can be read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from tapui.policies.rules import PolicyRule, RuleKind, pattern_fault
from tapui.wire.subjects import RuleEffect, RuleSource

MAX_RULES = 2_000
"""Rules in one file."""
MAX_FOLDER_RULES = 200
"""Rules in the file of a repository, whose author is not trusted."""
_EFFECTS: tuple[RuleEffect, ...] = get_args(RuleEffect)
_KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
_KEYS = frozenset({*_EFFECTS, "kind", "folder", "exact", "reason"})

KeyLine = Callable[[tuple[str | int, ...]], int]
"""The line (from 1) of a key by its path, such as `("rules", 0, "allow")`."""


@dataclass(frozen=True, slots=True)
class RuleFault:
    """Something wrong in a file of rules."""

    file: str
    line: int
    key: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.key}: {self.what}"


@dataclass(frozen=True, slots=True)
class RuleFile:
    """What a file says."""

    rules: list[PolicyRule] = field(default_factory=list)
    faults: list[RuleFault] = field(default_factory=list)

    def without_allowing(self) -> "RuleFile":
        """Return what still holds of it while the file cannot be read."""
        return RuleFile([one for one in self.rules if one.effect != "allow"], self.faults)


@dataclass(frozen=True, slots=True)
class FolderRules:
    """What the files of a folder add. `cwd` is the folder as it was asked for, `folder` the same
    without links."""

    cwd: str
    folder: str
    rules: list[PolicyRule] = field(default_factory=list)


class RuleReader:
    """Reads the rules of one file.

    `resolve` makes a path absolute (`~` too) and takes links out of it. `folder` is the folder that
    a repository's file is for: its rules hold there and below.
    """

    def __init__(
        self,
        file: str,
        source: RuleSource,
        line_of: KeyLine,
        resolve: Callable[[str], str],
        *,
        home: str,
        folder: str | None = None,
    ) -> None:
        self._file = file
        self._source = source
        self._line_of = line_of
        self._resolve = resolve
        self._home = home
        self._folder = folder
        self._faults: list[RuleFault] = []

    def read(self, given: object) -> RuleFile:
        self._faults = []
        rules: list[PolicyRule] = []
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            self._fault(("rules",), "expected tables: write [[rules]] above each")
        elif len(given) > (most := MAX_FOLDER_RULES if self._source == "folder" else MAX_RULES):
            self._fault(("rules",), f"more than {most:,} rules")
        else:
            for number, table in enumerate(given):
                rules += self._table(number, table)
        if self._faults:
            rules = [one for one in rules if one.effect != "allow"]
        return RuleFile(rules, self._faults)

    def _fault(self, path: tuple[str | int, ...], what: str) -> None:
        name = ".".join(f"{one + 1}" if isinstance(one, int) else one for one in path)
        self._faults.append(RuleFault(self._file, self._line_of(path), name, what))

    def _table(self, number: int, table: Mapping[str, Any]) -> list[PolicyRule]:
        here = ("rules", number)
        before = len(self._faults)
        for name in table:
            if name not in _KEYS:
                self._fault((*here, name), f"unknown key; known are {', '.join(sorted(_KEYS))}")
        named = [effect for effect in _EFFECTS if effect in table]
        if len(named) != 1:
            if len(self._faults) == before:
                self._fault(here, "write one of allow, ask and deny")
            return []
        (effect,) = named
        if effect == "allow" and self._source == "folder":
            self._fault((*here, effect), "a file in a repository may only ask and deny")
            return []
        kind = table.get("kind", "shell")
        if kind not in _KINDS:
            self._fault((*here, "kind"), f"write one of {', '.join(_KINDS)}")
            return []
        is_exact, reason = table.get("exact", False), table.get("reason")
        if not isinstance(is_exact, bool):
            self._fault((*here, "exact"), "expected true or false")
        elif is_exact and kind != "shell":
            self._fault((*here, "exact"), "only a shell rule has it")
        if reason is not None and not isinstance(reason, str):
            self._fault((*here, "reason"), "expected a text")
            reason = None
        folder, is_known = self._folder_of(here, table)
        if not is_known:
            return []
        given = table[effect]
        texts = given if isinstance(given, list) else [given]
        if not texts or not all(isinstance(one, str) for one in texts):
            self._fault((*here, effect), "expected a pattern, or a list of patterns")
            return []
        rules = []
        for pattern in texts:
            if fault := pattern_fault(effect, kind, pattern, folder):
                self._fault((*here, effect), fault)
                continue
            place = f"{self._file}:{self._line_of((*here, effect))}"
            targets = self._targets(pattern, folder) if kind in ("write", "read") else ()
            rules.append(
                PolicyRule(
                    effect,
                    kind,
                    pattern,
                    self._source,
                    place,
                    folder,
                    is_exact is True,
                    reason,
                    targets,
                )
            )
        is_faulty = len(self._faults) > before
        return [one for one in rules if not is_faulty or one.effect != "allow"]

    def _folder_of(
        self, here: tuple[str | int, ...], table: Mapping[str, Any]
    ) -> tuple[str | None, bool]:
        """Return the real folder of a rule, and whether it could be read."""
        given = table.get("folder")
        if given is None:
            return self._folder, True
        if not isinstance(given, str) or not given.startswith(("/", "~/")):
            self._fault((*here, "folder"), "expected an absolute path, or one that begins with ~/")
            return None, False
        folder = self._resolve(given)
        if self._folder is not None and not (folder + "/").startswith(f"{self._folder}/"):
            self._fault((*here, "folder"), "a file in a repository is about its own folder only")
            return None, False
        return folder, True

    def _targets(self, pattern: str, folder: str | None) -> tuple[str, ...]:
        """Return a path's pattern made absolute: with its links, and without them."""
        if pattern.startswith("~/"):
            whole = f"{self._home}/{pattern[2:]}"
        elif pattern.startswith("/"):
            whole = pattern
        else:
            whole = f"{(folder or '').rstrip('/')}/{pattern.removeprefix('./')}"
        names = whole.split("/")
        fixed = next((at for at, one in enumerate(names) if set(one) & set("*?")), len(names))
        begin = "/".join(names[:fixed])
        real = "/".join([self._resolve(begin or "/").rstrip("/"), *names[fixed:]])
        if whole.endswith("/") and not real.endswith("/"):
            real += "/"
        return (whole,) if real == whole else (whole, real)
