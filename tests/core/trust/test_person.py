"""Who may decide, send, start and grant: the person, and no process of an agent."""

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.core.conversations.legal import GUARDED, LEGAL, NAMED, NOT_AGENTS
from tapui.core.effects import AgentProcess, Identified, SeenProcess, Sight
from tapui.core.model import Standing
from tapui.core.sessions.membership import READ_ONLY_BUILTINS
from tapui.core.trust.person import Case, SessionShell, judge, shell_of, warning
from tapui.settings.settings import Answering, Settings
from tapui.tools.builtin import TOOLS
from tapui.wire import limits
from tapui.wire.builtin import CHANGING_TOOLS
from tapui.wire.message import Message
from tapui.wire.tower import ApprovalDecide, TowerHello
from tests.core.conversations.test_states import EXAMPLES
from tests.core.harness import (
    AGENT_START,
    INIT,
    INTERNAL_TOKEN,
    NOW,
    PERSON,
    PROVIDER_TOKEN,
    SHELL,
    TMUX,
    Conversation,
    InProcessEnd,
    Peer,
    seen,
)

TOWER = Standing.TOWER
CLI, PROVIDER = 3000, 5000
NODE = SeenProcess(CLI, "node", AGENT_START)
NEW_SHELL = SeenProcess(6020, "zsh", 150.0)
NEW_TERMINAL = seen(NEW_SHELL, TMUX, leader=NEW_SHELL, terminal="/dev/pts/7")
"""A shell that the person has not let in."""
BROKEN = seen(INIT)
"""What has outlived its parent, in the shell that was let in."""
LAUNCHER = SeenProcess(4650, "uv", 190.0, is_tapui=True)


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def asked(talk: Conversation, *, pid: int | None = CLI) -> Peer:
    """Return a host whose session asks to run a command."""
    host = talk.host()
    session: dict[str, Any] = {"id": "s1", "label": "notes", "cwd": "/"}
    if pid is not None:
        session["pid"] = pid
    host.say(type="session.open", session=session)
    host.say(type="approval.request", id="r1", sessionId="s1", kind="permission", detail={})
    host.hear()
    return host


def decide(tower: Peer) -> None:
    tower.say(type="approval.decide", approvalId="a-1", decision="approve")


# The rule


def judged(
    sight: Sight | None, let_in: tuple[Sight, ...] = (PERSON,), agents: tuple[int, ...] = (CLI,)
) -> tuple[Case, str]:
    known = tuple(AgentProcess(pid, AGENT_START, "session 'notes'", 777) for pid in agents)
    verdict = judge(Identified(sight, known, NOW), [shell_of(one) for one in let_in])
    return verdict.case, verdict.why


def began(process: SeenProcess, start: float) -> SeenProcess:
    return replace(process, start=start)


def program(name: str, *, start: float = 190.0) -> SeenProcess:
    return SeenProcess(4600, name, start)


