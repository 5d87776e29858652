"""Which files a call changed, and by how many lines, as far as its arguments or a diff say."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from tapui.wire import limits
from tapui.wire.turns import FileChange

_CREATING = frozenset({"create", "write", "write_file", "create_file"})
_REPLACING = frozenset({"edit", "str_replace", "str_replace_editor", "edit_file", "replace"})
_TOOLS = _CREATING | _REPLACING | {"insert", "apply_patch"}
_PATHS = ("path", "file_path", "filePath", "fileName")
_PATCHED = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)")
_MOST = limits.TURN_FILES


def edits(tool: str, args: Any) -> list[FileChange]:
    """Return what a call of a tool that edits files changed; nothing for other tools.

    Lines that both texts of a replacement begin or end with are not counted. Where the arguments
    have no text, the lines are not known.
    """
    if tool not in _TOOLS:
        return []
    if isinstance(args, Raw | bytes):
        try:
            args = msgspec.json.decode(args)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return []
    if tool == "apply_patch":
        return _patched(args)
    if not isinstance(args, Mapping):
        return []
    path = next((args[name] for name in _PATHS if isinstance(args.get(name), str)), "")
    command = args.get("command") if tool == "str_replace_editor" else tool
    if not path:
        return []
    if command in _CREATING:
        return [_added(path, _given(args, "file_text", "content", "text"))]
    if command == "insert":
        return [_added(path, _given(args, "insert_text", "new_str", "text"))]
    if command in _REPLACING:
        old, new = _given(args, "old_str", "old_string"), _given(args, "new_str", "new_string")
        if old is None and new is None:
            return [FileChange(path)]
        return [FileChange(path, *_replaced(old or "", new or ""))]
    return []


def diff_lines(diff: str) -> dict[str, tuple[int, int]]:
    """Return the lines that a unified diff adds and removes, by file as the diff names it.

    A file that is deleted has its former name; the `a/` and `b/` of git are left out.
    """
    files: dict[str, tuple[int, int]] = {}
    before = path = ""
    added = removed = 0
    in_hunk = False
    for line in diff.split("\n"):
        sign = line[:1]
        if in_hunk and sign == "+":  # most lines: looked for first
            added += 1
        elif in_hunk and sign == "-":
            removed += 1
        elif line.startswith("diff --git "):
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        elif not in_hunk and line.startswith("--- "):
            before = _diffed(line)
        elif not in_hunk and line.startswith("+++ "):
            _count(files, path, added, removed)
            added = removed = 0
            path = _diffed(line)
            path = before if path.endswith("dev/null") else path
    _count(files, path, added, removed)
    return files


def _count(files: dict[str, tuple[int, int]], path: str, added: int, removed: int) -> None:
    if (added or removed) and (path in files or len(files) < _MOST):
        known = files.get(path, (0, 0))
        files[path] = (known[0] + added, known[1] + removed)


def _diffed(line: str) -> str:
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path[:2] in {"a/", "b/"} else path


def _patched(args: Any) -> list[FileChange]:
    """Read a patch in the form of `apply_patch`."""
    if isinstance(args, Mapping):
        args = _given(args, "input", "patch", "text")
    if not isinstance(args, str):
        return []
    found: dict[str, tuple[int, int]] = {}
    path = ""
    for line in args.split("\n"):
        header = _PATCHED.match(line)
        if header is not None:
            path = header[1].strip() if len(found) < _MOST else ""
            if path:
                found.setdefault(path, (0, 0))
        elif path and line[:1] in {"+", "-"}:
            added, removed = found[path]
            is_added = line[0] == "+"
            found[path] = (added + is_added, removed + (not is_added))
    return [FileChange(path, *lines) for path, lines in found.items()]


def _given(args: Mapping[Any, Any], *names: str) -> str | None:
    return next((args[name] for name in names if isinstance(args.get(name), str)), None)


def _added(path: str, text: str | None) -> FileChange:
    return FileChange(path) if text is None else FileChange(path, len(text.splitlines()), 0)


def _replaced(old: str, new: str) -> tuple[int, int]:
    before, after = old.splitlines(), new.splitlines()
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    return len(after) - head - tail, len(before) - head - tail
