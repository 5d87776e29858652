"""Turns: what events make of them, and what they are bounded by."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.projection.turns.programs import is_answer, program
from tapui.projection.turns.turn import LiveTurn
from tapui.projection.words import undone_words
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.codec import encode, raw
from tapui.wire.turns import FileChange, MoreFiles, Step, Turn, TurnSource, Usage
from tests.records.test_replay import events as random_events
from tests.records.turns import closed, opened, session, stamp


class Day:
    """A session's events, folded one after the other; a copy goes through a snapshot each time."""

    def __init__(self) -> None:
        self.seq = 0
        self.state, self.copy = State(), State()
        self.tell(opened("s1"))

    def tell(self, *events: Any) -> None:
        for event in events:
            self.seq += 1
            fold(self.state, event, stamp(self.seq))
            fold(self.copy, event, stamp(self.seq))
            assert self.copy == self.state
            self.copy = State.of(self.copy.snapshot())
            assert self.copy == self.state

    def happen(self, event: str, **data: Any) -> None:
        self.tell(ev.SessionHappened("s1", event, raw(data)))

    def start(
        self,
        id_: str,
        tool: str = "bash",
        agent: str | None = None,
        asked: str | None = None,
        **args: Any,
    ) -> None:
        call = subjects.Call(
            id_, "s1", "copilot", tool, "running", stamp(self.seq), args=raw(args), agent_id=agent,
            tool_call_id=asked,
        )  # fmt: skip
        self.tell(ev.CallStarted("s1", call))

    def finish(self, id_: str, state: Any = "done", **fields: Any) -> None:
        call = subjects.Call(id_, "s1", "copilot", "bash", state, "", duration=5.0, **fields)
        self.tell(ev.CallFinished("s1", call))

    def approve(self, state: Any, kind: Any = "permission", id_: str = "a1", **fields: Any) -> None:
        detail = {"kind": "shell", "fullCommandText": "npm ci"}
        for name, key in (("call", "toolCallId"), ("agent", "agentId"), ("asker", "asker")):
            if name in fields:
                detail[key] = fields.pop(name)
        view = subjects.Approval(id_, kind, state, detail, "", "", session_id="s1", **fields)
        kinds = {"waiting": ev.ApprovalRequested, "withdrawn": ev.ApprovalWithdrawn}
        self.tell(kinds.get(state, ev.ApprovalDecided)(view, "s1"))

    @property
    def turn(self) -> Turn:
        turn = self.state.turns["s1"].current()
        assert turn is not None
        return turn

    @property
    def steps(self) -> list[Step]:
        return self.turn.steps

    def kinds(self) -> list[tuple[str, str, str]]:
        return [(step.kind, step.state, step.summary) for step in self.steps]


@pytest.fixture
def day() -> Day:
    return Day()


def test_a_prompt_opens_a_turn_and_idle_ends_it(day: Day) -> None:
    day.happen("user.message", content="Why does\npairing flake?")
    day.happen("assistant.turn_start")
    day.start("c1", command="pytest -x tests/pty")
    assert day.turn.head.state == "running"
    day.finish("c1", exit_code=0)
    day.happen("assistant.message", content="Found it.")
    day.happen("session.idle")
    head = day.turn.head
    assert (head.number, head.prompt, head.source.kind, head.state) == (
        1, "Why does ⏎ pairing flake?", "person", "done",
    )  # fmt: skip
    assert (head.started_at, head.ended_at) == (stamp(2), stamp(7))
    assert (head.steps, head.failed) == (2, 0)
    assert day.kinds() == [
        ("call", "done", "pytest -x tests/pty"),
        ("message", "done", "Found it."),
    ]
    call = day.steps[0]
    assert (call.id, call.tool, call.provider, call.call_id) == ("1.1", "bash", "copilot", "c1")
    assert (call.at, call.duration, call.exit_code) == (stamp(4), 5.0, 0)


@pytest.mark.parametrize(
    ("event", "data", "source"),
    [
        ("user.message", {}, TurnSource("person")),
        ("prompt.injected", {"from": "ci-watch"}, TurnSource("provider", "ci-watch")),
        ("prompt.automatic", {"source": "autopilot"}, TurnSource("autopilot")),
        ("prompt.automatic", {"source": "agent-x1"}, TurnSource("agent", "x1")),
        ("prompt.automatic", {"source": "schedule"}, TurnSource("schedule")),
        ("prompt.automatic", {"source": "moon"}, TurnSource("unknown", "moon")),
        ("prompt.automatic", {"source": 3}, TurnSource("unknown")),
        ("assistant.turn_start", {}, TurnSource("unknown")),
    ],
)
def test_a_turn_says_who_asked(day: Day, event: str, data: Any, source: TurnSource) -> None:
    day.happen(event, **data)
    assert (day.turn.head.source, day.turn.head.state) == (source, "running")


