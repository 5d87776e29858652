"""The workbench on a terminal, at a real gateway: the call, its records, and its line pasted."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.cli.running import Command, run
from tests.rig.gateway import Home
from tests.rig.peers import Provider
from tests.rig.tower import PANES, TowerProcess, confirm

GREET = {
    "name": "greet",
    "description": "Say hello",
    "parameters": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "times": {"type": "integer", "minimum": 1}},
        "required": ["name"],
    },
}


async def test_a_call_from_the_form_is_a_call_of_yours_and_its_line_makes_it_again(
    start_tower: Callable[..., TowerProcess], home: Home
) -> None:
    tower = start_tower()
    screen = tower.screen
    async with await Provider.bind(tower.url, tower.token, tools=[GREET]) as provider:
        screen.keys(PANES["providers"])
        await screen.seen("1 tool|greeter +bound")
        screen.keys(".", "c")
        await screen.seen("name: is required")
        screen.keys(*"it's", "Enter", "0")
        await screen.seen("  the value is less than the minimum of 1")
        screen.keys("BSpace", "2")
        await screen.seen("the arguments fit")
        screen.keys("C-l")
        await screen.seen("The line was copied")
        screen.keys("C-r")
        call = await provider.expect("tool.call")
        assert call["args"] == {"name": "it's", "times": 2}
        await provider.send({"type": "tool.progress", "id": call["id"], "message": "on it"})
        await screen.seen("on it")
        screen.keys("x")
        await confirm(screen, r"Cancel greet\?")
        assert (await provider.expect("tool.cancel"))["id"] == call["id"]
        # Answered, it ends before the second one: the list has what ended last on top.
        given_up = {"error": "given up", "errorCode": "CANCELLED"}
        await provider.send({"type": "tool.result", "id": call["id"], **given_up})
        await screen.seen("cancelled")

        (copied,) = home.tapui.rglob("copied.txt")
        command = await Command.shell(home, "sh", Path(copied))
        again = await provider.expect("tool.call")
        assert again["args"] == call["args"]
        await provider.send({"type": "tool.result", "id": again["id"], "data": "hello"})
        assert await command.end() == (0, '"hello"\n', "")

        screen.keys("q", PANES["calls"])
        await screen.seen(r"✓ done(.|\n)*cancelled")
        screen.keys("End", "Enter")
        await screen.seen("called by +you")
        code, out, _ = await run(home, "records", "--collection", "calls", "--json")
        assert code == 0
        started = [json.loads(line) for line in out.splitlines() if '"call.started"' in line]
        yours, command = [one["call"]["caller"] for one in started]
        assert yours == "you"
        assert re.fullmatch(r"process \d+ \(tapui\)", command)
