"""A new provider's project: the files of a template, with the provider's name in them.

A template is a folder in `templates/`, named for its language. `{{name}}` in its files is the
provider's name, `{{module}}` that name as an identifier, `{{source}}` tells uv where tapui is; in
names of files `NAME` stands for the identifier. The ending `.template` is left out: it keeps tools
that look for Python files away. What several templates share is in one place and copied into each
project (`_SHARED`).
"""

import json
import keyword
import re
import sys
from importlib import resources
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import unquote, urlsplit

import tomlkit

from tapui.wire.message import BUILTIN_PROVIDER

Language = Literal["python", "javascript", "browser"]
LANGUAGES: tuple[str, ...] = get_args(Language)

_SHARED: dict[str, str] = {"javascript": "module", "browser": "module"}
"""Which further folder of `templates/` goes into the project."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_SUFFIX = ".template"


class ProjectError(Exception):
    """The project cannot be made; the text says why, and what to do."""


def make(name: str, language: Language, parent: Path) -> list[Path]:
    """Write a project named `name` into a new folder in `parent`; return its files.

    A folder that is there and empty is used. Raises `ProjectError`, and `OSError` where a file
    cannot be written.
    """
    module = module_name(name)
    folder = parent / name
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError(f"{folder} is there already; choose another name, or another folder")
    files = contents(name, module, language)
    folder.mkdir(exist_ok=True)
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
    return [folder / place for place in files]


def module_name(name: str) -> str:
    """Return a provider's name as an identifier. Raises `ProjectError` for what is no name."""
    if not _NAME.match(name):
        raise ProjectError(
            f"{name!r} cannot be a name: a letter first, then letters, digits, - and _, at most 64"
        )
    module = name.replace("-", "_").lower()
    if keyword.iskeyword(module) or module == BUILTIN_PROVIDER or _is_module(module):
        raise ProjectError(f"{name!r} is taken: Python or tapui has something of this name")
    return module


def _is_module(name: str) -> bool:
    """Return whether a file of this name would hide a module that is there already."""
    if name in sys.stdlib_module_names:
        return True
    found = find_spec(name)
    return found is not None and found.origin is not None


def contents(
    name: str, module: str, language: Language, templates: Traversable | None = None
) -> dict[str, str]:
    """Return a project's files, by their place in its folder."""
    templates = templates or resources.files("tapui.authoring") / "templates"
    found: dict[str, str] = {}
    for folder in filter(None, (_SHARED.get(language), language)):
        _collect(templates / folder, "", found)
    values = {"{{name}}": name, "{{module}}": module, "{{source}}": script_source(_direct_url())}
    filled: dict[str, str] = {}
    for place, text in sorted(found.items()):
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)  # noqa: PLW2901 - filled step by step
        filled[place.removesuffix(_SUFFIX).replace("NAME", module)] = text
    return filled


def _collect(folder: Traversable, place: str, found: dict[str, str]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name not in ("__pycache__", "node_modules"):
                _collect(entry, f"{place}{entry.name}/", found)
        else:
            found[f"{place}{entry.name}"] = entry.read_text(encoding="utf-8")


def _direct_url() -> str | None:
    try:
        return distribution("tapui").read_text("direct_url.json")
    except PackageNotFoundError:
        return None


def script_source(text: str | None) -> str:
    """Return the lines that tell uv in a script's head where tapui is, from its installation's
    `direct_url.json`; none for one of an index."""
    source = None if text is None else _source(json.loads(text))
    if source is None:
        return ""
    table = tomlkit.inline_table()
    table.update(source)
    return f"#\n# [tool.uv.sources]\n# tapui = {table.as_string()}\n"


def _source(origin: dict[str, object]) -> dict[str, str] | None:
    """Return uv's source for an installation's `direct_url.json`, as PyPA specifies that file."""
    url, repository = origin.get("url"), origin.get("vcs_info")
    if not isinstance(url, str):
        return None
    if isinstance(repository, dict):
        commit = repository.get("commit_id")
        is_git = repository.get("vcs") == "git"
        return {"git": url, "rev": commit} if is_git and isinstance(commit, str) else None
    return {"path": unquote(urlsplit(url).path)} if url.startswith("file:") else {"url": url}
