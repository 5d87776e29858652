"""The turn between the core and the shell of emitters."""

import pytest

from tapui.core.effects import CheckEmitter, EmitterEffect, LeaveEmitters, ReadEmitters, StartRun
from tapui.core.emitters.plans import FolderEmitters, MayStart
from tapui.core.runs.reports import RunEnded, RunLine, RunLines
from tests.core.runner import entry
from tests.runtime.house import House, until


async def test_what_a_runs_line_says_is_on_disk_and_its_end_is_told(house: House) -> None:
    asked: list[EmitterEffect] = []
    house.turn.emitters = asked.append
    host = house.host()
    house.turn.tell(house.gateway.emitter_folders.begin)
    await until(lambda: asked)
    read = asked.pop()
    assert isinstance(read, ReadEmitters)
    one = entry(cwd=read.cwd)
    found = FolderEmitters(read.cwd, read.cwd, (one,))
    house.turn.answer(read.ticket, found)
    await until(lambda: asked)
    check = asked.pop()
    assert isinstance(check, CheckEmitter)
    may = MayStart(one.plan)
    house.turn.answer(check.ticket, may)
    await until(lambda: asked)
    start = asked.pop()
    assert isinstance(start, StartRun)
    lines = RunLines(start.run, [RunLine("it failed", "inject")])
    house.turn.tell(house.gateway.runs.reported, lines)
    await until(lambda: host.heard("session.send"))
    assert "it failed" in (house.state / "sessions/s1/streams.jsonl").read_text()
    house.turn.tell(house.gateway.runs.reported, RunEnded(start.run, code=0))
    house.say(host, type="session.close", sessionId="s1")
    await until(lambda: asked)
    assert asked == [LeaveEmitters(read.cwd)]
    records = (house.state / "sessions/s1/emitters.jsonl").read_text()
    assert '"state":"exited"' in records


@pytest.mark.expects_error_log("an effect failed: ReadEmitters")
async def test_without_a_shell_of_emitters_an_effect_costs_nobody_else_anything(
    house: House,
) -> None:
    host = house.host()
    house.turn.tell(house.gateway.emitter_folders.begin)
    house.say(host, type="session.open", session={"id": "s2", "label": "", "cwd": "/"})
    await until(lambda: len(host.heard("session.opened")) == 2)
