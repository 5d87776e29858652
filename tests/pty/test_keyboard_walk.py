"""Every key of the table, on a terminal, with what each brings up."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tapui.tower.keys.key_table import BY_ID, TABLE
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Host, Json, Provider, Tower
from tests.rig.tmux import Screen, Tmux
from tests.rig.tower import confirm
from tests.rig.waiting import until_async

TMUX = {
    "f1": "F1",
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
    "alt+enter": "M-Enter",
    "ctrl+f": "C-f",
    "ctrl+j": "C-j",
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

    async def answers(self, action: str, pattern: str) -> None:
        """Press the key of an answer, which counts alone; wait for what it brings up."""
        key = BY_ID[action].keys.split(",")[0]
        self.pressed.add((action, key))
        await asyncio.to_thread(
            self.screen.press, key, lambda: self.screen.find(pattern) is not None
        )

    async def goes(self, action: str, pattern: str, number: int = 0) -> None:
        """Press an action's key; wait until something that is there is gone."""
        await self.screen.seen(pattern)
        self.press(action, number)
        await self.screen.gone(pattern)

    async def escape(self, pattern: str) -> None:
        """Press Esc; wait until something that is there is gone."""
        await self.screen.seen(pattern)
        self.screen.keys("Escape")
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
    leads = {"words": {}, "folders": ["/"], "holding": [], "home": "", "linked": [], "below": []}
    detail = {"kind": "shell", "fullCommandText": f"make {id_}", "leads": leads}
    request = {"type": "approval.request", "id": id_, "sessionId": "s1", "kind": "permission"}
    await host.send({**request, "detail": detail})


async def _lists(walk: Walk) -> None:
    """Move in lists; sort, filter, zoom, copy."""
    screen = walk.screen
    screen.keys("5")
    await walk.brings("by-tool", "Calls by tool")
    await walk.goes("by-tool", "Calls by tool")
    for action, number in (("down", 0), ("down", 1), ("up", 0), ("up", 1)):
        walk.press(action, number)
    for action, number in (("last", 0), ("last", 1), ("first", 0), ("newest", 0)):
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
    await walk.goes("zoom", "─ 3 Streams")
    await walk.brings("zoom", "─ 3 Streams")
    await walk.brings("actions", "fold all turns")
    await walk.goes("close-sheet", "fold all turns")
    screen.resize(160, 45)
    await screen.seen("─ 3 Streams   4 Providers")
    await walk.brings("into-detail", "← back")
    await walk.goes("out-of-detail", "← back")
    screen.resize(120, 36)
    await screen.seen("─ 5 Calls")


async def _streams(walk: Walk) -> None:
    """Read streams: pause, older lines, levels, together, to the sides."""
    screen = walk.screen
    screen.keys("3")
    await walk.goes("zoom", "─ 1 Sessions")
    await screen.seen("line 8 of the log")
    await walk.brings("pause", "paused")
    walk.press("pause")
    await screen.seen("following")
    await walk.brings("older", "no older|oldest|beginning|first line|not following")
    await walk.brings("previous-inject", "▌.*→ .*to Fix pairing")
    await walk.brings("next-inject", "No line sent to the agent")
    await walk.brings("levels", "shown to you|sent to the agent")
    walk.press("levels")
    walk.press("levels")
    await walk.brings("go-to-time", "Go to a time")
    await walk.escape("Go to a time")
    await walk.brings("wrap", "wrapped")
    await walk.goes("wrap", "wrapped")
    await walk.brings("hide-above", "what was above is hidden")
    await walk.goes("hide-above", "what was above is hidden")
    await walk.brings("next-stream", "another stream")
    await walk.brings("right", "→ 8")
    await walk.brings("right", "→ 16", 1)
    await walk.brings("left", "→ 8")
    await walk.goes("left", "→ 8", 1)
    await walk.brings("previous-stream", "line 8 of the log")
    await walk.brings("mark-stream", r"\+ log@")
    await walk.goes("mark-stream", r"\+ log@")
    await walk.brings("zoom", "─ 1 Sessions")


