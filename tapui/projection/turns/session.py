"""The turns of one session, where what happens next belongs, and calls as steps."""

from tapui.projection.summary import one_line
from tapui.projection.turns import usage
from tapui.projection.turns.programs import outcome
from tapui.projection.turns.turn import LiveStep, LiveTurn, standing_head
from tapui.projection.turns.usage import Used
from tapui.wire import limits
from tapui.wire.criteria import SessionStanding
from tapui.wire.subjects import Call
from tapui.wire.turns import SessionTurns, StepKind, StepState, Turn, TurnHead, TurnSource, Usage

UNKNOWN = TurnSource("unknown")
LOST: tuple[StepState, ...] = ("unknown", "cancelled", "stopped")
"""How a step stands whose end a tapui that ended did not see."""


class LiveTurns:
    """The newest turns of a session, oldest first. Equal means: they tell the same.

    `open` holds the steps of the newest turn that wait for a call's end, by its id; `asked` those
    that wait for an approval or a gate, by theirs; `agents` its subagents at work, by theirs.
    """

    __slots__ = (
        "agents", "asked", "has_changed", "intent", "intent_at", "models", "open", "session_id",
        "standing", "turns",
    )  # fmt: skip

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.turns: list[LiveTurn] = []
        self.open: dict[str, LiveStep] = {}
        self.asked: dict[str, LiveStep] = {}
        self.agents: dict[str, LiveStep] = {}
        self.intent = ""
        self.intent_at: str | None = None
        self.models: Used = {}
        self.standing: SessionStanding | None = None
        self.has_changed = False
        """Whether it changed files, in any turn."""

    __hash__ = None  # type: ignore[assignment]  # changed in place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiveTurns) and self.told() == other.told()

    def __repr__(self) -> str:
        return repr(self.told())

    # Reading

    def heads(self) -> list[TurnHead]:
        return [turn.head() for turn in self.turns]

    def current(self) -> Turn | None:
        """Return the newest turn whole, also after its end."""
        return self.turns[-1].told() if self.turns else None

    def begun_at(self, at: str) -> LiveTurn | None:
        """Return the turn that began then; None for one that is kept no longer."""
        return next((turn for turn in reversed(self.turns) if turn.started_at == at), None)

    def turn(self, number: int) -> Turn | None:
        """Return a turn whole; None where only its head is known, or nothing."""
        for turn in reversed(self.turns):
            if turn.number == number:
                return turn.told() if turn.is_whole else None
        return None

    def told(self) -> SessionTurns:
        heads = [turn.head() for turn in self.turns[:-1]]
        models = usage.told(self.models)
        current = self.current()
        return SessionTurns(
            self.session_id,
            heads,
            current,
            self.intent,
            self.intent_at,
            models,
            self.standing,
            self.has_changed,
        )

    def used(self) -> Usage:
        """Return what the session used in all: as its host tells it, or its turns add up to."""
        of_models = usage.total(self.models.values())
        of_turns = usage.total(turn.usage for turn in self.turns)
        return of_turns if usage.tokens(of_turns) > usage.tokens(of_models) else of_models

    @classmethod
    def of(cls, told: SessionTurns) -> "LiveTurns":
        made = cls(told.session_id)
        made.intent, made.intent_at = told.intent, told.intent_at
        made.models = usage.used_of(told.models)
        made.standing, made.has_changed = standing_head(told.standing), told.has_changed
        made.turns = [LiveTurn.of_head(head) for head in told.heads]
        if told.current is not None:
            made.turns.append(LiveTurn.of(told.current))
            made._follow(made.turns[-1])
        return made

    # Turns

    @property
    def latest(self) -> LiveTurn | None:
        return self.turns[-1] if self.turns else None

    @property
    def running(self) -> LiveTurn | None:
        turn = self.latest
        return None if turn is None or turn.is_outside or turn.ended_at is not None else turn

    def begin(
        self, at: str, source: TurnSource, prompt: str = "", *, is_outside: bool = False
    ) -> LiveTurn:
        """Begin a turn. What is still open in the one before continues in this one."""
        before = self.latest
        turn = LiveTurn(
            number=before.number + 1 if before else 1,
            session_id=self.session_id,
            started_at=at,
            source=source,
            prompt=one_line(prompt),
            is_outside=is_outside,
        )
        if before is not None:
            before.superseded(at)
            self._carry(before, turn)
            before.condense()
        self.turns.append(turn)
        del self.turns[: -limits.TURNS]
        self._forget_steps()
        return turn

    def adopt(self, turns: list[LiveTurn]) -> None:
        """Take these turns, oldest first, for those that it has."""
        self.turns = turns[-limits.TURNS :]
        for turn in self.turns[:-1]:
            turn.superseded(self.turns[-1].started_at)
        self._forget_steps()
        self._follow(self.turns[-1])

    def fill(self, turn: Turn) -> None:
        """Take over a turn that was read whole, where only its head is known."""
        for at, known in enumerate(self.turns):
            if (known.number, known.started_at) == (turn.head.number, turn.head.started_at):
                if not known.is_whole:
                    self.turns[at] = whole = LiveTurn.of(turn)
                    whole.proof = known.proof
                return

    def _carry(self, before: LiveTurn, turn: LiveTurn) -> None:
        turn.steps = [step for step in before.steps if step.is_open]
        if turn.steps:
            before.steps = [step for step in before.steps if not step.is_open]
            turn.made = sum(step.size for step in turn.steps)
        for step in before.all_steps():
            if step.is_open:  # within a subagent that has ended
                step.state = "unknown"
        self._follow(turn)

    def _follow(self, turn: LiveTurn) -> None:
        self.open.clear()
        self.asked.clear()
        self.agents.clear()
        for step in turn.all_steps():
            if not step.is_open:
                continue
            call_id = step.call.id if step.call is not None else step.call_id
            if call_id is not None:
                self.open[call_id] = step
            if step.approval_id is not None and step.state == "waiting":
                self.asked[step.approval_id] = step
            if step.kind == "subagent" and step.agent is not None:
                self.agents[step.agent] = step

    def _forget_steps(self) -> None:
        """Let the steps of the oldest turns go when there are too many."""
        room = limits.SESSION_STEPS - limits.TURN_STEPS  # which the newest may still take
        for turn in reversed(self.turns):
            room -= sum(step.size for step in turn.steps)
            if room < 0 and turn is not self.turns[-1]:
                turn.steps = []

    # Steps

    def add(
        self,
        kind: StepKind,
        state: StepState,
        at: str,
        summary: str = "",
        agent: str | None = None,
    ) -> LiveStep:
        """Add a step to the newest turn, in its subagent `agent` if that one is at work."""
        turn = self.turns[-1] if self.turns else self.begin(at, UNKNOWN, is_outside=True)
        parent = self.agents.get(agent) if agent is not None else None
        turn.made += 1
        step = LiveStep(turn.number, turn.made, kind, state, at, summary=one_line(summary))
        turn.count(state)
        self.place(step, parent)
        return step

    def place(self, step: LiveStep, parent: LiveStep | None) -> None:
        """Put a step at the end of the newest turn, or of a subagent in it."""
        if parent is None:
            steps, most = self.turns[-1].steps, limits.TURN_STEPS
        else:
            if parent.steps is None:
                parent.steps = []
            steps, most = parent.steps, limits.SUBAGENT_STEPS
        steps.append(step)
        if len(steps) > most:
            self.make_room(steps)

    def reopened(self, call_id: str) -> LiveStep | None:
        """Return the step of a call that goes on, although it had ended for a tapui that ended."""
        turn = self.turns[-1] if self.turns else None
        if turn is None or not turn.is_history:
            return None
        for step in turn.all_steps():
            if step.call_id == call_id and step.state in LOST:
                step.state, step.error = "running", ""
                self.open[call_id] = step
                return step
        return None

    def make_room(self, steps: list[LiveStep]) -> None:
        """Drop the oldest step that has ended, else the oldest."""
        at = 0
        if steps[0].is_open:
            at = next((i for i, step in enumerate(steps) if not step.is_open), 0)
        gone = steps.pop(at)
        for step in (gone, *(gone.steps or ())):
            self._lose(step)

    def _lose(self, step: LiveStep) -> None:
        call_id = step.call.id if step.call is not None else step.call_id
        for table, key in (
            (self.open, call_id),
            (self.asked, step.approval_id),
            (self.agents, step.agent),
        ):
            if key is not None and table.get(key) is step:
                del table[key]

    def end(
        self,
        step: LiveStep,
        state: StepState,
        at: str,
        error: str | None = None,
        *,
        counts: bool = True,
    ) -> None:
        """A step of the newest turn ends. One that does not count was counted as another step."""
        turn = self.turns[-1]
        turn.touched_at = at
        if counts and step.state != state:
            turn.count(state)
        step.state = state
        if error:
            step.error = one_line(error)
        self._lose(step)


