"""Rules, gates and context in the real Copilot session; providers that come back, and several."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway
from tests.rig.model_server import ModelServer, Request, Rule
from tests.rig.provider_process import ProviderProcess
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import SLOWNESS, until

ASKS_BASH = "Do you want to run this command"
TOUCH = {"command": "touch proof", "description": "a command"}
BASH_GATE = {"match": {"tool": "bash"}, "action": "gate", "gateId": "friday"}
SHOT = {
    "name": "shot",
    "description": "Take a picture of the page",
    "parameters": {"type": "object", "properties": {}},
}
Start = Callable[..., ProviderProcess]


@pytest.fixture
def tapui(copilot: Copilot, serve: Callable[..., Gateway]) -> Gateway:
    """A `tapui serve` that has found the CLI's session."""
    gateway = serve()

    def is_listed() -> bool:
        return copilot.session_id in str(gateway.home.state().get("sessions"))

    until(is_listed, what=lambda: f"attached; {gateway.stderr}")
    return gateway


@pytest.fixture
def start(copilot: Copilot, tapui: Gateway) -> Iterator[Start]:
    """Start providers of the CLI's session, in processes of their own."""
    with ExitStack() as stack:

        def one(**hello: Any) -> ProviderProcess:
            hello = {"name": "guard", "tools": [], "session": copilot.session_id, **hello}
            provider = stack.enter_context(ProviderProcess(tapui.url, tapui.token, **hello))
            wait_for_tools(tapui.home, copilot)
            return provider

        yield one


def runs_bash(then: str) -> tuple[Rule, Rule]:
    return Rule(calls=[("bash", TOUCH)], when="run it"), Rule(text=then)


def told_of_the_tool(model: ModelServer) -> str:
    """Return what the model read as the tool's result."""
    request = model.wait_for(lambda one: any(m["role"] == "tool" for m in one.messages))
    return str([m["content"] for m in request.messages if m["role"] == "tool"][-1])


def test_a_gate_stops_bash_and_its_reason_reaches_the_model(
    copilot: Copilot, model: ModelServer, start: Start
) -> None:
    model.script(*runs_bash("so be it"))
    guard = start(hooks={"onPreToolUse": [BASH_GATE]})
    copilot.prompt("run it")
    check = guard.expect("gate.check")
    assert (check["gateId"], check["tool"]) == ("friday", "bash")
    assert check["args"]["command"] == "touch proof"
    no = {"decision": "deny", "reason": "not on a Friday"}
    guard.send({"type": "gate.result", "callId": check["callId"], **no})
    assert "not on a Friday" in told_of_the_tool(model)
    copilot.screen.wait_for("so be it")
    assert not copilot.screen.find(ASKS_BASH)
    assert not (copilot.cwd / "proof").exists()


def test_a_gate_that_says_yes_leaves_the_person_their_own_word(
    copilot: Copilot, model: ModelServer, start: Start
) -> None:
    model.script(*runs_bash("it ran"))
    guard = start(hooks={"onPreToolUse": [BASH_GATE]})
    copilot.prompt("run it")
    check = guard.expect("gate.check")
    guard.send({"type": "gate.result", "callId": check["callId"], "decision": "allow"})
    copilot.screen.wait_for(ASKS_BASH)
    assert not (copilot.cwd / "proof").exists()
    copilot.choose_first(ASKS_BASH)
    copilot.screen.wait_for("it ran")
    assert (copilot.cwd / "proof").exists()


def test_a_silent_gate_denies(copilot: Copilot, model: ModelServer, start: Start) -> None:
    model.script(*runs_bash("so be it"))
    guard = start(hooks={"onPreToolUse": [BASH_GATE]})
    copilot.prompt("run it")
    guard.expect("gate.check")
    assert "did not respond in time" in told_of_the_tool(model)
    assert not (copilot.cwd / "proof").exists()


def test_tapui_that_is_stopped_refuses_what_its_gates_have_not_allowed(
    copilot: Copilot, model: ModelServer, tapui: Gateway, start: Start
) -> None:
    model.script(*runs_bash("so be it"))
    guard = start(hooks={"onPreToolUse": [BASH_GATE]})
    copilot.prompt("run it")
    guard.expect("gate.check")
    tapui.signal(signal.SIGTERM)
    guard.expect("session.lifecycle", state="shutdown.pending")
    guard.send({"type": "shutdown.ready", "sessionId": copilot.session_id})
    tapui.wait()
    assert "Denied by preToolUse hook" in told_of_the_tool(model)
    copilot.screen.wait_for("so be it")
    assert not (copilot.cwd / "proof").exists()


def test_tapui_that_is_killed_leaves_the_word_to_the_person_at_once(
    copilot: Copilot, model: ModelServer, tapui: Gateway, start: Start
) -> None:
    model.script(*runs_bash("it ran"))
    guard = start(hooks={"onPreToolUse": [BASH_GATE]})
    copilot.prompt("run it")
    guard.expect("gate.check")
    tapui.kill()
    copilot.screen.wait_for(ASKS_BASH, within=5 * SLOWNESS)
    assert not (copilot.cwd / "proof").exists()


