"""Every key of the table, on a terminal, with what each brings up."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tapui.tower.keys.table import BY_ID, TABLE
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Host, Json, Provider, Tower
from tests.rig.tmux import Screen, Tmux
from tests.rig.tower import confirm
from tests.rig.waiting import until_async

TMUX = {
    "enter": "Enter",
    "escape": "Escape",
    "space": "Space",
    "tab": "Tab",
    "shift+tab": "BTab",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "ctrl+f": "C-f",
    "ctrl+l": "C-l",
    "ctrl+o": "C-o",
    "ctrl+p": "C-p",
    "ctrl+r": "C-r",
    "ctrl+t": "C-t",
}
TYPED = {
    "full_stop": ".",
    "plus": "+",
    "semicolon": "\\;",
    "comma": ",",
    "slash": "/",
    "question_mark": "?",
    "colon": ":",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
}
"""Textual's names of keys, as they are sent to a terminal by tmux."""
CAN = ["tell", "now", "stop", "compact", "model", "effort", "label"]
GREET = {
    "name": "greet",
    "description": "Say hello",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
}


class Walk:
    """Presses keys by their actions, and keeps which ones were pressed."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.pressed: set[tuple[str, str]] = set()

    def press(self, action: str, number: int = 0) -> None:
        """Press an action's key, or the one of this number of several."""
        key = BY_ID[action].keys.split(",")[number]
        self.pressed.add((action, key))
        if key in TMUX:
            self.screen.keys(TMUX[key])
        else:
            self.screen.type(TYPED.get(key, key))

    async def brings(self, action: str, pattern: str, number: int = 0) -> re.Match[str]:
        """Press an action's key; wait for what it brings up."""
        self.press(action, number)
        return await self.screen.seen(pattern)

    async def goes(self, action: str, pattern: str, number: int = 0) -> None:
        """Press an action's key; wait until something is gone."""
        self.press(action, number)
        await self.screen.gone(pattern)


def keys_of_the_table() -> Iterator[tuple[str, str]]:
    for action in TABLE:
        for key in filter(None, action.keys.split(",")):
            yield action.id, key


PUSH: Json = {"type": "push", "level": "keep", "stream": "log"}


async def _world(gateway: Gateway) -> tuple[Host, Provider]:
    """Open two sessions, the first with two turns and a failure; a provider with two streams."""
    host = await Host.hello(gateway.url, gateway.internal_token)
    for id_, label in (("s1", "Fix pairing"), ("s2", "Release notes")):
        await host.open(id_, label=label, can=CAN, state="idle")
    provider = await Provider.bind(
        gateway.url, gateway.token, name="ci", tools=[GREET], session="s1"
    )
    for number in range(9):
        level = "inject" if number == 4 else "keep"
        await provider.send({**PUSH, "level": level, "event": f"line {number} of the log"})
    await provider.send({**PUSH, "stream": "other", "event": "another stream " + "long " * 60})
    for number in (1, 2):
        prompt = {"content": f"Prompt number {number}"}
        await _event(host, "user.message", prompt)
        await host.invoke("s1", "greet", {"name": f"you {number}"}, id_=f"i{number}")
        await provider.answer(
            **(
                {"error": "no one is there", "errorCode": "INTERNAL"}
                if number == 2
                else {"data": "hi"}
            )
        )
        await host.expect("tool.outcome", id=f"i{number}")
        await _event(host, "session.idle", {})
    return host, provider


async def _event(host: Host, event: str, data: Json) -> None:
    await host.send({"type": "session.event", "sessionId": "s1", "event": event, "data": data})


async def _ask(host: Host, id_: str) -> None:
    detail = {"kind": "shell", "fullCommandText": f"make {id_}"}
    request = {"type": "approval.request", "id": id_, "sessionId": "s1", "kind": "permission"}
    await host.send({**request, "detail": detail})


