"""The whole way, with the real Copilot CLI: a person, the model, a provider, tapui between them."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from tests.rig.copilot import Copilot
from tests.rig.gateway import Home, tapui_argv
from tests.rig.model_server import ModelServer, Rule
from tests.rig.provider_process import ProviderProcess
from tests.rig.taken import wait_for_tools
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess
from tests.rig.waiting import SLOWNESS, until

LOOKUP = {
    "name": "lookup_order",
    "description": "Look up an order",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
}
ASKED = "where is order A-17"
ASKS_BASH = "Do you want to run this command"


def calls_it() -> Rule:
    """Have the model look the order up, once the tool is on offer."""
    return Rule(calls=[("lookup_order", {"id": "A-17"})], when=ASKED, needs="lookup_order")


@pytest.fixture
def start_provider(copilot: Copilot) -> Iterator[Callable[..., ProviderProcess]]:
    """Start providers in processes of their own."""
    with ExitStack() as stack:

        def start(tower: TowerProcess, **hello: Any) -> ProviderProcess:
            hello = {"name": "shop", "tools": [LOOKUP], **hello}
            provider = stack.enter_context(ProviderProcess(tower.url, tower.token, **hello))
            wait_for_tools(tower.home, copilot)
            return provider

        yield start


def records(copilot: Copilot, collection: str) -> list[dict[str, Any]]:
    """Return what tapui recorded in the session's own folder."""
    file = copilot.workspace / "files" / "tap" / f"{collection}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_the_models_call_reaches_the_provider_and_its_answer_the_model(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_provider: Callable[..., ProviderProcess],
) -> None:
    model.script(calls_it(), Rule(text="It is on its way.", role="tool", when="shipped yesterday"))
    provider = start_provider(tower)
    assert provider.ack["sessionId"] == copilot.session_id
    copilot.prompt(ASKED)
    copilot.choose_first("Run extension tool")
    call = provider.expect("tool.call")
    assert (call["tool"], call["args"]) == ("lookup_order", {"id": "A-17"})
    tower.pane("calls")
    tower.screen.wait_for(r"lookup_o.*running")
    provider.send({"type": "tool.result", "id": call["id"], "data": "shipped yesterday"})
    copilot.screen.wait_for("It is on its way")
    tower.screen.wait_for(r"lookup_o.*done")
    tower.screen.keys("Enter")
    tower.screen.wait_for("shipped yesterday")
    calls = [
        (record["kind"], record["call"])
        for record in records(copilot, "calls")
        if record["call"]["tool"] == "lookup_order" and record["call"]["provider"] == "shop"
    ]
    assert [kind for kind, _ in calls] == ["call.started", "call.finished"]
    assert calls[0][1]["args"] == {"id": "A-17"}
    assert calls[1][1]["data"] == "shipped yesterday"


def test_what_waits_for_the_person_is_decided_in_the_tower_or_in_the_cli(
    copilot: Copilot, model: ModelServer, tower: TowerProcess
) -> None:
    proof = copilot.cwd / "proof"
    command = {"command": "touch proof", "description": "touch"}
    runs = Rule(calls=[("bash", command)], when="run it")

    # Denied from the tower.
    model.script(replace(runs))
    copilot.prompt("run it")
    copilot.screen.wait_for(ASKS_BASH)
    tower.deny("touch proof")
    copilot.screen.wait_gone(ASKS_BASH)
    tower.screen.wait_for("denied.*touch proof")
    until(lambda: copilot.mode, what="the end of the turn")
    assert not proof.exists()

    # Approved from the tower.
    model.script(replace(runs), Rule(text="it ran", role="tool"))
    copilot.prompt("run it again")
    copilot.screen.wait_for(ASKS_BASH)
    assert not proof.exists()
    tower.approve("touch proof")
    copilot.screen.wait_for("it ran")
    assert proof.exists()
    states = [record["approval"]["state"] for record in records(copilot, "approvals")]
    assert states == ["waiting", "deciding", "denied", "waiting", "deciding", "approved"]

    # Answered in the CLI: it leaves the tower's list.
    model.script(replace(runs), Rule(text="it ran once more", role="tool"))
    copilot.prompt("run it there")
    tower.screen.wait_for("touch proof.*(waits|left)")
    copilot.choose_first(ASKS_BASH)
    tower.screen.wait_for("approved by you, in Copilot.*touch proof")
    copilot.screen.wait_for("it ran once more")

    # A mode that the agent wants waits for a key, too.
    switch = {"mode": "plan", "reason": "to think first"}
    model.script(
        Rule(calls=[("tap_set_session_mode", switch)], when="plan it"),
        Rule(text="planning now"),
    )
    copilot.prompt("plan it")
    tower.screen.wait_for("interactive → pla.*left")
    assert model.requests[-1].role == "user"
    tower.approve("interactive → pla")
    copilot.screen.wait_for("planning now")
    until(lambda: copilot.mode == "Plan", what=lambda: f"Plan:\n{copilot.screen.text()}")
    told = [str(one) for one in model.requests[-1].messages if one["role"] == "tool"]
    assert '"decidedBy":"you"' in told[-1]


