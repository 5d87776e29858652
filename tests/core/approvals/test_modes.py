"""Requests for modes: the settings by asker and mode, the person's own mode, and the question in
the session's own window where no tower is there."""

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from tapui.settings.settings import Answering, ModeSwitches, Settings
from tapui.wire.builtin import ModeRequest
from tapui.wire.subjects import UNCHECKED
from tests.core.harness import Conversation, Json, Peer, seen

AGENTS = seen(terminal=None)
"""A process that is no person's: it has no terminal."""


def scene(settings: Settings | None = None, *, mode: str = "interactive", **session: Any) -> Peer:
    """Return a host whose session `s1` can ask in its own window, without a tower."""
    talk = Conversation(settings)
    talk.tools()
    host = talk.host()
    host.open("s1", mode=mode, can=["ask"], **session)
    return host


def talk_of(peer: Peer) -> Conversation:
    return peer._conversation


def request(host: Peer, mode: str = "plan", id_: str = "i1", **more: Any) -> Peer:
    host.hear()
    args = {"mode": mode, "reason": "think first"}
    return host.invoke(more.pop("session", "s1"), "tap_set_session_mode", id_, args=args, **more)


def answer(host: Peer, outcome: str = "approve", id_: str = "a-1", **more: Any) -> Peer:
    return host.say(type="approval.ask.result", id=id_, outcome=outcome, **more)


def settle(host: Peer) -> None:
    """Let the host set what it is told to set."""
    for order in host.hear_of("mode.set"):
        host.say(type="mode.result", id=order["id"], ok=True)


def refusal(host: Peer) -> str:
    outcome = host.hear_one("tool.outcome")
    assert outcome["errorCode"] == "UNAUTHORIZED", outcome
    return str(outcome["error"])


def modes(host: Peer) -> list[Json]:
    """Return the events about modes, as they are recorded."""
    return talk_of(host).events("mode.changed")


def mode_of(host: Peer) -> str | None:
    return talk_of(host).gateway.state.sessions["s1"].mode


def switches(**values: Any) -> Settings:
    return Settings(modes=ModeSwitches(**values))


# In the session's window


def test_without_a_tower_the_host_asks() -> None:
    host = request(scene())
    assert host.hear() == [
        {
            "type": "approval.ask",
            "id": "a-1",
            "sessionId": "s1",
            "kind": "mode",
            "to": "plan",
            "asker": "agent",
            "from": "interactive",
            "reason": "think first",
        }
    ]
    answer(host, decidedBy="cli")
    settle(host)
    assert mode_of(host) == "plan"
    approval = talk_of(host).gateway.state.approvals["a-1"]
    assert (approval.state, approval.decided_by) == ("approved", "cli")
    about = {
        "asker": "agent",
        "policy": "ask",
        "decidedBy": "cli",
        "approvalId": "a-1",
        "source": "interactive",
    }
    assert [one["state"] for one in modes(host)] == ["ordered", "done"]
    for event in modes(host):
        assert about.items() <= event.items()


def test_a_switch_of_the_window_waits_until_the_decision_is_recorded() -> None:
    host = request(scene())
    talk_of(host).records = "held"
    answer(host)
    assert host.hear_of("mode.set") == []
    talk_of(host).recorded()
    talk_of(host).recorded()
    assert len(host.hear_of("mode.set")) == 1


@pytest.mark.parametrize(("more", "text"), [({}, "denied by copilot"), ({"reason": "no"}, "no")])
def test_the_window_denies(more: Json, text: str) -> None:
    host = request(scene())
    answer(host, "deny", **more)
    assert refusal(host).startswith(text)
    (event,) = modes(host)
    assert (event["state"], event["decidedBy"], event["policy"]) == ("refused", "copilot", "ask")
    assert mode_of(host) == "interactive"


@pytest.mark.parametrize("by", ["you", "tapui", "rule", "y\u043eu", "you (tower)"])
def test_a_host_cannot_decide_in_another_ones_name(by: str) -> None:
    host = request(scene())
    answer(host, decidedBy=by)
    decided = talk_of(host).events("approval.decided")[0]["approval"]["decidedBy"]
    assert decided == f"in copilot: {by}"