async def _lists(walk: Walk) -> None:
    """Move in lists; sort, filter, zoom, copy."""
    screen = walk.screen
    screen.keys("5")
    await walk.brings("by-tool", "Calls by tool")
    walk.press("by-tool")
    await screen.gone("Calls by tool")
    for action, number in (("down", 0), ("down", 1), ("up", 0), ("up", 1)):
        walk.press(action, number)
    for action, number in (("last", 0), ("last", 1), ("first", 0), ("first", 1)):
        walk.press(action, number)
    for action in ("page-down", "page-up"):
        walk.press(action)
    await walk.brings("sort", "tool▲")
    await walk.brings("reverse", "tool▼")
    await walk.brings("filter", "/")
    screen.keys("y", "o", "u", "Enter")
    await screen.seen("/ you")
    walk.press("next-match")
    walk.press("previous-match")
    await walk.goes("close", "/ you")
    await walk.brings("copy", "The row was copied")
    screen.keys("1")
    await walk.brings("next-pane", "2 Turns")
    walk.press("previous-pane")
    screen.keys("2")
    await walk.goes("zoom", "3 Streams")
    await walk.brings("zoom", "3 Streams")
    await walk.brings("actions", "fold all turns")
    await walk.goes("close-sheet", "fold all turns")


async def _streams(walk: Walk) -> None:
    """Read streams: pause, older lines, levels, together, to the sides."""
    screen = walk.screen
    screen.keys("3")
    await walk.goes("zoom", "1 Sessions")
    await screen.seen("line 8 of the log")
    await walk.brings("pause", "paused")
    walk.press("pause")
    await screen.seen("following")
    await walk.brings("older", "no older|oldest|beginning|first line|not following")
    await walk.brings("previous-inject", "▌.*→ sent to Fix pairing")
    await walk.brings("next-inject", "No inject or failure after")
    await walk.brings("levels", "surface|inject")
    walk.press("levels")
    walk.press("levels")
    await walk.brings("go-to-time", "Go to a time")
    screen.keys("Escape")
    await screen.gone("Go to a time")
    await walk.brings("wrap", "wrapped")
    await walk.goes("wrap", "wrapped")
    await walk.brings("next-stream", "another stream")
    await walk.brings("right", "→ 8")
    await walk.brings("right", "→ 16", 1)
    await walk.brings("left", "→ 8")
    await walk.goes("left", "→ 8", 1)
    await walk.brings("previous-stream", "line 8 of the log")
    await walk.brings("mark-stream", r"\+ log@")
    await walk.goes("mark-stream", r"\+ log@")
    await walk.brings("zoom", "1 Sessions")


async def _sheets(walk: Walk) -> None:
    """Open sheets, go to their neighbours, see the record, find, get help."""
    screen = walk.screen
    screen.keys("5")
    await walk.brings("open", "run by")
    await walk.brings("next-item", "← 2 of")
    await walk.brings("previous-item", "1 of")
    await walk.goes("close-sheet", "1 of", 1)
    await walk.brings("next-failure", "2 Turns: Fix pairing")
    screen.keys("Enter")
    await walk.brings("raw", '"callId"')
    walk.press("raw")
    await walk.goes("close-sheet", "Esc close")
    await walk.brings("help", "In a pane")
    await walk.brings("topics", "Topics")
    screen.keys("Escape")
    await screen.gone("Topics")
    screen.keys("q")
    for number in (0, 1):
        await walk.brings("commands", "Search for commands", number)
        screen.keys("Escape")
        await screen.gone("Search for commands")
    await walk.brings("start-session", "Start a session without a screen")
    screen.keys("Escape")
    await screen.gone("Start a session without a screen")
    await walk.brings("stored", "Copilot has stored no session")
    screen.keys("Escape")
    await screen.gone("Stored sessions")
    for number in (0, 1):
        await walk.brings("find", "All words must be there", number)
        screen.keys("Escape")
        await screen.gone("All words must be there")


