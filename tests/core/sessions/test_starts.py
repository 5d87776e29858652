"""Sessions that are started here: by which host, with which rules, and with whom they end."""

from typing import Any

import pytest

from tapui.core.effects import SeenProcess
from tapui.wire import limits
from tests.core.harness import AGENT_START, INTERNAL_TOKEN, Conversation, Json, Peer, seen


def starter(talk: Conversation, **hello: Any) -> Peer:
    """Return a host that starts sessions."""
    return said(talk, starts=True, **hello)


def said(talk: Conversation, **hello: Any) -> Peer:
    host = talk.connect(INTERNAL_TOKEN)
    host.say({"type": "host.hello", "name": "copilot", "kind": "copilot", "protocolVersion": 2,
              **hello})  # fmt: skip
    host.hear_one("host.ack")
    return host


def start(tower: Peer, **more: Any) -> None:
    tower.say({"type": "session.start", "id": "x", "folder": "/code", **more})


def opens(host: Peer, told: Json, **more: Any) -> None:
    """Open the session that a host was told to start, and say so."""
    session = {"id": "s9", "label": "code", "cwd": "/code", "headless": True, "start": told["id"]}
    session |= {"can": ["tell", "stop", "close"], **more}
    host.say(type="session.open", session=session)
    host.say(type="session.started", id=told["id"], sessionId="s9")


