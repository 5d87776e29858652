"""The interface's messages, as its samples have them: sent, and answered by a real gateway."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.scene import Scene, heard_until_now, state_of
from tests.rig.gateway import Gateway
from tests.rig.peers import Host, Json, Peer, Provider
from tests.samples.messages import has

TOOL: Json = {
    "name": "my_tool",
    "description": "Does something useful",
    "timeout": 15000,
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    },
}
GATE: Json = {
    "match": {"tool": "shell", "args": "git push"},
    "action": "gate",
    "gateId": "check-before-push",
}
APPEND: Json = {"action": "append", "content": "This repo uses pnpm, not npm."}
HELLO: Json = {
    "name": "my-provider",
    "instance": "tab-a3f8",
    "reconnectToken": "tok-xyz789",
    "startup_context": "Provider loaded. Monitoring 3 endpoints.",
    "metadata": {"url": "https://app.example.com", "title": "Dashboard"},
    "tools": [TOOL],
    "hooks": {
        "onPreToolUse": [GATE],
        "transforms": {
            "code_change_rules": {"action": "callback"},
            "custom_instructions": APPEND,
        },
    },
    "subscribe": ["user.message", "assistant.message"],
    "context": "CI is currently passing. No active deploys.",
}
"""The `hello` that has every field."""
PUSHED: Json = {"command": "git push origin main"}


@pytest.fixture
async def provider(scene: Scene) -> Provider:
    """A provider that has said all of it."""
    return await scene.provider(**HELLO)


async def asked(scene: Scene, tool: str, args: Json, *, id_: str = "k1") -> None:
    """Have the session's host ask whether a tool may run."""
    question = {"type": "hook.preToolUse", "id": id_, "sessionId": scene.session}
    await scene.host.send({**question, "tool": tool, "args": args})


# A first provider


async def test_the_eight_steps_of_a_first_provider(scene: Scene) -> None:
    provider = await scene.keep(Peer.connect(scene.gateway.url))
    await provider.send({"type": "auth", "token": scene.gateway.token})
    sessions = await provider.expect("sessions")
    assert scene.session in [one["id"] for one in sessions["active"]]
    hello = {"type": "hello", "name": "my-provider", "protocolVersion": 2}
    await provider.send({**hello, "session": scene.session, "tools": [TOOL]})
    assert (await provider.expect("hello.ack"))["providerId"].startswith("p-")
    await scene.host.invoke(scene.session, "my_tool", {"query": "find active users"}, id_="i1")
    call = await provider.expect("tool.call")
    has(call, {"tool": "my_tool", "args": {"query": "find active users"}})
    await provider.send({"type": "tool.result", "id": call["id"], "data": "result"})
    assert (await scene.host.expect("tool.outcome", id="i1"))["data"] == "result"
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"}, id_="i2")
    call = await provider.expect("tool.call")
    await scene.host.send({"type": "tool.abort", "id": "i2"})
    cancel = await provider.expect("tool.cancel")
    assert (cancel["id"], cancel["sessionId"]) == (call["id"], scene.session)
    await provider.send({"type": "tool.result", "id": call["id"], "errorCode": "CANCELLED"})
    assert (await scene.host.expect("tool.outcome", id="i2"))["errorCode"] == "CANCELLED"
    assert await state_of(provider) == "Bound"


async def test_an_acknowledgement_has_what_a_provider_keeps(
    scene: Scene, provider: Provider
) -> None:
    has(provider.ack, {"protocolVersion": 2, "sessionId": scene.session})
    assert provider.ack["reconnectToken"]
    assert provider.ack["persistDir"].endswith("/providers/my-provider/")


async def test_the_list_of_sessions_follows_those_that_come_and_go(scene: Scene) -> None:
    provider = await scene.keep(Peer.connect(scene.gateway.url, token=scene.gateway.token))
    other = f"{scene.session}-abc"
    await scene.host.open(other, label="PR #42 review", cwd="/code/foo", foreground=True)
    shown: Json | None = None
    while shown is None:
        active = (await provider.expect("sessions.updated"))["active"]
        shown = next((one for one in active if one["id"] == other), None)
    has(shown, {"label": "PR #42 review", "cwd": "/code/foo", "foreground": True})
    await scene.host.send({"type": "session.close", "sessionId": other})
    while other in [one["id"] for one in active]:
        active = (await provider.expect("sessions.updated"))["active"]