async def _second(screen: Screen) -> None:
    """Wait until the clock of the header goes on."""
    clock = re.compile(r"\d\d:\d\d:\d\d")
    shown = clock.findall(screen.text())[0]
    await until_async(lambda: clock.findall(screen.text())[0] != shown, what=screen.text)


async def _requests(walk: Walk, host: Host) -> None:
    """Choose each answer once; decide one."""
    screen = walk.screen
    await _ask(host, "r1")
    await screen.seen("1 waiting")
    await walk.brings("answer", "asks to run a command")

    for _ in range(2):  # its lock of half a second goes by
        await _second(screen)
    await walk.brings("allow", "Enter allows it, this once")
    await walk.brings("keep", "Enter allows exactly this")
    await walk.brings("make-rule", "Enter writes the rule")
    screen.keys("Escape")
    await screen.gone("Enter writes the rule")
    await walk.brings("deny", "Enter denies")
    await walk.brings("deny-and-tell", "message to the agent")
    screen.keys("Escape")
    await screen.gone("message to the agent")
    await walk.brings("deny", "Enter denies")
    await asyncio.to_thread(screen.press, "Enter", lambda: screen.find("Enter denies") is None)
    answer = await host.expect("approval.answer", id="r1")
    assert answer["decision"] == "deny"
    await screen.gone("asks to run a command")


async def _emitters(walk: Walk, host: Host, folder: Path) -> None:
    """Allow two emitters of a file together; pause one, run it now, see its lines."""
    screen = walk.screen
    ticks = {"name": "ticks", "command": "echo the first tick; exec sleep 1000"}
    hourly = {"name": "hourly", "command": "echo an hour", "runInterval": "1h"}
    file = {"emitters": [hourly, ticks]}
    (folder / "tap.config.json").write_text(json.dumps(file))
    await host.open("s3", label="Emitting", cwd=str(folder))
    await screen.seen("2 waiting")
    screen.keys("a")
    await screen.seen("has 2 emitters that are to start")
    await walk.brings("one-by-one", "answer all 2 of this file together")
    await walk.goes("one-by-one", "answer all 2 of this file together")
    for _ in range(2):  # its lock of half a second goes by
        await _second(screen)
    screen.keys("End")  # what is allowed is read to its end first
    await screen.seen("stream +ticks")
    await walk.brings("allow", "Enter allows these 2")
    await asyncio.to_thread(
        screen.press, "Enter", lambda: screen.find("Enter allows these 2") is None
    )
    await screen.gone("2 emitters that are to start")
    screen.keys("6")
    await screen.seen("○ hourly +waiting")
    await walk.brings("emitter-pause", "‖ hourly")
    await walk.goes("emitter-pause", "‖ hourly")
    await screen.seen("○ hourly +waiting")
    screen.keys("z", "Enter")
    await screen.seen("lines +2 read|runs +2")
    screen.keys("Escape")
    await screen.gone("Esc closes")
    walk.press("emitter-run")
    screen.keys("Enter")
    await screen.seen("runs +3")
    screen.keys("Escape")
    await screen.gone("Esc closes")
    screen.keys("z", "j")
    await _filter(walk)
    await walk.brings("emitter-lines", "the first tick")


async def _filter(walk: Walk) -> None:
    """Change the filter of the emitter under the cursor, in the file too."""
    screen = walk.screen
    await walk.brings("emitter-filter", "Filter of ticks")
    await screen.seen("1 line: 1 kept")
    await walk.brings("rule-add", "Enter takes the pattern")
    screen.type("tick")
    await screen.seen("1 would change")
    screen.keys("Enter")
    await screen.gone("Enter takes the pattern")
    await walk.brings("rule-outcome", "1 +surface")
    await walk.brings("rule-edit", "Enter takes the pattern")
    screen.type("s*")
    screen.keys("Enter")
    await screen.gone("Enter takes the pattern")
    walk.press("rule-add")
    await screen.seen("Enter takes the pattern")
    screen.type("first")
    screen.keys("Enter")
    await screen.seen("2 +inject +first")
    await walk.brings("rule-up", "1 +inject +first")
    await walk.brings("rule-down", "2 +inject +first")
    await walk.goes("rule-remove", "inject +first")
    await walk.goes("rule-write", "Filter of ticks")
    await screen.seen("Written into")