def test_a_host_tells_of_no_other_hosts_mode() -> None:
    host = request(scene())
    answer(host)
    settled = host.hear_one("mode.set")
    talk_of(host).host("other").say(type="mode.result", id=settled["id"], ok=True)
    assert mode_of(host) == "interactive"
    host.say(type="mode.result", id=settled["id"], ok=True)
    assert mode_of(host) == "plan"


def test_a_window_that_cannot_show_it_refuses_at_once() -> None:
    host = request(scene())
    answer(host, "impossible", reason="the session has no window of its own")
    text = refusal(host)
    assert text.startswith("the person cannot be asked: no tower is open, and the session has no")
    assert talk_of(host).now == 0


@pytest.mark.parametrize(
    ("session", "why"),
    [
        ({"can": []}, "its host cannot ask in the session's window"),
        ({"can": [], "cannot": {"ask": "no forms here"}}, "no forms here"),
    ],
)
def test_where_nobody_can_be_asked_it_is_refused_at_once(session: Json, why: str) -> None:
    talk = Conversation()
    talk.tools()
    host = talk.host()
    host.open("s1", mode="interactive", **session)
    request(host)
    assert why in refusal(host)
    (event,) = modes(host)
    assert (event["state"], event["decidedBy"]) == ("refused", "nobody")
    assert talk.events("approval.requested") == []


def test_a_question_in_the_window_expires_and_is_closed() -> None:
    host = request(scene())
    host.hear()
    talk_of(host).wait(60)
    heard = host.hear()
    assert heard[0] == {"type": "approval.ask.cancel", "id": "a-1", "sessionId": "s1"}
    assert "nobody decided in time" in heard[1]["error"]
    assert answer(host).hear_of("mode.set") == []


def test_giving_up_closes_the_window() -> None:
    host = request(scene())
    host.hear()
    host.say(type="tool.abort", id="i1")
    assert [one["id"] for one in host.hear_of("approval.ask.cancel")] == ["a-1"]


def test_the_end_of_the_session_leaves_nothing() -> None:
    host = request(scene())
    host.say(type="session.close", sessionId="s1")
    talk = talk_of(host)
    talk.wait(20)
    assert talk.gateway.state.modes == {}
    assert talk.deadlines == 0


# The first answer wins


def test_a_tower_that_comes_meanwhile_decides_and_the_window_closes() -> None:
    host = request(scene())
    host.hear()
    tower = talk_of(host).tower()
    tower.say(type="approval.decide", approvalId="a-1", decision="approve")
    assert [one["type"] for one in host.hear()] == ["approval.ask.cancel", "mode.set"]
    assert answer(host, "deny").hear() == []
    decided = talk_of(host).gateway.state.approvals["a-1"]
    assert (decided.state, decided.decided_by) == ("approved", "you")


def test_the_window_decides_before_a_tower_that_came_meanwhile() -> None:
    host = request(scene())
    tower = talk_of(host).tower()
    answer(host, "deny")
    error = tower.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert error["code"] == "UNKNOWN_APPROVAL"
    assert mode_of(host) == "interactive"


def test_two_answers_while_the_first_is_recorded() -> None:
    host = request(scene())
    talk = talk_of(host)
    tower = talk.tower()
    talk.records = "held"
    tower.say(type="approval.decide", approvalId="a-1", decision="deny")
    answer(host)
    talk.records = "kept"
    talk.recorded()
    assert host.hear_of("mode.set") == []
    assert talk.gateway.state.approvals["a-1"].state == "denied"


def test_the_last_tower_leaves_and_the_window_asks() -> None:
    host = scene()
    talk = talk_of(host)
    first, second = talk.tower(), talk.tower()
    request(host)
    assert host.hear_of("approval.ask") == []
    first.drop()
    assert host.hear_of("approval.ask") == []
    second.drop()
    assert [one["id"] for one in host.hear_of("approval.ask")] == ["a-1"]
    answer(host)
    assert len(host.hear_of("mode.set")) == 1


def test_the_last_tower_leaves_where_no_window_can_ask() -> None:
    talk = Conversation()
    talk.tools()
    host = talk.host()
    host.open("s1", mode="interactive")
    tower = talk.tower()
    request(host)
    tower.drop()
    assert "its host cannot ask" in refusal(host)


# Who may answer


