"""What a tool of the CLI did, out of the JSON of its `tool.execution_complete`.

The same JSON comes live from the SDK and stands in the session's `events.jsonl`; both are read
here. Nothing of it is taken for granted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.edits import diff_lines
from tapui.wire import limits
from tapui.wire.turns import FileChange

_HIGHEST = 2**31


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