async def _workbench(walk: Walk, provider: Provider) -> None:
    """Call a tool by its form and as JSON, and copy the call."""
    screen = walk.screen
    screen.keys("1", "g")
    await walk.brings("workbench", "Call a tool in")
    screen.keys("Enter")
    await screen.seen(r"\d+ tools")
    screen.type("greet")
    await screen.seen(r"1 of \d+")
    screen.keys("Enter")
    await screen.seen("the arguments fit")
    await walk.brings("as-json", "\\{")
    walk.press("as-json")
    await walk.brings("copy-line", "The line was copied")
    walk.press("call")
    call = await provider.expect("tool.call")
    await screen.seen("running|in flight")
    screen.keys("q")
    await screen.gone("the arguments fit")
    screen.keys("5")
    screen.type("/running")
    await screen.seen("1 of 3")
    screen.keys("Enter")
    await walk.brings("stop", "Cancel greet\\?")
    await confirm(screen, "Cancel greet\\?")
    assert (await provider.expect("tool.cancel"))["id"] == call["id"]


async def _orders(walk: Walk, host: Host, provider: Provider, gateway: Gateway) -> None:
    """Tell a session something; undo the move of a provider."""
    screen = walk.screen
    screen.keys("1", "g")
    await walk.brings("tell", "after this turn|Tell")
    screen.type("stop it")
    walk.press("tell-way")
    walk.press("tell-keep")
    walk.press("tell")
    await screen.seen("stop it")
    walk.press("tell-send")
    await host.next()
    async with await Tower.hello(gateway.url, gateway.internal_token) as other:
        move = {"type": "provider.move", "providerId": provider.id, "sessionId": "s2"}
        await other.send(move)
        await screen.seen("moved")
        walk.press("undo-move")
        while (await other.event("provider.moved"))["sessionId"] != "s1":
            pass


async def _replayed(walk: Walk) -> None:
    """Go through the records."""
    screen = walk.screen
    place = re.compile(r"REPLAY.* event (\d+) of \d+")
    await screen.seen(place.pattern)

    def at() -> str | None:
        found = place.search(screen.text())
        return found and found[1]

    for action in ("event-back", "event-on", "turn-back", "turn-on", "turn-back", "play"):
        before = at()
        walk.press(action)
        await until_async(lambda shown=before: at() not in (None, shown), what=screen.text)
    walk.press("faster")
    walk.press("slower")
    walk.press("quit")
    await until_async(lambda: screen.is_dead, what=screen.text)


async def test_every_key_does_what_the_table_says(
    gateway: Gateway, tmux: Tmux, home: Home, tmp_path: Path
) -> None:
    host, provider = await _world(gateway)
    argv = tapui_argv("--no-attach", "--port", str(gateway.port))
    screen = tmux.start(argv, env=home.env(), cwd=home.root, size=(120, 36))
    walk = Walk(screen)
    # What a key does depends on what there is: the panes have their names before their rows.
    await screen.seen("Fix pairing")
    async with host, provider:
        await _lists(walk)
        await _streams(walk)
        await _sheets(walk)
        await _requests(walk, host)
        await _workbench(walk, provider)
        await _orders(walk, host, provider, gateway)
        await _emitters(walk, host, tmp_path)
    assert gateway.stop() == 0
    await walk.brings("start-here", "Nothing is attached")
    await walk.brings("demo", r"\(demo\)")
    await screen.seen("ci-watch")
    walk.press("quit")
    await until_async(lambda: screen.is_dead, what=screen.text)
    walk.screen = tmux.start(
        tapui_argv("replay", "s1"), env=home.env(), cwd=home.root, size=(120, 36)
    )
    await _replayed(walk)
    assert sorted(set(keys_of_the_table()) - walk.pressed) == []