def test_a_tower_that_an_agent_opened_is_none() -> None:
    host = scene()
    talk = talk_of(host)
    talk.sight = AGENTS
    tower = talk.tower()
    request(host)
    assert len(host.hear_of("approval.ask")) == 1
    error = tower.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert error["code"] == "UNAUTHORIZED"


def test_only_the_host_that_was_asked_answers() -> None:
    host = scene()
    other = talk_of(host).host("other")
    other.open("s2", mode="interactive", can=["ask"])
    request(host)
    assert answer(other).hear() == []
    assert host.hear_of("mode.set") == []
    assert talk_of(host).gateway.state.approvals["a-1"].state == "waiting"


def test_a_host_answers_nothing_that_it_was_not_asked() -> None:
    host = scene()
    talk = talk_of(host)
    tower = talk.tower()
    request(host)
    host.hear()
    # It waits in the tower; and so does a permission, which is no question of the window's.
    host.say(type="approval.request", id="r1", sessionId="s1", kind="permission")
    for id_ in ("a-1", "a-2", "a-9"):
        assert answer(host, id_=id_).hear() == []
    waiting = [one.state for one in talk.gateway.state.approvals.values()]
    assert waiting == ["waiting", "waiting"]
    tower.drop()
    assert [one["id"] for one in host.hear_of("approval.ask")] == ["a-1"]


def test_an_answer_comes_once() -> None:
    host = request(scene())
    for outcome in ("impossible", "approve"):
        answer(host, outcome)
    assert host.hear_of("mode.set") == []


def test_one_question_stands_in_a_window_and_few_are_asked() -> None:
    host = request(scene())
    request(host, "autopilot", "i2")
    assert "another mode is being asked about" in refusal(host)
    for number in range(5):
        answer(host, "deny", f"a-{number + 1}")
        request(host, "plan", f"j{number}")
    text = refusal(host)
    assert "5 modes were asked for within 10 minutes and not granted" in text
    talk_of(host).wait(600)
    request(host, "plan", "k")
    assert len(host.hear_of("approval.ask")) == 1


# The settings

ASKERS = {
    "agent": {},
    "subagent": {"agentId": "x1"},
}


@pytest.mark.parametrize(
    ("asker", "mode", "policy"),
    product(ASKERS, ("plan", "interactive", "autopilot"), ("allow", "ask", "never")),
)
def test_the_setting_of_the_asker_and_the_mode_holds(asker: str, mode: str, policy: str) -> None:
    others = {name: "never" for name in ModeSwitches.__struct_fields__ if name != "lock"}
    settings = switches(**{**others, f"{asker}_to_{mode}": policy})
    host = scene(settings, mode="plan" if mode != "plan" else "interactive")
    request(host, mode, **ASKERS[asker])
    if policy == "never":
        assert f"modes.{asker}-to-{mode} is never (decided by setting)" in refusal(host)
        (event,) = modes(host)
        assert event["state"] == "refused"
    elif policy == "ask" or mode == "autopilot":
        # No agent is given autopilot unasked, in whatever way the settings came.
        assert len(host.hear_of("approval.ask")) == 1
        return
    else:
        settle(host)
        assert mode_of(host) == mode
        event = modes(host)[-1]
        assert event["state"] == "done"
    assert (event["asker"], event["policy"], event["decidedBy"]) == (asker, policy, "setting")


def test_a_subagents_session_is_its_parents() -> None:
    host = scene()
    host.event("s1", "subagent.started", remoteSessionId="child", agentName="a", toolCallId="t")
    request(host, "autopilot", session="child")
    assert "modes.subagent-to-autopilot is never" in refusal(host)
    request(host, "plan", "i2", session="child")
    assert host.hear_one("approval.ask")["asker"] == "subagent"


@pytest.mark.parametrize("policy", ["allow", "ask", "never"])
def test_a_request_that_is_no_call_of_the_session_is_a_providers(policy: str) -> None:
    talk = Conversation(switches(provider_to_plan=policy, agent_to_plan="never"))
    tools = talk.tools()
    host = talk.host()
    host.open("s1", mode="interactive", can=["ask"])
    tools.send(ModeRequest("no call", "s1", "plan", "greeter"))
    talk.turn()
    if policy == "ask":
        assert host.hear_one("approval.ask")["asker"] == "provider"
    settle(host)
    assert mode_of(host) == ("plan" if policy == "allow" else "interactive")
    assert {one["asker"] for one in modes(host)} == (set() if policy == "ask" else {"provider"})


