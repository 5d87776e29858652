"""Injects: what waits for a session that is busy, the brake on loops, and emitters' lines as the
one prompt that they are sent as.

Provider Interface v2 "Push loop prevention"; `tapui/wire/README.md`.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Due
from tapui.core.model import Brake, ConnectedProvider, HeldInject, HeldLine, OpenSession, Prompter
from tapui.core.traces import Traces
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import InjectPaused, InjectResumed, ProviderUpdated
from tapui.wire.host import Sender, SessionLog, SessionSend
from tapui.wire.message import BUILTIN_PROVIDER, UPDATE_MARK

_FIRST = f"{UPDATE_MARK} — background event stream update:"
_LAST = "Only react if the update matters to the current task."


def joined(sent: list[HeldInject]) -> tuple[Sender, str]:
    """Return who sends what was taken to be sent at once, and its text.

    It is one inject, or the lines of one or several emitters.
    """
    if sent[0].lines is None:
        return sent[0].sender, sent[0].prompt
    lines = sorted((line for one in sent for line in one.lines or ()), key=lambda line: line.number)
    streams = {line.stream for line in lines}
    stream = streams.pop() if len(streams) == 1 else None
    return Sender(BUILTIN_PROVIDER, stream), update(lines, sum(one.left_out for one in sent))


def update(lines: Iterable[HeldLine], left_out: int) -> str:
    """Return the text; `left_out` is how many earlier lines there were."""
    more = []
    if left_out:
        were = "1 earlier line is" if left_out == 1 else f"{left_out:,} earlier lines are"
        more = [f"- {were} left out here; tap_stream_history has them"]
    items = [
        f"- stream={line.stream} emitter={line.emitter}/{line.source}: {line.text}"
        for line in lines
    ]
    return "\n".join((_FIRST, *more, *items, _LAST))


InjectFate = Literal["sent", "begun", "refused"]
"""It was sent; then the session took it, or its host could not hand it over."""


class Injects:
    """Holds injects, delivers them in order, and pauses those who prompt without end."""

    def __init__(self, context: CoreContext, traces: Traces) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._traces = traces
        self._brakes: dict[tuple[str, str], Brake] = {}
        self.became: Callable[[HeldInject, InjectFate], None] = lambda _inject, _fate: None
        """Called with the outcome of each emitter's inject."""
        self.changed: Callable[[Prompter], None] = lambda _source: None
        """Called when the brake of an emitter goes on or off."""

    def check_room(self, session: OpenSession, provider: ConnectedProvider, prompt: str) -> None:
        """Check that an inject may be held. Raises `WireError` (`RATE_LIMITED`)."""
        held = [inject.prompt for inject in session.injects if inject.source is provider]
        text = None
        if len(held) >= limits.MAX_HELD_INJECTS:
            text = f"{limits.MAX_HELD_INJECTS} injects wait for the session"
        elif sum(map(len, held)) + len(prompt) > limits.MAX_HELD_CHARACTERS:
            text = f"injects of {limits.MAX_HELD_CHARACTERS:,} characters wait for the session"
        if text is not None:
            raise WireError(ErrorCode.RATE_LIMITED, text, session_id=session.id)

    def inject(self, session: OpenSession, inject: HeldInject) -> None:
        """Deliver an inject to an idle session, or hold it."""
        session.injects.append(inject)
        is_braked = self._brake_if_due(session, inject)
        self.deliver(session)
        self._show(inject.source)
        if inject.lines is None and not is_braked:  # lines, and the brake, are shown otherwise
            self._say_waiting(session, inject)

    def _say_waiting(self, session: OpenSession, inject: HeldInject) -> None:
        """Show in the timeline that a prompt waits: once for all of its source's that do."""
        waiting = [
            one for one in session.injects if one.source is inject.source and one.lines is None
        ]
        if waiting == [inject]:
            text = (
                f"{UPDATE_MARK}: a prompt of {_kind(inject.source)} '{inject.source.name}' waits "
                "until the session is idle"
            )
            self._out.send(session.host, SessionLog(session.id, text, "info"))

    def deliver(self, session: OpenSession) -> None:
        """Send the first inject that may go, if the session takes one now.

        Lines of emitters go together.
        """
        if session.is_busy or session.awaits_turn or not session.is_open:
            return
        first = next((one for one in session.injects if not self._brake_if_due(session, one)), None)
        if first is None:
            return
        sent = [first]
        if first.lines is not None:
            sent = [
                one
                for one in session.injects
                if one.lines is not None and not self._brake_if_due(session, one)
            ]
        session.injects = [one for one in session.injects if one not in sent]
        session.awaits_turn = True
        session.turn_due = self._deadlines.add(
            self._clock.now + limits.TURN_TIMEOUT, Due.TURN, session
        )
        sender, prompt = joined(sent)
        self._traces.prompt_began(session)
        traceparent = self._traces.sent_along(session, first.parent)
        self._out.send(session.host, SessionSend(session.id, prompt, sender, traceparent))
        session.turn_of = sent
        session.dispatched = (self._clock.now, self._clock.timestamp())
        for one in sent:
            self._tell(one, "sent")
            self._show(one.source)

    def turn_began(self, session: OpenSession) -> None:
        """A turn of a session began: it is a cycle of those whose injects led to it."""
        self._waits_no_longer(session)
        for inject in self._settled(session, "begun", has_turn=True):
            if inject.is_braked:
                self._brake(session, inject.source).cycles += 1

    def no_turn(self, session: OpenSession, *, is_refused: bool = False) -> None:
        """A delivered inject led to no turn, or the turn is over: the next one may go.

        With `is_refused` its host could not hand it over.
        """
        self._waits_no_longer(session)
        session.awaits_turn = False
        self._settled(session, "refused" if is_refused else "begun", has_turn=False)
        self.deliver(session)

    def _settled(
        self, session: OpenSession, fate: InjectFate, *, has_turn: bool
    ) -> list[HeldInject]:
        """Report the outcome of delivered injects and return them."""
        delivered, session.turn_of = session.turn_of, []
        for one in delivered:
            self._traces.dispatched(session, one, is_ok=has_turn)
            self._tell(one, fate)
        return delivered

    def _tell(self, inject: HeldInject, fate: InjectFate) -> None:
        if not isinstance(inject.source, ConnectedProvider):
            self.became(inject, fate)

    def _waits_no_longer(self, session: OpenSession) -> None:
        self._deadlines.cancel(session.turn_due)
        session.turn_due = None

    def session_ended(self, session: OpenSession) -> None:
        self._waits_no_longer(session)
        session.injects.clear()
        for inject in session.turn_of:
            self._tell(inject, "begun")
        session.turn_of = []

    def person_spoke(self, session: OpenSession) -> None:
        """The person sent a message: every brake of the session is released."""
        for key, brake in self._brakes.items():
            if key[1] == session.id:
                self._release(session, brake)

    def resume(self, session: OpenSession, source: Prompter) -> None:
        """The person releases one brake."""
        brake = self._brakes.get((source.id, session.id))
        if brake is not None:
            self._release(session, brake)
            self.deliver(session)

    def _release(self, session: OpenSession, brake: Brake) -> None:
        brake.cycles = 0
        if brake.is_on:
            brake.is_on = False
            self._out.emit(InjectResumed(session.id, brake.source.id, brake.source.name))
            self._show(brake.source)

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Carry what was held for `former`, and its brakes, over to `current`."""
        self._waits_no_longer(former)
        for inject in former.turn_of:
            self._tell(inject, "begun")
        former.turn_of = []
        current.injects, former.injects = [*former.injects, *current.injects], []
        for source_id, session_id in list(self._brakes):
            if session_id == former.id:
                brake = self._brakes.pop((source_id, session_id))
                self._brakes[source_id, current.id] = brake

    def forget_provider(self, session: OpenSession, provider: ConnectedProvider) -> None:
        """Drop what a provider holds in a session that it left."""
        self.forget(session, provider)
        # The event that tells of its leaving carries the view.
        provider.view = replace(
            provider.view,
            held=self._held(provider),
            paused=[id_ for id_ in provider.view.paused if id_ != session.id],
        )

    def forget(self, session: OpenSession, source: Prompter) -> None:
        """Drop all that a source holds in a session."""
        session.injects = [inject for inject in session.injects if inject.source is not source]
        session.turn_of = [inject for inject in session.turn_of if inject.source is not source]
        self._brakes.pop((source.id, session.id), None)

    def forget_prompt(self, session: OpenSession, source: Prompter) -> None:
        """Drop the prompt that a source holds in a session; lines that wait stay."""
        session.injects = [
            inject
            for inject in session.injects
            if inject.source is not source or inject.lines is not None
        ]

    def _held(self, provider: ConnectedProvider) -> int:
        return sum(
            inject.source is provider
            for session in provider.sessions.values()
            for inject in session.injects
        )

    def is_paused(self, session: OpenSession, source: Prompter) -> bool:
        """Return whether the brake holds a source's injects in a session."""
        brake = self._brakes.get((source.id, session.id))
        return brake is not None and brake.is_on

    def _show(self, source: Prompter) -> None:
        """Let towers see what is held, and where; they are not shown the built-in provider."""
        if not isinstance(source, ConnectedProvider):
            self.changed(source)
            return
        if source.connection.is_builtin:
            return
        paused = [id_ for id_, one in source.sessions.items() if self.is_paused(one, source)]
        view = replace(source.view, held=self._held(source), paused=paused)
        if view != source.view:
            source.view = view
            self._out.emit(ProviderUpdated(view, view.session_id))

    def _brake(self, session: OpenSession, source: Prompter) -> Brake:
        key = (source.id, session.id)
        brake = self._brakes.get(key)
        if brake is None:
            brake = self._brakes[key] = Brake(source)
        return brake

    def _brake_if_due(self, session: OpenSession, inject: HeldInject) -> bool:
        """Put the brake on after one cycle too many; return whether it holds the inject."""
        if not inject.is_braked:
            return False
        brake = self._brake(session, inject.source)
        if brake.cycles >= limits.MAX_INJECT_CYCLES and not brake.is_on:
            self._pause(session, brake)
        return brake.is_on

    def _pause(self, session: OpenSession, brake: Brake) -> None:
        source = brake.source
        brake.is_on = True
        self._out.emit(InjectPaused(session.id, source.id, source.name))
        text = (
            f"tapui holds further prompts of {_kind(source)} '{source.name}': "
            f"it prompted this session {limits.MAX_INJECT_CYCLES} times without your input"
        )
        self._out.send(session.host, SessionLog(session.id, text, "warning"))
        self._show(source)


def _kind(source: Prompter) -> str:
    return "provider" if isinstance(source, ConnectedProvider) else "emitter"
