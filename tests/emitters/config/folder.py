"""A folder with a configuration, for tests."""

import json
from pathlib import Path
from typing import Any

from tapui.emitters.config.entries import Configuration, EmitterEntry
from tapui.emitters.config.reading import NEW_FILE, read


def written(folder: Path, what: Any, name: str = NEW_FILE) -> Path:
    """Write a file of the folder: text and bytes as they are, all else as JSON."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if isinstance(what, bytes):
        path.write_bytes(what)
    else:
        path.write_text(what if isinstance(what, str) else json.dumps(what))
    return path


def configured(folder: Path, what: Any, name: str = NEW_FILE) -> Configuration:
    """Write a file and read the folder."""
    written(folder, what, name)
    return read(folder)


def emitter(folder: Path, **keys: Any) -> EmitterEntry:
    """Return the one emitter of a configuration, which has no problem."""
    found = configured(folder, {"emitters": [{"name": "e", **keys}]})
    assert [str(problem) for problem in found.problems] == []
    return found.emitters[0]


def command(folder: Path, **keys: Any) -> EmitterEntry:
    """Return an emitter with a command."""
    return emitter(folder, command="./e", **keys)


def problems(found: Configuration) -> list[str]:
    """Return the problems in words, without the file's name."""
    return [str(problem).partition(":")[2] for problem in found.problems]