DEEP = [SeenProcess(7_000 + n, "sh", 190.0 - n / 10) for n in range(70)]
CASES: dict[str, tuple[Sight | None, Case, str]] = {
    # Refused, and never asked about
    "not found": (None, Case.REFUSED, "cannot be found out"),
    "below a session": (
        seen(NODE, SHELL),
        Case.REFUSED,
        "process 4711 was started by session 'notes' (process 3000)",
    ),
    "70 processes below": (
        seen(*DEEP, NODE, leader=DEEP[-1]),
        Case.REFUSED,
        "was started by session 'notes'",
    ),
    "a shell below a session": (
        replace(PERSON, leader_line=(NEW_SHELL, NODE, INIT)),
        Case.REFUSED,
        "the terminal of process 4711 was opened by session 'notes' (process 3000)",
    ),
    "marked": (seen(marked=NEW_SHELL), Case.REFUSED, "(process 6020 is marked as such)"),
    "no terminal": (seen(terminal=None), Case.REFUSED, "process 4711 has no terminal"),
    # Taken
    "typed": (PERSON, Case.TAKEN, ""),
    "launched": (seen(LAUNCHER, SHELL, TMUX), Case.TAKEN, ""),
    "above the shell": (seen(SHELL, NODE), Case.TAKEN, ""),
    "an id that was used again": (
        seen(began(NODE, 190.0), SHELL, TMUX),
        Case.COMMAND,
        "was started by node",
    ),
    # Asked: the shell
    "new shell": (NEW_TERMINAL, Case.SHELL, "zsh (process 6020) on pts/7 was not let in"),
    "the next shell of this id": (
        seen(began(SHELL, 160.0), leader=began(SHELL, 160.0)),
        Case.SHELL,
        "was not let in",
    ),
    "another program in its place": (
        seen(leader=replace(SHELL, name="copilot")),
        Case.SHELL,
        "copilot (process 4020) on pts/3 was not let in",
    ),
    "a popup": (seen(INIT, leader=SeenProcess(4711, "tapui", 200.0, True)), Case.SHELL, ""),
    # Asked: the command
    "orphan": (BROKEN, Case.COMMAND, "was not started by the shell of its terminal"),
    "user manager": (
        seen(SeenProcess(900, "systemd", 5.0), SHELL),
        Case.COMMAND,
        "was not started by the shell",
    ),
    "adopted": (seen(began(TMUX, 250.0), SHELL), Case.COMMAND, "was not started by the shell"),
    "shell has ended": (seen(leader=None), Case.COMMAND, "the shell of process 4711 has ended"),
    "a container's shell": (
        seen(replace(SHELL, is_first=True), leader=replace(SHELL, is_first=True)),
        Case.COMMAND,
        "was not started by the shell of its terminal, or outlived it",
    ),
    "background": (seen(is_foreground=False), Case.COMMAND, "runs in the background"),
    "another program": (seen(is_tapui=False), Case.COMMAND, "is no command of tapui's"),
    **{
        name: (
            seen(program(name), SHELL, TMUX),
            Case.COMMAND,
            f"process 4711 was started by {name} (process 4600), no shell",
        )
        for name in ("xargs", "make", "vim", "sh", "sudo", "claude", "tmux: client", "script")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_case_that_fits(name: str) -> None:
    sight, case, why = CASES[name]
    found, text = judged(sight)
    assert found is case
    assert why in text


@pytest.mark.parametrize("name", [name for name, one in CASES.items() if one[1] is Case.COMMAND])
def test_a_shell_that_was_not_let_in_is_asked_about_before_its_commands(name: str) -> None:
    sight = CASES[name][0]
    ended = name == "shell has ended"
    assert judged(sight, let_in=())[0] is (Case.COMMAND if ended else Case.SHELL)


def test_a_shell_that_was_let_in_is_no_agents_under_any_name() -> None:
    assert judged(PERSON, agents=(SHELL.pid,))[0] is Case.TAKEN
    known = (AgentProcess(SHELL.pid, SHELL.start, "session 'forged'"),)
    found = Identified(PERSON, known, NOW)
    assert judge(found, [shell_of(PERSON)]).case is Case.TAKEN
    assert judge(found, ()).case is Case.REFUSED


def test_beside_an_agent_in_the_same_terminal_each_command_is_asked_about() -> None:
    known = (AgentProcess(CLI, AGENT_START, "session 'notes'", SHELL.pid),)
    verdict = judge(Identified(PERSON, known, NOW), [shell_of(PERSON)])
    assert verdict.case is Case.COMMAND
    assert "session 'notes' (process 3000) runs in the terminal of process 4711" in verdict.why


@pytest.mark.parametrize(
    ("above", "opened", "words"),
    [
        ((TMUX,), 150.0, None),
        ((TMUX,), 290.0, "opened less than 60 seconds ago"),
        ((program("script"), TMUX), 150.0, "below script (process 4600), which can type into it"),
        ((program("python3.11"),), 290.0, "below python3.11 (process 4600)"),
        ((program("gdb"),), 150.0, "below gdb (process 4600)"),
    ],
)
def test_what_is_odd_about_a_shell_is_named(
    above: tuple[SeenProcess, ...], opened: float, words: str | None
) -> None:
    shell = began(NEW_SHELL, opened)
    text = warning(seen(shell, *above, leader=shell), NOW)
    assert text is None if words is None else words in str(text)


processes = st.builds(
    SeenProcess,
    st.integers(1, 9),
    st.sampled_from(["sh", "tmux: server", "sshd", "tapui"]),
    st.integers(0, 9).map(float),
    st.sampled_from([0, 1000]),
    st.booleans(),
)
lines = st.lists(processes, min_size=1, max_size=6).map(tuple)


@given(
    line=lines,
    leaders=st.lists(processes, max_size=4).map(tuple),
    group=st.integers(1, 9),
    foreground=st.integers(1, 9),
    session=st.integers(1, 9),
    marked=st.none() | processes,
    agents=st.lists(
        st.builds(AgentProcess, st.integers(1, 9), st.integers(0, 9).map(float), st.just("a")),
        max_size=3,
    ).map(tuple),
)
def test_what_is_taken_is_a_command_in_front_of_a_shell_that_was_let_in(
    line: tuple[SeenProcess, ...],
    leaders: tuple[SeenProcess, ...],
    group: int,
    foreground: int,
    session: int,
    marked: SeenProcess | None,
    agents: tuple[AgentProcess, ...],
) -> None:
    sight = Sight(line, group, session, leaders, "/dev/pts/1", foreground, marked)
    shell = SessionShell(5, 4.0, "sh")
    if judge(Identified(sight, agents, 10.0), [shell]).case is not Case.TAKEN:
        return
    assert shell_of(sight) == shell
    assert marked is None
    assert group == foreground
    below = line[: [one.pid for one in line].index(session)]
    assert all(one.is_tapui for one in (line[0], *below))
    assert not {(one.pid, one.start) for one in agents} & {(one.pid, one.start) for one in below}


# What becomes of messages


def test_a_command_that_the_person_typed_is_taken_and_recorded(talk: Conversation) -> None:
    host = asked(talk)
    decide(talk.tower(role="client", name="tapui approve"))
    assert host.hear_one("approval.answer")["decision"] == "approve"
    (told,) = talk.events("command.asked")
    assert (told["command"], told["wanted"]) == ("tapui approve", "approval.decide")
    assert (told["approvalId"], told["by"]) == ("a-1", "you")
    assert told["asker"]["pid"] == 4711
    assert [one["name"] for one in told["asker"]["ancestors"]] == ["zsh", "tmux", "init"]
    assert "refused" not in told
    assert talk.events("approval.decided")[0]["approval"]["decidedBy"] == "you"


@pytest.mark.parametrize("role", ["client", "tower"])
@pytest.mark.parametrize("name", ["tapui", "you", "tapui approve"])
@pytest.mark.parametrize(
    "sight",
    [seen(NODE), seen(SeenProcess(PROVIDER, "node", AGENT_START)), seen(terminal=None), None],
    ids=["session", "provider", "no terminal", "unknown"],
)
def test_no_role_and_no_name_helps_an_agent(
    talk: Conversation, sight: Sight | None, role: str, name: str
) -> None:
    host = asked(talk)
    talk.sight = sight
    talk.agents[PROVIDER] = AgentProcess(PROVIDER, AGENT_START, "provider 'ci'")
    agent = talk.tower(role=role, name=name)
    error = agent.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert (error["code"], error["replyTo"]) == ("UNAUTHORIZED", "approval.decide")
    assert 'approvals.new-terminals = "take"' in error["message"]
    *_, told = talk.events("command.asked")
    assert told["refused"] in error["message"]
    assert "by" not in told
    assert host.hear() == []
    talk.sight = PERSON
    decide(talk.tower())
    assert host.hear_one("approval.answer")["decision"] == "approve"


def test_the_process_of_a_provider_is_an_agents(talk: Conversation) -> None:
    asked(talk)
    talk.holders = dict.fromkeys(range(100), PROVIDER)
    talk.provider(name="ci")
    assert talk.agents[PROVIDER].what == "provider 'ci'"
    talk.sight = seen(SeenProcess(PROVIDER, "node", AGENT_START))
    command = talk.tower(role="client")
    error = command.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "process 4711 was started by provider 'ci' (process 5000)" in error["message"]


def test_sessions_that_are_seen_but_not_reached_are_agents(talk: Conversation) -> None:
    host = talk.host()
    unreached = {"id": "s9", "cwd": "/", "pid": 3009, "hint": "copilot --ui-server"}
    host.say(type="sessions.unattached", unattached=[unreached])
    assert talk.agents[3009].what == "session s9"


# Which side each message is on

READING = {
    "goals.read",
    "emitter.try",
    "spans.read",
    "stream.read",
    "turns.read",
    "changes.read",
    "diff.read",
    "tools.read",
    "detail.read",
    "models.read",
    "agents.read",
    "inspect.start",
    "inspect.read",
    "inspect.stop",
}
"""What a tower only reads: it changes nothing, and the records are files that every process of the
person can read."""
OWN = {
    "it says who it is; the token has the role": """
        auth auth.confirm hello host.hello tower.hello goodbye""",
    "it is about the provider's own tools, hooks, streams and calls": """
        tool.result tool.progress push tools.update hooks.update context.update filter.set
        stream.query gate.result transform.result session.ready shutdown.ready""",
    "it is about the host's own sessions, which only the tokens of hosts open": """
        session.open session.update session.history session.close session.event session.now
        hook.preToolUse prompt.submitted turn.ending mode.result approval.request
        approval.ask.result approval.withdraw sessions.unattached host.looked session.sent
        host.notice session.started order.result models.list session.looked tool.invoke
        tool.abort""",
    "it comes from this process, and asks the person where something is granted": """
        stream.post stream.read state.read mode.request mode.request.cancel emitters.start
        emitters.start.cancel emitters.stop emitters.filter emitters.injector emitters.read
        goals.create goals.update goals.ofSession goals.verify claims.audit reviews.record
        records.query""",
}
"""What is taken from every process that came so far in states other than a tower's, and why."""


def test_every_message_is_on_one_side() -> None:
    sides = [
        GUARDED,
        NOT_AGENTS,
        NAMED,
        {kind for kind in LEGAL[TOWER].values() if _tag(kind) in READING},
    ]
    assert sorted(_tag(kind) for side in sides for kind in side) == sorted(LEGAL[TOWER])
    own = {tag for tags in OWN.values() for tag in tags.split()}
    others = [kinds for standing, kinds in LEGAL.items() if standing is not TOWER]
    assert own == {tag for kinds in others for tag in kinds}
    assert not own & {_tag(kind) for kind in GUARDED | NOT_AGENTS}


def _tag(kind: type[Message]) -> str:
    return str(kind.__struct_config__.tag)


@pytest.mark.parametrize(
    "message",
    [one for one in EXAMPLES if one["type"] in LEGAL[TOWER]],
    ids=lambda message: message["type"],
)
def test_only_the_person_decides_sends_starts_grants_stops_and_removes(
    talk: Conversation, message: dict[str, Any]
) -> None:
    asked(talk)
    is_guarded = LEGAL[TOWER][message["type"]] in GUARDED | NOT_AGENTS
    for role in ("client", "tower"):
        talk.sight = seen(NODE)
        sender = talk.tower(role=role)
        codes = [one.get("code") for one in sender.ask(message)]
        assert ("UNAUTHORIZED" in codes) is is_guarded
        talk.sight = PERSON
    assert not talk.is_stopped


@pytest.mark.parametrize(
    ("sight", "is_taken"),
    [(seen(terminal=None), True), (BROKEN, True), (None, False), (seen(marked=SHELL), False)],
    ids=["no terminal", "orphan", "unknown", "marked"],
)
def test_a_script_ends_the_gateway_that_it_has_started_and_an_agent_does_not(
    talk: Conversation, sight: Sight | None, is_taken: bool
) -> None:
    asked(talk)
    talk.sight = sight
    talk.tower(role="client", name="tapui stop").say(type="gateway.stop")
    assert talk.is_stopped is is_taken
    (told,) = talk.events("command.asked")
    assert ("refused" in told) is not is_taken


def test_every_message_of_a_tower_has_an_example() -> None:
    assert LEGAL[TOWER].keys() <= {one["type"] for one in EXAMPLES}


def test_the_gateways_own_tower_is_not_looked_at(talk: Conversation) -> None:
    host = asked(talk)
    talk.sight = None
    own_tower(talk).send(ApprovalDecide("a-1", "approve"))
    talk.turn()
    assert host.hear_one("approval.answer")["decision"] == "approve"
    assert talk.events("command.asked") == []
    assert talk.events("approval.decided")[0]["approval"]["decidedBy"] == "you"


def test_with_the_setting_no_connection_is_looked_at() -> None:
    talk = Conversation(settings=Settings(approvals=Answering(command_line="always")))
    host = asked(talk)
    talk.sight = None
    decide(talk.tower(role="client", name="you"))
    assert host.hear_one("approval.answer")["decision"] == "approve"
    assert talk.asked_for == []
    decided = talk.events("approval.decided")[0]["approval"]
    assert decided["decidedBy"] == "the command line, no check"


def test_a_call_is_taken_from_every_process_and_recorded_with_its_name(
    talk: Conversation,
) -> None:
    asked(talk)
    provider = talk.provider("s1")
    talk.sight = seen(NODE)
    tower = talk.tower(role="client", name="you")
    tower.invoke("s1", id_="i1")
    tower.say(type="tool.abort", id="i1")
    assert [one["type"] for one in provider.hear()] == ["tool.call", "tool.cancel"]
    (call,) = talk.events("call.started")
    assert call["call"]["caller"].startswith("process 4711 (tapui) from pts/3")


CHANGING = {
    "tap_schedule_prompt": {"prompt": "Go on.", "in": "1s"},
    "tap_start_emitter": {"name": "a", "prompt": "Go on."},
    "tap_stop_emitter": {"name": "a"},
    "tap_set_event_filter": {"name": "a", "eventFilter": []},
    "tap_enable_injector": {"stream": "a"},
    "tap_disable_injector": {"stream": "a"},
    "tap_set_session_mode": {"mode": "plan"},
    "tap_create_goal": {"title": "a", "criteria": [{"text": "b"}]},
    "tap_update_goal": {"goalId": "g", "note": "c"},
    "tap_record_review": {"monitor": "a", "observed": "b", "decision": "note", "reason": "c"},
    "tap_post": {"stream": "notes", "message": "Go on.", "level": "inject"},
}


def test_every_tool_of_tapuis_own_is_on_one_side() -> None:
    names = {one.name for one in TOOLS}
    assert names == READ_ONLY_BUILTINS | set(CHANGING)
    assert CHANGING_TOOLS | {"tap_post"} == set(CHANGING)


@pytest.fixture
def own_tools(talk: Conversation) -> Peer:
    """A host whose session has tapui's own tools."""
    talk.tools()
    talk.runner.begin()
    host = asked(talk)
    host.hear()
    return host


@pytest.mark.parametrize("tool", CHANGING)
def test_a_tool_that_prompts_starts_or_changes_is_the_persons(
    talk: Conversation, own_tools: Peer, tool: str
) -> None:
    for role in ("client", "tower"):
        talk.sight = seen(terminal=None)
        process = talk.tower(role=role, name="tapui call")
        process.hear()
        process.invoke("s1", tool, args=CHANGING[tool])
        (error,) = process.hear_of("error", "tool.outcome")
        assert (error["code"], error["replyTo"]) == ("UNAUTHORIZED", "tool.invoke")
        assert error["id"] == "i1"
    assert talk.events("call.started") == []
    talk.wait(60)
    assert own_tools.hear_of("session.send", "session.log", "mode.set") == []
    talk.sight = PERSON
    talk.tower(role="client").invoke("s1", tool, args=CHANGING[tool])
    assert talk.events("call.started")[0]["call"]["caller"] == "you"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        *((name, {"stream": "notes"}) for name in sorted(READ_ONLY_BUILTINS)),
        ("tap_post", {"stream": "notes", "message": "done"}),
        ("tap_post", {"stream": "notes", "message": "done", "level": "surface"}),
    ],
)
def test_a_tool_that_reads_or_shows_is_taken_from_every_process(
    talk: Conversation, own_tools: Peer, tool: str, args: dict[str, Any]
) -> None:
    talk.sight = seen(terminal=None)
    talk.tower(role="client").invoke("s1", tool, args=args)
    assert talk.events("call.started")[0]["call"]["caller"] == "process 4711 (tapui)"