# Calls as steps. This runs for each call of the gateway: what is read later is made later.


def call_started(session: LiveTurns, call: Call, at: str) -> None:
    """A call is a step from its start; one while the session is idle is outside of its turns."""
    turns = session.turns
    turn = turns[-1] if turns else None
    if turn is None or turn.ended_at is not None:
        turn = session.begin(at, UNKNOWN, is_outside=True)
    call_id = call.id
    if (
        turn.is_history
        or call.agent_id is not None
        or call.tool_call_id is not None
        or call_id in session.open
        or len(call_id) > limits.MAX_ID
    ):
        _started_otherwise(session, turn, call, at)
        return
    turn.made += 1
    step = LiveStep(turn.number, turn.made, "call", "running", at, call)
    session.open[call_id] = step
    steps = turn.steps
    steps.append(step)
    if len(steps) > limits.TURN_STEPS:
        if steps[0].state == "done" and steps[0].steps is None:
            del steps[0]
        else:
            session.make_room(steps)


def call_finished(session: LiveTurns, call: Call, at: str) -> None:
    step = session.open.pop(call.id, None)
    if step is None:
        return
    if (
        call.state == "done"
        and step.state == "running"
        and step.kind == "call"
        and call.exit_code is None
        and call.changes is None
        and call.queued is None
    ):
        step.state = "done"
        step.duration = call.duration
        session.turns[-1].touched_at = at
        return
    _finished_otherwise(session, step, call, at)