def test_a_host_asks_for_its_own_sessions_alone() -> None:
    host = scene()
    other = request(talk_of(host).host("other"))
    assert other.hear_one("tool.outcome")["errorCode"] == "NOT_FOUND"


@pytest.mark.parametrize("policy", ["allow", "ask", "never"])
def test_the_persons_command_may_be_given_autopilot(policy: str) -> None:
    host = scene(switches(command_line_to_autopilot=policy))
    command = talk_of(host).tower(role="client")
    request(command, "autopilot")
    if policy == "never":
        assert "modes.command-line-to-autopilot is never" in refusal(command)
        command.say(type="session.mode", sessionId="s1", mode="autopilot")
        assert "never" in command.hear_one("error")["message"]
    elif policy == "ask":
        assert host.hear_one("approval.ask")["asker"] == "commandLine"
    else:
        settle(host)
        assert mode_of(host) == "autopilot"


def test_a_command_that_is_not_looked_at_is_not_given_autopilot() -> None:
    settings = replace(
        switches(command_line_to_autopilot="allow"), approvals=Answering(command_line="always")
    )
    host = scene(settings)
    request(talk_of(host).tower(role="client"), "autopilot")
    assert len(host.hear_of("approval.ask")) == 1
    assert modes(host) == []


def test_an_agents_command_asks_for_nothing() -> None:
    host = scene(switches(command_line_to_autopilot="allow"))
    talk_of(host).sight = AGENTS
    command = talk_of(host).tower(role="client")
    request(command, "autopilot")
    assert command.hear_one("error")["code"] == "UNAUTHORIZED"
    assert host.hear() == []
    assert modes(host) == []


def test_a_tower_of_the_person_is_no_request() -> None:
    host = scene(switches(command_line_to_autopilot="never"))
    talk_of(host).tower().say(type="session.mode", sessionId="s1", mode="autopilot")
    settle(host)
    assert mode_of(host) == "autopilot"
    assert "asker" not in modes(host)[-1]


# The person's own mode


def set_by_the_person(host: Peer, way: str, mode: str = "plan") -> None:
    if way == "session":
        host.say(type="session.update", sessionId="s1", mode=mode)
        return
    tower = talk_of(host).tower()
    tower.say(type="session.mode", sessionId="s1", mode=mode)
    settle(host)
    tower.drop()


@pytest.mark.parametrize("way", ["session", "tower"])
@pytest.mark.parametrize("policy", ["allow", "ask"])
def test_a_mode_that_the_person_set_stays(way: str, policy: str) -> None:
    host = scene(switches(agent_to_interactive=policy))
    set_by_the_person(host, way)
    request(host, "interactive")
    assert "the mode plan is userOwned (modes.lock)" in refusal(host)
    event = modes(host)[-1]
    assert (event["state"], event["policy"], event["decidedBy"]) == ("refused", "lock", "setting")
    # Until the person changes it; then that one is theirs.
    set_by_the_person(host, "session", "autopilot")
    request(host, "interactive", "i2")
    assert "the mode autopilot is userOwned" in refusal(host)


def test_without_the_lock_the_person_is_asked() -> None:
    host = scene(switches(lock=False))
    set_by_the_person(host, "session")
    request(host, "interactive")
    assert len(host.hear_of("approval.ask")) == 1


def test_a_mode_that_was_asked_for_is_not_the_persons() -> None:
    host = request(scene())
    answer(host)
    settle(host)
    assert talk_of(host).gateway.state.modes["s1"].ownership == "modelOwned"
    request(host, "interactive", "i2")
    assert len(host.hear_of("approval.ask")) == 1


def test_the_persons_command_changes_their_mode() -> None:
    host = scene(switches(command_line_to_interactive="allow"))
    set_by_the_person(host, "session")
    request(talk_of(host).tower(role="client"), "interactive")
    settle(host)
    assert mode_of(host) == "interactive"
    assert talk_of(host).gateway.state.modes["s1"].ownership == "userOwned"