def test_a_prompt_that_steers_is_a_step_and_a_queued_one_is_a_turn(day: Day) -> None:
    day.happen("user.message", content="one")
    day.happen("user.message", content="use pnpm", delivery="steering")
    assert day.kinds() == [("prompt", "done", "use pnpm")]
    day.happen("user.message", content="two", delivery="queued")
    assert [head.state for head in day.state.turns["s1"].heads()] == ["done", "running"]
    day.happen("session.idle")
    day.happen("user.message", content="three", delivery="steering")
    assert day.turn.head.number == 3


@pytest.mark.parametrize(
    ("command", "exit_code", "state"),
    [
        ("pytest", 0, "done"),
        ("pytest", 1, "failed"),
        ("grep -rn sleep tests", 1, "done"),
        ("cd a && git diff --quiet", 1, "done"),
        ("grep x", 2, "failed"),
        ("test -f x || npm ci", 1, "failed"),
    ],
)
def test_a_shell_that_exits_non_zero_failed(
    day: Day, command: str, exit_code: int, state: str
) -> None:
    day.happen("user.message", content="go")
    day.start("c1", command=command)
    day.finish("c1", exit_code=exit_code)
    assert (day.steps[0].state, day.steps[0].exit_code) == (state, exit_code)
    assert day.turn.head.failed == (state == "failed")