# Results


@pytest.mark.parametrize(
    "answer",
    [
        {"data": {"user": "alice", "role": "admin"}},
        {"error": "Element not found: #submit-btn", "errorCode": "NOT_FOUND", "retryable": False},
    ],
)
async def test_a_result_reaches_the_agent_as_it_is(
    scene: Scene, provider: Provider, answer: Json
) -> None:
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"})
    await provider.answer(**answer)
    outcome = await scene.host.expect("tool.outcome", id="i1")
    has(outcome, {key: value for key, value in answer.items() if key != "retryable"})
    assert outcome.get("retryable") in (None, answer.get("retryable"))


async def test_progress_comes_before_the_result(scene: Scene, provider: Provider) -> None:
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"})
    call = await provider.expect("tool.call")
    text = "Capturing viewport... 60%"
    await provider.send({"type": "tool.progress", "id": call["id"], "message": text})
    has(await scene.host.expect("tool.progress"), {"id": "i1", "message": text})
    await provider.send({"type": "tool.result", "id": call["id"], "data": "done"})
    assert (await scene.host.expect("tool.outcome"))["data"] == "done"


async def test_a_large_picture_goes_by_a_file(scene: Scene, provider: Provider) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + b"x" * 1000
    path = Path(provider.ack["persistDir"], "screenshot-abc.png")
    path.write_bytes(picture)  # noqa: ASYNC240 - it is small
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"})
    size = len(picture)
    left = {"path": str(path), "mimeType": "image/png", "size": size, "ttl": 300}
    await provider.answer(file=left)
    found = (await scene.host.expect("tool.outcome"))["file"]
    has(found, {"mimeType": "image/png", "size": size})
    assert Path(found["path"]).read_bytes() == picture  # noqa: ASYNC240


async def test_one_call_at_a_time_for_each_instance(scene: Scene) -> None:
    limit = {"max": 1, "scope": "instance"}
    provider = await scene.provider(name="browser", tools=[TOOL], concurrency=limit)
    for number in (1, 2):
        await scene.host.invoke(scene.session, "my_tool", {"query": str(number)}, id_=f"i{number}")
    first = await provider.expect("tool.call")
    await heard_until_now(scene.host)  # both are there by now
    heard, _ = await heard_until_now(provider)
    assert [one for one in heard if one["type"] == "tool.call"] == []
    await provider.send({"type": "tool.result", "id": first["id"], "data": 1})
    assert (await provider.answer(data=2))["args"] == {"query": "2"}
    assert (await scene.host.expect("tool.outcome", id="i2"))["data"] == 2


# Hooks


@pytest.mark.parametrize("tool", ["shell", "bash"])
async def test_a_push_is_refused_while_ci_fails(
    scene: Scene, provider: Provider, tool: str
) -> None:
    await asked(scene, tool, PUSHED)
    check = await provider.expect("gate.check")
    has(check, {"gateId": "check-before-push", "sessionId": scene.session})
    has(check, {"tool": tool, "args": PUSHED})
    reason = "CI is failing on this branch. Fix tests first."
    await provider.send(
        {
            "type": "gate.result",
            "gateId": "check-before-push",
            "callId": check["callId"],
            "decision": "deny",
            "reason": reason,
        }
    )
    decided = await scene.host.expect("hook.decision", id="k1")
    assert (decided["decision"], decided["reason"]) == ("deny", reason)


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"decision": "allow"}, {"decision": "allow"}),
        ({"decision": "context", "reason": "CI runs."},
         {"decision": "context", "context": "CI runs."}),
    ],
)  # fmt: skip
async def test_a_gate_lets_a_push_go_and_may_add_to_it(
    scene: Scene, provider: Provider, answer: Json, decision: Json
) -> None:
    await asked(scene, "bash", PUSHED)
    call_id = (await provider.expect("gate.check"))["callId"]
    await provider.send({"type": "gate.result", "callId": call_id, **answer})
    has(await scene.host.expect("hook.decision", id="k1"), decision)


