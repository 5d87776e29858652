"""Notices, the bell, the title of the window, and the digest after the person was away.

A request is announced once, by one tower, in constant words; nothing that is over is announced."""

import os
import re
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.events import Key, Paste
from textual.notifications import SeverityLevel

from tapui import times
from tapui.projection import approvals
from tapui.projection.goal_words import report_words
from tapui.projection.proof import proof_line
from tapui.projection.requests.kinds import KINDS, kind_of
from tapui.projection.requests.request_kind import session_name
from tapui.projection.state import State
from tapui.projection.words import became, changed, consequences, order_words
from tapui.text import cut, safe_name
from tapui.tower.textual.sheet import LiveScreen
from tapui.tower.textual.terminal import notice_sequence, title_sequence
from tapui.tower.wording.words import name_of
from tapui.wire import events as ev
from tapui.wire.emitters import EmitterKept
from tapui.wire.errors import ErrorCode
from tapui.wire.goals import GoalAnswer
from tapui.wire.message import Error, Message
from tapui.wire.subjects import Alarm, Approval
from tapui.wire.tower import GatewayStopping, Notice

if TYPE_CHECKING:
    from tapui.tower.app.digest import AwayTarget, Digest, DigestScreen, UsedBefore
    from tapui.tower.app.tower import Tower

QUIET_SECONDS = 10.0
"""Between two calls at least; what comes meanwhile is one call with a count."""


class PersonCall(NamedTuple):
    """A notice that something waits. `kind` is a constant word: a request's kind, `alarm`, or
    `several`. `session` is the session's id in letters, digits, `.`, `_` and `-`; "" for none."""

    text: str
    kind: str = ""
    session: str = ""


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
    "context": "has a context that is nearly full",
    "ledger": "has a ledger that tapui does not believe",
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


_ODD = re.compile(r"[^A-Za-z0-9._-]")
_MOST_ID = 100


def _kind_and_session(about: Sequence[Approval | Alarm]) -> tuple[str, str]:
    """Return the kind and the session of what the person is called for, as `PersonCall` has it."""
    if len(about) != 1:
        return "several", ""
    (one,) = about
    kind = "alarm"
    if isinstance(one, Approval):
        kind = one.kind if one.kind in KINDS else "permission"
    return kind, _ODD.sub("", one.session_id or "")[:_MOST_ID]


_SAID_IN_PLACE = frozenset(
    {
        *("detail.read", "changes.read", "diff.read"),
        *("file.see", "file.putBack", "note.keep", "note.drop"),
    }
)
"""Refusals that are said where the answer would stand, or by what asked for it."""
_LATE = "Your answer came too late: the request waits no longer."
_SHOWN_ORDER = 80
"""Characters of an order in a notice: what became of it counts, and the notice covers the rest."""
_LEVELS: dict[str, SeverityLevel] = {"warning": "warning", "error": "error"}


class Notifier:
    """Shows notices in the app, and calls the person when a request has come.

    `rings` says whether the terminal's bell does; `on_notice` is called with each notice that
    something waits.
    """

    def __init__(
        self, app: "Tower", *, rings: bool, on_notice: Callable[[PersonCall], None] | None
    ) -> None:
        self._app = app
        self._rings = rings
        self._on_notice = on_notice
        self._calls = Notices()
        self._titled = -1
        self._failed_checks: deque[tuple[str, str]] = deque(maxlen=100)
        """Turns whose failed check was shown: their sessions and beginnings."""
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
            is_said = app.orders.shows(message)
            is_said = is_said or (isinstance(screen, LiveScreen) and screen.refused(message))
            if not is_said and message.reply_to not in _SAID_IN_PLACE:
                is_late = message.code is ErrorCode.UNKNOWN_APPROVAL
                text = _LATE if is_late else f"{message.code}: {message.message}"
                app.notify(text, severity="error")
        elif isinstance(message, EmitterKept):
            self._kept(message)
        elif isinstance(message, GoalAnswer):
            self._goal_answered(message)
        elif isinstance(message, GatewayStopping) and not is_stopping:
            app.notify("The gateway is shutting down.", severity="warning")

    def _goal_answered(self, answer: GoalAnswer) -> None:
        """What the person ordered about a goal was done; what came of it shows in its row, which is
        not in sight where the order was given from another pane."""
        if answer.report is not None:
            self._app.notify(report_words(answer.goal, answer.report))
        elif answer.goal.revision == 1:
            self._app.notify(f"Goal opened: {answer.goal.title}")

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
        elif isinstance(event, ev.SessionStood):
            self._stood(event)

    def _stood(self, event: ev.SessionStood) -> None:
        """Show that the check of a session has failed, where its turn ended well: once, and without
        a call, since the person is not asked for anything. The sheet of a check says it itself."""
        turns, standing = self._app.view.state.turns.get(event.session_id), event.standing
        if turns is None or standing is None:
            return
        turn = turns.begun_at(standing.after)
        if turn is None or turn.is_history:
            return  # sessions of earlier runs stand anew when they come back
        runs = ",".join(one.uri for one in standing.proof.pointers) or standing.after
        told = (event.session_id, runs)
        if turn.told_state()[0] == "done" and told not in self._failed_checks:
            self._failed_checks.append(told)
            if self._app.checks.is_shown(event.session_id):
                return  # the notice would cover its output
            line = proof_line(standing.proof, partial(times.when, now=self._app.clock()))
            self._app.notify(line, title=self._app.view.session_name(event.session_id))

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
                f"{cut(order_words(order), _SHOWN_ORDER)}: {became(order)}.{draft}",
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
            self._on_notice(PersonCall(text, *_kind_and_session(asking or raised)))

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
_MOVES = ("up", "down", "page-up", "page-down", "first", "newest", "last", "open")
"""Keys that act in the digest; another one closes it."""


