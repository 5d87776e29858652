"""Hooks: rules before tools, gates that fail closed, who may register what."""

from typing import Any

import pytest

from tests.core.conftest import Scene
from tests.core.harness import PROVIDER_TOKEN, Conversation, Json, Peer

GATE = {"match": {"tool": "bash", "args": "git push"}, "action": "gate", "gateId": "ci"}
PUSH = {"command": "git push origin main"}


def guarded(talk: Conversation, *rules: Json, **hello: Any) -> tuple[Peer, Peer]:
    """Return a host that asks hooks itself, and a provider with rules in its session."""
    host = talk.host(hooks=True)
    host.open("s1")
    provider = talk.provider("s1", hooks={"onPreToolUse": list(rules)}, **hello)
    talk.wait(1)  # the change of tools is told
    host.hear()
    return host, provider


def asks(host: Peer, tool: str = "bash", args: Json | None = None, id_: str = "k1") -> None:
    host.say(type="hook.preToolUse", id=id_, sessionId="s1", tool=tool, args=args or PUSH)


def decision(host: Peer) -> Json:
    return host.hear_one("hook.decision")


def test_without_rules_everything_is_allowed(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    asks(host)
    assert decision(host) == {"type": "hook.decision", "id": "k1", "decision": "allow"}
    assert not talk.events("gate.checked")


@pytest.mark.parametrize(
    ("match", "tool", "args", "is_denied"),
    [
        ({}, "bash", PUSH, True),
        ({"tool": "bash"}, "bash", PUSH, True),
        ({"tool": "bash"}, "Bash", PUSH, False),
        ({"tool": "shell", "args": "git push"}, "bash", PUSH, True),
        ({"tool": "shell", "args": "git push"}, "powershell", PUSH, True),
        ({"tool": "shell"}, "shell", PUSH, True),
        ({"tool": "shell"}, "edit", PUSH, False),
        ({"tool": "bash"}, "shell", PUSH, False),
        ({"args": "git push"}, "bash", PUSH, True),
        ({"args": "git push"}, "bash", {"command": "git\\u0020push"}, False),
        ({"args": '"command":"git'}, "bash", PUSH, True),
        ({"args": '"n":1[,}]'}, "bash", {"n": 1.0}, True),
        ({"args": "git[^]push"}, "bash", PUSH, True),
        ({"args": "git[]"}, "bash", PUSH, False),
        ({"args": r"\u{1F600}{2}"}, "bash", {"command": "😀😀"}, True),
        ({"args": r"git\cJ"}, "bash", PUSH, False),
        ({"args": "^rm"}, "bash", PUSH, False),
        ({"file": "*.sql"}, "edit", {"path": "/db/one.sql"}, True),
        ({"file": "one.sql"}, "edit", {"file_path": "/db/one.sql"}, True),
        ({"file": "/db/*"}, "edit", {"filePath": "/db/one.sql"}, True),
        ({"file": "*.sql"}, "edit", {"file": "one.py"}, False),
        ({"file": "*.sql"}, "edit", {"other": "one.sql"}, False),
        ({"provider": "greeter"}, "greet", {}, True),
        ({"provider": "greeter"}, "bash", {}, False),
        ({"tool": "bash", "args": "push", "file": "*"}, "bash", PUSH, False),
    ],
)
def test_static_deny_matches(
    talk: Conversation, match: Json, tool: str, args: Json, is_denied: bool
) -> None:
    host, _ = guarded(talk, {"match": match, "action": "deny", "reason": "no"})
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool=tool, args=args)
    found = decision(host)
    assert found["decision"] == ("deny" if is_denied else "allow")
    assert found.get("reason") == ("no" if is_denied else None)


