"""Whether an agent may have made a save: by the calls of sessions that tapui has recorded."""

import asyncio
import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, NoGateway
from tapui.core.proof.watching import READERS
from tapui.folder_tools.files import TOOLS
from tapui.text import safe_text
from tapui.wire.turns import SessionTurns, Step

SLACK = 1.0
"""Seconds by which a call and a save may miss each other: the end of a call comes late, and clocks
of files are coarse."""
SETTLE_SECONDS = 0.2
"""A host tells of a call when it begins; what it tells takes this long at most."""
_SHOWN = 60


async def agents_calls(find: Callable[[], FoundGateway], folder: Path) -> list[str]:
    """Return the calls, in words, that were under way when a file of `tools/` was written last.

    Where the gateway cannot say, that is in the list: nothing speaks for the save then.
    """
    await asyncio.sleep(SETTLE_SECONDS)
    saved = await asyncio.to_thread(newest_change, folder)
    try:
        async with await GatewayConnection.open(find(), name="tapui tools dev") as connection:
            state = connection.snapshot.state
    except NoGateway:
        return []
    except GatewayError as error:
        return [f"the gateway does not say: {error}"]
    names = {one.id: one.label for one in state.sessions}
    return [
        f"{names.get(turns.session_id, turns.session_id)}: {safe_text(words, limit=_SHOWN)}"
        for turns in state.turns
        for words in _calls_at(turns, saved)
    ]


def newest_change(folder: Path) -> float:
    """Return when something in a folder changed last: by the times that no program can set."""
    found = 0.0
    for base, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one != "__pycache__"]
        for name in (*files, ""):
            try:
                found = max(found, os.lstat(os.path.join(base, name)).st_ctime)  # noqa: PTH118
            except OSError:
                continue  # it has gone since, which its folder shows
    return found


def _calls_at(turns: SessionTurns, moment: float) -> Iterable[str]:
    for step in _steps(turns.current.steps if turns.current is not None else ()):
        if step.kind != "call" or step.provider == TOOLS:
            continue  # the tools that are served here are not what changes them
        began = datetime.fromisoformat(step.at).timestamp()
        is_open = step.state in ("running", "waiting")
        ended = moment if is_open or step.duration is None else began + step.duration
        if step.tool not in READERS and began - SLACK <= moment <= ended + SLACK:
            yield f"{step.tool} {step.summary}"


def _steps(steps: Iterable[Step]) -> Iterable[Step]:
    for step in steps:
        yield step
        yield from _steps(step.steps)