def test_a_start_goes_to_the_host_and_its_prompt_is_an_order(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    start(tower, prompt="build it", model="m", mode="plan", name="Mine", trustFolder=True)
    told = host.hear_one("session.start")
    assert told == {
        "type": "session.start", "id": "st-1", "folder": "/code", "model": "m", "mode": "plan",
        "name": "Mine", "trustFolder": True, "from": "you",
        "traceparent": f"00-{1:032x}-{1:016x}-01",
    }  # fmt: skip
    opens(host, told)
    assert tower.hear_one("session.started") == {
        "type": "session.started", "id": "x", "sessionId": "s9",
    }  # fmt: skip
    order = host.hear_one("session.tell")
    assert (order["text"], order["from"]) == ("build it", "you")
    view = talk.gateway.state.sessions["s9"]
    assert (view.headless, view.started_by, view.unattended) == (True, "you", False)


def test_what_goes_along_with_a_start(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    infinite = {"background": 0.5}
    files = ["/code/notes.txt", "/code/drafts"]
    start(tower, prompt="read", effort="high", infinite=infinite, attachments=files)
    told = host.hear_one("session.start")
    assert (told["effort"], told["infinite"]) == ("high", infinite)
    assert "attachments" not in told
    opens(host, told)
    assert host.hear_one("session.tell")["attachments"] == files
    (order,) = talk.gateway.state.orders.values()
    assert order.attachments == files


@pytest.mark.parametrize("problem", ["untrusted", "held", "unknown", "missing", "failed"])
def test_what_the_host_cannot_start_is_told(talk: Conversation, problem: str) -> None:
    host, tower = starter(talk), talk.tower()
    start(tower)
    host.say(type="session.started", id="st-1", problem=problem, error="not so")
    answer = tower.hear_one("session.started")
    assert (answer["id"], answer["problem"], answer["error"]) == ("x", problem, "not so")
    # A second answer, and another host's, change nothing.
    assert host.ask(type="session.started", id="st-1", sessionId="s1") == []


def test_a_prompt_goes_to_no_session_of_another_host(talk: Conversation) -> None:
    other, host, tower = talk.host("other"), starter(talk), talk.tower()
    other.open("s1", can=["tell"])
    start(tower, prompt="build it")
    host.say(type="session.started", id="st-1", sessionId="s1")
    assert tower.hear_one("session.started")["error"] == "the host opened no session"
    assert other.hear_of("session.tell") == []


def test_a_start_waits_for_the_host_that_it_has_launched(talk: Conversation) -> None:
    launcher, tower = said(talk, launches=True), talk.tower()
    start(tower)
    assert launcher.hear_one("host.wanted") == {"type": "host.wanted"}
    host = talk.connect(INTERNAL_TOKEN)
    host.say(type="host.hello", name="h", kind="copilot", protocolVersion=2, starts=True)
    assert host.hear_one("session.start")["folder"] == "/code"


def test_without_a_host_there_is_no_start(talk: Conversation) -> None:
    talk.host()
    tower = talk.tower()
    error = tower.error({"type": "session.start", "id": "x", "folder": "/code"})
    assert (error["code"], error["id"]) == ("NOT_FOUND", "x")
    assert "starts sessions" in error["message"]


def test_a_host_that_is_silent_or_goes_costs_the_start_only(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    start(tower)
    talk.wait(limits.START_TIMEOUT)
    assert "no session was there" in tower.hear_one("session.started")["error"]
    start(tower)
    host.drop()
    assert "has ended" in tower.hear_one("session.started")["error"]
    assert talk.deadlines == 0


@pytest.mark.parametrize(
    ("wrong", "said_of_it"),
    [
        ({"folder": "code"}, "folder: must be an absolute path"),
        ({"folder": None}, "folder: a session needs one"),
        ({"prompt": "  "}, "prompt: must not be empty"),
        ({"rules": [{"effect": "allow", "kind": "any", "pattern": "x"}]}, "no kind any"),
        ({"rules": [{"effect": "allow", "kind": "shell", "pattern": "a && b"}]}, "one command"),
        ({"mode": "reckless"}, "mode"),
        ({"prompt": "p", "attachments": ["notes"]}, "attachments: each must be an absolute path"),
        ({"attachments": ["/notes"]}, "attachments: they go along with a prompt"),
        ({"infinite": {"background": 0.99}}, "infinite.background: must not be more than"),
        ({"infinite": {"background": 0}}, "infinite.background"),
    ],
)
def test_a_start_that_says_nonsense_is_refused(
    talk: Conversation, wrong: Json, said_of_it: str
) -> None:
    host, tower = starter(talk), talk.tower()
    error = tower.error({"type": "session.start", "id": "x", "folder": "/code", **wrong})
    assert error["code"] == "INVALID_JSON"
    assert said_of_it in error["message"]
    assert host.hear() == []


def test_only_so_many_are_started_at_once(talk: Conversation) -> None:
    starter(talk)
    tower = talk.tower()
    for _ in range(limits.MAX_STARTS):
        start(tower)
    error = tower.error({"type": "session.start", "id": "x", "folder": "/code"})
    assert error["code"] == "RATE_LIMITED"


def test_an_agents_own_command_starts_nothing(talk: Conversation) -> None:
    host = starter(talk)
    session = {"id": "s1", "label": "notes", "cwd": "/", "pid": 3000}
    host.say(type="session.open", session=session)
    talk.sight = seen(SeenProcess(3000, "node", AGENT_START))
    command = talk.tower(role="client", name="tapui run")
    error = command.error({"type": "session.start", "id": "x", "folder": "/code"})
    assert (error["code"], error["replyTo"]) == ("UNAUTHORIZED", "session.start")
    assert host.hear_of("session.start") == []


# Sessions in which nobody is asked


@pytest.fixture
def unattended(talk: Conversation) -> tuple[Peer, Peer]:
    """A host with a session that `tapui run` has started, and that command."""
    host, command = starter(talk), talk.tower(name="tapui run")
    rules = [{"effect": "allow", "kind": "shell", "pattern": "npm ci", "place": "p.toml:2"}]
    start(command, unattended=True, rules=rules)
    told = host.hear_one("session.start")
    assert told["unattended"] is True
    assert "rules" not in told
    opens(host, told)
    host.hear()
    command.hear()
    return host, command


def asks(host: Peer, command: str, id_: str) -> None:
    detail = {"kind": "shell", "fullCommandText": command, "toolCallId": id_}
    host.say({"type": "approval.request", "id": id_, "sessionId": "s9", "kind": "permission",
              "detail": detail})  # fmt: skip


def test_what_no_rule_allows_is_denied_at_once(
    talk: Conversation, unattended: tuple[Peer, Peer]
) -> None:
    host, _ = unattended
    asks(host, "npm ci", "r1")
    asks(host, "rm -rf /", "r2")
    assert host.hear() == []  # the person's rules have not been read
    talk.rules()
    answers = {one["id"]: one for one in host.hear_of("approval.answer")}
    assert (answers["r1"]["decision"], answers["r2"]["decision"]) == ("approve", "deny")
    assert "no rule allows it" in answers["r2"]["reason"]
    asks(host, "npm ci && rm x", "r3")
    assert host.hear_one("approval.answer")["decision"] == "deny"
    by = {one["approval"]["decidedBy"] for one in talk.events("approval.decided")}
    assert by == {"rule", "nobody"}


@pytest.mark.parametrize("kind", ["userInput", "elicitation"])
def test_a_question_to_nobody_is_denied(
    talk: Conversation, unattended: tuple[Peer, Peer], kind: str
) -> None:
    host, _ = unattended
    host.say(type="approval.request", id="r1", sessionId="s9", kind=kind, detail={})
    assert host.hear_one("approval.answer")["decision"] == "deny"


def test_a_mode_that_the_agent_wants_is_denied(
    talk: Conversation, unattended: tuple[Peer, Peer]
) -> None:
    host, _ = unattended
    talk.tools()
    host.hear()
    args = {"mode": "autopilot"}
    host.say(type="tool.invoke", id="i1", sessionId="s9", tool="tap_set_session_mode", args=args)
    assert host.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"


def test_a_host_says_by_itself_that_nobody_is_asked(talk: Conversation) -> None:
    host, tower = said(talk), talk.tower()
    session = {"id": "s9", "label": "code", "cwd": "/code", "unattended": True}
    host.say(type="session.open", session=session)
    assert talk.gateway.state.sessions["s9"].unattended
    asks(host, "npm ci", "r1")
    talk.rules()
    assert host.hear_one("approval.answer")["decision"] == "deny"
    tower.drop()
    assert host.hear_of("session.end") == []


def test_it_ends_with_the_command_that_wanted_it(
    talk: Conversation, unattended: tuple[Peer, Peer]
) -> None:
    host, command = unattended
    command.drop()
    assert host.hear_one("session.end")["sessionId"] == "s9"


def test_it_ends_also_when_the_command_left_before_it_began(talk: Conversation) -> None:
    host, command = starter(talk), talk.tower(name="tapui run")
    start(command, unattended=True, prompt="go")
    told = host.hear_one("session.start")
    command.drop()
    opens(host, told)
    assert host.hear_one("session.end")["sessionId"] == "s9"
    assert host.hear_of("session.tell") == []


def test_a_session_of_a_tower_goes_on_without_it(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    start(tower)
    opens(host, host.hear_one("session.start"))
    tower.drop()
    assert host.hear_of("session.end") == []


def test_rules_of_a_start_are_for_its_session_alone(
    talk: Conversation, unattended: tuple[Peer, Peer]
) -> None:
    host, _ = unattended
    talk.rules()
    host.say(
        type="session.open", session={"id": "s1", "label": "", "cwd": "/code", "start": "st-1"}
    )
    detail = {"kind": "shell", "fullCommandText": "npm ci"}
    host.say({"type": "approval.request", "id": "r9", "sessionId": "s1", "kind": "permission",
              "detail": detail})  # fmt: skip
    assert host.hear_of("approval.answer") == []


# Ending


def test_a_session_is_ended_by_an_order(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    start(tower)
    opens(host, host.hear_one("session.start"))
    tower.say(type="session.end", id="c", sessionId="s9")
    order = host.hear_one("session.end")
    assert order == {"type": "session.end", "id": "o-1", "sessionId": "s9"}
    host.say(type="order.result", id="o-1", state="done")
    host.say(type="session.close", sessionId="s9", reason="ended by the person")
    assert [one["state"] for one in talk.events("order.changed")] == ["done"]
    assert talk.gateway.state.sessions["s9"].state == "ended"


def test_a_persons_own_session_is_not_ended_from_here(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1", can=["tell"])
    error = talk.tower().error(type="session.end", id="c", sessionId="s1")
    assert error["code"] == "NOT_FOUND"