def test_escapes_in_the_arguments_hide_nothing(talk: Conversation) -> None:
    host, _ = guarded(talk, {"match": {"args": "git push"}, "action": "deny"})
    host.say(
        b'{"type":"hook.preToolUse","id":"k1","sessionId":"s1","tool":"bash",'
        b'"args":{"command":"git\\u0020push"}}'
    )
    assert decision(host)["decision"] == "deny"


@pytest.mark.parametrize("number", ["1", "1.0", "1e0", "10e-1", "0.1E+1"])
def test_a_number_is_matched_as_javascript_writes_it(talk: Conversation, number: str) -> None:
    host, _ = guarded(talk, {"match": {"args": '"n":1}'}, "action": "deny"})
    host.say(
        b'{"type":"hook.preToolUse","id":"k1","sessionId":"s1","tool":"bash","args":{"n":%b}}'
        % number.encode()
    )
    assert decision(host)["decision"] == "deny"


def test_contexts_join_in_order_of_registration(talk: Conversation) -> None:
    host, _ = guarded(
        talk,
        {"match": {"tool": "edit"}, "action": "context", "content": "first"},
        {"match": {}, "action": "context", "content": "second"},
    )
    talk.provider(
        "s1", name="other", tools=[], hooks={
            "onPreToolUse": [{"match": {"tool": "edit"}, "action": "context", "content": "third"}]
        }
    )  # fmt: skip
    asks(host, "edit", {})
    found = decision(host)
    assert found["decision"] == "context"
    assert found["context"] == "first\n\nsecond\n\nthird"


def test_gate_asks_the_provider_and_its_word_holds(talk: Conversation) -> None:
    host, provider = guarded(talk, GATE)
    asks(host)
    check = provider.hear_one("gate.check")
    assert check == {
        "type": "gate.check",
        "gateId": "ci",
        "callId": check["callId"],
        "sessionId": "s1",
        "tool": "bash",
        "args": PUSH,
    }
    assert not host.hear()
    provider.say(
        type="gate.result", gateId="ci", callId=check["callId"], decision="deny", reason="CI fails"
    )
    assert decision(host) == {
        "type": "hook.decision",
        "id": "k1",
        "decision": "deny",
        "reason": "CI fails",
    }
    waiting, denied = talk.events("gate.checked")
    assert waiting["gate"]["state"] == "waiting"
    assert waiting["gate"]["providers"] == ["greeter"]
    assert (denied["gate"]["state"], denied["gate"]["decidedBy"]) == ("deny", "greeter")
    assert (denied["gate"]["id"], denied["gate"]["reason"]) == (waiting["gate"]["id"], "CI fails")


@pytest.mark.parametrize("word", ["allow", "context"])
def test_gate_that_allows(talk: Conversation, word: str) -> None:
    host, provider = guarded(talk, GATE)
    asks(host)
    call = provider.hear_one("gate.check")["callId"]
    provider.say(type="gate.result", callId=call, decision=word, reason="mind the tests")
    found = decision(host)
    assert found["decision"] == word
    assert found.get("context") == ("mind the tests" if word == "context" else None)


def test_silence_for_five_seconds_denies(talk: Conversation) -> None:
    host, provider = guarded(talk, GATE)
    asks(host)
    talk.wait(4.9)
    assert not host.hear()
    talk.wait(0.2)
    found = decision(host)
    assert found["decision"] == "deny"
    assert found["reason"] == "Gate provider 'greeter' did not respond in time."
    call = provider.hear_one("gate.check")["callId"]
    provider.say(type="gate.result", callId=call, decision="allow")
    assert not provider.hear(), "a late answer is ignored"
    assert not host.hear()
    assert talk.deadlines == 0


def test_fail_open_allows_on_silence_and_on_disconnect(talk: Conversation) -> None:
    host, provider = guarded(talk, GATE | {"failOpen": True})
    asks(host)
    talk.wait(5.1)
    assert decision(host)["decision"] == "allow"
    asks(host, id_="k2")
    provider.drop()
    assert decision(host)["decision"] == "allow"


