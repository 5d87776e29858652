"""Folders with tool files, for tests."""

import os
from pathlib import Path
from typing import Any

from tapui.folder_tools.files import FolderFiles, read_files

SAMPLES = Path(__file__).parent / "samples"
"""The documents' samples, unchanged."""


def source(
    name: str, head: str = "", body: str = 'return [{"type": "text", "value": "done"}]', **more: Any
) -> str:
    """Return a tool file's text; `more` are keys of its `SCHEMA`, None takes one out."""
    schema = {
        "name": name,
        "description": "Does what a test wants to have done, and nothing else.",
        "inputSchema": {"type": "object", "properties": {}, "required": []},
        **more,
    }
    kept = {key: value for key, value in schema.items() if value is not None}
    return f"{head}\nSCHEMA = {kept!r}\n\n\ndef execute(tool_input, ctx):\n    {body}\n"


def folder_with(root: Path, **files: str) -> str:
    """Write files into `tools/` of a folder, `.py` each; return the folder, without links."""
    tools = root / "tools"
    tools.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (tools / f"{name}.py").write_text(text)
    return os.path.realpath(root)


def files_of(folder: str) -> FolderFiles:
    found = read_files(folder)
    assert found is not None
    return found
