"""What a tool of the CLI did, out of the JSON of its `tool.execution_complete`.

The same JSON comes live from the SDK and stands in the session's `events.jsonl`; both are read
here. Nothing of it is taken for granted.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.edits import diff_lines
from tapui.wire import limits
from tapui.wire.turns import FileChange

_HIGHEST = 2**31
_SHELL_LINE = 1000
"""Characters at the end of a result in which its shell is named."""
_SHELL = re.compile(r"<[^<>\n]*\bshellId: ([^\s<>]{1,200})[^<>\n]*>\s*$")


def exit_code(data: Mapping[str, Any]) -> int | None:
    """Return the exit code of a shell's command; None for other tools."""
    shell = data.get("shellExecution")
    found = shell.get("exitCode") if isinstance(shell, Mapping) else None
    result = data.get("result")
    contents = result.get("contents") if isinstance(result, Mapping) else None
    for content in contents if isinstance(contents, list) else ():
        if found is None and isinstance(content, Mapping) and content.get("type") == "shell_exit":
            found = content.get("exitCode")
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return int(found) if -_HIGHEST <= found < _HIGHEST else None


def shell_behind(data: Mapping[str, Any]) -> str | None:
    """Return the id of the shell in which a call's command goes on; None where it has ended."""
    result = data.get("result")
    text = result.get("content") if isinstance(result, Mapping) else None
    if not isinstance(text, str) or exit_code(data) is not None:
        return None
    found = _SHELL.search(text[-_SHELL_LINE:])
    return found[1].rstrip(".,;") if found is not None and "completed" not in found[0] else None


def shell_ended(data: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the shell and the exit code of which a `system.notification` tells."""
    kind = data.get("kind")
    if not isinstance(kind, Mapping) or kind.get("type") != "shell_completed":
        return None
    shell, code = kind.get("shellId"), exit_code({"shellExecution": kind})
    return (shell, code) if isinstance(shell, str) and code is not None else None


def changes(data: Mapping[str, Any], written: Sequence[str] = ()) -> list[FileChange] | None:
    """Return the files that a call changed: as the CLI says, else those its command seems to write.

    None where neither says anything.
    """
    paths = [path for edit in _list(data.get("fileEdits")) if (path := _path(edit))]
    if not paths:
        probable = [FileChange(path, is_probable=True) for path in written if path]
        return probable[: limits.TURN_FILES] or None
    result = data.get("result")
    diff = result.get("detailedContent") if isinstance(result, Mapping) else None
    lines = diff_lines(diff) if isinstance(diff, str) else {}
    if len(paths) == 1 and len(lines) == 1:
        return [FileChange(paths[0], *next(iter(lines.values())))]
    return [
        FileChange(path, *lines.get(path.lstrip("/"), (None, None)))
        for path in paths[: limits.TURN_FILES]
    ]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _path(edit: Any) -> str:
    path = edit.get("path") if isinstance(edit, Mapping) else None
    return path if isinstance(path, str) else ""