def test_disconnect_denies(talk: Conversation) -> None:
    host, provider = guarded(talk, GATE)
    asks(host)
    provider.drop()
    assert decision(host)["reason"] == "Gate provider 'greeter' disconnected."


@pytest.mark.parametrize(
    "answer",
    [
        {"callId": "CALL", "decision": "maybe"},
        {"callId": "CALL"},
        {"callId": 7, "decision": "allow"},
        {"decision": "allow"},
    ],
)
def test_malformed_answer_denies_at_once(talk: Conversation, answer: Json) -> None:
    host, provider = guarded(talk, GATE)
    asks(host)
    call = provider.hear_one("gate.check")["callId"]
    told = {key: call if value == "CALL" else value for key, value in answer.items()}
    provider.say({"type": "gate.result", **told})
    assert provider.hear_one("error")["code"] == "INVALID_JSON"
    assert decision(host)["reason"] == "Gate provider 'greeter' sent a malformed answer."
    assert provider.state == "Bound"


def test_another_providers_answer_is_ignored(talk: Conversation) -> None:
    host, provider = guarded(talk, GATE)
    other = talk.provider("s1", name="other", tools=[])
    asks(host)
    call = provider.hear_one("gate.check")["callId"]
    other.say(type="gate.result", callId=call, decision="allow")
    assert not host.hear()
    provider.say(type="gate.result", callId=call, decision="deny")
    assert decision(host)["decision"] == "deny"


def test_all_gates_are_asked_at_once_and_the_first_deny_settles(talk: Conversation) -> None:
    host, one = guarded(talk, GATE)
    two = talk.provider("s1", name="two", tools=[], hooks={"onPreToolUse": [GATE]})
    asks(host)
    first = one.hear_one("gate.check")["callId"]
    second = two.hear_one("gate.check")["callId"]
    two.say(type="gate.result", callId=second, decision="deny", reason="two says no")
    assert decision(host)["reason"] == "two says no"
    one.say(type="gate.result", callId=first, decision="allow")
    assert not host.hear()


def test_static_deny_asks_nobody(talk: Conversation) -> None:
    host, provider = guarded(talk, GATE, {"match": {"tool": "bash"}, "action": "deny"})
    asks(host)
    assert decision(host)["reason"] == "denied by provider 'greeter'"
    assert not provider.hear_of("gate.check")


