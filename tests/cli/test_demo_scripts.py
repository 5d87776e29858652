"""The demo's scripts: with the same seed they are played in the same way."""

import asyncio
import gc
import itertools
from pathlib import Path
from typing import Any, cast

import pytest
from websockets.exceptions import ConnectionClosedOK

from tapui.cli.demo.conversation import Conversation
from tapui.cli.demo.player import Player
from tapui.cli.demo.script import Delegate, Scene, Script, Use
from tapui.cli.demo.scripts import SCRIPTS

EVENTS = 600


class Recorded:
    """A gateway that allows everything and writes down each message."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.is_full = asyncio.Event()
        self._ids = itertools.count(1)

    def new_id(self, kind: str) -> str:
        return f"{kind}-{next(self._ids)}"

    async def open(self, session: object, playing: object) -> None:
        del playing
        self.told.append(session)

    async def send(self, type_: str, session: str, **fields: object) -> None:
        self._tell(type_, session, fields)

    async def event(self, session: str, name: str, **data: object) -> None:
        self._tell(name, session, data)

    async def notice(self, text: str) -> None:
        self._tell("notice", "", text)

    async def approval(self, session: str, kind: str, detail: object) -> dict[str, object]:
        self._tell(kind, session, detail)
        return {"decision": "approve", "answer": "users"}

    async def outcome(self, session: str, tool: str, *what: object) -> dict[str, object]:
        self._tell(tool, session, what)
        return {"data": None}

    def _tell(self, *what: object) -> None:
        self.told.append(what)
        if len(self.told) >= EVENTS:
            self.is_full.set()


async def played(script: Script, folder: Path, seed: str) -> list[Any]:
    recorded = Recorded()
    player = Player(cast("Conversation", recorded), script, folder, seed=seed, pace=0)
    await player.open()
    playing = asyncio.create_task(player.play())
    await recorded.is_full.wait()
    playing.cancel()
    await asyncio.wait([playing])
    return [_without(one, str(folder)) for one in recorded.told[1:EVENTS]]


def _without(told: Any, folder: str) -> Any:
    """Return what was told, with "" in place of the folder in which it was played."""
    if isinstance(told, dict):
        return {key: _without(one, folder) for key, one in told.items()}
    if isinstance(told, list | tuple):
        return tuple(_without(one, folder) for one in told)
    return told.replace(folder, "") if isinstance(told, str) else told


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.folder)
async def test_a_seed_makes_a_play(script: Script, tmp_path: Path) -> None:
    first, same, other = [
        await played(script, tmp_path / str(number), seed)
        for number, seed in enumerate(("7", "7", "8"))
    ]
    assert first == same
    assert first != other
    prompts = [what[2]["content"] for what in first if what[0] == "user.message"]
    assert len(prompts) > len(script.turns)
    assert [
        prompt in turn.prompts
        for prompt, turn in zip(prompts, itertools.cycle(script.turns), strict=False)
    ] == [True] * len(prompts)


class Leaving(Recorded):
    """A gateway that is gone when a subagent has done its work."""

    def __init__(self) -> None:
        super().__init__()
        self.is_gone = asyncio.Event()

    async def event(self, session: str, name: str, **data: object) -> None:
        if name == "subagent.completed":
            self.is_gone.set()
            raise ConnectionClosedOK(None, None)
        await super().event(session, name, **data)


async def test_a_subagent_that_loses_the_gateway_is_looked_at(tmp_path: Path) -> None:
    unseen: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
    gateway = Leaving()
    steps = (Delegate("explore", "look", ()), Use("bash", {}, seconds=3_600))
    script = Script("one", "one", "one", (Scene(("go",), steps),))
    player = Player(cast("Conversation", gateway), script, tmp_path / "one", seed="7", pace=1)
    await player.open()
    playing = asyncio.create_task(player.play())
    await gateway.is_gone.wait()
    playing.cancel()
    await asyncio.wait([playing])
    del player
    gc.collect()
    assert unseen == []