async def test_other_commands_are_not_asked_about(scene: Scene, provider: Provider) -> None:
    await asked(scene, "bash", {"command": "git status"})
    assert (await scene.host.expect("hook.decision", id="k1"))["decision"] == "allow"
    heard, _ = await heard_until_now(provider)
    assert [one for one in heard if one["type"] == "gate.check"] == []


async def test_a_gate_that_says_nothing_denies(scene: Scene) -> None:
    provider = await scene.provider(name="ci-watcher", hooks={"onPreToolUse": [GATE]})
    await asked(scene, "bash", PUSHED)
    await provider.expect("gate.check")
    decided = await scene.host.expect("hook.decision", id="k1")
    silent = "Gate provider 'ci-watcher' did not respond in time."
    assert (decided["decision"], decided["reason"]) == ("deny", silent)


@pytest.mark.parametrize(
    ("rule", "decision"), [(GATE, "deny"), ({**GATE, "failOpen": True}, "allow")]
)
async def test_a_gate_whose_provider_is_gone_denies_unless_it_says_otherwise(
    scene: Scene, rule: Json, decision: str
) -> None:
    provider = await scene.provider(name="ci-watcher", hooks={"onPreToolUse": [rule]})
    await asked(scene, "bash", PUSHED)
    await provider.expect("gate.check")
    provider.drop()
    assert (await scene.host.expect("hook.decision", id="k1"))["decision"] == decision


async def test_rules_and_transforms_are_changed(scene: Scene, provider: Provider) -> None:
    content = "This is a migration file. Ensure backward compatibility."
    rule = {"match": {"tool": "edit", "file": "*.sql"}, "action": "context", "content": content}
    await provider.send(
        {
            "type": "hooks.update",
            "sessionId": scene.session,
            "onPreToolUse": [rule],
            "transforms": {
                "code_change_rules": {"action": "callback"},
                "custom_instructions": None,
            },
        }
    )
    assert await state_of(provider) == "Bound"  # it has been taken, without an answer
    await asked(scene, "edit", {"path": "db/001.sql"}, id_="k1")
    decided = await scene.host.expect("hook.decision", id="k1")
    assert (decided["decision"], decided["context"]) == ("context", content)
    await asked(scene, "bash", PUSHED, id_="k2")  # the gate was one of the former rules
    assert (await scene.host.expect("hook.decision", id="k2"))["decision"] == "allow"
    prepared = await prompted(scene, provider, "custom_instructions", "code_change_rules")
    assert prepared["sections"]["custom_instructions"] == "...existing section content..."


# Prompts


async def prompted(scene: Scene, provider: Provider, *sections: str) -> Json:
    """Send a prompt; have the provider rewrite the section that it is asked about."""
    existing = "...existing section content..."
    prompt = {"type": "prompt.submitted", "id": "q1", "sessionId": scene.session, "prompt": "go on"}
    await scene.host.send({**prompt, "sections": dict.fromkeys(sections, existing)})
    request = await provider.expect("transform.request")
    has(request, {"sessionId": scene.session, "section": "code_change_rules", "current": existing})
    content = f"{existing}plus dynamic additions based on live state..."
    await provider.send(
        {"type": "transform.result", "callId": request["callId"], "content": content}
    )
    prepared = await scene.host.expect("prompt.prepared", id="q1")
    assert prepared["sections"]["code_change_rules"] == content
    return prepared


async def test_sections_are_rewritten_and_contexts_go_along(
    scene: Scene, provider: Provider
) -> None:
    prepared = await prompted(scene, provider, "code_change_rules", "custom_instructions")
    section = prepared["sections"]["custom_instructions"]
    assert section.startswith("...existing section content...")
    assert section.endswith(APPEND["content"])
    assert HELLO["startup_context"] in prepared["context"]
    assert HELLO["context"] in prepared["context"]