def test_caller_that_asks_no_hooks_passes_the_same_gates(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    rule = {"match": {"tool": "greet"}, "action": "gate", "gateId": "g"}
    provider = talk.provider("s1", hooks={"onPreToolUse": [rule]})
    host.hear()
    host.invoke("s1")
    call = provider.hear_one("gate.check")["callId"]
    provider.say(type="gate.result", callId=call, decision="allow")
    provider.result(provider.take_call(), data="hello")
    assert host.hear_one("tool.outcome")["data"] == "hello"
    host.invoke("s1", id_="i2")
    call = provider.hear_one("gate.check")["callId"]
    provider.say(type="gate.result", callId=call, decision="deny", reason="not now")
    outcome = host.hear_one("tool.outcome")
    assert (outcome["errorCode"], outcome["error"]) == ("UNAUTHORIZED", "not now")


def test_host_that_asks_hooks_is_not_asked_twice(talk: Conversation) -> None:
    host, provider = guarded(talk, {"match": {"tool": "greet"}, "action": "gate", "gateId": "g"})
    host.invoke("s1")
    assert [message["type"] for message in provider.hear()] == ["tool.call"]


@pytest.mark.parametrize("named", [{}, {"gateId": None}, {"gateId": "ci"}])
def test_an_answer_may_leave_out_the_gates_name(talk: Conversation, named: Json) -> None:
    host, provider = guarded(talk, GATE)
    asks(host)
    call = provider.hear_one("gate.check")["callId"]
    provider.say({"type": "gate.result", "callId": call, "decision": "allow", **named})
    assert decision(host)["decision"] == "allow"


def test_an_answer_that_names_another_gate_is_ignored(talk: Conversation) -> None:
    host, provider = guarded(talk, GATE, GATE | {"gateId": "review"})
    asks(host)
    checks = {one["gateId"]: one["callId"] for one in provider.hear_of("gate.check")}
    for gate in ("review", "nothing", ""):
        said = {"type": "gate.result", "gateId": gate, "callId": checks["ci"]}
        for word in ("deny", "allow"):
            assert provider.ask(said, decision=word) == []
            assert host.hear() == []
    for gate, word in (("review", "allow"), ("ci", "deny")):
        provider.say(type="gate.result", gateId=gate, callId=checks[gate], decision=word)
    assert decision(host)["decision"] == "deny"


@pytest.mark.parametrize("who", ["tower", "another host with hooks", "another host"])
def test_whoever_is_not_the_sessions_own_host_passes_the_gates(
    talk: Conversation, who: str
) -> None:
    _, provider = guarded(talk, {"match": {"tool": "greet"}, "action": "gate", "gateId": "g"})
    caller = talk.tower() if who == "tower" else talk.host("other", hooks="with" in who)
    provider.hear()
    caller.invoke("s1")
    check = provider.hear_one("gate.check")
    provider.say(
        type="gate.result", gateId="g", callId=check["callId"], decision="deny", reason="no"
    )
    outcome = caller.hear_one("tool.outcome")
    assert (outcome["errorCode"], outcome["error"]) == ("UNAUTHORIZED", "no")
    assert provider.hear() == []


ADD = {"match": {"tool": "greet"}, "action": "context", "content": "mind the tests"}


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ({"data": "hello"}, {"data": "hello"}),
        ({"error": "no"}, {"error": "no", "errorCode": "INTERNAL"}),
    ],
)
def test_contexts_of_rules_and_gates_come_with_the_outcome(
    talk: Conversation, result: Json, outcome: Json
) -> None:
    host = talk.host()
    host.open("s1")
    gate = {"match": {"tool": "greet"}, "action": "gate", "gateId": "g"}
    provider = talk.provider("s1", hooks={"onPreToolUse": [ADD, gate]})
    host.hear()
    host.invoke("s1")
    call = provider.hear_one("gate.check")["callId"]
    provider.say(type="gate.result", callId=call, decision="context", reason="CI is slow")
    provider.result(provider.take_call(), **result)
    contexts = ["mind the tests", "CI is slow"]
    assert host.hear_one("tool.outcome") == {
        "type": "tool.outcome",
        "id": "i1",
        **outcome,
        "context": contexts,
    }
    assert talk.events("call.finished")[-1]["call"]["context"] == contexts
    assert [one.context for one in talk.gateway.state.recent_calls.values()] == [contexts]


@pytest.mark.parametrize("how", ["timeout", "abort", "lister", "retried"])
def test_contexts_come_however_the_call_ends(talk: Conversation, how: str) -> None:
    host = talk.host()
    host.open("s1")
    rule = ADD | {"match": {}}
    one = talk.provider("s1", instance="a", hooks={"onPreToolUse": [rule]})
    host.hear()
    if how == "retried":
        talk.wait(1)
        two = talk.provider("s1", instance="b")
        host.hear()
    host.invoke("s1", "list_greeter_instances" if how == "lister" else "greet", timeout=1000)
    if how == "timeout":
        talk.wait(1.1)
    elif how == "abort":
        host.say(type="tool.abort", id="i1")
    elif how == "retried":
        two.result(two.take_call(), error="asleep", retryable=True)
        one.result(one.take_call(), data=1)
    outcome = host.hear_of("tool.outcome")
    assert [one["context"] for one in outcome] == [["mind the tests"]]
    talk.wait(6)
    calls = [one["call"] for one in talk.events("call.finished")]
    assert calls[-1]["context"] == ["mind the tests"]