@pytest.mark.parametrize(
    "args",
    [
        '{"stream": "n", "message": "m", "level": "keep", "level": "inject"}',
        '{"stream": "n", "message": "m", "level": "\\u0069nject"}',
        '{"stream": "n", "message": "m", "\\u006cevel": "inject"}',
    ],
    ids=["twice", "escaped", "escaped name"],
)
def test_no_spelling_hides_that_a_post_injects(
    talk: Conversation, own_tools: Peer, args: str
) -> None:
    talk.sight = seen(terminal=None)
    process = talk.tower(role="client")
    process.hear()
    invoke = '{"type": "tool.invoke", "id": "i1", "sessionId": "s1", "tool": "tap_post", "args": '
    process.say(invoke + args + "}")
    assert process.hear_one("error")["code"] == "UNAUTHORIZED"
    assert own_tools.hear_of("session.send") == []


@pytest.mark.parametrize("settles", ["approve", "abort"])
def test_a_call_that_the_person_is_asked_about_runs_once_or_never(
    talk: Conversation, own_tools: Peer, settles: str
) -> None:
    own = own_tower(talk)
    talk.sight = BROKEN
    process = talk.tower(role="client", name="tapui call")
    process.hear()
    process.invoke("s1", "tap_schedule_prompt", args=CHANGING["tap_schedule_prompt"])
    (request,) = waiting(talk, "command")
    assert request["detail"]["tool"] == "tap_schedule_prompt"
    if settles == "abort":
        process.say(type="tool.abort", id="i1")
        assert process.hear_one("tool.outcome")["errorCode"] == "CANCELLED"
        assert waiting(talk, "command") == []
        assert talk.events("call.started") == []
        return
    answer(talk, own, request)
    assert process.hear_one("tool.outcome")["data"]["name"] == "later"
    by = talk.events("call.started")[0]["call"]["caller"]
    assert by.startswith("process 4711 (tapui) from pts/3")
    assert (
        f"a prompt for this session from {by}, once, in 1s: Go on."
        in (own_tools.hear_one("session.log")["message"])
    )


