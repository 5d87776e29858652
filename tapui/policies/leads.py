"""Where the words of a command lead: links, patterns of file names, and folders below them.

Which files there are is found out by the host of the session, which adds it to the request.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tapui.policies.options import entry_of
from tapui.policies.programs import RUNNERS, base_name

if TYPE_CHECKING:
    from tapui.policies.commands import ParsedCommand

OTHER_NAMES = "it has hard links, so it may be a file of another folder, too"
UNKNOWN = "it is not known where its words lead"
_ATTACHED = re.compile(r"-{0,2}[\w.-]*=|-[A-Za-z]|@", re.ASCII)
_PATH = re.compile(r"[/~*?\[]|^\.")
_BUNDLE = re.compile(r"-?[A-Za-z]+")
_LIST_FOLDERS = frozenset(
    """ls dir vdir gls eza exa lsd tree find gfind fd fdfind du df stat gstat file cd pushd popd pwd
    test echo printf basename dirname realpath readlink cat gcat tac head ghead tail gtail less more
    wc nl rev cut tr paste column sort gsort uniq fold fmt expand unexpand seq date jq which type
    mkdir touch true false kill ps""".split()  # noqa: SIM905 - readable
)
"""Programs that read no files of a folder that is named to them, and write none into it."""
_RUNS_OR_WRITES = re.compile(r"--?(?:exec|ok|delete|fprint|fls)|-[xX]$")
_SEARCH_BELOW = frozenset("grep egrep fgrep ggrep rg ripgrep ag ack".split())  # noqa: SIM905
_COPY = frozenset({"cp", "gcp", "rsync", "scp", "ditto"})
"""They copy folders to the last of their words."""
_UNPACK = frozenset(
    {
        "tar",
        "gtar",
        "bsdtar",
        "unzip",
        "7z",
        "7za",
        "7zr",
        "cpio",
        "pax",
        "patch",
        "gpatch",
        "unrar",
    }
)
"""They write files with names that stand in an archive or a patch."""
_LISTING = {
    "unzip": re.compile(r"-[a-zA-Z]*[lvtpcZz]"),
    **dict.fromkeys(["7z", "7za", "7zr", "unrar"], re.compile("l|t|lb|lt|v|vb")),
}
"""What keeps them from it."""
_INTO = {
    **dict.fromkeys(["tar", "gtar", "bsdtar"], re.compile(r"-[A-Za-z]*C|--di")),
    **dict.fromkeys(["patch", "gpatch"], re.compile(r"-d|--di")),
    **dict.fromkeys(["7z", "7za", "7zr"], re.compile("-o")),
    **dict.fromkeys(["cp", "gcp"], re.compile(r"-[A-Za-z]*t|--ta")),
    "unzip": re.compile("-d"),
    "cpio": re.compile(r"-D|--di"),
}
"""Options that name the folder into which files are written."""
_FOLLOW = {
    **dict.fromkeys(
        ["grep", "egrep", "fgrep", "ggrep"], re.compile(r"-[A-Za-z]*R|--dereference-r")
    ),
    **dict.fromkeys(["rg", "ripgrep"], re.compile(r"-[A-Za-z]*L|--follow")),
    **dict.fromkeys(["ag", "ack"], re.compile(r"-[A-Za-z]*f|--follow")),
    **dict.fromkeys(["diff", "gdiff", "colordiff"], re.compile(r"-[A-Za-z]*r|--rec")),
    **dict.fromkeys(["cp", "gcp"], re.compile(r"-[A-Za-z]*[LH]|--deref")),
    **dict.fromkeys(
        ["tar", "gtar", "bsdtar"], re.compile(r"-[A-Za-z]*h|[A-Za-z]*h[A-Za-z]*$|--deref")
    ),
    "rsync": re.compile(r"-[A-Za-z]*[LkK]|--copy|--keep"),
    "scp": re.compile(r"-[A-Za-z]*r"),
    "zip": re.compile(r"-[A-Za-z]*[rR]|--rec"),
    **dict.fromkeys(["7z", "7za", "7zr"], re.compile("")),
}
"""Programs that follow the links below a folder, with the options that have them do so."""
PROCESS = re.compile(r"/(?:proc/(?:self|thread-self|\d+)|dev/fd)(?:/|$)")
"""Paths whose meaning depends on the process that reads them."""
_LOOKED_AT = frozenset(_FOLLOW) | _COPY | _UNPACK | _SEARCH_BELOW | {"git"}
_MOST_BEHIND = 64
"""Words behind a runner that may be its program."""
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class Leads:
    """What words of a command lead to.

    `words` are those that lead through a link or a pattern, or out of the folder, with real paths.
    `folders` are where the command may be when it takes a word. `holding` are real folders that
    hold configuration of a shell, git or Copilot. `home` is the person's folder. `linked` are words
    that name a file with hard links. `below` are the real paths outside of the folder to which
    links below the folders lead that words name, where the command follows them.
    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    holding: frozenset[str] = frozenset()
    home: str = ""
    linked: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    def of(self, word: str) -> tuple[str, ...]:
        """Return the real paths that a word may be."""
        if (found := self.words.get(word)) is not None:
            return found
        return tuple(posixpath.normpath(posixpath.join(one, word)) for one in self.folders)

    def as_detail(self) -> dict[str, Any]:
        """Return it as a request has it."""
        words = {word: list(paths) for word, paths in self.words.items()}
        return {
            "words": words,
            "folders": list(self.folders),
            "holding": sorted(self.holding),
            "home": self.home,
            "linked": list(self.linked),
            "below": list(self.below),
        }