async def _sheets(walk: Walk) -> None:
    """Open sheets, go to their neighbours, see the record, find, get help."""
    screen = walk.screen
    screen.keys("5")
    await walk.brings("open", "run by")
    await walk.brings("next-item", "← 2 of")
    await walk.brings("previous-item", "← 1 of")
    await walk.goes("close-sheet", "← 1 of", 1)
    await walk.brings("next-failure", "session +Fix pairing")
    await walk.brings("raw", '"callId"')
    walk.press("raw")
    await walk.goes("close-sheet", "Esc back")
    await walk.brings("help", "Signs on this screen")
    await walk.goes("close-sheet", "Signs on this screen")
    await walk.brings("help", "Signs on this screen", 1)
    await walk.brings("topics", "Topics")
    await walk.escape("Topics")
    screen.keys("q")
    for number in (0, 1):
        await walk.brings("commands", "Search for commands", number)
        await walk.escape("Search for commands")
    await walk.brings("start-session", "Start a session without a screen")
    await walk.escape("Start a session without a screen")
    await walk.brings("stored", "Copilot has stored no session")
    await walk.escape("Stored sessions")
    for number in (0, 1):
        await walk.brings("find", "All words must be there", number)
        await walk.escape("All words must be there")
    screen.type(":query SELECT tool, state FROM calls")
    await screen.seen("SELECT tool, state FROM calls")
    screen.keys("Enter", "Enter")
    await screen.seen("2 rows")
    await walk.brings("export", "Write 2 rows into a file")
    screen.type("c")
    await screen.seen("Written into")
    await walk.escape("2 rows")


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
    await walk.answers("allow", "Enter allows it, this once")
    await walk.answers("keep", "Enter allows exactly this")
    await walk.answers("make-rule", "Enter writes the rule")
    await walk.escape("Enter writes the rule")
    await walk.answers("deny", "Enter denies")
    await walk.answers("deny-and-tell", "message to the agent")
    await walk.escape("message to the agent")
    await walk.answers("deny", "Enter denies")
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
    await screen.seen("2 emitters that are to start")
    await walk.brings("one-by-one", "answer all 2 of this file together")
    await walk.goes("one-by-one", "answer all 2 of this file together")
    for _ in range(2):  # its lock of half a second goes by
        await _second(screen)
    screen.keys("End")  # what is allowed is read to its end first
    await screen.seen("stream +ticks")
    await walk.answers("allow", "Enter allows these 2")
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
    await walk.escape("Esc back")
    walk.press("emitter-run")
    screen.keys("Enter")
    await screen.seen("runs +3")
    await walk.escape("Esc back")
    screen.keys("z", "j")
    await _filter(walk)
    await walk.brings("emitter-lines", "the first tick")


async def _goals(walk: Walk) -> None:
    """Open a goal of the session that is selected, and work on it."""
    screen = walk.screen
    screen.keys("8")
    await walk.brings("goal-open", "a command that is to end with exit code 0")
    screen.type("pytest -q")
    screen.keys("Enter")
    await screen.seen("pytest -q +active")
    screen.keys("z")
    await walk.brings("goal-send-back", "pytest -q +active.* on ")
    await walk.brings("goal-verify", "0 of 1 ○")
    await walk.brings("goal-note", "Note at pytest -q")
    screen.type("first the cart")
    screen.keys("Enter")
    await screen.gone("Note at pytest -q")
    await walk.brings("goal-achieved", "Is pytest -q achieved")
    screen.keys("n")
    await screen.gone("Is pytest -q achieved")
    screen.keys("Enter")
    await screen.seen("Esc back")
    await walk.brings("trace", r"\d spans?\b")
    await walk.goes("trace", r"\d spans?\b")
    await walk.escape("Esc back")
    screen.keys("z")