def test_a_call_that_is_given_up_before_its_sender_is_known_never_runs(
    talk: Conversation, own_tools: Peer
) -> None:
    process = talk.tower(role="client")
    talk.finds_askers = False
    process.invoke("s1", "tap_schedule_prompt", args=CHANGING["tap_schedule_prompt"])
    process.say(type="tool.abort", id="i1")
    for look in list(talk.asked_for):
        talk.found(look)
    assert talk.events("call.started") == []
    assert process.hear_one("tool.outcome")["errorCode"] == "CANCELLED"


def test_a_mode_is_asked_for_in_the_name_of_the_process(
    talk: Conversation, own_tools: Peer
) -> None:
    talk.tower()
    talk.tower(role="client").invoke("s1", "tap_set_session_mode", args={"mode": "plan"})
    assert waiting(talk, "mode")[0]["detail"]["asker"] == "you"
    own_tools.invoke("s1", "tap_set_session_mode", "i2", args={"mode": "autopilot"})
    assert waiting(talk, "mode")[1]["detail"]["asker"] == "Copilot"
    asked_by = [one["detail"]["askedBy"] for one in waiting(talk, "mode")]
    assert asked_by == ["commandLine", "agent"]


def test_a_host_changes_its_own_sessions_alone(talk: Conversation, own_tools: Peer) -> None:
    other = talk.host(name="other")
    other.open("s2")
    other.invoke("s1", "tap_schedule_prompt", args=CHANGING["tap_schedule_prompt"])
    outcome = other.hear_one("tool.outcome")
    assert (outcome["errorCode"], outcome["error"]) == ("NOT_FOUND", "unknown session s1")
    assert talk.events("call.started") == []
    own_tools.invoke("s1", "tap_schedule_prompt", args=CHANGING["tap_schedule_prompt"])
    assert talk.events("call.started")[0]["call"]["caller"] == "copilot"


