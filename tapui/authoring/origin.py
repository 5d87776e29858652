"""Where this tapui was installed from, for `uv`, which installs it for a script of its own."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit

import tomlkit


def script_source() -> str:
    """Return the lines that tell uv in a script's head where tapui is; none for one of an index."""
    try:
        text = distribution("tapui").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
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
