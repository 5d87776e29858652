"""What a permission request or a tool call asks for, in the terms of rules."""

import json
import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tapui.policies.leads import Leads, leads_of
from tapui.policies.rules import RuleKind

POWERSHELL = "powershell"
"""The `shell` of a permission request whose command is PowerShell's."""
_KINDS: dict[str, RuleKind] = {
    "shell": "shell",
    "commands": "shell",
    "write": "write",
    "read": "read",
    "url": "url",
    "mcp": "mcp",
    "custom-tool": "tool",
    "memory": "memory",
    "hook": "hook",
}
_SHELL_TOOLS = {
    "bash": "command",
    "shell": "command",
    "powershell": "command",
    "local_shell": "command",
    "write_bash": "input",
    "write_powershell": "input",
}
"""Tools that run a command, with the argument that has it."""
_COMMANDS = ["command", "input", "cmd", "script"]
"""Arguments that have the command of a shell tool that is not listed above."""
_POWERSHELL = frozenset({"powershell", "write_powershell"})
_WRITING = frozenset({"create", "edit", "write", "apply_patch", "str_replace_editor", "multi_edit"})
_READING = frozenset({"view", "read", "grep", "glob", "rg", "show_file"})
_FETCHING = frozenset({"web_fetch", "fetch", "fetch_url"})
_PATHS = ("path", "paths", "file_path", "filePath", "file", "fileName")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_MAX_SUBJECTS = 32


@dataclass(frozen=True, slots=True)
class AskedFor:
    """One thing that is asked for. `kind` None is one that no rule is about.

    `subjects` are the command, the URL, the tool …, each as rules may name it; for files, the
    absolute paths. `real_paths` are the same files without links, where that is known;
    `has_other_names`: the file has hard links.
    `leads` are what the words of a command lead to, where that is known.
    `segments` are the parts of a command as the CLI sees them; `is_powershell`, which no rule that
    allows reads. `key` is the same for requests for
    exactly the same.
    """

    kind: RuleKind | None
    subjects: tuple[str, ...]
    key: str
    is_relative: bool = False
    real_paths: tuple[str, ...] = ()
    segments: tuple[str, ...] | None = None
    is_powershell: bool = False
    leads: Leads | None = None
    has_other_names: bool = False

    @property
    def subject(self) -> str:
        return self.subjects[0] if self.subjects else ""


def shell_of(tool: str) -> str | None:
    """Return the `shell` of a request to call a tool, where it is not the usual one."""
    return POWERSHELL if tool in _POWERSHELL else None


def of_permission(detail: Mapping[str, Any], folder: str) -> AskedFor:
    """Return what a permission request asks for; `folder` is where its session works."""
    named = _text(detail, "kind")
    kind = _KINDS.get(named)
    key = _key(named, detail)
    match kind:
        case "shell":
            return AskedFor(
                kind,
                (_text(detail, "fullCommandText"),),
                key,
                segments=_segments(detail),
                is_powershell=detail.get("shell") == POWERSHELL,
                leads=leads_of(detail.get("leads")),
            )
        case "write" | "read":
            paths = _paths(detail)
            real = detail.get("resolvedPath")
            files = _files(kind, paths, folder, key, (real,) if isinstance(real, str) else ())
            return replace(files, has_other_names=detail.get("hardLinks") is True)
        case "url":
            return AskedFor(kind, (_text(detail, "url"),), key)
        case "mcp":
            server, tool = _text(detail, "serverName"), _text(detail, "toolName")
            return AskedFor(kind, (f"{server}/{tool.removeprefix(f'{server}-')}",), key)
        case "tool" | "hook":
            return AskedFor(kind, (_text(detail, "toolName"),), key)
        case "memory":
            return AskedFor(kind, (_text(detail, "fact"),), key)
        case _:
            return AskedFor(None, (named,), key)


def of_call(
    tool: str, args: Mapping[str, Any], folder: str, shell_tools: Collection[str] = ()
) -> list[AskedFor]:
    """Return what a call of a tool asks for: the tool, and what it runs, writes, reads, fetches.

    `shell_tools` are those of the session, beside the usual ones; rules also call them `shell`.
    """
    is_shell = tool in _SHELL_TOOLS or tool in shell_tools
    asked = [AskedFor("tool", (tool, "shell") if is_shell else (tool,), "")]
    if is_shell:
        keys = [_SHELL_TOOLS[tool]] if tool in _SHELL_TOOLS else _COMMANDS
        text = next((text for key in keys if (text := _text(args, key))), "")
        asked.append(AskedFor("shell", (text,), "", is_powershell=tool in _POWERSHELL))
    elif tool in _WRITING:
        kind: RuleKind = "read" if args.get("command") == "view" else "write"
        asked.append(_files(kind, _paths(args), folder, ""))
    elif tool in _READING:
        asked.append(_files("read", _paths(args), folder, ""))
    elif tool in _FETCHING:
        asked.append(AskedFor("url", (_text(args, "url"),), ""))
    else:
        places = [at for at, letter in enumerate(tool) if letter == "-"][:_MAX_SUBJECTS]
        names = tuple(f"{tool[:at]}/{tool[at + 1 :]}" for at in places)
        asked.append(AskedFor("mcp", names, ""))
    return asked


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _paths(given: Mapping[str, Any]) -> list[str]:
    """Return the files that arguments name, those in a patch too."""
    found: list[str] = []
    for name in _PATHS:
        match given.get(name):
            case str(path):
                found.append(path)
            case list(paths):
                found += [path for path in paths if isinstance(path, str)]
    if not found:
        for value in given.values():
            if isinstance(value, str):
                found += _PATCHED.findall(value)
    return found


def _files(
    kind: RuleKind, paths: list[str], folder: str, key: str, real: tuple[str, ...] = ()
) -> AskedFor:
    absolute = tuple(posixpath.normpath(posixpath.join(folder, path)) for path in paths)
    is_relative = not all(path.startswith("/") for path in paths) or not paths
    return AskedFor(kind, absolute, key, is_relative=is_relative, real_paths=real)


def _segments(detail: Mapping[str, Any]) -> tuple[str, ...] | None:
    given = detail.get("commandSegments")
    if not isinstance(given, list):
        return None
    return tuple(_text(one, "fullCommandText") if isinstance(one, dict) else "" for one in given)


def _key(kind: str, detail: Mapping[str, Any]) -> str:
    """Return what tells this request from one for something else."""
    match _KINDS.get(kind):
        case "shell":
            same = [_text(detail, "fullCommandText")]
        case "write" | "read":
            same = _paths(detail)
        case "url":
            same = [_text(detail, "url")]
        case "mcp":
            args = detail.get("args")
            same = [_text(detail, "serverName"), _text(detail, "toolName"), _json(args)]
        case "tool":
            same = [_text(detail, "toolName"), _json(detail.get("args"))]
        case _:
            return ""
    return _json([kind, *same]) if any(same) else ""


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