def test_an_inject_wakes_the_session_and_a_surface_line_is_in_its_timeline(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_provider: Callable[..., ProviderProcess],
) -> None:
    model.script(Rule(text="I will look into it.", when="the build is broken"))
    provider = start_provider(tower)
    provider.push("the linter grumbles", level="surface", stream="ci")
    copilot.screen.wait_for("the linter grumbles")
    provider.push("the build is broken", level="inject", stream="ci")
    model.wait_for(lambda one: "the build is broken" in one.text)
    copilot.screen.wait_for("I will look into it")
    assert not [one for one in model.requests if "grumbles" in one.text]
    tower.pane("streams")
    tower.screen.wait_for("the build is broken")
    posted = [record["line"]["event"] for record in records(copilot, "streams")]
    assert posted == ["the linter grumbles", "the build is broken"]


def test_clear_keeps_the_provider(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_provider: Callable[..., ProviderProcess],
) -> None:
    model.script(
        Rule(text="hello", when="hi there"),
        calls_it(),
        Rule(text="found it", role="tool", when="in the post"),
    )
    provider = start_provider(tower)
    copilot.prompt("hi there")
    copilot.screen.wait_for("hello")
    copilot.clear()
    wait_for_tools(tower.home, copilot, providers=1)
    copilot.prompt(ASKED)
    copilot.choose_first("Run extension tool")
    call = provider.answer(data="in the post")
    assert call["sessionId"] == copilot.session_id
    copilot.screen.wait_for("found it")
    with pytest.raises(AssertionError, match=r"no session\.lifecycle"):
        provider.expect("session.lifecycle", state="shutdown.pending", within=0)


def test_after_kill_9_in_mid_call_the_turn_finishes_and_the_next_tapui_finds_the_session(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_tower: Callable[..., TowerProcess],
    start_provider: Callable[..., ProviderProcess],
) -> None:
    model.script(calls_it(), Rule(text="then without it", role="tool"))
    provider = start_provider(tower)
    copilot.prompt(ASKED)
    copilot.choose_first("Run extension tool")
    provider.expect("tool.call")
    os.kill(tower.pid, signal.SIGKILL)
    tower.screen.wait_dead()
    copilot.screen.wait_for("then without it")
    started = [record["kind"] for record in records(copilot, "calls")]
    assert "call.started" in started
    wait_for_tools(start_tower().home, copilot)


def test_the_clis_end_is_noticed_within_two_seconds(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_provider: Callable[..., ProviderProcess],
) -> None:
    held = threading.Event()
    model.script(Rule(text="late", when="wait", until=held))
    provider = start_provider(tower)
    copilot.prompt("wait for it")
    model.wait_for(lambda one: "wait for it" in one.text)
    os.kill(copilot.pid, signal.SIGKILL)
    notice = provider.expect("session.lifecycle", state="shutdown.pending", within=2 * SLOWNESS)
    assert notice["deadline"] == 10_000
    tower.screen.wait_for("ended")
    held.set()