# The person is asked


def own_tower(talk: Conversation) -> InProcessEnd:
    """Return the tower in the gateway's own process."""
    own = InProcessEnd(talk, lambda _: None)
    own.send(TowerHello(2))
    return own


def waiting(talk: Conversation, kind: str) -> list[dict[str, Any]]:
    requests = [one["approval"] for one in talk.events("approval.requested")]
    settled = {
        one["approval"]["id"]
        for name in ("decided", "expired", "withdrawn")
        for one in talk.events(f"approval.{name}")
    }
    return [one for one in requests if one["kind"] == kind and one["id"] not in settled]


def answer(
    talk: Conversation,
    own: InProcessEnd,
    request: dict[str, Any],
    decision: Literal["approve", "deny"] = "approve",
) -> None:
    own.send(ApprovalDecide(request["id"], decision))
    talk.turn()


def test_a_new_terminal_is_let_in_once_and_until_it_closes(talk: Conversation) -> None:
    host = asked(talk)
    own = own_tower(talk)
    talk.sight = NEW_TERMINAL
    command = talk.tower(role="client", name="tapui approve")
    decide(command)
    told = command.hear_one("command.waits")
    (request,) = waiting(talk, "terminal")
    assert (told["replyTo"], told["approvalId"]) == ("approval.decide", request["id"])
    assert "zsh (process 6020) on pts/7 was not let in" in told["text"]
    detail = request["detail"]
    assert (detail["device"], detail["program"], detail["holder"]) == ("pts/7", "zsh", "tmux")
    assert detail["since"] > detail["above"][0]["since"]
    assert host.hear() == []
    answer(talk, own, request)
    assert host.hear_one("approval.answer")["decision"] == "approve"
    assert talk.events("command.asked")[0]["by"] == "you"
    second = talk.tower(role="client")
    assert second.error(type="approval.decide", approvalId="a-1", decision="deny")["code"] == (
        "UNKNOWN_APPROVAL"
    )
    assert waiting(talk, "terminal") == []