async def _changes(walk: Walk, host: Host, folder: Path) -> None:
    """See what a session changed; choose what it is compared with; mark it, and note something;
    open the editor at a line."""
    screen = walk.screen
    repository(folder)
    shell = {"shellTools": ["bash"], "reservedTools": ["bash"]}
    await host.open("s4", label="Selling", cwd=str(folder), can=["tell"], **shell)
    screen.keys("1", "g")
    await screen.seen("Selling")
    for _ in range(9):
        if screen.find("▌.*Selling"):
            break
        before = screen.text()
        screen.keys("Down")
        await until_async(lambda shown=before: screen.text() != shown, what=screen.text)
    screen.keys("7")
    await screen.seen("has changed no file since its start")
    (folder / "cart.py").write_text("old\nnew\n")
    await host.send(
        {"type": "session.event", "sessionId": "s4", "event": "session.idle", "data": {}}
    )
    await screen.seen(r"cart\.py.* \+1")
    await walk.brings("changes-since", "changed since")
    await walk.escape("changed since")
    await walk.goes("changes-seen", "not seen")
    await walk.brings("changes-note", "Note on cart.py")
    screen.keys("w", "h", "y", "Enter")
    await screen.seen("1 note")
    screen.keys("Enter")
    await screen.seen("2 │ .new")
    await walk.brings("changes-editor", r"editing \+2 .*/cart\.py")
    screen.keys("Enter")
    await screen.seen("2 │ .new")
    screen.keys("Escape")
    await screen.seen(r"cart\.py.* \+1")
    await walk.brings("changes-tell", "1 note, ")
    await walk.escape("1 note, ")


def repository(folder: Path) -> None:
    """Make a repository with one commit."""
    folder.mkdir()
    (folder / "cart.py").write_text("old\n")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *names, *words], cwd=folder, check=True, env=environ)


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
    await walk.brings("rule-outcome", "1 +shown to you")
    await walk.brings("rule-edit", "Enter takes the pattern")
    screen.type("s*")
    screen.keys("Enter")
    await screen.gone("Enter takes the pattern")
    walk.press("rule-add")
    await screen.seen("Enter takes the pattern")
    screen.type("first")
    screen.keys("Enter")
    await screen.seen("2 +sent to the agent +first")
    await walk.brings("rule-up", "1 +sent to the agent +first")
    await walk.brings("rule-down", "2 +sent to the agent +first")
    await walk.goes("rule-remove", "sent to the agent +first")
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
    await walk.brings("mark-session", "1 marked")
    await walk.goes("mark-session", "1 marked")
    await walk.brings("actions", "its tools: what they cost")
    screen.keys("t")
    await screen.seen("Tools of .* on, ~")
    await walk.brings("switch-tool", "all off")
    await walk.goes("switch-tool", "all off")
    await walk.goes("close-sheet", "Tools of ")
    await walk.brings("tell", "after this turn|Tell")
    screen.type("stop it")
    walk.press("new-line")
    walk.press("new-line", 1)
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
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "editing $*"\nread line\n')
    editor.chmod(0o755)
    env = home.env(EDITOR=str(editor))
    screen = tmux.start(argv, env=env, cwd=home.root, size=(120, 36))
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
        await _goals(walk)
        await _changes(walk, host, tmp_path / "shop")
        await _emitters(walk, host, tmp_path)
    assert gateway.stop() == 0
    # The old screen may say "Nothing is attached" too: it has to be gone before the next key.
    await screen.seen("start a gateway")
    await walk.goes("start-here", "start a gateway")
    await screen.seen("Nothing is attached")
    await walk.brings("demo", r"\(demo\)")
    await screen.seen("ci-watch")
    walk.press("quit")
    await until_async(lambda: screen.is_dead, what=screen.text)
    walk.screen = tmux.start(
        tapui_argv("replay", "s1"), env=home.env(), cwd=home.root, size=(120, 36)
    )
    await _replayed(walk)
    # Answers are not checked here, so they suggest no rule: `tower/test_suggestions_sheet.py`
    # presses the key that refuses one.
    unpressed = sorted(set(keys_of_the_table()) - walk.pressed)
    assert unpressed == [("never-suggest", "n")]