def session_turns(tower: TowerProcess, copilot: Copilot) -> list[dict[str, Any]]:
    """Return the heads of the session's turns as a snapshot has them, the newest whole."""
    turns = tower.home.listed("turns")
    told = next(one for one in turns if one["sessionId"] == copilot.session_id)
    current = told.get("current")
    return [*({"head": head} for head in told.get("heads", [])), *([current] if current else [])]


def works(copilot: Copilot, model: ModelServer) -> None:
    """Let the model create a file, change it, and fail at a command, unasked."""
    copilot.allow_all()
    path = str(copilot.cwd / "a.txt")
    edit = {"path": path, "old_str": "two\n", "new_str": "2\n2b\n"}
    model.script(
        Rule(calls=[("create", {"path": path, "file_text": "one\ntwo\n"})], when="go now"),
        Rule(calls=[("edit", edit)], role="tool", when="Created"),
        Rule(
            calls=[("bash", {"command": "echo x > b.txt; exit 7", "description": "fails"})],
            role="tool",
            when="updated",
        ),
        Rule(text="all is done", role="tool", when="exit code 7"),
    )
    copilot.prompt("go now")
    copilot.screen.wait_for("all is done")


def check_turn(turn: dict[str, Any], copilot: Copilot) -> None:
    head, steps = turn["head"], turn["steps"]
    path = str(copilot.cwd / "a.txt")
    assert (head["prompt"], head["source"]) == ("go now", {"kind": "person"})
    told = [(one["kind"], one.get("tool"), one["state"], one["summary"]) for one in steps]
    assert told == [
        ("call", "create", "done", path),
        ("call", "edit", "done", path),
        ("call", "bash", "failed", "echo x > b.txt; exit 7"),
        ("message", None, "done", "all is done"),
    ]
    changed = [(one.get("added"), one.get("removed"), one.get("exitCode")) for one in steps[:3]]
    assert changed == [(2, 0, None), (2, 1, None), (None, None, 7)]
    assert head["files"][0] == {"path": path, "added": 4, "removed": 1}
    assert head["failed"] == 1
    assert head["usage"]["input"] >= 400
    assert head["usage"]["output"] >= 80


def test_a_turn_has_its_steps_and_is_still_there_after_tapui_has_restarted(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_tower: Callable[..., TowerProcess],
    tmux: Tmux,
) -> None:
    works(copilot, model)
    until(
        lambda: session_turns(tower, copilot)[-1]["head"]["state"] == "done",
        what=lambda: f"the turn's end: {session_turns(tower, copilot)}",
    )
    (turn,) = session_turns(tower, copilot)
    check_turn(turn, copilot)
    assert "isHistory" not in turn["head"]
    os.kill(tower.pid, signal.SIGKILL)
    tower.screen.wait_dead()
    again = start_tower()
    wait_for_tools(again.home, copilot)
    until(lambda: bool(session_turns(again, copilot)), what="the turns of before")
    (turn,) = session_turns(again, copilot)
    check_turn(turn, copilot)
    assert turn["head"]["isHistory"] is True
    check_records(copilot, again.home, tmux)


def check_records(copilot: Copilot, home: Home, tmux: Tmux) -> None:
    """The records tell of the same turn: `why` names it, and a replay shows it, once."""
    why = home.run("why", f"{copilot.cwd / 'a.txt'}:2")
    assert why.returncode == 0, why.stderr
    assert "asked: go now" in why.stdout
    assert "+ 2b" in why.stdout
    argv = tapui_argv("replay", copilot.session_id)
    screen = tmux.start(argv, env=home.env(), cwd=home.root, size=(200, 50))
    for step in ("✓ create ", "✓ edit ", "✗ bash .*exit 7", "says .*all is done"):
        screen.wait_for(step)
    assert screen.text().count("you: “go now”") == 1
    screen.keys("q")
    screen.wait_dead()


def test_a_tapui_that_comes_later_shows_what_happened_before(
    copilot: Copilot, model: ModelServer, start_tower: Callable[..., TowerProcess]
) -> None:
    works(copilot, model)
    tower = start_tower()
    wait_for_tools(tower.home, copilot)
    until(lambda: bool(session_turns(tower, copilot)), what="the turns of before")
    (turn,) = session_turns(tower, copilot)
    check_turn(turn, copilot)
    assert turn["head"]["isHistory"] is True