async def test_a_context_is_changed_and_the_first_one_is_told_once(
    scene: Scene, provider: Provider
) -> None:
    await prompted(scene, provider, "code_change_rules")
    passing = "CI is now passing. Deploy v2.4.3 completed."
    await provider.send({"type": "context.update", "context": passing})
    assert await state_of(provider) == "Bound"
    prepared = await prompted(scene, provider, "code_change_rules")
    assert passing in prepared["context"]
    assert HELLO["context"] not in prepared["context"]
    assert HELLO["startup_context"] not in prepared["context"]


# Events


EVENTS: list[tuple[str, Json]] = [
    ("user.message", {"content": "fix the auth bug"}),
    ("assistant.message", {"content": "Done", "toolRequests": [{"name": "edit", "args": {}}]}),
    ("assistant.intent", {"intent": "Fixing the auth bug"}),
]


@pytest.mark.parametrize(("name", "data"), EVENTS, ids=[name for name, _ in EVENTS])
async def test_events_of_the_session_are_handed_on(scene: Scene, name: str, data: Json) -> None:
    provider = await scene.provider(name="my-provider", subscribe=[name])
    event = {"type": "session.event", "sessionId": scene.session, "event": name, "data": data}
    await scene.host.send(event)
    came = await provider.expect("session.event")
    has(came, {"sessionId": scene.session, "event": name})
    has(came["data"], data)


async def test_a_tools_end_is_told_with_what_it_was_given(scene: Scene) -> None:
    watching = await scene.provider(name="watcher", subscribe=["tool.execution_complete"])
    provider = await scene.provider(name="my-provider", tools=[TOOL])
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"})
    await provider.answer(data="found")
    data = (await watching.expect("session.event"))["data"]
    has(data, {"tool": "my_tool", "provider": "my-provider", "args": {"query": "x"}})
    has(data["result"], {"type": "success", "output": "found"})
    assert data["durationMs"] >= 0


@pytest.mark.parametrize("state", ["started", "idle"])
async def test_a_session_that_begins_or_rests_is_told(scene: Scene, state: str) -> None:
    provider = await scene.provider(name="my-provider")
    idle = {"type": "session.event", "sessionId": scene.session, "event": "session.idle"}
    await scene.host.send(idle)
    told = await provider.expect("session.lifecycle", state=state)
    assert told == {"type": "session.lifecycle", "sessionId": scene.session, "state": state}


# Streams

WATCH: Json = {
    "type": "push",
    "stream": "ci-watch",
    "event": "CI failed on test/auth.spec.ts",
    "level": "inject",
    "metadata": {"kind": "ci-failure", "runId": 12345},
}


async def test_a_failure_of_ci_prompts_the_session(scene: Scene) -> None:
    provider = await scene.provider(name="ci-watcher")
    await provider.send(WATCH)
    sent = await scene.host.expect("session.send")
    assert WATCH["event"] in sent["prompt"]
    has(sent["from"], {"provider": "ci-watcher", "stream": "ci-watch"})
    await provider.send({"type": "stream.query", "queryId": "q-1", "streams": ["ci-watch"]})
    (line,) = (await provider.expect("stream.history"))["streams"]["ci-watch@ci-watcher"]
    has(line, {"event": WATCH["event"], "metadata": WATCH["metadata"]})


async def test_a_prompt_of_a_provider_is_sent_as_it_is(scene: Scene) -> None:
    provider = await scene.provider(name="my-provider")
    await provider.send({"type": "push", "prompt": "Look at the build.", "level": "inject"})
    assert "Look at the build." in (await scene.host.expect("session.send"))["prompt"]