def test_a_host_that_asks_hooks_is_not_told_contexts_twice(talk: Conversation) -> None:
    host, provider = guarded(talk, ADD)
    host.invoke("s1")
    provider.result(provider.take_call(), data=1)
    assert "context" not in host.hear_one("tool.outcome")


def test_abort_while_a_gate_is_asked(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", hooks={"onPreToolUse": [{"action": "gate", "gateId": "g"}]})
    talk.wait(1)
    host.hear()
    host.invoke("s1")
    host.say(type="tool.abort", id="i1")
    assert host.hear_one("tool.outcome")["errorCode"] == "CANCELLED"
    call = provider.hear_one("gate.check")["callId"]
    provider.say(type="gate.result", callId=call, decision="allow")
    assert not provider.hear_of("tool.call")
    assert talk.deadlines == 0


def test_tool_that_goes_while_its_gate_is_asked(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    gate = talk.provider("s1", name="gate", tools=[], hooks={"onPreToolUse": [
        {"action": "gate", "gateId": "g"}]})  # fmt: skip
    provider = talk.provider("s1")
    host.hear()
    host.invoke("s1")
    provider.drop()
    call = gate.hear_one("gate.check")["callId"]
    gate.say(type="gate.result", callId=call, decision="allow")
    assert host.hear_one("tool.outcome")["errorCode"] == "NOT_FOUND"


def test_pattern_that_takes_too_long_denies_and_is_counted(talk: Conversation) -> None:
    host, _ = guarded(talk, {"match": {"args": "(a|aa)+$"}, "action": "deny", "reason": "no"})
    asks(host, args={"command": "a" * 40 + "!"})
    assert decision(host)["reason"] == "no (its pattern could not be tried in time)"
    assert talk.events("provider.updated")[-1]["provider"]["patternFaults"] == 1


def test_arguments_too_long_to_try_deny(talk: Conversation) -> None:
    host, _ = guarded(talk, {"match": {"args": "nowhere"}, "action": "deny", "reason": "no"})
    asks(host, args={"command": "a" * 70_000})
    assert decision(host)["decision"] == "deny"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"action": "gate"}, "onPreToolUse[0].gateId: missing"),
        ({"action": "context"}, "onPreToolUse[0].content: missing"),
        ({"action": "deny", "match": {"args": "("}}, "onPreToolUse[0].match.args: bad pattern"),
        ({"action": "deny", "match": {"args": "(?au)x"}}, "match.args: bad pattern: ASCII"),
        ({"action": "deny", "match": {"args": "a" * 1001}}, "1000 characters"),
        ({"action": "stop"}, "hooks.onPreToolUse[0].action"),
    ],
)
def test_wrong_rule_is_refused(talk: Conversation, rule: Json, text: str) -> None:
    host = talk.host()
    host.open("s1")
    peer = talk.connect(PROVIDER_TOKEN)
    error = peer.error(
        type="hello", name="p", protocolVersion=2, session="s1", hooks={"onPreToolUse": [rule]}
    )
    assert error["code"] == "INVALID_JSON"
    assert text in error["message"]


def test_more_than_fifty_rules_are_refused(scene: Scene) -> None:
    rules = [{"action": "deny"}] * 51
    error = scene.provider.error(type="hooks.update", requestId="r", onPreToolUse=rules)
    assert (error["code"], error["requestId"]) == ("PAYLOAD_TOO_LARGE", "r")
    scene.host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash", args={})
    assert decision(scene.host)["decision"] == "allow"


