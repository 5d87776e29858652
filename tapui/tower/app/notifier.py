"""Notices, the bell, the title of the window, and the digest after the person was away.

A request is announced once, by one tower, in constant words; nothing that is over is announced."""

import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from textual.notifications import SeverityLevel

from tapui.projection import approvals
from tapui.projection.requests.kind import session_name
from tapui.projection.requests.kinds import kind_of
from tapui.projection.state import State
from tapui.projection.words import became, changed, consequences, order_words
from tapui.text import safe_name
from tapui.tower.app.digest import AWAY, UsedBefore, digest, used_now
from tapui.tower.textual.sheet import LiveScreen
from tapui.tower.textual.terminal import notice_sequence, title_sequence
from tapui.tower.wording.words import name_of
from tapui.wire import events as ev
from tapui.wire.emitters import EmitterKept
from tapui.wire.message import Error, Message
from tapui.wire.subjects import Alarm, Approval
from tapui.wire.tower import GatewayStopping, Notice

if TYPE_CHECKING:
    from tapui.tower.app.digest import DigestScreen
    from tapui.tower.app.tower import Tower

QUIET_SECONDS = 10.0
"""Between two calls at least; what comes meanwhile is one call with a count."""


class Notices:
    """Remembers what the person was not called for yet. `now` is the app's clock, in seconds."""

    def __init__(self) -> None:
        self._uncalled: dict[str, None] = {}
        self._called: set[str] = set()
        """Those that the person was called for and that still wait: an alarm can be told again."""
        self._called_at: float | None = None

    def add(self, id_: str) -> None:
        if id_ not in self._called:
            self._uncalled[id_] = None

    def forget(self) -> None:
        self._uncalled.clear()

    def due(self, now: float, waiting: Collection[str]) -> list[str]:
        """Return the requests and alarms to call the person for now; each is returned once.

        `waiting` are those that still wait, or hold. Nothing is due until `QUIET_SECONDS` after
        the last call; a clock that was set back does not make that longer.
        """
        self._uncalled = {id_: None for id_ in self._uncalled if id_ in waiting}
        self._called.intersection_update(waiting)
        if not self._uncalled:
            return []
        if self._called_at is not None and 0 <= now - self._called_at < QUIET_SECONDS:
            return []
        self._called_at = now
        due, self._uncalled = list(self._uncalled), {}
        self._called.update(due)
        return due


_ALARMS = {
    "waiting": "has waited for you for long",
    "quiet": "has had no event for long",
    "failing": "fails again and again",
}


def alarm_words(state: State, alarms: Sequence[Alarm]) -> str:
    """Return a notice about alarms, in the same way."""
    if len(alarms) != 1:
        return f"Look at it: {len(alarms)} alarms"
    (alarm,) = alarms
    label = safe_name(session_name(state, alarm.session_id)) or "something"
    return f"Look at it: {label} {_ALARMS[alarm.kind]}"


def notice_words(state: State, waiting: Sequence[Approval]) -> str:
    """Return a notice about requests: constant words, and of what came from outside only a
    session's label, made safe. It begins with a constant, so that no program takes it for an
    option."""
    if len(waiting) != 1:
        return f"Waiting for you: {len(waiting)} requests"
    (approval,) = waiting
    kind = kind_of(approval)
    if not kind.is_of_session:
        return f"Waiting for you: {kind.notice_of(approval)}"
    label = safe_name(session_name(state, approval.session_id)) or "a session"
    return f"Waiting for you: {label} {kind.notice_of(approval)}"


_SAID_IN_SHEETS = frozenset({"detail.read"})
"""Refusals that every sheet which asked says itself."""
_LEVELS: dict[str, SeverityLevel] = {"warning": "warning", "error": "error"}