class ReturnDigest:
    """Shows the digest when the person comes back, and takes the keys that show and close it.

    They come back with a key, or with the terminal's focus.
    """

    def __init__(self, app: "Tower", open_target: "Callable[[AwayTarget], None]") -> None:
        self._app = app
        self._open_target = open_target
        self._away: tuple[float, float, UsedBefore] | None = None
        """Since when they were away, when they came, and what turns had used before."""
        self._last: tuple[float, UsedBefore] | None = None
        """The same of the last time, to be shown again."""
        self._used: UsedBefore = {}
        self._came_at = 0.0
        self._left_at: float | None = None
        self._shown: DigestScreen | None = None

    def looked(self, before: float, now: float) -> None:
        """The person pressed something at `now`, and before that at `before`."""
        self._here_again(max(before, self._came_at), now)

    def focus_left(self) -> None:
        from tapui.tower.app.digest import used_now

        self._left_at, self._used = self._app.clock(), used_now(self._app.view.state)

    def focus_came(self) -> None:
        """Show what happened while the terminal did not have the focus, if that was for long."""
        now, left_at, self._left_at = self._app.clock(), self._left_at, None
        if left_at is not None:
            self._here_again(left_at, now)
            self._app.call_later(self._show)  # Textual gives the focus back first
        self._came_at = now

    def _here_again(self, since: float, now: float) -> None:
        from tapui.tower.app.digest import AWAY, used_now

        if now - since >= AWAY:
            self._away, self._last = (since, now, self._used), (since, self._used)
        self._used = used_now(self._app.view.state)

    def takes_key(self, event: Key | Paste) -> bool:
        """Show or close the digest with a key; return whether that was all the key is for."""
        app = self._app
        if self._shown is None or app.screen is not self._shown:
            return self._show()
        if not self._shown.is_mounted:
            return True  # it has not been seen
        key = event.key if isinstance(event, Key) else ""
        if app.is_key_of(key, *_MOVES):
            return False
        self._shown.dismiss(None)
        if app.is_key_of(key, "answer") and app.check_action("answer", ()):
            app.call_later(app.run_action, "answer")
        return True

    def _show(self) -> bool:
        """Show what happened, if that was not shown; return whether there is anything."""
        away, self._away = self._away, None
        if away is None or self._app.clock() - away[1] > _STILL_NEW:
            return False
        from tapui.tower.app.digest import digest

        state, view = self._app.view.state, self._app.view
        return self._push(digest(state, view.decided_at, *away))

    def show_again(self) -> None:
        """Show what happened since the person was away last; before that, since the beginning."""
        from tapui.tower.app.digest import digest

        view = self._app.view
        since, used = self._last or (self._app.began, {})
        if not self._push(digest(view.state, view.decided_at, since, self._app.clock(), used)):
            self._app.notify("Nothing has happened since then.")

    def _push(self, summary: "Digest") -> bool:
        if summary.is_empty:
            return False
        from tapui.tower.app.digest import DigestScreen

        def closed(target: "AwayTarget | None") -> None:
            if target is not None:
                self._open_target(target)

        self._shown = DigestScreen(summary)
        self._app.push_screen(self._shown, closed)
        return True