def leads_of(given: object) -> Leads | None:
    """Return what a request says of its words; None where it does not, or in another form."""
    match given:
        case {
            "words": dict() as words,
            "folders": [*folders],
            "holding": [*holding],
            "home": str(home),
            "linked": [*linked],
            "below": [*below],
        }:
            paths = [path for found in words.values() if isinstance(found, list) for path in found]
            is_fit = all(isinstance(found, list) for found in words.values())
            if is_fit and all(
                isinstance(one, str) for one in (*paths, *folders, *holding, *linked, *below)
            ):
                return Leads(
                    {word: tuple(found) for word, found in words.items()},
                    tuple(folders),
                    frozenset(holding),
                    home,
                    tuple(linked),
                    tuple(below),
                )
    return None


def readings(word: str) -> tuple[str, ...]:
    """Return the texts that may be a path in a word: behind `--file=`, `-f` and `@`, too."""
    found = _ATTACHED.match(word)
    behind = word[found.end() :] if found is not None else ""
    absolute = word[word.find("/") :] if word.startswith("-") and "/" in word else ""
    return tuple(dict.fromkeys(filter(None, (word, behind, absolute))))


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
        if base_name(words[0]) in RUNNERS:
            places = range(1, min(len(words), _MOST_BEHIND))
            yield from (words[at:] for at in places if base_name(words[at]) in _LOOKED_AT)


def handed_folders(command: "ParsedCommand") -> Iterator[str]:
    """Yield the words that are a folder below which a program may read or write, if they are a
    folder at all."""
    given: dict[str, None] = {}
    for words in _programs(command):
        name = base_name(words[0])
        if name not in _LIST_FOLDERS or any(map(_RUNS_OR_WRITES.match, words[1:])):
            given.update(dict.fromkeys(words[1:]))
        if name in _SEARCH_BELOW:
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
        (name in _COPY and _copies_folders(name, rest))
        or (name in _UNPACK and _unpacks(name, rest))
        or (name == "git" and "apply" in rest)
    ):
        return
    into = [at for at, word in enumerate(rest) if _INTO.get(name, _NEVER).match(word)]
    if name in _COPY:
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