async def test_streams_of_two_providers_are_read_together(scene: Scene) -> None:
    watcher = await scene.provider(name="ci-watcher")
    for event in ("running", "failure on test/auth.spec.ts"):
        await watcher.send({"type": "push", "stream": "ci-watch", "event": event, "level": "keep"})
    guardian = await scene.provider(name="guardian")
    push = {"type": "push", "stream": "git-watch", "event": "behind=2", "level": "keep"}
    await guardian.send(push)
    assert await state_of(watcher) == await state_of(guardian) == "Bound"
    reader = await scene.internal(name="reader")
    named = ["ci-watch@ci-watcher", "git-watch@guardian"]
    query = {"type": "stream.query", "queryId": "q-1", "sessionId": scene.session}
    await reader.send({**query, "streams": named, "last": 10})
    history = await reader.expect("stream.history")
    assert history["queryId"] == "q-1"
    streams = history["streams"]
    assert {name: [line["event"] for line in lines] for name, lines in streams.items()} == {
        "ci-watch@ci-watcher": ["failure on test/auth.spec.ts", "running"],
        "git-watch@guardian": ["behind=2"],
    }
    assert all(line["ts"].endswith("Z") for lines in streams.values() for line in lines)
    # Others are read by internal providers alone.
    await guardian.send({**query, "streams": named})
    has(await guardian.expect("error"), {"code": "UNAUTHORIZED", "queryId": "q-1"})


async def test_a_filter_decides_in_the_place_of_the_level(scene: Scene) -> None:
    provider = await scene.provider(name="guardian")
    rules = [
        {"match": "behind=0", "outcome": "drop"},
        {"match": "conflicts=[1-9]", "outcome": "inject"},
        {"match": ".*", "outcome": "keep"},
    ]
    await provider.send({"type": "filter.set", "stream": "git-watch", "rules": rules})
    for event in ("behind=0", "behind=2 conflicts=0", "behind=2 conflicts=1"):
        push = {"type": "push", "stream": "git-watch", "event": event, "level": "surface"}
        await provider.send(push)
    assert "behind=2 conflicts=1" in (await scene.host.expect("session.send"))["prompt"]
    await provider.send({"type": "stream.query", "queryId": "q", "streams": ["git-watch"]})
    lines = (await provider.expect("stream.history"))["streams"]["git-watch@guardian"]
    assert [(one["event"], one["level"]) for one in lines] == [
        ("behind=2 conflicts=1", "inject"),
        ("behind=2 conflicts=0", "keep"),
    ]


# Updates


async def test_updates_are_acknowledged_with_rising_revisions(scene: Scene) -> None:
    provider = await scene.provider(name="my-provider", tools=[TOOL])
    new = {"name": "new_tool", "description": "Just appeared", "parameters": {}}
    updates: list[Json] = [
        {"type": "tools.update", "tools": [new], "remove": ["my_tool"]},
        {"type": "hooks.update", "onPreToolUse": [GATE]},
        {"type": "context.update", "context": "CI is now passing."},
        {"type": "filter.set", "stream": "s", "rules": [{"match": "x", "outcome": "drop"}]},
    ]
    revisions: list[Any] = []
    for number, update in enumerate(updates):
        request = f"req-{number}"
        await provider.send({**update, "requestId": request, "sessionId": scene.session})
        ack = await provider.expect("ack")
        has(ack, {"requestId": request, "sessionId": scene.session})
        revisions.append(ack["revision"])
    assert revisions == sorted(set(revisions))
    names: set[str] = set()
    while "new_tool" not in names:
        changed = await scene.host.expect("tools.changed")
        names = {one["name"] for one in changed["tools"]}
    assert "my_tool" not in names


async def test_a_tool_that_another_has_is_a_conflict(scene: Scene) -> None:
    screenshot = {"name": "screenshot", "description": "Screenshot the viewport", "parameters": {}}
    await scene.provider(name="browser-tab-a", tools=[screenshot])
    provider = await scene.provider(name="my-provider")
    update = {"type": "tools.update", "sessionId": scene.session, "tools": [screenshot]}
    await provider.send(update)
    has(
        await provider.expect("error"),
        {
            "code": "TOOL_CONFLICT",
            "message": "Tool 'screenshot' already registered by provider 'browser-tab-a'",
            "replyTo": "tools.update",
            "providerId": provider.id,
            "sessionId": scene.session,
        },
    )


# Coming and going


