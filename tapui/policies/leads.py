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

from tapui.policies.options import entry_of, operand_places
from tapui.policies.programs import RUNNERS, base_name, runs_scripts
from tapui.policies.rules import is_within, starred, word_fits

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


_SETTERS = frozenset({"make", "gmake", "bmake", "rake", "just", "task"})
"""To them a word with `=` sets a variable."""
_LOOKS_LIKE_A_PATH = re.compile(r"[/*?]|^\.{1,3}$|^~|^\[")
_TAKE_FILES = frozenset(
    """cat gcat tac rev nl head ghead tail gtail less more bat batcat wc ls dir vdir gls eza exa lsd
    tree stat gstat file du diff gdiff colordiff difft cmp comm join paste sort gsort uniq od
    hexdump hd xxd strings iconv split gsplit csplit md5sum sha1sum sha224sum sha256sum sha384sum
    sha512sum b2sum cksum shasum md5 base64 base32 readlink realpath cp gcp mv gmv rm grm rmdir
    unlink mkdir touch ln install tee truncate shred gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz
    xzcat zstd unzstd zstdcat zipinfo unzip curl wget http https xh scp rsync""".split()  # noqa: SIM905 - readable
)
"""Programs whose words, beside options, are all files, folders or addresses."""
_TAKE_TARGETS = frozenset(
    """make gmake bmake mvn mvnw gradle gradlew ninja just task rake tox nox bazel ant kill pkill
    killall chmod chown chgrp docker-compose podman-compose""".split()  # noqa: SIM905 - readable
)
"""Programs each of whose words, beside options, is another thing to run or to change."""
_FILE_VALUE = re.compile(
    r"--(?:from-file|to-file|file|exclude-from|ignore-file|reference|url)(?=$|=)"
)
"""Harmless options whose value is a file or an address: it is read, or spoken to."""
_PATTERN_FILE = re.compile(r"-[A-Za-z]*f")
_READ_PATTERNS = frozenset({"grep", "egrep", "fgrep", "ggrep", "rg", "ripgrep", "file"})
_VALUE = re.compile(r"(?:[^=]*=|-[A-Za-z])(.+)", re.DOTALL)


@lru_cache(maxsize=1024)
def _named(rule: tuple[str, ...]) -> tuple[str, ...]:
    name = base_name(rule[0])
    places = operand_places(name, rule)
    if runs_scripts(name):
        places = places[1:]  # the first is what it runs
    all_are = name in _TAKE_FILES or name in _TAKE_TARGETS or rule[1:2] == ("compose",)
    if rule[:2] == ("git", "push"):
        all_are = len(places) > 1  # a remote alone names no branch
    stars = starred(rule)
    return tuple(
        rule[at]
        for at in places
        if (at in stars or all_are or _LOOKS_LIKE_A_PATH.search(rule[at]))
        and not (name in _SETTERS and "=" in rule[at])
    )


def stray(
    words: tuple[str, ...], rule: tuple[str, ...], leads: Leads | None, folder: str | None
) -> str:
    """Return the first operand behind a rule's words that the rule does not name; "" where there
    is none, or where the rule holds no operand.

    What stands in a star's place must also be one where it leads to, as far as that is known.
    """
    named = _named(rule)
    if not named:
        return ""
    for one in _operands(words, len(rule)):
        if not _is_one(one, named):
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


def _is_one(word: str, named: Sequence[str]) -> bool:
    return any(word_fits(one, word) for one in named)


def _operands(words: tuple[str, ...], covered: int) -> Iterator[str]:
    """Yield the operands behind so many words, and values of options that are or may be such."""
    name = base_name(words[0])
    places = frozenset(operand_places(name, words))
    for at in range(covered, len(words)):
        word, option = words[at], words[at] if words[at].startswith("-") else words[at - 1]
        if at in places:
            yield word
            continue
        is_file = _FILE_VALUE.match(option) or (
            name in _READ_PATTERNS and _PATTERN_FILE.match(option)
        )
        value: str = word
        if word.startswith("-"):
            found = _VALUE.fullmatch(word)
            value = found[1] if found is not None else ""
        if value and value != "/dev/null" and (is_file or _may_leave(value)):
            yield value


def _may_leave(value: str) -> bool:
    return "/" in value or value.startswith((".", "~"))