def test_a_terminal_that_was_denied_is_not_asked_about_again(talk: Conversation) -> None:
    host = asked(talk)
    own = own_tower(talk)
    talk.sight = NEW_TERMINAL
    command = talk.tower(role="client")
    decide(command)
    answer(talk, own, waiting(talk, "terminal")[0], "deny")
    assert command.hear_of("error")[0]["code"] == "UNAUTHORIZED"
    error = command.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "you refused this shell" in error["message"]
    assert host.hear() == []


def test_each_that_waits_for_one_terminal_is_recorded_as_itself(talk: Conversation) -> None:
    asked(talk)
    own = own_tower(talk)
    for pid in (4711, 4712):
        talk.sight = seen(NEW_SHELL, TMUX, pid=pid, leader=NEW_SHELL, terminal="/dev/pts/7")
        decide(talk.tower(role="client"))
    answer(talk, own, waiting(talk, "terminal")[0], "deny")
    assert [one["asker"]["pid"] for one in talk.events("command.asked")] == [4711, 4712]


def test_an_answer_that_was_not_recorded_is_no_refusal_of_the_terminal(talk: Conversation) -> None:
    asked(talk)
    own = own_tower(talk)
    talk.sight = NEW_TERMINAL
    command = talk.tower(role="client")
    for _ in range(limits.MODEL_DENIALS + 1):
        talk.records = "refused"
        decide(command)
        answer(talk, own, waiting(talk, "terminal")[0])
        assert "could not be recorded" in command.hear_of("error")[0]["message"]
    talk.records = "kept"
    decide(command)
    assert len(waiting(talk, "terminal")) == 1


def test_all_that_waits_for_one_terminal_is_one_request(talk: Conversation) -> None:
    asked(talk)
    own = own_tower(talk)
    talk.sight = NEW_TERMINAL
    first, second = talk.tower(role="client"), talk.tower(role="client")
    decide(first)
    second.say(type="session.stop", id="x", sessionId="s1")
    (request,) = waiting(talk, "terminal")
    first.drop()
    assert waiting(talk, "terminal") == [request]
    second.drop()
    assert waiting(talk, "terminal") == []
    answer(talk, own, request)
    assert talk.events("command.asked") == []


def test_one_command_is_taken_once(talk: Conversation) -> None:
    host = asked(talk)
    own = own_tower(talk)
    talk.sight = BROKEN
    command = talk.tower(role="client", name="tapui approve")
    decide(command)
    (request,) = waiting(talk, "command")
    assert request["detail"]["about"] == "a-1"
    assert request["detail"]["line"][0] == "tapui 4711"
    answer(talk, own, request)
    assert host.hear_one("approval.answer")["decision"] == "approve"
    by = talk.events("approval.decided")[-1]["approval"]["decidedBy"]
    assert by == "process 4711 (tapui) from pts/3"
    command.say(type="session.stop", id="x", sessionId="s1")
    assert len(waiting(talk, "command")) == 1