def test_a_command_that_is_not_looked_at_does_not() -> None:
    settings = replace(
        switches(command_line_to_interactive="allow"), approvals=Answering(command_line="always")
    )
    host = scene(settings)
    set_by_the_person(host, "session")
    command = talk_of(host).tower(role="client")
    request(command, "interactive")
    assert "userOwned" in refusal(command)
    assert UNCHECKED in str(talk_of(host).events("call.started"))


@pytest.mark.parametrize(("mode", "is_kept"), [("plan", True), ("interactive", False)])
def test_the_session_that_takes_its_place(mode: str, is_kept: bool) -> None:
    host = scene()
    set_by_the_person(host, "session")
    host.open("s2", mode=mode, can=["ask"], replaces="s1")
    assert ("s2" in talk_of(host).gateway.state.modes) is is_kept
    assert "s1" not in talk_of(host).gateway.state.modes


def test_a_mode_with_which_the_person_started_a_session() -> None:
    talk = Conversation()
    talk.tools()
    host = talk.connect("itk-internal")
    host.say(type="host.hello", name="copilot", kind="copilot", protocolVersion=2, starts=True)
    tower = talk.tower()
    tower.say(type="session.start", id="o1", folder="/s1", mode="plan")
    start = host.hear_one("session.start")["id"]
    host.open("s1", mode="plan", start=start, headless=True)
    host.say(type="session.started", id=start, sessionId="s1")
    assert talk.gateway.state.modes["s1"].ownership == "userOwned"
    request(host, "autopilot")
    assert "userOwned" in refusal(host)


# What is shown


def test_the_agent_reads_whose_the_mode_is_and_what_a_request_meets() -> None:
    host = scene(switches(agent_to_autopilot="never"))

    def told() -> Json:
        host.hear()
        host.invoke("s1", "tap_get_session_state", f"q{talk_of(host).ids.id('q')}")
        found: Json = host.hear_one("tool.outcome")["data"]["modeSwitch"]
        return found

    assert told() == {
        "ownership": None,
        "locked": False,
        "policy": {"interactive": "ask", "plan": "ask", "autopilot": "never"},
        "askedIn": "copilot",
    }
    tower = talk_of(host).tower()
    assert told()["askedIn"] == "tapui"
    tower.drop()
    host.say(type="session.update", sessionId="s1", can=[])
    set_by_the_person(host, "session")
    assert told() == {
        "ownership": "userOwned",
        "locked": True,
        "policy": {"interactive": "never", "plan": "never", "autopilot": "never"},
        "askedIn": None,
        "unaskable": (
            "the person cannot be asked: no tower is open, and its host cannot ask in the "
            "session's window"
        ),
    }


def test_a_snapshot_has_whose_the_modes_are_and_what_was_refused() -> None:
    host = scene()
    talk = talk_of(host)
    assert "modes" not in talk.tower().ack["state"]
    set_by_the_person(host, "session")
    request(host, "interactive")
    (shown,) = talk.tower().ack["state"]["modes"]
    assert (shown["sessionId"], shown["ownership"], shown["by"]) == ("s1", "userOwned", "copilot")
    refused = shown["refused"]
    assert (refused["to"], refused["asker"], refused["policy"]) == ("interactive", "agent", "lock")
    assert "userOwned" in refused["reason"]


def test_long_words_of_the_window_are_bounded() -> None:
    host = request(scene())
    answer(host, "deny", reason="x" * 1_000_000)
    talk = talk_of(host)
    assert len(str(talk.tower().ack["state"])) < 64 * 1024


def test_the_turn_has_a_step_with_the_asker_and_the_setting() -> None:
    host = scene(switches(agent_to_plan="never", agent_to_autopilot="ask"))
    host.event("s1", "user.message", content="go")
    host.event("s1", "assistant.turn_start")
    request(host, "plan")
    request(host, "autopilot", "i2")
    answer(host, "deny", decidedBy="cli")
    turn = talk_of(host).gateway.state.turns["s1"].latest
    assert turn is not None
    steps = [one for one in turn.steps if one.kind == "mode"]
    assert [(one.summary, one.state, one.rule) for one in steps] == [
        (
            "interactive → plan, asked by the session's agent",
            "denied",
            "setting modes.agent-to-plan = never",
        ),
        ("interactive → autopilot, asked by the session's agent", "denied", ""),
    ]
    assert steps[1].decided_by == "cli"
