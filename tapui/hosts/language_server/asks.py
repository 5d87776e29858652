"""What a call of the server's is, as a request to the person.

The server asks before it runs a tool of its own (`conversation/invokeClientToolConfirmation`), and
has its client run others. What reads within the session's folder needs no question; each file that
is written, each command and each address does.
"""

import asyncio
import contextlib
from typing import Any

from tapui.hosts.language_server.client_tools import (
    WRITERS,
    FileWrite,
    NotDoneError,
    is_inside,
    path_of,
)
from tapui.hosts.word_leads import has_other_names, word_leads
from tapui.text import cut

_READS = {"read_file": "filePath", "list_dir": "path"}
"""The server's tools that read, and where they name what."""
_SEARCHES = frozenset({"file_search", "grep_search", "semantic_search", "get_errors"})
"""The server's tools that look through its workspace, and nowhere else."""
_FETCHES = frozenset({"fetch_webpage", "fetch_web_page"})
_LEADS_TIME = 2.0
"""Seconds within which it is found out where the words of a command lead."""
_INTENTION = 1_000


class NeverError(Exception):
    """What the person is not even asked about; the text says why."""


def of_own_tool(tool: str, given: dict[str, Any], folder: str, title: str) -> dict[str, Any] | None:
    """Return the request for a tool that the server runs itself; None: it needs no question.

    `title` is what the server says of it. Raises `NeverError` for a file outside of the folder
    that is to be written.
    """
    if tool in _SEARCHES:
        return None
    if tool in WRITERS:
        # The file is written here later, with a request that has its whole difference.
        # A patch names its files in its text, too: that is looked at when they are written.
        named = "filePath" in given or tool != "apply_patch"
        if named and not is_inside(_path(given.get("filePath"), folder), folder):
            raise NeverError("the file is outside of the session's folder")
        return None
    if tool in _READS:
        path = _path(given.get(_READS[tool]), folder)
        if is_inside(path, folder):
            return None
        detail: dict[str, Any] = {"kind": "read", "path": path, "resolvedPath": path}
        return detail | ({"hardLinks": True} if has_other_names(path) else {})
    if tool in _FETCHES:
        addresses = given.get("urls", given.get("url"))
        listed = addresses if isinstance(addresses, list) else [addresses]
        return {"kind": "url", "url": "\n".join(str(one) for one in listed)}
    said = {"intention": cut(title, _INTENTION)} if title else {}
    return {"kind": "custom-tool", "toolName": tool, "args": given, **said}


def _path(given: Any, folder: str) -> str:
    try:
        return path_of(given, folder)
    except NotDoneError as error:
        raise NeverError(str(error)) from None


def of_write(planned: FileWrite, why: Any) -> dict[str, Any]:
    """Return the request for a file that is written here, with its whole difference."""
    detail: dict[str, Any] = {
        "kind": "write",
        "fileName": planned.path,
        "resolvedPath": planned.path,
        "diff": planned.diff,
    }
    if planned.before is not None and has_other_names(planned.path):
        detail["hardLinks"] = True
    return detail | _intention(why)


async def of_command(command: str, folder: str, why: Any) -> dict[str, Any]:
    """Return the request for a command that runs here, with the files that it names."""
    detail: dict[str, Any] = {"kind": "shell", "fullCommandText": command}
    with contextlib.suppress(TimeoutError):  # a folder does not answer: rules know nothing
        finding = asyncio.to_thread(word_leads, command, folder)
        if (leads := await asyncio.wait_for(finding, _LEADS_TIME)) is not None:
            detail["leads"] = leads.as_detail()
    return detail | _intention(why)


def of_provider_tool(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "custom-tool", "toolName": tool, "args": given}


def _intention(why: Any) -> dict[str, Any]:
    return {"intention": cut(why, _INTENTION)} if isinstance(why, str) and why else {}
