"""A new provider's project: the files of a template, with the provider's name in them.

A template is a folder in `templates/`, named for its language. `{{name}}` in its files is the
provider's name, `{{module}}` that name as an identifier, `{{source}}` tells uv where tapui is; in
names of files `NAME` stands for the identifier. The ending `.template` is left out: it keeps tools
that look for Python files away. What several templates share is in one place and copied into each
project (`_SHARED`). A template of a provider that ships has the modules of that (`WHOLE`).
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

from tapui.shipped import SHIPPED
from tapui.wire.message import BUILTIN_PROVIDER

Language = Literal["python", "javascript", "browser"]
LANGUAGES: tuple[str, ...] = get_args(Language)

_SHARED: dict[str, str] = {"javascript": "module", "browser": "module"}
"""Which further folder of `templates/` goes into the project."""
WHOLE: dict[str, str] = {"ci": "tapui.shipped.ci"}
"""Providers that ship of whose package a project has all modules, not the one with the tools."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_SUFFIX = ".template"
_OWN_NAME = re.compile(r'(\bProvider\(\s*|^NAME = )"[A-Za-z][\w-]*"', re.MULTILINE)
"""Where a provider that ships has its name."""
_SCRIPT = """\
# /// script
# requires-python = ">=3.11"
# dependencies = ["tapui"]
{{source}}# ///
"""
_SERVED = """
served = provider()

if __name__ == "__main__":
    served.run()
"""


class ProjectError(Exception):
    """The project cannot be made; the text says why, and what to do."""


def make(name: str, template: str, parent: Path) -> list[Path]:
    """Write a project named `name` into a new folder in `parent`; return its files. `template` is a
    language, or a provider that ships: the project is a copy of that, in Python.

    A folder that is there and empty is used. Raises `ProjectError`, and `OSError` where a file
    cannot be written.
    """
    module = module_name(name)
    folder = parent / name
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError(f"{folder} is there already; choose another name, or another folder")
    is_whole = template in LANGUAGES or template in WHOLE
    files = (contents if is_whole else copy_of)(name, module, template)
    if template in WHOLE and f"{module}.py" in _modules(WHOLE[template]):
        raise ProjectError(f"{name!r} is taken: the template has a module of this name")
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
    name: str, module: str, template: str, templates: Traversable | None = None
) -> dict[str, str]:
    """Return a project's files, by their place in its folder."""
    templates = templates or resources.files("tapui.authoring") / "templates"
    found: dict[str, str] = {}
    for folder in filter(None, (_SHARED.get(template), template)):
        _collect(templates / folder, "", found)
    if template in WHOLE:
        found |= _modules(WHOLE[template])
    return _filled(found, name, module)


def copy_of(name: str, module: str, template: str) -> dict[str, str]:
    """Return the files of a project that begins as a copy of a provider that ships.

    The module with its tools is copied; what that imports of tapui stays there.
    """
    found: dict[str, str] = {}
    _collect(resources.files("tapui.authoring") / "templates" / "shipped", "", found)
    package, _, own = SHIPPED[template].module.rpartition(".")
    source = (resources.files(package) / f"{own}.py").read_text(encoding="utf-8")
    renamed, count = _OWN_NAME.subn(rf'\1"{name}"', source)
    if not count:
        raise ProjectError(f"{template} cannot be copied: its name is in no place that is known")
    found["NAME.py"] = f"{_SCRIPT}{renamed}\n{_SERVED}"
    return _filled(found, name, module, template)


def _filled(found: dict[str, str], name: str, module: str, template: str = "") -> dict[str, str]:
    values = {
        "{{name}}": name,
        "{{module}}": module,
        "{{template}}": template,
        "{{source}}": script_source(_direct_url()),
    }
    filled: dict[str, str] = {}
    for place, text in sorted(found.items()):
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)  # noqa: PLW2901 - filled step by step
        filled[place.removesuffix(_SUFFIX).replace("NAME", module)] = text
    return filled


def _modules(package: str) -> dict[str, str]:
    """Return the modules of a provider that ships, which import each other by their own names."""
    return {
        entry.name: entry.read_text(encoding="utf-8").replace(f"from {package}.", "from ")
        for entry in resources.files(package).iterdir()
        if entry.name.endswith(".py") and not entry.name.startswith("__")
    }


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