def test_hooks_update_replaces_rules_and_is_acknowledged_with_a_revision(scene: Scene) -> None:
    update = {"type": "hooks.update", "requestId": "r1", "onPreToolUse": [{"action": "deny"}]}
    assert scene.provider.ask(update) == [
        {"type": "ack", "requestId": "r1", "sessionId": "s1", "revision": 1}
    ]
    scene.host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash", args={})
    assert decision(scene.host)["decision"] == "deny"
    assert not scene.provider.ask(type="hooks.update", onPreToolUse=[])
    scene.host.say(type="hook.preToolUse", id="k2", sessionId="s1", tool="bash", args={})
    assert decision(scene.host)["decision"] == "allow"
    assert scene.provider.ask(type="context.update", context="c", requestId="r2") == [
        {"type": "ack", "requestId": "r2", "sessionId": "s1", "revision": 3}
    ]


def test_rules_go_with_their_provider(scene: Scene) -> None:
    scene.provider.say(type="hooks.update", onPreToolUse=[{"action": "deny"}])
    scene.provider.drop()
    scene.host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash", args={})
    assert decision(scene.host)["decision"] == "allow"


def paired(talk: Conversation, tower: Peer) -> Peer:
    """Return a client that paired from a web page, waiting for its hello."""
    peer = talk.connect(origin="https://page.example")
    peer.say(type="auth", mode="pair")
    approval = talk.events("approval.requested")[-1]["approval"]["id"]
    tower.say(type="approval.reveal", approvalId=approval, sessions=["s1"])
    code = tower.hear_one("approval.revealed")["code"]
    peer.say(type="auth.confirm", code=code)
    peer.hear()
    return peer


@pytest.mark.parametrize(
    "wish",
    [
        {"hooks": {"onPreToolUse": [{"action": "deny"}]}},
        {"hooks": {"transforms": {"tone": {"action": "callback"}}}},
        {"hooks": {"transforms": {"tone": {"action": "replace", "content": "c"}}}},
        {"hooks": {"transforms": {"tone": {"action": "prepend", "content": "c"}}}},
        {"context": "c"},
        {"startup_context": "c"},
        {"subscribe": ["user.message"]},
        {"session": "all"},
    ],
)
def test_external_providers_may_not(scene: Scene, wish: Json) -> None:
    peer = paired(scene.talk, scene.tower)
    hello = {"type": "hello", "name": "page", "protocolVersion": 2, "session": "s1", **wish}
    assert peer.error(hello)["code"] == "UNAUTHORIZED"
    assert peer.state == "AwaitHello"


def test_external_providers_may(scene: Scene) -> None:
    peer = paired(scene.talk, scene.tower)
    peer.hello(
        name="page",
        session="s1",
        tools=[],
        subscribe=["tool.execution_complete"],
        hooks={"transforms": {"tone": {"action": "append", "content": "be brief"}}},
    )
    assert peer.hear_one("hello.ack")["sessionId"] == "s1"
    assert peer.error(type="context.update", context="c")["code"] == "UNAUTHORIZED"
    refused = peer.error(type="hooks.update", onPreToolUse=[{"action": "deny"}])
    assert refused["code"] == "UNAUTHORIZED"
    peer.push("hello", stream="log")
    assert peer.ask(type="stream.query", queryId="q", streams=["log"])[0]["streams"]["log@page"]
    refused = peer.error(type="stream.query", queryId="q", streams=["x@greeter"])
    assert refused["code"] == "UNAUTHORIZED"