@pytest.mark.parametrize("sight", [NEW_TERMINAL, BROKEN], ids=["terminal", "command"])
def test_without_a_tower_of_the_person_it_is_refused(talk: Conversation, sight: Sight) -> None:
    host = asked(talk)
    talk.sight = sight
    tower = talk.tower(name="tapui")  # is not the person's: it cannot be asked
    error = tower.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "no tower is there in which you could allow it" in error["message"]
    assert host.hear() == []


@pytest.mark.parametrize(("decision", "may_decide"), [("approve", True), ("deny", False)])
def test_a_further_tower_is_judged_once_and_shows_whether_it_may_decide(
    talk: Conversation, decision: Literal["approve", "deny"], may_decide: bool
) -> None:
    host = asked(talk)
    own = own_tower(talk)
    talk.sight = NEW_TERMINAL
    further = talk.connect(INTERNAL_TOKEN)
    further.say(type="tower.hello", protocolVersion=2, name="tapui")
    assert [one["mayDecide"] for one in further.hear_of("tower.judged")] == [False]
    error = further.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "waits until you allow it in the tower" in error["message"]
    (request,) = waiting(talk, "terminal")
    assert request["detail"]["wanted"] == "tower.hello"
    answer(talk, own, request, decision)
    assert [one["mayDecide"] for one in further.hear_of("tower.judged")] == [may_decide]
    talk.sight = seen(pid=4712)  # another process holds its connection
    error = further.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert error["code"] == "UNAUTHORIZED"
    talk.sight = NEW_TERMINAL
    decide(further)
    assert [one["decision"] for one in host.hear_of("approval.answer")] == (
        ["approve"] if may_decide else []
    )
    told = talk.events("command.asked")[-1]
    assert (told["wanted"], told["asker"]["pid"]) == ("approval.decide", 4711)


def test_after_a_shell_was_let_in_what_stands_between_is_asked_about(talk: Conversation) -> None:
    host = asked(talk)
    own = own_tower(talk)
    talk.sight = seen(program("make"), NEW_SHELL, TMUX, leader=NEW_SHELL, terminal="/dev/pts/7")
    decide(talk.tower(role="client"))
    answer(talk, own, waiting(talk, "terminal")[0])
    assert host.hear() == []
    answer(talk, own, waiting(talk, "command")[0])
    assert host.hear_one("approval.answer")["decision"] == "approve"


def test_a_process_that_says_it_is_inside_is_refused(talk: Conversation) -> None:
    asked(talk)
    command = talk.connect(INTERNAL_TOKEN)
    command.say(type="tower.hello", protocolVersion=2, role="client", isInside=True)
    command.hear()
    error = command.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "it was started for an agent" in error["message"]
    for sight in (PERSON, seen(terminal=None)):
        talk.sight = sight
        assert command.error(type="gateway.stop")["code"] == "UNAUTHORIZED"


def test_no_socket_passes_for_the_terminal_of_serve(talk: Conversation) -> None:
    asked(talk)
    prompt = talk.connect(INTERNAL_TOKEN)
    prompt.say(type="tower.hello", protocolVersion=2, role="prompt")
    talk.sight = NEW_TERMINAL
    error = talk.tower(role="client").error(
        type="approval.decide", approvalId="a-1", decision="approve"
    )
    assert "no tower is there" in error["message"]


def test_a_tower_in_a_shell_that_was_let_in_is_asked(talk: Conversation) -> None:
    host = asked(talk)
    tower = talk.tower()
    talk.sight = NEW_TERMINAL
    decide(talk.tower(role="client"))
    (request,) = waiting(talk, "terminal")
    talk.sight = PERSON
    tower.say(type="approval.decide", approvalId=request["id"], decision="approve")
    assert host.hear_one("approval.answer")["decision"] == "approve"


def test_new_terminals_are_taken_where_the_settings_have_it() -> None:
    settings = Settings(approvals=Answering(new_terminals="take"))
    talk = Conversation(settings=settings)
    host = asked(talk)
    talk.sight = NEW_TERMINAL
    decide(talk.tower(role="client"))
    assert host.hear_one("approval.answer")["decision"] == "approve"
    by = talk.events("approval.decided")[0]["approval"]["decidedBy"]
    assert by == "process 4711 (tapui) from pts/7 (tmux), not let in"
    talk.sight = BROKEN
    error = talk.tower(role="client").error(type="session.stop", id="x", sessionId="s1")
    assert error["code"] == "UNAUTHORIZED"


def test_after_some_denials_the_person_is_not_asked_for_a_while(talk: Conversation) -> None:
    asked(talk)
    own = own_tower(talk)
    talk.sight = BROKEN
    command = talk.tower(role="client")
    for _ in range(limits.MODEL_DENIALS):
        decide(command)
        answer(talk, own, waiting(talk, "command")[0], "deny")
        command.hear()
    error = command.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "within 10 minutes" in error["message"]
    talk.wait(limits.MODEL_DENIALS_SECONDS)
    decide(command)
    assert len(waiting(talk, "command")) == 1


