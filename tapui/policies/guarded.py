"""What is always asked, whatever the rules allow: what could answer requests, or change rules."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
"""Configuration of shells, git and Copilot: whoever writes it decides what runs later."""


@dataclass(frozen=True, slots=True)
class Guards:
    """What is known of this machine: ports by which permissions can be answered, and folders and
    files (real, absolute paths) with tokens and settings.
    """

    ports: frozenset[int] = field(default_factory=frozenset)
    paths: tuple[str, ...] = ()


def command_guard(text: str, command: "ParsedCommand", guards: Guards) -> str:
    """Say why a command is asked about in any case; "" where nothing speaks for it."""
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
    return ""


def path_guard(asked: AskedFor, guards: Guards) -> str:
    """Say why a file is asked about in any case; reading is only guarded for tokens."""
    for path in (*asked.subjects, *asked.real_paths):
        if _TOKEN_FILES.search(path):
            return "it is a file with a token"
        if asked.kind == "read":
            continue
        if _NAMES.search(path):
            return "it is configuration of the shell, git or Copilot"
        if path.endswith("/tapui.toml") or "/.config/tapui/" in path:
            return "it is configuration of tapui"
        if any(is_within(path, one) for one in guards.paths):
            return "it is in a folder of tapui or Copilot"
    return ""


def url_guard(asked: AskedFor, guards: Guards) -> str:
    """Say why a URL is asked about in any case."""
    named = {int(one[:9]) for one in _NUMBER.findall(asked.subject)}
    return "it names the port of a Copilot session, or of tapui" if named & guards.ports else ""
