"""What the words of a command name, and where they lead: links, patterns, folders below them.

Which files there are is found out by the host of the session, which adds it to the request. A rule
whose words hold an operand (a pattern, a path, a URL, a target, or any word of a program that takes
nothing else) is about these: each further operand must be one of them, too.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from tapui.policies.options import entry_of, operand_places, verb_table
from tapui.policies.programs import KINDS, base_name, inner_program, runs_scripts
from tapui.policies.rules import is_within, starred, word_fits
from tapui.policies.tables import WordSet, read

if TYPE_CHECKING:
    from tapui.policies.commands import ParsedCommand

OTHER_NAMES = "it has hard links, so it may be a file of another folder, too"
UNKNOWN = "it is not known where its words lead"
_ATTACHED = re.compile(r"-{0,2}[\w.-]*=|-[A-Za-z]|@", re.ASCII)
_PATH = re.compile(r"[/~*?\[]|^\.")
_BUNDLE = re.compile(r"-?[A-Za-z]+")


class _Places(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Programs by where their words lead. The file says what each table is."""

    list_folders: WordSet
    search_below: WordSet
    copy_folders: WordSet
    unpack: WordSet
    take_files: WordSet
    take_targets: WordSet
    reach_hosts: WordSet
    pattern_first: WordSet
    say_only: WordSet
    set_variables: WordSet
    read_patterns: WordSet
    listing: dict[str, re.Pattern[str]]
    into: dict[str, re.Pattern[str]]
    follow: dict[str, re.Pattern[str]]


def _by_program(table: dict[str, re.Pattern[str]]) -> dict[str, re.Pattern[str]]:
    return {name: shape for names, shape in table.items() for name in names.split()}


_PLACES = read("leads", _Places)
_LISTING = _by_program(_PLACES.listing)
_INTO = _by_program(_PLACES.into)
_FOLLOW = _by_program(_PLACES.follow)
RUNS_OR_WRITES = re.compile(r"--?(?:exec|ok|delete|fprint|fls)|-[xX]$")
PROCESS = re.compile(r"/(?:proc/(?:self|thread-self|\d+)|dev/fd)(?:/|$)")
"""Paths whose meaning depends on the process that reads them."""
_LOOKED_AT = (
    frozenset(_FOLLOW) | _PLACES.copy_folders | _PLACES.unpack | _PLACES.search_below | {"git"}
)
_MOST_BEHIND = 64
"""Words behind a runner that may be its program."""
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class WrittenPlace:
    """Where a redirection writes: whether there is such a file, and whether it is outside of the
    session's folder. Of several places that are meant, one counts."""

    existing: bool
    outside: bool


