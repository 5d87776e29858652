"""What tool files declare, read without running them: by a child process that parses their source.

A hostile source can break Python's parser or take long in it: that costs the child.
"""

import ast
import json
import marshal
import subprocess
import sys
from typing import Any, NamedTuple

from tapui.folder_tools.files import (
    MAX_SOURCE,
    TOOLS,
    FolderFiles,
    FolderRefusedError,
    is_tool_path,
    read_files,
)
from tapui.folder_tools.schema import ToolFault, duplicates, schema_faults

SECONDS = 10.0
"""For all files of a folder together."""
_MAX_ANSWER = 16 * 1024 * 1024


class ReadTool(NamedTuple):
    """A tool file: `schema` is None where it is computed, and known only once it is imported."""

    path: str
    line: int
    name: str
    schema: dict[str, Any] | None


class DeclaredTools(NamedTuple):
    """A folder's tool files, and what is wrong with them. A tool with an error is in `faults`
    alone. `path` "" there is the folder."""

    tools: tuple[ReadTool, ...] = ()
    faults: tuple[ToolFault, ...] = ()


def read_folder(folder: str) -> DeclaredTools | None:
    """Read the tool files of a folder whose path has no links; None where it has none.

    A process is waited for: not on a loop.
    """
    try:
        files = read_files(folder)
    except FolderRefusedError as error:
        return DeclaredTools(faults=(ToolFault(TOOLS, 1, str(error)),))
    return None if files is None else read_tools(files)


def read_tools(files: FolderFiles) -> DeclaredTools | None:
    """Read the tool files among files; None where there are none, and none that is too large."""
    paths = files.tool_files()
    left_out = [
        ToolFault(path, 1, text) for path, text in files.faults.items() if is_tool_path(path)
    ]
    if not paths:
        return DeclaredTools(faults=tuple(left_out)) if files.oversized else None
    given = marshal.dumps([(path, files.sources[path]) for path in paths])
    argv = [sys.executable, "-P", "-m", "tapui.folder_tools.reading"]
    try:
        done = subprocess.run(argv, input=given, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return DeclaredTools(faults=(ToolFault(TOOLS, 1, f"reading took more than {SECONDS:g} s"),))
    except OSError as error:
        return DeclaredTools(faults=(ToolFault(TOOLS, 1, f"it cannot be read: {error}"),))
    if done.returncode or len(done.stdout) > _MAX_ANSWER:
        text = "a file of it breaks Python's parser: take out what was added last"
        return DeclaredTools(faults=(ToolFault(TOOLS, 1, text),))
    tools, faults = json.loads(done.stdout)
    return DeclaredTools(
        tuple(ReadTool(*one) for one in tools),
        (*(ToolFault(*one) for one in faults), *left_out),
    )


def parsed(sources: list[tuple[str, bytes]]) -> DeclaredTools:
    """Parse sources, by path. Runs nothing of them."""
    faults: list[ToolFault] = []
    tools: list[ReadTool] = []
    for path, source in sources:
        stem = path.rpartition("/")[2].removesuffix(".py")
        try:
            tree = ast.parse(source, path)
        except SyntaxError as error:
            faults.append(ToolFault(path, error.lineno or 1, f"it is no Python: {error.msg}"))
            continue
        except (ValueError, RecursionError, MemoryError) as error:
            faults.append(ToolFault(path, 1, f"it is no Python: {error}"))
            continue
        line, schema = _schema_of(tree)
        if schema is None:
            tools.append(ReadTool(path, line, stem, None))
            continue
        found = schema_faults(path, line, stem, schema)
        faults += found
        name = schema.get("name") if isinstance(schema, dict) else None
        tools.append(ReadTool(path, line, name if isinstance(name, str) else stem, schema))
    faults += duplicates([(one.path, one.line, one.name) for one in tools])
    bad = {fault.path for fault in faults if fault.is_error}
    return DeclaredTools(tuple(one for one in tools if one.path not in bad), tuple(faults))


def _schema_of(tree: ast.Module) -> tuple[int, Any]:
    """Return the line of `SCHEMA` and its value; None for one that is computed."""
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if not any(isinstance(one, ast.Name) and one.id == "SCHEMA" for one in targets):
            continue
        value = node.value  # type: ignore[attr-defined]  # both have one
        try:
            return node.lineno, ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return node.lineno, None
    return 1, None


def main() -> int:
    """Answer on standard output what was given on standard input."""
    given = marshal.loads(sys.stdin.buffer.read())  # noqa: S302 - of our own parent
    read = parsed([(path, source) for path, source in given if len(source) <= MAX_SOURCE])
    json.dump([list(read.tools), list(read.faults)], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