def test_shell_means_the_shell_tools_that_the_host_names(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1", shellTools=["terminal", "write_terminal"], reservedTools=["terminal", "edit"])
    rules = [
        {"match": {"tool": "edit"}, "action": "context", "content": "first"},
        {"match": {"tool": "shell", "args": "git push"}, "action": "deny", "reason": "no"},
    ]
    guard = talk.provider("s1", hooks={"onPreToolUse": rules})
    assert "warnings" not in guard.ack
    for tool, expected in (
        ("terminal", "deny"),
        ("write_terminal", "deny"),
        ("shell", "deny"),
        ("bash", "allow"),
        ("edit", "context"),
    ):
        asks(host, tool)
        assert decision(host)["decision"] == expected, tool
    guard.say(type="hooks.update", onPreToolUse=[])
    asks(host, "terminal")
    assert decision(host)["decision"] == "allow"


def test_rules_for_shell_and_for_a_tool_by_its_name_keep_their_order(talk: Conversation) -> None:
    host, _ = guarded(
        talk,
        {"match": {"tool": "bash"}, "action": "context", "content": "1"},
        {"match": {"tool": "shell"}, "action": "context", "content": "2"},
        {"match": {}, "action": "context", "content": "3"},
        {"match": {"tool": "bash"}, "action": "context", "content": "4"},
    )
    asks(host)
    assert decision(host)["context"] == "1\n\n2\n\n3\n\n4"


OWN = ["bash", "edit", "view"]


@pytest.mark.parametrize(
    ("tool", "is_there"),
    [
        ("shell", True),
        ("bash", True),
        ("edit", True),
        ("greet", True),
        ("docs-find", True),
        ("Bash", False),
        ("bash*", False),
        ("*", False),
        ("powershell", False),
        ("grete", False),
        ("doc-find", False),
        ("greeter/greet", False),
    ],
)
def test_a_rule_for_a_tool_that_is_not_there_is_named_in_the_acks(
    talk: Conversation, tool: str, is_there: bool
) -> None:
    talk.host(hooks=True).open("s1", reservedTools=OWN, mcpServers=["docs"])
    rules = [{"match": {"tool": tool}, "action": "gate", "gateId": "g"}]
    provider = talk.provider("s1", hooks={"onPreToolUse": rules})
    provider.say(type="hooks.update", requestId="r", onPreToolUse=rules)
    update = provider.hear_one("ack")
    for told in (provider.ack, update):
        if is_there:
            assert "warnings" not in told
        else:
            (text,) = told["warnings"]
            assert text == (
                f"onPreToolUse: session s1 has no tool '{tool}', so these rules match nothing now; "
                "match.tool is exact, capitals count, and 'shell' means 'bash'"
            )
    provider.say(type="hooks.update", requestId="r2", onPreToolUse=[])
    assert "warnings" not in provider.hear_one("ack")


def test_a_rule_for_a_provider_that_is_not_there_is_named_in_the_ack(talk: Conversation) -> None:
    talk.host(hooks=True).open("s1")
    rules = [
        {"match": {"provider": "greeter"}, "action": "deny", "reason": "no"},
        {"match": {"provider": "gretter"}, "action": "deny", "reason": "no"},
    ]
    assert talk.provider("s1", hooks={"onPreToolUse": rules}).ack["warnings"] == [
        "onPreToolUse: no provider 'gretter' is in session s1, so these rules match nothing now"
    ]


def test_tools_that_a_host_does_not_name_may_be_there(talk: Conversation) -> None:
    talk.host(hooks=True).open("s1")
    rules = [{"match": {"tool": "anything"}, "action": "gate", "gateId": "g"}]
    assert "warnings" not in talk.provider("s1", hooks={"onPreToolUse": rules}).ack


def test_a_session_without_a_shell_has_none_for_rules(talk: Conversation) -> None:
    talk.host(hooks=True).open("s1", reservedTools=[])
    rules = [{"match": {"tool": "shell"}, "action": "gate", "gateId": "g"}]
    (text,) = talk.provider("s1", hooks={"onPreToolUse": rules}).ack["warnings"]
    assert "no tool 'shell'" in text


def test_many_names_that_are_not_there_are_counted(talk: Conversation) -> None:
    talk.host(hooks=True).open("s1", reservedTools=[])
    rules = [{"match": {"tool": f"t{n}"}, "action": "gate", "gateId": "g"} for n in range(15)]
    (text,) = talk.provider("s1", hooks={"onPreToolUse": rules}).ack["warnings"]
    assert "'t9' and 5 more, so" in text
    assert "t10" not in text
