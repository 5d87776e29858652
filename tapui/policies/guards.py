"""What is always asked, even if rules allow it: what could answer requests, or change rules."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tapui.policies.leads import (
    OTHER_NAMES,
    PROCESS,
    RUNS_OR_WRITES,
    UNKNOWN,
    Leads,
    handed_folders,
    needs_leads,
    readings,
    written_folders,
)
from tapui.policies.programs import base_name
from tapui.policies.requests import AskedFor
from tapui.policies.rules import is_within

if TYPE_CHECKING:
    from tapui.policies.commands import ParsedCommand

_TAPUI = re.compile(
    r"tapui(?![\w-]*\.(?:md|rst|txt|html|css|png|svg|py|ts|js)(?![\w./-]))", re.IGNORECASE
)
"""The program or a folder of it, not a document or source that is called after it."""
_MULTIPLEXERS = frozenset({"tmux", "screen", "zellij", "wezterm", "kitty", "kitten"})
"""They can type into the terminal in which the person answers."""
_TOKEN_FILES = re.compile(
    r"""(?:(?<![\w.-])|(?<=-[A-Za-z]))(?:
        \.?provider-token | (?:internal|tools)[.-]token
      | (?:(?<!/)|(?:\$\w+|\d+|\.{1,2})/|(?<=[^\w.-]/))gateway\.json  # of `run/<port>/`
    )(?!\.?[\w-])""",
    re.IGNORECASE | re.VERBOSE,
)
_FILE_URL = re.compile(r"file:/", re.IGNORECASE)
_HAS_PATTERN = re.compile(r"[*?\[]")
_CONFIGURATION = "configuration of the shell, git or Copilot"
_NUMBER = re.compile(r"\d+")
_PORT = re.compile(r"(?::|%3a|/dev/(?:tc|ud)p/[^/\s]*/)(\d+)", re.IGNORECASE)
_TAKE_NUMBERS = re.compile(r"git|gh|ls|cat|head|tail|cut|seq|sleep|wc|[ef]?grep|rg")
"""To them a number is no port, but in an address: `head -c 9400`, `git show 9400abc`."""
_NAMES = re.compile(
    r"""(?:^|[/=:'"\s])(?:
        \.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile
          |zlogin|zlogout|inputrc|kshrc|cshrc|tcshrc|envrc|pam_environment)
      | \.(?:gitconfig|gitmodules|gitattributes|git-credentials)
      | \.git(?=/|$|\s) | \.githooks | \.husky | \.?config/git(?=/|$|\s)
      | \.copilot(?=/|$|\s) | \.mcp\.json | mcp-config\.json
      | \.github/(?:copilot|extensions|hooks|agents|mcp|instructions)
      | copilot-instructions\.md
      | \.?config/(?:fish|nushell|powershell|environment\.d)(?=/|$|\s)
      | \.ssh(?=/|$|\s)
    )
    | (?:^|[=:'"\s]|-[A-Za-z])(?:[./]*/)?(?:private/)?etc/(?:profile|bash|zsh|environment|gitconfig)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Configuration of shells, git and Copilot: it decides what runs later."""
_LEFT_OUT = re.compile(r"--(?:exclude|ignore)[\w-]*=|--i?glob=!")
_LEFT_OUT_NEXT = re.compile(
    r"(?:(?:tree|ls) -I|fd -E|\S+ --exclude(?:-dir)?) |rg (?:-g|--i?glob) !"
)
_COMPARED_NEXT = re.compile(r"-i?(?:path|wholename|name|regex)$")
_GIT_FOLDER = re.compile(r"(?:\./)?\.(?:git|githooks|husky)(?:/[\w./-]*)?$")
_ATTRIBUTES = re.compile(r"(?:[\w./-]+/)?\.git(?:attributes|modules)$")
_LIST = re.compile(r"ls|du|stat|test")
_SHOW = re.compile(r"cat|tac|head|tail|nl|wc|[ef]?grep|rg|diff|cmp")


@dataclass(frozen=True, slots=True)
class Guards:
    """What is known of this machine: ports by which permissions can be answered, and folders and
    files (real, absolute paths) with tokens and settings.
    """

    ports: frozenset[int] = field(default_factory=frozenset)
    paths: tuple[str, ...] = ()


def is_configuration(path: str) -> bool:
    """Return whether a path names configuration of a shell, git or Copilot."""
    return _NAMES.search(path) is not None


def command_guard(
    asked: AskedFor, command: "ParsedCommand", guards: Guards, folder: str | None = None
) -> str:
    """Say why no rule allows a command; "" where nothing speaks against it.

    `folder` is the session's, without links.
    """
    text = asked.subject
    words = [word for part in command.all for word in part]
    whole = "\n".join([text, *words])
    if _TAPUI.search(whole):
        return "it names tapui"
    if any(base_name(word) in _MULTIPLEXERS for word in words) and _may_run_multiplexer(asked):
        return "it names a program that can type into your terminal"
    if _TOKEN_FILES.search(whole):
        return "it names a file with a token"
    # Of a command that is not understood to its end, each number and name counts.
    is_read = not (command.doubts or asked.is_powershell)
    numbers = _numbers(command) if is_read else _NUMBER.findall(whole)
    if any(int(number[:9]) in guards.ports for number in numbers):
        return "it names the port of a Copilot session, or of tapui"
    touched = [(base_name(part[0]), word) for part in command.all for word in _touched(part)]
    names = [word for name, word in touched if not _only_shows(name, word)] if is_read else [whole]
    if any(map(_NAMES.search, names)):
        return "it names configuration of the shell, git or Copilot"
    if any(path in whole for path in guards.paths):
        return "it names a folder of tapui or Copilot"
    if _FILE_URL.search(whole):
        return "it names a file by an address"
    if not guards.paths:
        return ""
    if asked.leads is None:
        return UNKNOWN if needs_leads(command.all) else ""
    named = {text for _, word in touched for text in readings(word)}
    left_out = {text for word in words for text in readings(word)} - named if is_read else set()
    if why := _word_guard(asked.leads, left_out, guards, folder):
        return why
    return _lead_guard(asked.leads, command, guards)


def _may_run_multiplexer(asked: AskedFor) -> bool:
    """Return whether a name of one is a program in a command, or may be: not in `ls src/screen`."""
    from tapui.policies.command_meaning import meaning, programs_of

    patterns = [(name,) for name in _MULTIPLEXERS]
    read = meaning(asked.subject, programs_of(patterns))
    return asked.is_powershell or any(read.of(pattern) is not None for pattern in patterns)


def _numbers(command: "ParsedCommand") -> Iterator[str]:
    """Yield the numbers in a command that may be ports."""
    for words in command.all:
        takes_numbers = _TAKE_NUMBERS.fullmatch(base_name(words[0]))
        for word in words:
            is_plain = takes_numbers and not any(map(str.isspace, word))
            yield from (_PORT if is_plain else _NUMBER).findall(word)


def _touched(words: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of a command but for names that it leaves out, or only compares."""
    name = base_name(words[0])
    compares = name == "find" and not any(map(RUNS_OR_WRITES.match, words[1:]))
    for before, word in pairwise(("", *words)):
        is_left_out = _LEFT_OUT.match(word) or _LEFT_OUT_NEXT.match(f"{name} {before} {word}")
        if not (is_left_out or (compares and _COMPARED_NEXT.match(before))):
            yield word


def _only_shows(name: str, word: str) -> bool:
    """Return whether a program lists a folder of git, or shows attributes that git keeps."""
    if _LIST.fullmatch(name):
        return _GIT_FOLDER.match(word) is not None
    return _SHOW.fullmatch(name) is not None and _ATTRIBUTES.match(word) is not None


def _lead_guard(leads: Leads, command: "ParsedCommand", guards: Guards) -> str:
    """Say which word of a command leads to a file that no rule covers."""
    if leads.linked:
        return f"{leads.linked[0]}: {OTHER_NAMES}"

    def holds_guarded(path: str) -> bool:
        return any(is_within(one.casefold(), path.casefold()) for one in guards.paths)

    # `cp -rL . /tmp/x`: it follows the links below the folder
    for path in leads.below:
        if _TOKEN_FILES.search(path) or is_configuration(path) or PROCESS.match(path):
            return f"a link leads to {path}"
        if _in_folder(path, guards) or holds_guarded(path):
            return f"a link leads to {path}, a folder of tapui or Copilot, or above it"
    # `cat .*/*` in the person's home: ours are among the files of the folder
    is_above = any(map(holds_guarded, leads.folders))
    if is_above:
        for word in dict.fromkeys(word for words in command.all for word in words[1:]):
            if _HAS_PATTERN.search(word):
                return "it has a pattern of names in a folder that holds those of tapui or Copilot"
            if any(_in_folder(path, guards) for path in leads.of(word)):
                return "it names a folder of tapui or Copilot"
    # `grep -r token ~`: it reads all that is below a word
    for word in handed_folders(command):
        for path in leads.of(word) if is_above else leads.words.get(word, ()):
            if holds_guarded(path):
                return f"{path} holds folders of tapui or Copilot"
    # `tar xf a.tgz -C ~`: the names of what it writes are not in its words
    for word in written_folders(command):
        if any(path in leads.holding or holds_guarded(path) for path in leads.of(word)):
            return f"it writes files below {word}, which holds {_CONFIGURATION}"
    return ""


def _word_guard(leads: Leads, left_out: set[str], guards: Guards, folder: str | None) -> str:
    """Say which word leads to a guarded file: `cat notes`, where `notes` is a link to a token."""
    for word, paths in leads.words.items():
        for path in paths if word not in left_out else ():
            below = path[len(folder) :] if folder and is_within(path, folder) else path
            what = _of_configuration(below) or _in_folder(path, guards)
            if _TOKEN_FILES.search(path):
                what = "it is a file with a token"
            elif PROCESS.match(path):
                what = "it is another place for each process"
            if what:
                return f"{word} leads to {path}: {what}"
    return ""


def path_guard(asked: AskedFor, guards: Guards) -> str:
    """Say why no rule allows access to a file; reading is only guarded for tokens."""
    for path in (*asked.subjects, *asked.real_paths):
        if _TOKEN_FILES.search(path):
            return "it is a file with a token"
        if asked.kind == "read":
            continue
        if why := _of_configuration(path) or _in_folder(path, guards):
            return why
    return OTHER_NAMES if asked.has_other_names else ""


def _of_configuration(path: str) -> str:
    return f"it is {_CONFIGURATION}" if is_configuration(path) else ""


def _in_folder(path: str, guards: Guards) -> str:
    """Say in which folder of tapui or Copilot a file is; "" where it is in none."""
    if path.endswith("/tapui.toml") or "/.config/tapui/" in path:
        return "it is configuration of tapui"
    if any(is_within(path.casefold(), one.casefold()) for one in guards.paths):
        return "it is in a folder of tapui or Copilot"
    return ""


def url_guard(asked: AskedFor, guards: Guards) -> str:
    """Say why no rule allows a URL."""
    named = {int(number[:9]) for number in _PORT.findall(asked.subject)}
    return "it names the port of a Copilot session, or of tapui" if named & guards.ports else ""