def _started_otherwise(session: LiveTurns, turn: LiveTurn, call: Call, at: str) -> None:
    """Start a subagent's call, one whose permission was asked for before it began, or one that
    goes on from before this tapui."""
    if len(call.id) > limits.MAX_ID:
        return
    parent = session.agents.get(call.agent_id) if call.agent_id is not None else None
    if parent is not None:
        parent.calls += 1
    for id_ in (call.id, call.tool_call_id):
        known = session.open.get(id_) if id_ is not None else None
        if known is None and id_ == call.id:
            known = session.reopened(id_)
        if known is not None and (known.is_asked_only or turn.is_history):
            known.call = call
            session.open[call.id] = session.open.pop(id_ or call.id)
            return
        if known is not None and id_ == call.id:
            session.end(known, "unknown", at)
    turn.made += 1
    step = LiveStep(turn.number, turn.made, "call", "running", at, call)
    session.open[call.id] = step
    session.place(step, parent)


def _finished_otherwise(session: LiveTurns, step: LiveStep, call: Call, at: str) -> None:
    """End a step that did not just succeed, or that tells more than that."""
    step.condense()
    if call.changes is not None:
        step.changed(call.changes)
        session.turns[-1].changed(call.changes)
    if step.kind == "subagent" and call.state == "done":
        return  # its own end tells: in the background it works on
    step.duration = call.duration
    step.queued = call.queued
    step.exit_code = call.exit_code
    state = outcome(call, step.summary)
    gate = _denied_by(session, step) if state == "denied" else None
    if gate is not None:
        step.decided_by, step.rule = gate.decided_by, gate.rule
    session.end(step, state, at, call.error, counts=gate is None)


def _denied_by(session: LiveTurns, step: LiveStep) -> LiveStep | None:
    """Return the gate that denied a call of the session's own. Its host does not say which call a
    gate is about: it is taken for the newest one of this tool since the call began."""
    if step.decided_by is not None:
        return None
    for one in reversed(session.turns[-1].steps):
        if one is step or step in (one.steps or ()):
            break
        if (one.kind, one.state, one.tool) == ("gate", "denied", step.tool):
            return one
    return None