async def test_a_provider_comes_back_as_itself(scene: Scene) -> None:
    first = await scene.provider(name="my-provider", tools=[TOOL])
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"}, id_="i1")
    await first.expect("tool.call")
    first.drop()
    assert (await scene.host.expect("tool.outcome", id="i1"))["errorCode"] == "DISCONNECTED"
    again = await scene.keep(Provider.connect(scene.gateway.url, token=scene.gateway.token))
    hello = {"type": "hello", "name": "my-provider", "protocolVersion": 2}
    token = first.ack["reconnectToken"]
    await again.send({**hello, "session": scene.session, "reconnectToken": token})
    ack = await again.expect("hello.ack")
    assert ack["providerId"] == first.id
    assert ack["reconnectToken"] != token
    await scene.host.invoke(scene.session, "my_tool", {"query": "y"}, id_="i2")
    assert (await again.answer(data="back"))["args"] == {"query": "y"}
    assert (await scene.host.expect("tool.outcome", id="i2"))["data"] == "back"


async def test_a_second_of_the_same_name_is_told_to_take_another(scene: Scene) -> None:
    await scene.provider(name="browser", instance="tab-a3f8")
    other = await scene.keep(Peer.connect(scene.gateway.url, token=scene.gateway.token))
    hello = {"type": "hello", "name": "browser", "protocolVersion": 2, "session": scene.session}
    await other.send({**hello, "instance": "tab-a3f8", "tools": []})
    assert (await other.expect("error"))["code"] == "DUPLICATE_INSTANCE"
    await other.send({**hello, "instance": "tab-b2c1", "tools": []})
    await other.expect("hello.ack")


async def test_a_provider_binds_anew_when_its_session_is_over(
    scene: Scene, provider: Provider
) -> None:
    other = f"{scene.session}-def456"
    await scene.host.open(other)
    hello = {"type": "hello", "name": "my-provider", "protocolVersion": 2, "tools": [TOOL]}
    await provider.send({**hello, "session": other})
    ack = await provider.expect("hello.ack")
    has(ack, {"sessionId": other})
    assert ack["reconnectToken"] != provider.ack["reconnectToken"]
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"}, id_="i1")
    assert (await scene.host.expect("tool.outcome", id="i1"))["errorCode"] == "NOT_FOUND"
    await scene.host.invoke(other, "my_tool", {"query": "x"}, id_="i2")
    await provider.answer(data="here")
    assert (await scene.host.expect("tool.outcome", id="i2"))["data"] == "here"


async def test_a_provider_of_all_sessions_says_when_it_is_ready_and_when_it_is_done(
    scene: Scene,
) -> None:
    everywhere = await scene.internal(
        session="all", name=f"all-{scene.session}", tools=[{**TOOL, "name": "everywhere"}]
    )
    new = f"{scene.session}-new"
    opened = await scene.host.open(new)
    assert "everywhere" not in [one["name"] for one in opened["tools"]]
    await scene.host.invoke(new, "everywhere", {"query": "x"}, id_="i1")
    assert (await scene.host.expect("tool.outcome", id="i1"))["errorCode"] == "NOT_FOUND"
    await everywhere.send({"type": "session.ready", "sessionId": new})
    changed = await scene.host.expect("tools.changed", sessionId=new)
    assert "everywhere" in [one["name"] for one in changed["tools"]]
    await scene.host.send({"type": "session.close", "sessionId": new})
    pending = await everywhere.expect("session.lifecycle", sessionId=new, state="shutdown.pending")
    assert pending["deadline"] == 10_000
    await everywhere.send({"type": "shutdown.ready", "sessionId": new})
    await scene.host.expect("session.closed", sessionId=new)
    assert await state_of(everywhere) == "Bound"


async def test_a_goodbye_takes_the_tools_along(scene: Scene, provider: Provider) -> None:
    await provider.send({"type": "goodbye", "reason": "shutting down"})
    assert await provider.closed() == 1000
    await scene.host.invoke(scene.session, "my_tool", {"query": "x"})
    assert (await scene.host.expect("tool.outcome"))["errorCode"] == "NOT_FOUND"


# Several of one name


