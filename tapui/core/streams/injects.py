"""Injects: what waits for a session that is busy, and the brake on loops.

Provider Interface v2 "Push loop prevention"; `tapui/wire/README.md`.
"""

from msgspec.structs import replace

from tapui.core.clock import Clock
from tapui.core.deadlines import Deadlines, Due
from tapui.core.model import Brake, ConnectedProvider, HeldInject, OpenSession
from tapui.core.output import Output
from tapui.core.traces.traces import Traces
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import InjectPaused, InjectResumed, ProviderUpdated
from tapui.wire.host import SessionLog, SessionSend


class Injects:
    """Holds injects, delivers them in order, and pauses providers that prompt without end."""

    def __init__(self, clock: Clock, out: Output, deadlines: Deadlines, traces: Traces) -> None:
        self._clock = clock
        self._out = out
        self._deadlines = deadlines
        self._traces = traces
        self._brakes: dict[tuple[str, str], Brake] = {}

    def check_room(self, session: OpenSession, provider: ConnectedProvider, prompt: str) -> None:
        """Check that an inject may be held. Raises `WireError` (`RATE_LIMITED`)."""
        held = [inject.prompt for inject in session.injects if inject.provider is provider]
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
        self._is_braked(session, inject.provider)
        self.deliver(session)
        self._show(inject.provider)

    def deliver(self, session: OpenSession) -> None:
        """Send the first inject that may go, if the session takes one now."""
        if session.is_busy or session.awaits_turn or not session.is_open:
            return
        for index, inject in enumerate(session.injects):
            if not self._is_braked(session, inject.provider):
                del session.injects[index]
                break
        else:
            return
        session.awaits_turn = True
        session.turn_due = self._deadlines.add(
            self._clock.now + limits.TURN_TIMEOUT, Due.TURN, session
        )
        self._out.send(session.host, SessionSend(session.id, inject.prompt, inject.sender))
        session.turn_of = inject.provider
        session.dispatched = (self._clock.now, self._clock.timestamp())
        self._traces.prompt_began(session)
        self._show(inject.provider)

    def turn_began(self, session: OpenSession) -> None:
        """A turn of a session began: it is a cycle of the provider whose inject led to it."""
        self._waits_no_longer(session)
        self._dispatched(session, is_ok=True)
        provider, session.turn_of = session.turn_of, None
        if provider is not None and provider.grant.is_budgeted:
            self._brake(session, provider).cycles += 1

    def no_turn(self, session: OpenSession) -> None:
        """A delivered inject led to no turn, or the turn is over: the next one may go."""
        self._waits_no_longer(session)
        self._dispatched(session, is_ok=False)
        session.awaits_turn = False
        session.turn_of = None
        self.deliver(session)

    def _dispatched(self, session: OpenSession, *, is_ok: bool) -> None:
        """A delivered inject has led to a turn, or to none."""
        if session.turn_of is not None:
            self._traces.prompt_ended(
                "dispatch", session, session.dispatched, session.turn_of, is_ok=is_ok
            )

    def _waits_no_longer(self, session: OpenSession) -> None:
        self._deadlines.cancel(session.turn_due)
        session.turn_due = None

    def session_ended(self, session: OpenSession) -> None:
        """Drop what was held for a session."""
        self._waits_no_longer(session)
        session.injects.clear()

    def person_spoke(self, session: OpenSession) -> None:
        """The person sent a message: every brake of the session is released."""
        for key, brake in self._brakes.items():
            if key[1] == session.id:
                brake.cycles = 0
                if brake.is_on:
                    brake.is_on = False
                    provider = session.providers.get(key[0])
                    self._out.emit(
                        InjectResumed(session.id, key[0], provider.name if provider else "")
                    )
                    if provider is not None:
                        self._show(provider)

    def resume(self, session: OpenSession, provider: ConnectedProvider) -> None:
        """The person releases one provider's brake."""
        brake = self._brakes.get((provider.id, session.id))
        if brake is None:
            return
        brake.cycles = 0
        if brake.is_on:
            brake.is_on = False
            self._out.emit(InjectResumed(session.id, provider.id, provider.name))
            self._show(provider)
        self.deliver(session)

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Carry what was held for `former`, and its brakes, over to `current`."""
        self._waits_no_longer(former)
        current.injects, former.injects = [*former.injects, *current.injects], []
        for provider_id in former.providers:
            if (provider_id, former.id) in self._brakes:
                self._brakes[provider_id, current.id] = self._brakes.pop((provider_id, former.id))

    def forget_provider(self, session: OpenSession, provider: ConnectedProvider) -> None:
        """Drop what a provider holds in a session that it left."""
        session.injects = [inject for inject in session.injects if inject.provider is not provider]
        if session.turn_of is provider:
            session.turn_of = None
        self._brakes.pop((provider.id, session.id), None)
        # The event that tells of its leaving carries the view.
        provider.view = replace(
            provider.view,
            held=self._held(provider),
            paused=[id_ for id_ in provider.view.paused if id_ != session.id],
        )

    def _held(self, provider: ConnectedProvider) -> int:
        return sum(
            inject.provider is provider
            for session in provider.sessions.values()
            for inject in session.injects
        )

    def _show(self, provider: ConnectedProvider) -> None:
        """Let towers see what is held, and where; they are not shown the built-in provider."""
        if provider.connection.is_builtin:
            return
        paused = [
            id_
            for id_ in provider.sessions
            if (brake := self._brakes.get((provider.id, id_))) is not None and brake.is_on
        ]
        view = replace(provider.view, held=self._held(provider), paused=paused)
        if view != provider.view:
            provider.view = view
            self._out.emit(ProviderUpdated(view, view.session_id))

    def _brake(self, session: OpenSession, provider: ConnectedProvider) -> Brake:
        return self._brakes.setdefault((provider.id, session.id), Brake())

    def _is_braked(self, session: OpenSession, provider: ConnectedProvider) -> bool:
        """Return whether a provider's injects are held; one cycle too many puts the brake on."""
        if not provider.grant.is_budgeted:
            return False
        brake = self._brake(session, provider)
        if brake.cycles >= limits.MAX_INJECT_CYCLES and not brake.is_on:
            self._pause(session, provider, brake)
        return brake.is_on

    def _pause(self, session: OpenSession, provider: ConnectedProvider, brake: Brake) -> None:
        brake.is_on = True
        self._out.emit(InjectPaused(session.id, provider.id, provider.name))
        text = (
            f"tapui holds further prompts of provider '{provider.name}': it prompted this session "
            f"{limits.MAX_INJECT_CYCLES} times without your input"
        )
        self._out.send(session.host, SessionLog(session.id, text, "warning"))
        self._show(provider)