@dataclass(frozen=True)
class Leads:
    """What words of a command lead to.

    `words` are those that lead through a link or a pattern, or out of the folder, with real paths.
    `folders` are where the command may be when it takes a word. `holding` are real folders that
    hold configuration of a shell, git or Copilot. `home` is the person's folder. `linked` are words
    that name a file with hard links. `below` are the real paths outside of the folder to which
    links below the folders lead that words name, where the command follows them. `written` are the
    files that redirections write; those of which that is not known are left out.
    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    holding: frozenset[str] = frozenset()
    home: str = ""
    linked: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    written: Mapping[str, WrittenPlace] = field(default_factory=dict)

    def of(self, word: str) -> tuple[str, ...]:
        """Return the real paths that a word may be."""
        if (found := self.words.get(word)) is not None:
            return found
        return tuple(posixpath.normpath(posixpath.join(one, word)) for one in self.folders)

    def as_detail(self) -> dict[str, Any]:
        words = {word: list(paths) for word, paths in self.words.items()}
        return {
            "words": words,
            "folders": list(self.folders),
            "holding": sorted(self.holding),
            "home": self.home,
            "linked": list(self.linked),
            "below": list(self.below),
            "written": {name: asdict(place) for name, place in self.written.items()},
        }


_FIELDS = frozenset(one.name for one in fields(Leads)) - {"written"}


def leads_of(given: object) -> Leads | None:
    """Return what a request says of its words; None where it does not, or in another form."""
    if not isinstance(given, dict) or not given.keys() >= _FIELDS:
        return None
    try:
        return msgspec.convert(given, Leads)
    except msgspec.ValidationError:
        return None


def readings(word: str) -> tuple[str, ...]:
    """Return the texts that may be a path in a word: behind `--file=`, `-f` and `@`, too."""
    found = _ATTACHED.match(word)
    behind = word[found.end() :] if found is not None else ""
    absolute = word[word.find("/") :] if word.startswith("-") and "/" in word else ""
    return tuple(dict.fromkeys(filter(None, (word, behind, absolute))))


def reads_alone(name: str) -> bool:
    """Return whether a program does no more than to list, to read or to search."""
    return name in (_PLACES.list_folders | _PLACES.search_below) - _PLACES.take_targets


def takes_targets(name: str) -> bool:
    """Return whether each word of a program is another thing to run or to change."""
    return name in _PLACES.take_targets


def needs_leads(commands: Iterable[tuple[str, ...]]) -> bool:
    """Return whether any command has a word that may be a file: of a program with verbs, only what
    looks like a path."""
    for words in commands:
        entry = entry_of(base_name(words[0]))
        has_verbs = entry is not None and bool(entry.verbs)
        for word in words[1:]:
            if _PATH.search(word) or not (has_verbs or word.startswith("-")):
                return True
    return False


def _programs(command: "ParsedCommand") -> Iterator[tuple[str, ...]]:
    """Yield the programs of a command with their words, those behind a runner, too."""
    for words in command.all:
        yield words
        if base_name(words[0]) in KINDS.runners:
            places = range(1, min(len(words), _MOST_BEHIND))
            yield from (words[at:] for at in places if base_name(words[at]) in _LOOKED_AT)


def handed_folders(command: "ParsedCommand") -> Iterator[str]:
    """Yield the words that are a folder below which a program may read or write, if they are a
    folder at all."""
    given: dict[str, None] = {}
    for words in _programs(command):
        name = base_name(words[0])
        if name not in _PLACES.list_folders or any(map(RUNS_OR_WRITES.match, words[1:])):
            given.update(dict.fromkeys(words[1:]))
        if name in _PLACES.search_below:
            given["."] = None
    for word in given:
        yield from readings(word)


def following(command: "ParsedCommand") -> Iterator[tuple[str, ...]]:
    """Yield the programs of a command, with their words, that follow links below a folder."""
    for words in _programs(command):
        option = _FOLLOW.get(base_name(words[0]))
        if option is not None and any(map(option.match, words[1:])):
            yield words


def written_folders(command: "ParsedCommand") -> Iterator[str]:
    """Yield the words that are a folder into which a program may write files with names that do
    not stand in the command."""
    for words in _programs(command):
        yield from _destinations(words)


def _destinations(words: tuple[str, ...]) -> Iterator[str]:
    name, rest = base_name(words[0]), words[1:]
    if not (
        (name in _PLACES.copy_folders and _copies_folders(name, rest))
        or (name in _PLACES.unpack and _unpacks(name, rest))
        or (name == "git" and "apply" in rest)
    ):
        return
    into = [at for at, word in enumerate(rest) if _INTO.get(name, _NEVER).match(word)]
    if name in _PLACES.copy_folders:
        yield from [word for word in rest if not word.startswith("-")][-1:]
    elif not into:
        yield "."
    for at in into:
        yield from readings(rest[at])[1:]
        yield from rest[at + 1 : at + 2]


def _copies_folders(name: str, rest: tuple[str, ...]) -> bool:
    if name in ("rsync", "ditto"):
        return True
    return any(re.match(r"-[A-Za-z]*[rRa]|--(?:rec|arc)", word) is not None for word in rest)


def _unpacks(name: str, rest: tuple[str, ...]) -> bool:
    if (listing := _LISTING.get(name)) is not None:
        return not any(listing.fullmatch(word) for word in rest[:2])
    if name in ("tar", "gtar", "bsdtar"):
        bundles = [word for at, word in enumerate(rest) if not at or word.startswith("-")]
        return any(
            word.startswith(("--ex", "--ge"))
            if word.startswith("--")
            else _BUNDLE.match(word) is not None and "x" in word
            for word in bundles
        )
    if name in ("cpio", "pax"):
        return any(re.match(r"-[A-Za-z]*[irp]|--(?:ext|pass)", word) for word in rest)
    return True


_LOOKS_LIKE_A_PATH = re.compile(r"[/*?]|^\.{1,3}$|^~|^\[")
_FILE_VALUE = re.compile(
    r"--(?:from-file|to-file|file|exclude-from|ignore-file|reference|url)(?=$|=)"
)
"""Harmless options whose value is a file or an address: it is read, or spoken to."""
_GIVES_PATTERN = re.compile(r"--(?:regexp|file|files)\b|-[A-Za-z]*[ef]")
_IN_BUNDLE = re.compile(r"^-[A-Za-z]+(?:=)?((?:/|~|\.\.(?:/|$)).*)", re.DOTALL)
_PATTERN_FILE = re.compile(r"-[A-Za-z]*f")
_VALUE = re.compile(r"(?:[^=]*=|-[A-Za-z])(.+)", re.DOTALL)


@lru_cache(maxsize=1024)
def _named(rule: tuple[str, ...]) -> tuple[str, ...]:
    name = base_name(rule[0])
    places = operand_places(name, rule)
    if runs_scripts(name):
        places = places[1:]  # the first is what it runs
    all_are = name in _PLACES.take_files or _names_all(name, rule)
    if rule[:2] == ("git", "push"):
        all_are = len(places) > 1  # a remote alone names no branch
    stars = starred(rule)
    return tuple(
        rule[at]
        for at in places
        if (at in stars or all_are or _LOOKS_LIKE_A_PATH.search(rule[at]))
        and not (name in _PLACES.set_variables and "=" in rule[at])
    )


@lru_cache(maxsize=1024)
def _names_all(name: str, rule: tuple[str, ...]) -> bool:
    """Return whether a rule allows no operands but those that it names: the program fetches,
    installs, contacts or runs them, or is not known."""
    if name in _PLACES.take_targets | _PLACES.reach_hosts:
        return True
    if rule[:2] == ("git", "push") and any(word[0] != "-" for word in rule[2:] if word):
        return False  # it names the remote, and what is pushed leads nowhere
    verb = verb_table(name, rule)
    if verb is None:
        return name not in _PLACES.say_only
    return verb.exact or verb.asked


def stray(
    words: tuple[str, ...],
    rule: tuple[str, ...],
    places: Iterable[int],
    leads: Leads | None,
    folder: str | None,
) -> str:
    """Return the first operand beside a rule's words, which stand at `places`, that the rule does
    not name; "" where there is none, or where the rule holds no operand.

    What stands in a star's place must also be one where it leads to, as far as that is known.
    """
    start = inner_program(rule)
    words, rule = words[start:], rule[start:]
    covered = frozenset(at - start for at in places)
    named, name = _named(rule), base_name(rule[0])
    if not named and not _names_all(name, rule):
        return _outside(name, words, covered, leads, folder)
    pattern = _pattern(name, words) if "*" in named else None
    for at, one in _operands(words, covered):
        forms = (one, _plain(one, folder))
        if at != pattern and not any(_is_one(form, named) for form in forms):
            return one
    if leads is None or not any("*" in one for one in named):
        return ""
    named = tuple(leads.home + one[1:] if one.startswith("~/") else one for one in named)
    for word in words:
        for one in readings(word) if word not in rule else ():
            for path in leads.words.get(one, ()):
                is_below = folder is not None and is_within(path, folder)
                shown = path[len(folder or "") :].lstrip("/") if is_below else path
                if not any(_is_one(text, named) for text in (shown, f"./{shown}", path)):
                    return f"{one}, which leads to {path}"
    if leads.below:
        return f"{leads.below[0]}, to which a link leads"
    return ""


def _outside(
    name: str,
    words: tuple[str, ...],
    covered: frozenset[int],
    leads: Leads | None,
    folder: str | None,
) -> str:
    """Return the first operand beside the covered words that is a path out of the folder; "" where
    there is none. Words of a program that only says them are none."""
    if leads is None or name in _PLACES.say_only:
        return ""
    pattern = _pattern(name, words)
    for at, word in _operands(words, covered):
        if at == pattern:
            continue
        if "://" in word:
            return word
        for text in readings(word):
            known = f"{leads.home}{text[1:]}" if text.startswith("~/") else text
            for path in leads.of(known):
                if path != "/dev/null" and (folder is None or not is_within(path, folder)):
                    return word
    return ""


def _pattern(name: str, words: tuple[str, ...]) -> int | None:
    """Return the place of the word that is a pattern, or a text of the program's own language."""
    if name not in _PLACES.pattern_first or any(map(_GIVES_PATTERN.match, words[1:])):
        return None
    return next(iter(operand_places(name, words)), None)