def test_tapui_that_is_frozen_leaves_the_word_to_the_person_where_nothing_is_in_force(
    copilot: Copilot, model: ModelServer, tapui: Gateway, start: Start
) -> None:
    model.script(*runs_bash("it ran"))
    guard = start(hooks={"onPreToolUse": [BASH_GATE]})
    guard.close()
    wait_for_tools(tapui.home, copilot)
    tapui.signal(signal.SIGSTOP)
    try:
        copilot.prompt("run it")
        copilot.choose_first(ASKS_BASH)
        copilot.screen.wait_for("it ran")
    finally:
        tapui.signal(signal.SIGCONT)
    assert (copilot.cwd / "proof").exists()


def test_tapui_that_is_frozen_refuses_while_a_gate_is_in_force(
    copilot: Copilot, model: ModelServer, tapui: Gateway, start: Start
) -> None:
    model.script(*runs_bash("so be it"))
    start(hooks={"onPreToolUse": [BASH_GATE]})
    tapui.signal(signal.SIGSTOP)
    try:
        copilot.prompt("run it")
        assert "did not decide about bash" in told_of_the_tool(model)
        copilot.screen.wait_for("so be it")
    finally:
        tapui.signal(signal.SIGCONT)
    assert not (copilot.cwd / "proof").exists()


def test_context_of_a_rule_and_of_an_update_reach_the_next_request(
    copilot: Copilot, model: ModelServer, start: Start
) -> None:
    model.script(*runs_bash("it ran"))
    rule = {"match": {"tool": "bash"}, "action": "context", "content": "mind the gap"}
    guard = start(hooks={"onPreToolUse": [rule]}, startup_context="welcome aboard")
    guard.send({"type": "context.update", "context": "the sky is green", "requestId": "u1"})
    guard.expect("ack", requestId="u1")
    copilot.prompt("run it")
    asked = model.wait_for(lambda one: "run it" in str(one.messages))
    assert "the sky is green" in str(asked.messages)
    assert "welcome aboard" in str(asked.messages)
    copilot.choose_first(ASKS_BASH)
    copilot.screen.wait_for("it ran")
    assert "mind the gap" in str(model.requests[-1].messages)
    model.script(Rule(text="you are welcome", when="thanks"))
    guard.send({"type": "context.update", "context": "the sky is blue", "requestId": "u2"})
    guard.expect("ack", requestId="u2")
    copilot.prompt("thanks")
    copilot.screen.wait_for("you are welcome")
    last = [str(one["content"]) for one in model.requests[-1].messages if one["role"] == "user"][-1]
    assert "the sky is blue" in last
    assert "welcome aboard" not in last


def test_a_subagents_tool_passes_the_gates_of_its_parent(
    copilot: Copilot, model: ModelServer, start: Start
) -> None:
    task = {"description": "touch", "prompt": "run it please", "agent_type": "task", "name": "t"}
    model.script(
        Rule(calls=[("task", task)], when="delegate"),
        Rule(calls=[("bash", TOUCH)], when="run it please"),
        Rule(text="refused then", when="not for children"),
        Rule(text="all done"),
    )
    guard = start(hooks={"onPreToolUse": [BASH_GATE]})
    copilot.prompt("delegate")
    check = guard.expect("gate.check")
    assert check["sessionId"] == copilot.session_id
    no = {"decision": "deny", "reason": "not for children"}
    guard.send({"type": "gate.result", "callId": check["callId"], **no})
    model.wait_for(lambda one: "not for children" in str(one.messages))
    copilot.screen.wait_for("all done")
    assert not (copilot.cwd / "proof").exists()


def test_two_instances_are_called_by_target(
    copilot: Copilot, model: ModelServer, start: Start
) -> None:
    left = start(name="browser", instance="left", tools=[SHOT])
    right = start(name="browser", instance="right", tools=[SHOT])

    def offers_both(one: Request) -> bool:
        return {"shot", "list_browser_instances"} <= set(one.tools)

    model.script(
        Rule(calls=[("shot", {"target": "left"})], when="look", needs="shot"),
        Rule(calls=[("shot", {"target": "right"})], when="a cat"),
        Rule(text="a cat and a dog", when="a dog"),
    )
    copilot.prompt("look at both")
    model.wait_for(offers_both)
    copilot.choose_first('Run extension tool "shot"')
    assert left.answer(data="a cat")["args"] == {}
    copilot.choose_first('Run extension tool "shot"')
    assert right.answer(data="a dog")["args"] == {}
    copilot.screen.wait_for("a cat and a dog")


def test_a_killed_provider_comes_back_with_its_id_and_tools(
    copilot: Copilot, model: ModelServer, start: Start
) -> None:
    first = start(name="browser", tools=[SHOT], context="the sky is green")
    model.script(
        Rule(calls=[("shot", {})], needs="shot"),
        Rule(text="it is a cat", when="a cat"),
    )
    first.close()
    second = start(name="browser", keeps_tools=True, reconnectToken=first.ack["reconnectToken"])
    assert second.id == first.id
    assert second.ack["reconnectToken"] != first.ack["reconnectToken"]
    copilot.prompt("look")
    assert "the sky is green" in str(model.wait_for(lambda one: "look" in one.text).messages)
    copilot.choose_first('Run extension tool "shot"')
    second.answer(data="a cat")
    copilot.screen.wait_for("it is a cat")
