"""The tool files of folders: what their sessions have of them, and what waits or is wrong."""

from typing import Any

from tapui.projection.state import State, is_connected
from tapui.text import safe_text
from tapui.wire.emitters import Emitter, FileProblem

NAME = "tools"
"""The provider's name, and the folder's."""


def told_tools(state: State, session_id: str) -> dict[str, Any] | None:
    """Return how the tool files of a session's folder stand, for JSON; None where it has none.

    `state` and `why` are those of their provider, `tools` what it offers; `waits` says that files
    wait to be allowed, and `problems` which are left out.
    """
    emitter = next((one for one in _providers(state) if one.session_id == session_id), None)
    if emitter is None:
        return None
    offered = [
        tool
        for one in state.providers.values()
        if one.name == NAME and one.session_id == session_id and is_connected(one)
        for tool in one.tools
    ]
    return {
        "folder": emitter.folder,
        "state": emitter.state,
        "waits": emitter.approval_id is not None,
        "why": emitter.why,
        "tools": offered,
        "problems": [str(one) for one in problems_of(state, emitter.folder)],
    }


def told_all_tools(state: State) -> dict[str, Any]:
    """Return the same of each session that has tool files, by its id."""
    sessions = {one.session_id: told_tools(state, one.session_id) for one in _providers(state)}
    return {id_: told for id_, told in sessions.items() if told is not None}


def waiting_folders(state: State) -> list[Emitter]:
    """Return one provider of each folder whose tool files wait to be allowed."""
    return list({one.folder: one for one in _providers(state) if one.approval_id}.values())


def problems_of(state: State, folder: str) -> list[FileProblem]:
    """Return what is wrong with a folder's tool files."""
    place = f"{safe_text(folder).rstrip('/')}/{NAME}"
    problems = state.folder_problems.get(folder, [])
    return [one for one in problems if f"{one.file}/".startswith(f"{place}/")]


def _providers(state: State) -> list[Emitter]:
    return [one for one in state.emitters.values() if (one.kind, one.name) == ("provider", NAME)]