def _plain(path: str, folder: str | None) -> str:
    """Return a path in the folder as a rule has it, without the folder or `./` before it; "" for
    the folder itself, which only a star may stand for."""
    if folder is not None and is_within(path, folder):
        return path[len(folder) + 1 :]
    return "" if path == "." else path.removeprefix("./")


def _is_one(word: str, named: Sequence[str]) -> bool:
    return any(word_fits(one, word) for one in named)


def _operands(words: tuple[str, ...], covered: frozenset[int]) -> Iterator[tuple[int, str]]:
    """Yield the operands beside the covered words, and values of options that are or may be
    such, with their places."""
    name = base_name(words[0])
    places = frozenset(operand_places(name, words))
    for at in range(1, len(words)):
        if at in covered:
            continue
        word, option = words[at], words[at] if words[at].startswith("-") else words[at - 1]
        if at in places:
            yield at, word
            continue
        if word[:1] == "-" and (found := _IN_BUNDLE.search(word)):
            yield at, found[1]
        is_file = _FILE_VALUE.match(option) or (
            name in _PLACES.read_patterns and _PATTERN_FILE.match(option)
        )
        value: str = word
        if word.startswith("-"):
            found = _VALUE.fullmatch(word)
            value = found[1] if found is not None else ""
        if value and value != "/dev/null" and (is_file or _may_leave(value)):
            yield at, value


def _may_leave(value: str) -> bool:
    return "/" in value or value in (".", "..") or value.startswith("~")
