"""What waits for its time, or for its session to be idle."""

from tapui.core.context import CoreContext
from tapui.core.deadlines import Due
from tapui.core.emitters.live import LiveEmitter
from tapui.core.emitters.registry import Emitters
from tapui.core.model import OpenSession
from tapui.wire import limits


class RunWaits:
    """Sets when the next runs of emitters begin."""

    def __init__(self, context: CoreContext, *, emitters: Emitters) -> None:
        self._clock, self._deadlines = context.clock, context.deadlines
        self._emitters = emitters

    def wait(self, emitter: LiveEmitter, seconds: float, why: str | None = None) -> None:
        """Let an emitter wait so long for its next run."""
        self._deadlines.cancel(emitter.deadline)
        emitter.deadline = self._deadlines.add(self._clock.now + seconds, Due.EMITTER, emitter)
        emitter.next_run_at = self._clock.timestamp(seconds)
        self._emitters.set(emitter, "waiting", why)

    def session_idle(self, session: OpenSession) -> None:
        """A session is idle, or was told so again: prompts that wait for this are sent soon."""
        if session.is_busy or session.awaits_turn:
            return
        for emitter in list(self._emitters.by_id.values()):
            is_waiting = emitter.state == "waiting" and emitter.deadline is None
            if emitter.session is session and is_waiting and emitter.check is None:
                self.wait(emitter, limits.IDLE_PAUSE)