def test_a_tool_that_fails_says_why(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1")
    day.finish("c1", "failed", error="no such\nfile")
    day.start("c2")
    day.finish("c2", "cancelled", error="given up")
    assert [(step.state, step.error) for step in day.steps] == [
        ("failed", "no such ⏎ file"),
        ("cancelled", "given up"),
    ]
    assert day.turn.head.failed == 1


def test_files_that_changed_stand_in_the_head_with_their_lines(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1", "edit", path="a.py")
    day.finish("c1", changes=[FileChange("a.py", 6, 2), FileChange("b.py", is_probable=True)])
    day.start("c2", "edit", path="a.py")
    day.finish("c2", changes=[FileChange("a.py", 1, None)])
    assert day.turn.head.files == [
        FileChange("b.py", is_probable=True),
        FileChange("a.py", 7, 2),
    ]
    assert [(step.added, step.removed) for step in day.steps] == [(6, 2), (1, None)]
    for number in range(limits.TURN_FILES + 5):
        day.start("c3", "edit")
        day.finish("c3", changes=[FileChange(f"{number}.py", 1, 1)])
    assert len(day.turn.head.files) == limits.TURN_FILES


@pytest.mark.parametrize(
    ("command", "code", "state", "failed"),
    [("make", 2, "failed", 1), ("make", 0, "done", 0), ("grep x y", 1, "done", 0)],
)
def test_a_command_that_ends_after_its_call_tells_how(
    day: Day, command: str, code: int, state: str, failed: int
) -> None:
    day.happen("user.message", content="start it")
    day.start("c1", command=command)
    day.finish("c1")
    for told in ({"exitCode": 7}, {"toolCallId": "c1"}, {"toolCallId": "c1", "exitCode": "2"}):
        day.happen("shell.completed", **told)
    day.happen("shell.completed", toolCallId="c1", exitCode=code)
    day.happen("shell.completed", toolCallId="c1", exitCode=9)
    assert [(one.state, one.exit_code) for one in day.steps] == [(state, code)]
    assert day.turn.head.failed == failed


def test_a_command_that_ends_in_a_later_turn_is_a_step_there(day: Day) -> None:
    day.happen("user.message", content="start it")
    day.start("c1", command="make")
    day.finish("c1")
    day.happen("session.idle")
    day.happen("user.message", content="and now?")
    day.happen("shell.completed", toolCallId="c1", tool="bash", command="make", exitCode=2)
    (step,) = day.steps
    assert (step.kind, step.tool, step.summary, step.call_id) == ("call", "bash", "make", "c1")
    assert (step.state, step.exit_code, day.turn.head.failed) == ("failed", 2, 1)


def test_files_beyond_those_that_a_head_names_are_counted_with_their_lines(day: Day) -> None:
    day.happen("user.message", content="rename it everywhere")
    for number in range(limits.TURN_FILES + 5):
        day.start(f"c{number}", "edit")
        day.finish(f"c{number}", changes=[FileChange(f"src/{number}.py", 3, 2)])
    head = day.turn.head
    assert (head.files[0].path, len(head.files)) == ("src/5.py", limits.TURN_FILES)
    assert head.more_files == MoreFiles(5, 15, 10)
    again = State()
    fold(again, opened("s1"), stamp(0))
    fold(again, ev.TurnsRestored("s1", [day.turn]), stamp(0))
    assert again.turns["s1"].turns[0].more_files == head.more_files


def test_a_call_that_waits_for_the_person_is_a_step_that_waits(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1", command="npm ci")
    day.approve("waiting", call="c1")
    assert (day.turn.head.state, day.steps[0].state, day.steps[0].approval_id) == (
        "waiting", "waiting", "a1",
    )  # fmt: skip
    day.approve("deciding", call="c1", decided_by="tapui")
    assert day.steps[0].state == "waiting"
    day.approve("approved", call="c1", decided_by="tapui")
    assert (day.turn.head.state, day.steps[0].state) == ("running", "running")
    day.finish("c1", exit_code=0)
    assert [(step.state, step.decided_by) for step in day.steps] == [("done", "tapui")]


def test_a_call_that_was_denied_stays_denied(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1", command="npm ci")
    day.approve("waiting", call="c1")
    day.approve("denied", call="c1", decided_by="tapui", reason="not now")
    day.finish("c1", "failed", error="the tool failed")
    assert [(step.state, step.error) for step in day.steps] == [("denied", "not now")]
    assert day.turn.head.failed == 0


def run(day: Day, id_: str, command: str, code: int = 0, **fields: Any) -> None:
    day.start(id_, command=command)
    day.finish(id_, exit_code=code, **fields)


def left(day: Day) -> int | None:
    latest = day.state.turns["s1"].latest
    assert latest is not None
    return latest.failures_left()


def test_what_failed_is_left_until_the_same_passes(day: Day) -> None:
    day.happen("user.message", content="go")
    run(day, "c1", "make lint", 1)
    run(day, "c2", "pytest -q", 1)
    assert left(day) == 2
    run(day, "c3", "pytest -q tests", 0)
    assert left(day) == 2, "that was something else"
    run(day, "c4", "pytest -q", 0)
    assert left(day) == 1
    run(day, "c5", "pytest -q", 1)
    run(day, "c6", "pytest -q", 1)
    assert left(day) == 3, "what passed before it failed says nothing"
    run(day, "c7", "pytest -q", 0)
    run(day, "c8", "make lint", 0)
    assert left(day) == 0
    day.happen("session.idle")
    assert day.turn.head.failed == 4
    assert left(day) == 0


def test_an_error_of_the_model_is_over_once_the_turn_goes_on(day: Day) -> None:
    day.happen("user.message", content="go")
    day.happen("session.error", errorType="rate_limit", message="try again")
    assert left(day) == 1
    day.happen("assistant.message", content="There it is.")
    assert left(day) == 0


def test_denied_cancelled_and_stopped_steps_are_no_failures_that_are_left(day: Day) -> None:
    day.happen("user.message", content="go")
    for code in ("DENIED", "CANCELLED", "STOPPED"):
        day.start(code, command="make")
        state = "failed" if code == "DENIED" else "cancelled"
        day.finish(code, state, error="no", error_code=code)
    assert day.turn.head.failed == 0
    assert left(day) == 0


def test_of_a_turn_whose_steps_are_gone_it_is_not_known(day: Day) -> None:
    day.happen("user.message", content="go")
    run(day, "c1", "pytest -q", 1)
    day.happen("session.idle")
    turn = LiveTurn.of_head(day.turn.head)
    assert turn.failed == 1
    assert turn.failures_left() is None
    assert LiveTurn.of_head(replace(day.turn.head, failed=0)).failures_left() == 0


def test_what_did_not_fail_by_itself_is_counted_apart(day: Day) -> None:
    day.happen("user.message", content="go")
    codes = ("INTERNAL", "DENIED", "TIMEOUT", "CANCELLED", "STOPPED", "DISCONNECTED")
    for number, code in enumerate(codes):
        day.start(f"c{number}")
        state = "cancelled" if code in ("CANCELLED", "STOPPED") else "failed"
        day.finish(f"c{number}", state, error="x", error_code=code)
    assert [step.state for step in day.steps] == [
        "failed", "denied", "timedOut", "cancelled", "stopped", "unknown",
    ]  # fmt: skip
    head = day.turn.head
    assert (head.failed, head.denied, head.timed_out) == (1, 1, 1)
    assert (head.cancelled, head.stopped) == (1, 1)


def test_a_call_that_a_gate_denied_counts_once_and_says_who_denied_it(day: Day) -> None:
    day.happen("user.message", content="go")
    rule = subjects.AppliedRule("deny", "shell", "rm", "own", "config.toml:2")
    gate = subjects.Gate("g1", "s1", "bash", "deny", [], "", decided_by="rule", rule=rule)
    day.start("c1", command="rm -r x")
    day.tell(ev.GateChecked("s1", gate))
    day.finish("c1", "failed", error="denied by rule", error_code="DENIED")
    call, denied = day.steps
    assert (call.state, call.decided_by, call.rule) == (
        "denied", "rule", "rule “rm” (config.toml:2)",
    )  # fmt: skip
    assert (denied.kind, denied.state) == ("gate", "denied")
    assert (day.turn.head.failed, day.turn.head.denied) == (0, 1)
    day.start("c2", tool="edit")
    day.finish("c2", "failed", error="denied in Copilot", error_code="DENIED")
    assert (day.turn.head.denied, day.steps[-1].decided_by) == (2, None)


def test_a_request_that_nobody_answered_timed_out(day: Day) -> None:
    day.happen("user.message", content="go")
    day.approve("waiting")
    day.approve("expired")
    assert (day.steps[0].state, day.turn.head.timed_out) == ("timedOut", 1)


def test_a_permission_asked_before_its_call_begins_is_the_call(day: Day) -> None:
    day.happen("user.message", content="go")
    day.approve("waiting", call="c1")
    assert day.kinds() == [("call", "waiting", "npm ci")]
    day.start("c1", command="npm ci")
    assert day.kinds() == [("call", "waiting", "npm ci")]
    day.approve("withdrawn", call="c1", decided_by="cli")
    day.finish("c1")
    assert day.kinds() == [("call", "done", "npm ci")]


def test_all_that_a_call_waited_for_the_person_counts(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1", command="curl x")
    for id_, waited in (("a1", 2_000.0), ("a2", 500.0)):
        day.approve("waiting", call="c1", id_=id_)
        day.approve("approved", call="c1", id_=id_, duration=waited)
    day.finish("c1")
    assert [(step.state, step.asked) for step in day.steps] == [("done", 2_500.0)]


def test_a_call_that_was_denied_in_its_program_is_denied(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1", command="npm ci")
    day.approve("waiting", call="c1")
    day.approve("withdrawn", call="c1", decided_by="cli", answered="denied", reason="use pnpm")
    day.finish("c1", "failed", error="the tool failed")
    assert [(step.state, step.error) for step in day.steps] == [("denied", "use pnpm")]
    assert day.turn.head.failed == 0


def test_a_call_that_its_program_denied_by_itself_is_denied(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1", command="npm ci")
    denied = {"by": "cli-judge", "decision": "deny", "reason": "it deletes"}
    day.happen("permission.completed", toolCallId="c1", **denied)
    day.finish("c1", "failed", error="the tool failed")
    (step,) = day.steps
    assert (step.state, step.decided_by, step.error) == ("denied", "cli-judge", "it deletes")


def test_a_call_without_a_name_is_no_request_once_somebody_has_read_it(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1", tool="", asked="t1")
    day.start("c1", tool="", asked="t1")  # a host that uses an id once more
    assert [(step.kind, step.state, step.tool) for step in day.steps] == [
        ("call", "unknown", "unnamed"),
        ("call", "running", "unnamed"),
    ]


def test_what_a_folders_file_asks_is_no_step_and_what_its_agent_asks_is_one(day: Day) -> None:
    day.approve("waiting", "emitter")
    day.approve("approved", "emitter", decided_by="tapui")
    assert "s1" not in day.state.turns or day.state.turns["s1"].current() is None
    day.happen("user.message", content="go")
    day.approve("waiting", "emitter")
    day.approve("approved", "emitter", decided_by="tapui")
    assert day.steps == []
    day.approve("waiting", "emitter", asker="the session's agent")
    assert [(step.kind, step.state) for step in day.steps] == [("gate", "waiting")]


def test_other_requests_are_steps_of_their_own(day: Day) -> None:
    day.happen("user.message", content="go")
    day.approve("waiting")
    day.approve("withdrawn")
    day.approve("waiting", "mode")
    day.approve("approved", "mode", decided_by="tapui")
    day.tell(ev.ModeChanged("s1", "plan", "done", "tapui", source="interactive"))
    assert day.kinds() == [
        ("gate", "cancelled", "npm ci"),
        ("mode", "done", "interactive → plan"),
    ]


def test_gates_modes_models_compactions_and_errors_are_steps(day: Day) -> None:
    day.happen("user.message", content="go")
    gate = subjects.Gate("g1", "s1", "bash", "waiting", ["guard"], "")
    day.tell(ev.GateChecked("s1", gate))
    assert day.turn.head.state == "waiting"
    day.tell(ev.GateChecked("s1", replace(gate, state="deny", reason="no", decided_by="guard")))
    day.tell(ev.ModeChanged("s1", "plan", "ordered", "tapui", source="interactive"))
    day.tell(ev.ModeChanged("s1", "plan", "failed", "tapui", error="refused"))
    day.tell(ev.SessionUpdated("s1", session("s1", model="gpt-5")))
    day.tell(ev.SessionUpdated("s1", session("s1", model="opus")))
    day.happen("session.compaction_start")
    day.happen("session.compaction_complete", success=True, tokensBefore=90, tokensRemoved=60)
    day.happen("session.error", errorType="query", message="400 bad request")
    assert day.kinds() == [
        ("gate", "denied", "no"),
        ("mode", "failed", "plan"),
        ("model", "done", "gpt-5"),
        ("model", "done", "gpt-5 → opus"),
        ("compaction", "done", "90 → 30"),
        ("error", "failed", "query"),
    ]
    day.happen("session.idle")
    assert day.turn.head.state == "failed"


def test_what_the_session_used_is_counted_by_model(day: Day) -> None:
    day.happen("assistant.usage", model="gpt-5", inputTokens=10, outputTokens=2, cost=1)
    day.happen("user.message", content="go")
    day.happen("assistant.usage", model="gpt-5", inputTokens=1, cacheReadTokens=1)
    day.happen("assistant.usage", model="opus", inputTokens=5)
    turns = day.state.turns["s1"]
    assert turns.models == {
        "gpt-5": Usage(11, 2, 1.0, cache_read=1, calls=2),
        "opus": Usage(5, calls=1),
    }
    assert (day.turn.head.usage.input, turns.used().input) == (6, 16)
    # What the host tells of the whole session holds.
    day.happen("session.usage", models=[{"model": "gpt-5", "calls": 9, "inputTokens": 900}])
    day.happen("assistant.usage", model="gpt-5", inputTokens=100)
    assert turns.models == {"gpt-5": Usage(1000, calls=10)}
    day.happen("session.usage", models="nonsense")
    assert turns.used() == Usage(1000, calls=10)


def test_only_so_many_models_are_counted_apart(day: Day) -> None:
    for number in range(limits.MAX_USED_MODELS + 5):
        day.happen("assistant.usage", model=f"m{number}", inputTokens=1)
    turns = day.state.turns["s1"]
    assert len(turns.models) == limits.MAX_USED_MODELS
    assert turns.used().input == limits.MAX_USED_MODELS + 5
    assert turns.models[""].input == 6


def test_what_a_subagent_asks_for_and_the_call_that_follows_are_one_step_of_its_own(
    day: Day,
) -> None:
    day.happen("user.message", content="Review")
    day.start("t1", "task")
    day.happen("subagent.started", remoteSessionId="k1", toolCallId="t1", agentName="reviewer")
    day.approve("waiting", call="theirs", agent="k1")
    (agent,) = day.steps
    assert [(one.kind, one.state, one.call_id) for one in agent.steps] == [
        ("call", "waiting", "theirs")
    ]
    assert day.turn.head.state == "waiting"
    day.approve("approved", call="theirs", agent="k1", decided_by="tapui")
    day.start("call-1", "lookup_order", agent="k1", asked="theirs", id="A-17")
    day.finish("call-1", tool_call_id="theirs", agent_id="k1")
    (agent,) = day.steps
    (step,) = agent.steps
    assert (step.tool, step.state, step.call_id) == ("lookup_order", "done", "call-1")
    assert (step.decided_by, agent.calls) == ("tapui", 1)


def test_a_step_tells_how_long_it_waited_and_for_what(day: Day) -> None:
    day.happen("user.message", content="Go")
    gate = subjects.Gate("g1", "s1", "lookup", "waiting", ["guard"], "")
    day.tell(ev.GateChecked("s1", gate))
    day.tell(ev.GateChecked("s1", replace(gate, state="allow", duration=40.0)))
    day.approve("waiting", call="theirs")
    day.approve("approved", call="theirs", duration=2_000.0, decided_by="tapui")
    made = subjects.Call("c1", "s1", "shop", "lookup", "queued", stamp(3), tool_call_id="theirs")
    day.tell(ev.CallStarted("s1", replace(made, gated=40.0)))
    done = replace(made, state="done", queued=300.0, duration=900.0)
    day.tell(ev.CallFinished("s1", done))
    gated, step = day.steps
    assert (gated.duration, gated.gated, gated.asked) == (40.0, 40.0, None)
    assert (step.duration, step.queued, step.gated) == (900.0, 300.0, 40.0)
    assert step.asked == 2_000.0


def test_a_turn_counts_once_what_waits_for_the_person_at_once(day: Day) -> None:
    day.happen("user.message", content="Go")
    gate = subjects.Gate("g1", "s1", "lookup", "waiting", ["guard"], "")
    day.tell(ev.GateChecked("s1", gate))
    assert (day.turn.head.waited, day.turn.head.waits_since) == (0.0, None), "for a provider"
    day.approve("waiting")
    begun = day.seq
    day.approve("waiting", id_="a2")
    day.approve("denied", id_="a2", decided_by="tapui")
    assert (day.turn.head.waited, day.turn.head.waits_since) == (0.0, stamp(begun))
    day.approve("denied", decided_by="tapui")
    first = 0.001 * (day.seq - begun)  # a microsecond between two
    assert (day.turn.head.waited, day.turn.head.waits_since) == (first, None)
    day.approve("waiting", id_="a3")
    day.happen("session.idle")
    assert (day.turn.head.waited, day.turn.head.waits_since) == (first + 0.001, None)


@pytest.mark.parametrize(
    ("since", "until", "waited"),
    [
        ("2026-01-01T00:00:00.250000Z", "2026-01-02T00:00:01Z", 86_400_750.0),
        ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", 0.0),
        ("2026-13-01T00:00:00Z", "2026-14-01T00:00:00Z", 0.0),
        ("0000-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 0.0),
        ("yesterday", "2026-01-01T00:00:00Z", 0.0),
    ],
)
def test_a_wait_is_as_long_as_the_times_of_its_events_tell(
    since: str, until: str, waited: float
) -> None:
    turn = LiveTurn(1, "s1", since, TurnSource("person"))
    turn.count_wait(since, is_waiting=True)
    turn.count_wait(until, is_waiting=False)
    assert (turn.waited, turn.waits_since) == (waited, None)


def test_a_call_that_was_allowed_elsewhere_and_never_began_ends_with_the_turn(day: Day) -> None:
    day.happen("user.message", content="Go")
    day.approve("waiting", call="theirs")
    day.approve("withdrawn", call="theirs", decided_by="cli")
    assert [one.state for one in day.steps] == ["running"]
    day.happen("session.idle")
    assert [one.state for one in day.steps] == ["unknown"]
    assert day.turn.head.state == "done"


def test_a_subagent_is_a_turn_within_the_turn(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("t1", "task", description="look")
    day.happen(
        "subagent.started", remoteSessionId="k1", toolCallId="t1", agentName="reviewer",
        description="Look for more sleeps",
    )  # fmt: skip
    day.start("c1", agent="k1", command="rg sleep")
    day.happen("assistant.message", content="two found", agentId="k1")
    day.happen("assistant.usage", inputTokens=10, outputTokens=2, cost=1, agentId="k1")
    day.happen("assistant.usage", inputTokens=100, outputTokens=20)
    day.happen("user.message", content="the task", agentId="k1")
    day.happen("assistant.turn_start", agentId="k1")
    (step,) = day.steps
    assert (step.kind, step.tool, step.summary, step.agent) == (
        "subagent", "reviewer", "Look for more sleeps", "k1",
    )  # fmt: skip
    assert [(one.kind, one.summary) for one in step.steps] == [
        ("call", "rg sleep"),
        ("message", "two found"),
    ]
    assert (step.calls, step.usage) == (1, Usage(10, 2, 1.0, calls=1))
    assert day.turn.head.usage == Usage(110, 22, 1.0, calls=2)
    day.finish("c1", exit_code=0)
    day.finish("t1")
    assert day.steps[0].state == "running"
    day.happen("subagent.completed", toolCallId="t1", durationMs=1500, calls=3)
    (step,) = day.steps
    assert (step.state, step.duration, step.calls) == ("done", 1500.0, 3)


def test_what_an_abort_leaves_open_was_stopped(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("t1", "task")
    day.happen("subagent.started", remoteSessionId="k1", toolCallId="t1", agentName="a")
    day.start("c1")
    day.happen("abort", reason="user")
    assert (day.turn.head.state, day.turn.head.ended_at) == ("stopped", stamp(day.seq))
    day.finish("c1", "cancelled", error="the turn was aborted", error_code="STOPPED")
    day.happen("session.idle", aborted=True)
    assert [(step.kind, step.state) for step in day.steps] == [
        ("subagent", "stopped"),
        ("call", "stopped"),
    ]
    assert day.turn.head.state == "stopped"


def test_the_end_of_a_session_ends_its_turn(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("c1")
    day.tell(closed("s1"))
    assert (day.turn.head.state, day.steps[0].state) == ("stopped", "cancelled")


def test_calls_of_an_idle_session_are_outside_of_its_turns(day: Day) -> None:
    day.start("c1")
    head = day.turn.head
    assert (head.is_outside, head.state, head.source.kind) == (True, "running", "unknown")
    day.finish("c1")
    day.happen("session.idle")
    assert (day.turn.head.state, day.turn.head.ended_at) == ("done", stamp(3))
    day.start("c2")
    assert (day.turn.head.number, day.turn.head.steps, day.turn.head.state) == (1, 2, "running")
    day.happen("assistant.turn_start")
    assert day.turn.head.number == 2
    assert [step.call_id for step in day.steps] == ["c2"]  # it goes on here
    day.finish("c2", "failed", error="x")
    assert [head.failed for head in day.state.turns["s1"].heads()] == [0, 1]
    assert day.state.turns["s1"].turn(1) is not None


def test_what_was_asked_earlier_is_kept_for_fifty_turns(day: Day) -> None:
    for number in range(limits.TURNS + 5):
        day.happen("user.message", content=str(number))
    heads = day.state.turns["s1"].heads()
    assert [head.prompt for head in heads] == [str(n) for n in range(5, limits.TURNS + 5)]
    assert heads[-1].number == limits.TURNS + 5
    assert State.of(day.state.snapshot()).turns["s1"].turn(heads[0].number) is None


def test_a_turn_keeps_its_newest_steps_and_those_that_are_open(day: Day) -> None:
    day.happen("user.message", content="go")
    day.start("open")
    for number in range(limits.TURN_STEPS + 10):
        day.start(f"c{number}")
        day.finish(f"c{number}")
    turn = day.turn
    assert len(turn.steps) == limits.TURN_STEPS
    assert (turn.head.steps, turn.dropped) == (limits.TURN_STEPS + 11, 11)
    assert turn.steps[0].call_id == "open"
    day.finish("open", "failed")
    assert day.turn.head.failed == 1


def test_when_more_is_open_than_a_turn_keeps_the_oldest_is_forgotten(day: Day) -> None:
    day.happen("user.message", content="go")
    for number in range(limits.TURN_STEPS + 2):
        day.start(f"c{number}")
    assert day.steps[0].call_id == "c2"
    day.finish("c0", "failed")
    assert day.turn.head.failed == 0
    assert len(day.state.turns["s1"].open) == limits.TURN_STEPS


def test_steps_of_all_turns_are_bounded(day: Day) -> None:
    state = day.state
    for turn in range(10):
        fold(state, ev.SessionHappened("s1", "user.message", raw({"content": str(turn)})), "")
        for number in range(limits.TURN_STEPS):
            call = subjects.Call(f"c{number}", "s1", "p", "t", "running", "")
            fold(state, ev.CallStarted("s1", call), "")
            fold(state, ev.CallFinished("s1", replace(call, state="done")), "")
    turns = state.turns["s1"].turns
    assert sum(len(turn.steps) for turn in turns) <= limits.SESSION_STEPS
    first = state.turns["s1"].turn(1)
    assert first is not None
    assert (first.steps, first.dropped) == ([], limits.TURN_STEPS)


def test_hostile_text_of_any_size_stays_small(day: Day) -> None:
    huge = "\x1b[31m\n" * 100_000
    day.happen("prompt.injected", content=huge, **{"from": huge})
    day.happen("assistant.message", content=huge, agentId=huge)
    day.happen("session.error", message=huge, errorType=huge)
    day.happen("subagent.started", remoteSessionId="k", agentName=huge, description=huge)
    day.start("c1", huge, command=huge)
    day.finish("c1", "failed", error=huge, changes=[FileChange(huge, 1, 1)])
    day.start(huge)
    assert len(encode(day.turn)) < 20 * limits.MAX_SUMMARY
    assert "c1" not in day.state.turns["s1"].open


def test_events_that_are_too_large_to_record_tell_their_beginning(day: Day) -> None:
    cut = subjects.Cut('{"content":"Rewrite it\\nall ' + "x" * 900, 10**6, "")
    day.tell(ev.SessionHappened("s1", "user.message", None, cut))
    assert day.turn.head.prompt.startswith("Rewrite it ⏎ all xxx")


def test_a_session_that_is_forgotten_takes_its_turns_along() -> None:
    state = State()
    for number in range(limits.ENDED_SESSIONS + 5):
        id_ = f"s{number}"
        for event in (opened(id_), ev.SessionHappened(id_, "user.message"), closed(id_)):
            fold(state, event, "")
    assert state.turns.keys() == state.sessions.keys()
    new = ev.SessionReplaced("n1", session("n1"), "s24")
    fold(state, new, "")
    assert state.turns.keys() == state.sessions.keys()


@settings(max_examples=60, database=None, deadline=None)
@given(st.lists(random_events(), max_size=80))
def test_any_events_in_any_order_fold_to_bounded_turns(run: list[Any]) -> None:
    state, read = State(), State()
    for seq, event in enumerate([opened("s1"), opened("s2"), *run]):
        fold(state, event, stamp(seq))
        fold(read, event, stamp(seq))
        read.snapshot()
    assert read == state, "somebody's reading changed what follows"
    assert state.turns.keys() == state.sessions.keys()
    for turns in state.turns.values():
        assert len(turns.turns) <= limits.TURNS
        for turn in turns.turns:
            told = turn.told()
            assert told.dropped >= 0
            assert told.head.failed <= told.head.steps + 1
            assert len(encode(told)) < 5000 + 1000 * told.head.steps


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pnpm test --filter b", "pnpm test"),
        ("cd a && CI=1 pnpm test", "pnpm test"),
        ("sudo -n /usr/bin/make -j4", "make"),
        ("timeout 60s npx vitest", "npx vitest"),
        ("pytest tests/pty", "pytest"),
        ("pytest -x", "pytest"),
        ("", ""),
        ("cd /", ""),
    ],
)
def test_the_program_of_a_command(command: str, name: str) -> None:
    assert program(command) == name


@settings(max_examples=100, database=None, deadline=None)
@given(st.text(), st.integers(-1, 2))
def test_any_command_has_a_program_and_an_exit_code(command: str, exit_code: int) -> None:
    assert isinstance(program(command), str)
    assert is_answer(command, exit_code) in (True, False)


def test_a_step_says_who_allowed_it(day: Day) -> None:
    day.happen("user.message", content="x")
    day.start("c1")
    day.happen("permission.completed", toolCallId="c1", by="allow-all")
    day.start("c2")
    day.approve("waiting", call="c2")
    rule = subjects.AppliedRule("allow", "shell", "npm ci", "person", "config.toml:7")
    day.approve("approved", call="c2", decided_by="rule", rule=rule)
    day.start("c3")
    gate = subjects.Gate("g1", "s1", "bash", "deny", ["rule"], "", decided_by="rule", rule=rule)
    day.tell(ev.GateChecked("s1", gate))
    assert [(one.decided_by, one.rule) for one in day.steps] == [
        ("allow-all", ""),
        ("rule", "rule “npm ci” (config.toml:7)"),
        (None, ""),
        ("rule", "rule “npm ci” (config.toml:7)"),
    ]
    kept = subjects.AppliedRule("allow", "shell", "", "session")
    day.approve("waiting", call="c4")
    day.approve("approved", call="c4", decided_by="rule", rule=kept)
    assert day.state.rules_allowed == 1, "the person had allowed the other"


def test_an_event_that_nobody_knows_is_a_step_by_its_own_name(day: Day) -> None:
    day.happen("session.weather_changed", message="rain")  # no turn runs
    day.happen("user.message", content="go on")
    day.happen("session.weather_changed", message="rain,\nthen sun")
    day.happen("session.weather_changed", message="sun")
    day.happen("session.permissions_changed", mode="allow-all")
    day.happen("a.newer_one", message=["no text"])
    assert [(one.kind, one.tool, one.state, one.summary) for one in day.steps] == [
        ("event", "session.weather_changed", "done", "sun"),
        ("event", "a.newer_one", "done", ""),
    ]


def test_a_turn_that_the_sessions_program_began_has_its_name() -> None:
    day = Day()
    day.happen("user.message", content="test it")
    day.happen("session.idle")
    woken = {"content": "shell “npm test” completed", "source": "host-Copilot"}
    day.happen("prompt.automatic", **woken, delivery="steering")
    day.start("c2", "read_bash")
    day.happen("assistant.turn_start")
    assert (day.turn.head.source, day.turn.head.number) == (TurnSource("host", "Copilot"), 2)
    assert day.turn.head.prompt == "shell “npm test” completed"
    day.happen("prompt.automatic", **woken, delivery="steering")
    assert [step.kind for step in day.steps] == ["call", "prompt"]


def test_a_warning_and_the_end_of_autopilot_are_steps() -> None:
    day = Day()
    day.happen("session.warning", message="no turn runs")
    day.happen("session.autopilot_stopped", reason="task_complete")
    assert day.state.turns["s1"].current() is None
    day.happen("user.message", content="go")
    day.happen("session.warning", message="no server answers")
    day.happen("session.idle")
    day.happen("session.autopilot_stopped", reason="task_complete")
    day.happen("session.autopilot_stopped", reason="of_a_newer_cli")
    assert [(step.tool, step.summary) for step in day.steps] == [
        ("warning", "no server answers"),
        ("autopilot stopped", "the task is complete"),
        ("autopilot stopped", "of a newer cli"),
    ]


def test_turns_that_were_taken_back_are_undone() -> None:
    day = Day()
    for text in ("one", "two", "three"):
        day.happen("user.message", content=text)
        day.happen("session.idle")
    second = day.state.turns["s1"].turns[1].started_at
    day.happen("session.snapshot_rewind")
    assert [one.undone for one in day.state.turns["s1"].turns] == [False, False, False]
    day.happen("session.snapshot_rewind", since=second)
    day.happen("user.message", content="two, again")
    heads = day.state.turns["s1"].heads()
    assert [one.undone for one in heads] == [False, True, True, False]
    assert undone_words(day.state.turns["s1"].turns[0]) is None
    assert undone_words(day.state.turns["s1"].turns[1]) == "undone: the agent knows it no longer"
