"""What is always asked, even if rules allow it: what could answer requests, or change rules."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tapui.policies.leads import (
    OTHER_NAMES,
    PROCESS,
    UNKNOWN,
    Leads,
    handed_folders,
    needs_leads,
    written_folders,
)
from tapui.policies.programs import base_name
from tapui.policies.requests import AskedFor
from tapui.policies.rules import is_within

if TYPE_CHECKING:
    from tapui.policies.commands import ParsedCommand

_TAPUI = re.compile(r"tapui", re.IGNORECASE)
_MULTIPLEXERS = frozenset({"tmux", "screen", "zellij", "wezterm", "kitty", "kitten"})
"""They can type into the terminal in which the person answers."""
_TOKEN_FILES = re.compile(
    r"\.provider-token|gateway\.json|(?:internal|tools)[.-]token", re.IGNORECASE
)
_FILE_URL = re.compile(r"file:/", re.IGNORECASE)
_HAS_PATTERN = re.compile(r"[*?\[]")
_CONFIGURATION = "configuration of the shell, git or Copilot"
_NUMBER = re.compile(r"\d+")
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
      | etc/(?:profile|bash|zsh|environment|gitconfig)
      | \.ssh(?=/|$|\s)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Configuration of shells, git and Copilot: it decides what runs later."""


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
    if any(base_name(word) in _MULTIPLEXERS for word in words):
        return "it names a program that can type into your terminal"
    if _TOKEN_FILES.search(whole):
        return "it names a file with a token"
    if any(int(one[:9]) in guards.ports for one in _NUMBER.findall(whole)):
        return "it names the port of a Copilot session, or of tapui"
    if _NAMES.search(whole):
        return "it names configuration of the shell, git or Copilot"
    if any(path in whole for path in guards.paths):
        return "it names a folder of tapui or Copilot"
    if _FILE_URL.search(whole):
        return "it names a file by an address"
    if not guards.paths:
        return ""
    if asked.leads is None:
        return UNKNOWN if needs_leads(command.all) else ""
    return _lead_guard(asked.leads, command, guards, folder)


def _lead_guard(leads: Leads, command: "ParsedCommand", guards: Guards, folder: str | None) -> str:
    """Say which word of a command leads to a file that no rule covers."""
    if why := _word_guard(leads, guards, folder):
        return why
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


def _word_guard(leads: Leads, guards: Guards, folder: str | None) -> str:
    """Say which word leads to a guarded file: `cat notes`, where `notes` is a link to a token."""
    for word, paths in leads.words.items():
        for path in paths:
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
    named = {int(one[:9]) for one in _NUMBER.findall(asked.subject)}
    return "it names the port of a Copilot session, or of tapui" if named & guards.ports else ""
