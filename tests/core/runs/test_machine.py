"""Emitters by the dice: what must hold whatever files, sessions, runs and people do."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tapui.core.deadlines import Due
from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.plans import EmitterEntryRead
from tapui.core.runs.reports import RunStarted
from tapui.projection.fold import fold
from tapui.projection.state import State, is_waiting
from tapui.wire import limits
from tapui.wire.builtin import EmitterAsked, EmitterAskedStop, EmitterWanted
from tapui.wire.provider import Hello
from tests.core.harness import Conversation, InProcessEnd
from tests.core.runner import entry

FOLDERS = ("/one", "/two")
NAMES = ("a", "b", "c")
SESSIONS = ("s1", "s2", "s3", "s4")
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"kind": "continuous"},
    {"kind": "timed", "every": 30},
    {"kind": "timed", "every": 1, "max_runs": 3},
    {"kind": "oneTime"},
    {"kind": "oneTime", "prompt": "Look."},
    {"kind": "timed", "every": 30, "prompt": "Look."},
    {"kind": "idle", "prompt": "Look.", "max_runs": 4},
    {"kind": "idle", "prompt": "Look."},
)
schedules = st.sampled_from(SCHEDULES)
injectors = st.sampled_from([("unset", "surface"), ("enabled", "all"), ("disabled", "important")])


def _entry(folder: str, name: str, plan: dict[str, Any], more: Any) -> EmitterEntryRead:
    injector, delivery = more
    full = f"{folder[1:]}-{name}"
    return entry(full, **plan, cwd=folder, stream=name, injector=injector, delivery=delivery)


class EmitterMachine(RuleBasedStateMachine):
    """A host with sessions in two folders, a runner, and a person."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = Conversation()
        self.shell = self.talk.runner
        self.host, self.tower = self.talk.host(), self.talk.tower()
        self.folded = State()
        self.started = 0
        self.asked_for = 0
        self.approved: set[str] = set()
        """Commands of agents that the person approved, each of another request."""
        self.agent = InProcessEnd(self.talk, lambda _message: None, is_builtin=True)
        self.agent.send(Hello("tap", 2, session="all", tools=[]))
        self.talk.turn()
        self.told: dict[str, int] = {}
        """Lines that were told of each run."""
        self.shell.begin()

    @initialize(plans=st.lists(st.tuples(schedules, injectors), min_size=3, max_size=3))
    def begins(self, plans: list[Any]) -> None:
        for folder, session in zip(FOLDERS, SESSIONS, strict=False):
            self.writes(folder, plans, allows=True)
            self.opens(session, folder)
        self.opens(SESSIONS[2], FOLDERS[0])

    # Files

    @rule(
        folder=st.sampled_from(FOLDERS),
        plans=st.lists(st.tuples(schedules, injectors), max_size=3),
        allows=st.booleans(),
    )
    def writes(self, folder: str, plans: list[Any], allows: bool) -> None:
        entries = [
            _entry(folder, name, plan, more)
            for name, (plan, more) in zip(NAMES, plans, strict=False)
        ]
        self.shell.write(folder, *entries, allows=allows)

    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES))
    def touches(self, folder: str, name: str) -> None:
        self.shell.touch(folder, f"{folder[1:]}-{name}")

    @rule()
    def asks_the_shell_to_wait(self) -> None:
        from tapui.core.effects import CheckEmitter, KeepConsent, ReadEmitters

        self.shell.holds = (ReadEmitters, CheckEmitter, KeepConsent)

    @rule()
    def the_shell_answers(self) -> None:
        self.shell.answer()

    # Sessions

    @rule(session=st.sampled_from(SESSIONS), folder=st.sampled_from(FOLDERS))
    def opens(self, session: str, folder: str) -> None:
        if session not in self._open():
            opened = {"id": session, "label": "", "cwd": folder}
            self.host.say(type="session.open", session=opened)

    @rule(session=st.sampled_from(SESSIONS))
    def closes(self, session: str) -> None:
        self.host.say(type="session.close", sessionId=session)

    @rule(former=st.sampled_from(SESSIONS), current=st.sampled_from(SESSIONS), late=st.booleans())
    def replaces(self, former: str, current: str, late: bool) -> None:
        if former == current or former not in self._open():
            return
        if current in self._open():
            if late:
                self.host.say(type="session.close", sessionId=former, replacedBy=current)
            return
        cwd = self.talk.gateway.state.sessions[former].cwd
        opened = {"id": current, "label": "", "cwd": cwd, "replaces": former}
        self.host.say(type="session.open", session=opened)

    @rule(session=st.sampled_from(SESSIONS), folder=st.sampled_from(FOLDERS))
    def goes(self, session: str, folder: str) -> None:
        self.host.say(type="session.update", sessionId=session, cwd=folder)

    @rule(
        session=st.sampled_from(SESSIONS),
        event=st.sampled_from(["assistant.turn_start", "session.idle", "user.message"]),
    )
    def happens(self, session: str, event: str) -> None:
        self.host.event(session, event)

    @rule(session=st.sampled_from(SESSIONS), ok=st.booleans())
    def is_sent(self, session: str, ok: bool) -> None:
        self.host.say(type="session.sent", sessionId=session, ok=ok)

    @rule(seconds=st.sampled_from([0.5, 2.0, 10.0, 31.0, 300.0]))
    def time_passes(self, seconds: float) -> None:
        self.talk.wait(seconds)

    # Runs

    @rule(data=st.data())
    @precondition(lambda self: self.shell.running)
    def a_run_goes_on(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(sorted(self.shell.running)))
        self.talk.tell(self.talk.gateway.runs.reported, RunStarted(run, 1))
        outcomes = data.draw(st.lists(st.sampled_from(["keep", "surface", "inject"]), max_size=4))
        self.shell.lines_of_run(run, outcomes)
        self.told[run] = self.told.get(run, 0) + len(outcomes)

    @rule(data=st.data(), dropped=st.integers(0, 5), code=st.sampled_from([0, 0, 1]))
    @precondition(lambda self: self.shell.running)
    def a_run_ends(self, data: st.DataObject, dropped: int, code: int) -> None:
        run = data.draw(st.sampled_from(sorted(self.shell.running)))
        lines = self.told.pop(run, 0) + dropped
        self.shell.end_of_run(run, code=code, lines=lines, dropped=dropped)

    @rule()
    def the_runner_is_lost(self) -> None:
        self.shell.lost()

    # Agents

    @rule(
        session=st.sampled_from(SESSIONS),
        name=st.sampled_from(["mine", "one-a"]),
        plan=st.sampled_from([one for one in SCHEDULES if one["kind"] != "idle"]),
    )
    def an_agent_asks(self, session: str, name: str, plan: dict[str, Any]) -> None:
        self.asked_for += 1
        given = dict(plan)
        if "prompt" not in given:
            given["command"] = f"agent {self.asked_for}"
        wanted = EmitterWanted(name=f"{session}-{name}", stream=name, **given)
        self.agent.send(EmitterAsked(f"q{self.asked_for}", session, wanted))
        self.talk.turn()

    @rule(session=st.sampled_from(SESSIONS), name=st.sampled_from(["mine", "one-a"]))
    def an_agent_stops(self, session: str, name: str) -> None:
        self.agent.send(EmitterAskedStop("q", session, f"{session}-{name}"))
        self.talk.turn()

    # The person

    @rule(what=st.sampled_from(["start", "stop", "pause", "resume", "run"]), data=st.data())
    @precondition(lambda self: self.talk.gateway.state.emitters)
    def orders(self, what: str, data: st.DataObject) -> None:
        emitter = data.draw(st.sampled_from(sorted(self.talk.gateway.state.emitters)))
        self.tower.say(type=f"emitter.{what}", emitterId=emitter)

    @rule(decision=st.sampled_from(["approve", "approve", "deny"]), data=st.data())
    @precondition(lambda self: self._waiting())
    def decides(self, decision: str, data: st.DataObject) -> None:
        approval = data.draw(st.sampled_from(self._waiting()))
        detail = self.talk.gateway.state.approvals[approval].detail
        if decision == "approve" and "asker" in detail:
            self.approved.add(detail["command"])
        self.tower.say(type="approval.decide", approvalId=approval, decision=decision)

    @rule(records=st.sampled_from(["kept", "held", "refused"]))
    def the_disk(self, records: str) -> None:
        self.talk.records = records

    @rule(is_ok=st.booleans())
    def the_disk_answers(self, is_ok: bool) -> None:
        self.talk.recorded(is_ok=is_ok)

    def _open(self) -> list[str]:
        parts = self.talk.gateway.parts
        return list(parts.sessions.open)

    def _waiting(self) -> list[str]:
        approvals = self.talk.gateway.state.approvals
        return sorted(id_ for id_, one in approvals.items() if is_waiting(one))

    def _live(self) -> list[LiveEmitter]:
        return list(self.talk.gateway.parts.emitters.by_id.values())

    # What must hold

    @invariant()
    def the_state_is_what_the_events_fold_to(self) -> None:
        for one in self.talk.entries:
            fold(self.folded, one.event, one.ts)
        self.talk.forget()
        assert self.folded == self.talk.gateway.state
        shown = self.talk.gateway.state.emitters
        assert shown.keys() == {one.id for one in self._live()}
        for emitter in self._live():
            assert shown[emitter.id].state == emitter.state
            assert shown[emitter.id].session_id == emitter.session.id

    @invariant()
    def what_starts_was_allowed_exactly_so(self) -> None:
        for start in self.shell.started[self.started :]:
            if start.plan.command in self.approved:
                continue
            assert self.shell.was_allowed[start.run] == start.plan
        self.started = len(self.shell.started)

    @invariant()
    def a_run_never_overlaps_itself(self) -> None:
        live = {one.run.id for one in self._live() if one.run is not None and not one.is_prompt}
        going = set(self.shell.running) - set(self.shell.stopping)
        assert going <= live <= set(self.shell.running)
        names = [one.plan.name for one in self.shell.running.values()]
        assert len(names) == len(set(names)), "two runs of one emitter"
        assert set(self.talk.gateway.parts.emitters.by_run) == live

    @invariant()
    def everything_is_an_open_sessions_in_its_folder(self) -> None:
        open_ = self.talk.gateway.parts.sessions.open
        for emitter in self._live():
            assert open_[emitter.session.id] is emitter.session
            if emitter.source == "file":
                assert emitter.folder.sessions[0] is emitter.session
        for session in open_.values():
            for inject in session.injects:
                assert inject.source in self._live()
                assert inject.source.session is session  # type: ignore[attr-defined]

    @invariant()
    def each_line_is_counted_once(self) -> None:
        for emitter in self._live():
            counts = emitter.counted()
            fates = counts.kept + counts.surfaced + counts.injected + counts.held
            assert counts.lines == counts.dropped + fates

    @invariant()
    def each_state_is_what_it_says(self) -> None:
        for emitter in self._live():
            is_asking = emitter.approval is not None
            assert is_asking == (emitter.state == "asking")
            if emitter.state in ("running", "stopping"):
                assert emitter.run is not None
            if emitter.state in ("configured", "paused", "stopped", "exited", "completed"):
                assert (emitter.run, emitter.deadline, emitter.check) == (None, None, None)
            if emitter.state == "waiting" and emitter.deadline is None:
                assert emitter.is_prompt, "a command waits for a time"
            if emitter.held is not None:
                assert emitter.held in emitter.session.injects
                assert len(emitter.held.lines or ()) <= limits.MAX_HELD_LINES
            if emitter.plan.max_runs is not None and emitter.plan.runs != "oneTime":
                assert emitter.runs <= emitter.plan.max_runs

    @invariant()
    def nothing_else_is_due(self) -> None:
        deadlines = self.talk.gateway.parts.context.deadlines
        due = [one.subject for one in deadlines if one.due is Due.EMITTER]
        expected = [one for one in self._live() if one.deadline is not None]
        assert sorted(map(id, due)) == sorted(map(id, expected))
        counts = [one.subject for one in deadlines if one.due is Due.COUNTS]
        owed = [one for one in self._live() if one.counts_due is not None]
        assert sorted(map(id, counts)) == sorted(map(id, owed))

    def teardown(self) -> None:
        """With the last session everything stops, and nothing is left."""
        self.talk.records = "kept"
        self.talk.recorded()
        self.shell.answer()
        for session in self._open():
            self.host.say(type="session.close", sessionId=session)
        assert self._live() == []
        assert set(self.shell.running) <= set(self.shell.stopping)
        for run in list(self.shell.running):
            self.shell.end_of_run(run, code=0)
        self.talk.wait(limits.HOST_APPROVAL_TIMEOUT)
        self.everything_is_forgotten()

    def everything_is_forgotten(self) -> None:
        parts = self.talk.gateway.parts
        assert not parts.context.tickets
        assert len(parts.context.deadlines) == 0
        assert not parts.injects._brakes
        assert not parts.emitters._shown
        assert not parts.emitters.ending
        assert not parts.emitter_folders._folders
        assert not parts.emitter_folders._of


TestEmitters = EmitterMachine.TestCase
TestEmitters.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