class Notifier:
    """Shows notices in the app, and calls the person when a request has come.

    `rings` says whether the terminal's bell does; `on_notice` is called with each notice that
    something waits.
    """

    def __init__(
        self, app: "Tower", *, rings: bool, on_notice: Callable[[str], None] | None
    ) -> None:
        self._app = app
        self._rings = rings
        self._on_notice = on_notice
        self._calls = Notices()
        self._titled = -1
        self._own_moves: dict[str, str] = {}
        """Moves that the person asked for here, until they have happened: provider and session."""
        self.undo: ev.ProviderMoved | None = None
        """The last move of a provider that the person did not make: it can be undone."""

    def take(self, message: Message, *, is_stopping: bool) -> None:
        """The gateway has said something to the person; `is_stopping`: as they asked it to."""
        app = self._app
        if isinstance(message, Notice):
            app.notify(message.message, severity=_LEVELS.get(message.level, "information"))
        elif isinstance(message, Error):
            if message.reply_to == "provider.move":
                self._own_moves.clear()  # it does not name the move; a notice too many does no harm
            screen = app.screen
            is_said = isinstance(screen, LiveScreen) and screen.refused(message)
            if not is_said and message.reply_to not in _SAID_IN_SHEETS:
                app.notify(f"{message.code}: {message.message}", severity="error")
        elif isinstance(message, EmitterKept):
            self._kept(message)
        elif isinstance(message, GatewayStopping) and not is_stopping:
            app.notify("The gateway is shutting down.", severity="warning")

    def _kept(self, kept: EmitterKept) -> None:
        """An emitter was written into its folder's file, or was not."""
        note = f" {kept.note}" if kept.note else ""
        if kept.error is not None:
            self._app.notify(f"Not written: {kept.error}{note}", severity="error", timeout=20)
        else:
            self._app.notify(f"Written into {kept.path}.{note}", timeout=20 if note else None)

    def happened(self, event: ev.Event) -> None:
        """Show a notice about an event that is worth one."""
        app = self._app
        if isinstance(event, ev.ApprovalRequested):
            self._calls.add(event.approval.id)
        elif isinstance(event, ev.AlarmRaised):
            self._calls.add(event.alarm.id)
        elif isinstance(event, ev.ModeChanged):
            reason = f": {event.error}" if event.error else ""
            app.notify(f"The mode could not be set to {event.mode}{reason}", severity="error")
        elif isinstance(event, ev.OrderChanged):
            self._order_changed(event)
        elif isinstance(event, ev.InjectPaused):
            pane = "Emitters" if event.provider_id in app.view.state.emitters else "Providers"
            app.notify(
                f"{event.provider} prompted the session three times without your input; further "
                f"messages are held. Under {pane}, the actions of its row send them.",
                severity="warning",
            )
        elif isinstance(event, ev.CommandAsked):
            if event.refused:  # what was accepted shows by what it did, and is recorded
                app.notify(approvals.command_line(event), severity="warning", timeout=20)
        elif isinstance(event, ev.ProviderMoved):
            self._moved(event)

    def _order_changed(self, event: ev.OrderChanged) -> None:
        app = self._app
        known = app.view.state.orders.get(event.order_id)
        if known is None:
            return
        order = changed(known, event)
        if app.orders.is_news(order):
            name = app.view.session_name(order.session_id)
            is_lost = order.kind == "tell" and order.state == "failed"
            draft = f" {app.key_of('tell')} has it as a draft." if is_lost else ""
            app.notify(
                f"{order_words(order)}: {became(order)}.{draft}",
                title=name,
                severity="error" if order.state == "failed" else "information",
                timeout=20 if order.state == "failed" or consequences(order) else None,
            )

    def moves(self, provider_id: str, session_id: str) -> None:
        """The person moves a provider: no notice of that."""
        self._own_moves[provider_id] = session_id

    def link_changed(self) -> None:
        """What was asked over a link that is lost may never have arrived."""
        self._own_moves.clear()

    def _moved(self, event: ev.ProviderMoved) -> None:
        if self._own_moves.pop(event.provider.id, None) == event.session_id:
            return
        self.undo = event
        app = self._app
        app.notify(
            f"{name_of(event.provider)} moved to {app.view.session_name(event.session_id)} "
            f"({event.reason}). {app.key_of('undo-move')} moves it back.",
            timeout=20,
        )

    def call_person(self) -> None:
        """Ring, and tell the terminal and the person's own program, if that is due."""
        app = self._app
        if not app.view.is_first:
            self._calls.forget()  # another tower of the same gateway calls
            return
        state = app.view.state
        waiting = {one.id: one for one in app.view.waiting}
        due = self._calls.due(app.clock(), waiting.keys() | state.alarms.keys())
        if not due:
            return
        if self._rings:
            app.bell()
        asking = [waiting[id_] for id_ in due if id_ in waiting]
        raised = [state.alarms[id_] for id_ in due if id_ in state.alarms]
        text = notice_words(state, asking) if asking else alarm_words(state, raised)
        app.write_terminal(notice_sequence(text, os.environ))
        if self._on_notice is not None:
            self._on_notice(text)

    def title(self) -> None:
        """Name the terminal's window after how much waits."""
        waiting = len(self._app.view.waiting)
        if waiting != self._titled:
            self._titled = waiting
            self._app.write_terminal(title_sequence(waiting))

    def title_anew(self) -> None:
        """Another program may have named the window: do it again in the next frame."""
        self._titled = -1


_STILL_NEW = 60.0
"""Seconds. After a click, a key shows the digest only this long."""


class ReturnDigest:
    """Takes the keys that show and close the digest."""

    def __init__(self, app: "Tower") -> None:
        self._app = app
        self._away: tuple[float, float, UsedBefore] | None = None
        self._used: UsedBefore = {}
        self._shown: DigestScreen | None = None

    def looked(self, before: float, now: float) -> None:
        """The person pressed something at `now`, and before that at `before`."""
        if now - before >= AWAY:
            self._away = (before, now, self._used)
        self._used = used_now(self._app.view.state)

    def takes_key(self) -> bool:
        """Show or close the digest with a key; return whether that was all the key is for."""
        app = self._app
        if self._shown is not None and app.screen is self._shown:
            self._shown.dismiss(None)
            return True
        away, self._away = self._away, None
        if away is None or app.clock() - away[1] > _STILL_NEW:
            return False
        summary = digest(app.view.state, app.view.decided_at, *away)
        if summary.is_empty:
            return False
        from tapui.tower.app.digest import DigestScreen

        self._shown = DigestScreen(summary)
        app.push_screen(self._shown)
        return True