async def test_tabs_share_their_tools(scene: Scene) -> None:
    screenshot = {"name": "screenshot", "description": "Screenshot the viewport", "parameters": {}}
    tabs = [
        await scene.provider(
            name="browser", instance=instance, metadata={"title": title}, tools=[screenshot]
        )
        for instance, title in (("tab-a3f8", "Dashboard — MyApp"), ("tab-b2c1", "Settings"))
    ]
    target: Json = {}
    while "tab-b2c1" not in target.get("description", ""):
        tools = {one["name"]: one for one in (await scene.host.expect("tools.changed"))["tools"]}
        target = tools["screenshot"]["parameters"]["properties"].get("target", {})
    assert target["type"] == "string"
    available = "Available: tab-a3f8 (Dashboard — MyApp), tab-b2c1 (Settings)"
    assert target["description"].endswith(available)
    assert "list_browser_instances" in tools
    await scene.host.invoke(scene.session, "list_browser_instances", id_="i1")
    listed = (await scene.host.expect("tool.outcome", id="i1"))["data"]
    assert [one["instance"] for one in listed] == ["tab-a3f8", "tab-b2c1"]
    await scene.host.invoke(scene.session, "screenshot", {"target": "tab-a3f8"}, id_="i2")
    assert (await tabs[0].answer(data="shot"))["args"] == {}
    # Without a target it is the one that was active last.
    await scene.host.expect("tool.outcome", id="i2")
    await scene.host.invoke(scene.session, "screenshot", id_="i3")
    await tabs[0].answer(data="again")
    assert (await scene.host.expect("tool.outcome", id="i3"))["data"] == "again"


# Pairing


async def test_a_page_is_let_in_by_the_code_that_the_person_types(scene: Scene) -> None:
    tower = await scene.tower()
    page = await scene.keep(Peer.connect(scene.gateway.url, origin="https://app.example.com"))
    await page.send({"type": "auth", "mode": "pair"})
    pairing = await page.expect("auth.pairing")
    assert pairing.keys() == {"type", "prompt"}
    assert "Enter the pairing code shown in" in pairing["prompt"]
    assert "your Copilot session" in pairing["prompt"]
    approval = (await tower.event("approval.requested"))["approval"]
    reveal = {"type": "approval.reveal", "approvalId": approval["id"], "sessions": [scene.session]}
    await tower.send(reveal)
    code = (await tower.expect("approval.revealed"))["code"]
    assert len(code) == 6
    await page.send({"type": "auth.confirm", "code": code})
    sessions = await page.expect("sessions")
    assert [one["id"] for one in sessions["active"]] == [scene.session]
    assert sessions["token"].startswith("ext-")
    again = await scene.keep(
        Peer.connect(scene.gateway.url, token=sessions["token"], origin="https://app.example.com")
    )
    assert "token" not in await again.expect("sessions")


async def test_a_wrong_code_does_not_let_a_page_in(scene: Scene) -> None:
    tower = await scene.tower()
    page = await scene.keep(Peer.connect(scene.gateway.url, origin="https://other.example.com"))
    await page.send({"type": "auth", "mode": "pair"})
    await page.expect("auth.pairing")
    await tower.event("approval.requested")
    await page.send({"type": "auth.confirm", "code": "none"})
    assert (await page.expect("error"))["code"] == "AUTH_FAILED"


async def test_without_a_tower_the_code_is_in_the_timeline_of_the_session_in_front(
    own_gateway: Gateway,
) -> None:
    host = await Host.hello(own_gateway.url, own_gateway.internal_token)
    page = await Peer.connect(own_gateway.url, origin="https://third.example.com")
    async with host, page:
        await host.open("s1", foreground=True)
        await page.send({"type": "auth", "mode": "pair"})
        await page.expect("auth.pairing")
        line = ""
        while "Pairing code: " not in line:
            line = (await host.expect("session.log", sessionId="s1"))["message"]
        assert line.startswith("※ tap: ")
        await page.send({"type": "auth.confirm", "code": line.partition("code: ")[2]})
        assert [one["id"] for one in (await page.expect("sessions"))["active"]] == ["s1"]