@pytest.mark.parametrize("is_found_at_once", [True, False], ids=["each by itself", "with one look"])
def test_only_so_many_wait_at_once(talk: Conversation, is_found_at_once: bool) -> None:
    asked(talk)
    own_tower(talk)
    talk.sight = BROKEN
    command = talk.tower(role="client")
    talk.finds_askers = is_found_at_once
    for _ in range(limits.MAX_ASKED_BY_COMMANDS):
        decide(command)
    command.say(type="session.stop", id="x", sessionId="s1")
    if not is_found_at_once:
        talk.found(talk.asked_for[-1])
    assert len(waiting(talk, "command")) == limits.MAX_ASKED_BY_COMMANDS
    assert "such requests wait already" in command.hear()[-1]["message"]


def test_a_request_that_is_not_answered_in_time_is_refused(talk: Conversation) -> None:
    asked(talk)
    own_tower(talk)
    talk.sight = BROKEN
    command = talk.tower(role="client")
    decide(command)
    command.hear()
    talk.wait(limits.BIND_ALL_TIMEOUT)
    assert "not allowed in the tower in time" in command.hear_one("error")["message"]


# The look


def test_a_sender_that_left_before_it_was_known_decides_nothing(talk: Conversation) -> None:
    host = asked(talk)
    command = talk.tower(role="client")
    talk.finds_askers = False
    decide(command)
    (held,) = talk.asked_for
    command.drop()
    talk.found(held)
    assert host.hear() == []
    assert talk.events("command.asked") == []


def test_one_look_is_for_all_that_a_command_wants_and_only_so_much_waits(
    talk: Conversation,
) -> None:
    host = asked(talk)
    command = talk.tower(role="client")
    talk.finds_askers = False
    decide(command)
    for _ in range(limits.MAX_HELD_ANSWERS - 1):
        command.say(type="approval.decide", approvalId="gone", decision="deny")
    error = command.error(type="approval.decide", approvalId="a-1", decision="deny")
    assert error["code"] == "RATE_LIMITED"
    (look,) = talk.asked_for
    talk.found(look)
    assert host.hear_one("approval.answer")["decision"] == "approve"
    codes = [one["code"] for one in command.hear() if one["type"] == "error"]
    assert codes == ["UNKNOWN_APPROVAL"] * (limits.MAX_HELD_ANSWERS - 1)
    decide(command)
    assert len(talk.asked_for) == 2


# Names


@pytest.mark.parametrize("name", ["you", "You", "tapui", "tapui approve", "TAPUI"])
def test_no_provider_and_no_host_takes_the_persons_name(talk: Conversation, name: str) -> None:
    talk.host().open("s1")
    error = talk.connect(PROVIDER_TOKEN).error(
        type="hello", name=name, protocolVersion=2, session="s1"
    )
    assert error["code"] == "INVALID_JSON"
    assert "choose another" in error["message"]
    error = talk.connect(INTERNAL_TOKEN).error(
        type="host.hello", name=name, kind="x", protocolVersion=2
    )
    assert error["code"] == "INVALID_JSON"


def test_a_host_does_not_say_that_the_person_decided(talk: Conversation) -> None:
    host = asked(talk)
    host.say(type="approval.withdraw", id="r1", decidedBy="you")
    (told,) = talk.events("approval.withdrawn")
    assert told["approval"]["decidedBy"] == "in copilot: you"


@pytest.mark.parametrize(("sight", "kind"), [(BROKEN, "command"), (NEW_TERMINAL, "terminal")])
def test_the_request_that_is_to_be_answered_is_named_by_what_it_asks(
    talk: Conversation, sight: Sight, kind: str
) -> None:
    detail = {"kind": "shell", "fullCommandText": "rm -rf build\nls" + "x" * 9_000}
    host = asked(talk)
    host.say(type="approval.request", id="r2", sessionId="s1", kind="permission", detail=detail)
    own_tower(talk)
    talk.sight = sight
    talk.tower(role="client", name="tapui deny").say(
        type="approval.decide", approvalId="a-2", decision="deny"
    )
    (request,) = waiting(talk, kind)
    told = request["detail"]
    assert (told["about"], told["request"][:21]) == ("a-2", "run rm -rf build ⏎ ls")
    assert len(told["request"]) <= limits.MAX_SUMMARY
    talk.tower(role="client", name="tapui deny").say(
        type="approval.decide", approvalId="a-99", decision="deny"
    )
    assert all("request" not in one["detail"] for one in waiting(talk, kind)[1:])


def test_the_goal_that_a_command_is_about_is_named(talk: Conversation) -> None:
    asked(talk)
    own_tower(talk)
    talk.sight = BROKEN
    talk.tower(role="client", name="tapui goal drop").say(type="goal.drop", id="x", goalId="g-7")
    (request,) = waiting(talk, "command")
    assert (request["detail"]["wanted"], request["detail"]["about"]) == ("goal.drop", "g-7")
