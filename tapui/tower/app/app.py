"""The app: it folds what its feed yields, paints what changed, and sends the person's decisions."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import work
from textual.binding import BindingType
from textual.events import Event, Key, MouseDown, Paste

from tapui.projection.feed import FeedItem, Link
from tapui.projection.state import StreamKey, is_local, is_open
from tapui.tower.app.base_app import BaseApp
from tapui.tower.app.feed import Feed
from tapui.tower.app.frames import Frames
from tapui.tower.app.notifier import Notifier, PersonCall, ReturnDigest
from tapui.tower.app.services import FoundRecord
from tapui.tower.keys.bindings import KeyQueue, bindings, read_at, without_alt
from tapui.tower.keys.key_table import AREAS
from tapui.tower.requests.urgency import requests
from tapui.tower.sessions.session_start import SessionStarts
from tapui.tower.sessions.tell_line import untold_words, ways_of
from tapui.tower.table.table import Table
from tapui.tower.textual.sheet import LiveScreen, Sheet
from tapui.tower.textual.terminal import title_sequence
from tapui.wire import events as ev
from tapui.wire.message import Message
from tapui.wire.subjects import Session
from tapui.wire.tower import ProviderMove

if TYPE_CHECKING:
    from textual.command import Provider

    from tapui.tower.app.digest import AwayTarget
    from tapui.tower.sessions.sessions_pane import SessionsPane
    from tapui.tower.streams.streams_pane import StreamsPane
    from tapui.tower.turns.turns_pane import TurnsPane


def _palette() -> "type[Provider]":
    """Return the palette's commands; its module is read when it opens."""
    from tapui.tower.app.palette import TowerCommands

    return TowerCommands


class TowerApp(BaseApp):
    """The tower over one feed. `run()` returns an `Outcome` or the reason given to `leave`.

    `on_shown` is called once, after the first frame, `on_notice` with each notice that something
    waits. `notices` are shown first. `cpu` is the processor time of this thread, in seconds. The
    rest is `BaseApp`'s.
    The caller ends the feed (`Feed.stop`) after the app, in any case; stopping twice is harmless.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = ["app.tcss", "../streams/streams_pane.tcss"]
    TITLE = "tapui"
    COMMANDS: ClassVar[set["type[Provider] | Callable[[], type[Provider]]"]] = {_palette}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    NOTIFICATION_TIMEOUT = 6
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "answer",
        "tell",
        "start-session",
        "next-failure",
        "workbench",
        "find",
        "stored",
        "undo-move",
        "help",
        "commands",
    )

    CALLS_PERSON: ClassVar[bool] = True
    """Whether the person is called when a request has come, and told what they missed."""

    def __init__(
        self,
        feed: Feed,
        *,
        bell: bool = True,
        notices: Sequence[str] = (),
        on_shown: Callable[[], None] | None = None,
        on_notice: Callable[[PersonCall], None] | None = None,
        cpu: Callable[[], float] = time.thread_time,
        **shared: Any,
    ) -> None:
        super().__init__(feed, **shared)
        self.typed = KeyQueue(self, self._typed)
        self._return_digest = ReturnDigest(self, self._open_away)
        self._frames = Frames(self, self.ticks, cpu)
        self._starts = SessionStarts(self)
        self._notifier = Notifier(self, rings=bell, on_notice=on_notice)
        self._on_shown = on_shown
        self._awaiting = (
            *(self.calls_made, self.orders, self.checks, self.changes, self.proofs),
            self._starts,
        )
        """Those that wait for answers to what was sent here."""
        self._failure = ""
        """The key of what failed and was gone to last."""
        self._notices = [*notices, *self.theme_faults]

    # Start

    def on_mount(self) -> None:
        self.write_terminal(title_sequence(0))
        self.view.looked_at = self.clock()
        for notice in self._notices:
            self.notify(notice, severity="warning", timeout=12)
        self.app_resume_signal.subscribe(self, self._came_back)
        self.watch(self, "app_focus", self._frames.focus_moved, init=False)
        self._take_keys()
        self._listen()
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        for problem in self.themes.complete():
            self.notify(problem, severity="warning", timeout=12)
        self._frames.clock_ticked()
        if self._on_shown is not None:
            self._on_shown()

    async def on_event(self, event: Event) -> None:
        """Keys and pastes wait for the one before; everything else is handled at once."""
        if isinstance(event, (Key, Paste)) and not event.is_forwarded and self.screen_stack:
            self._looked()
            known = read_at(event)
            at = self.ticks() if known is None else known
            for one in without_alt(event, self.screen.active_bindings):
                self.typed.put(one, at)
        else:
            if isinstance(event, MouseDown):
                self._looked()
            await super().on_event(event)

    async def _typed(self, event: Key | Paste) -> None:
        """It is this key's turn: it acts, unless it is for the digest."""
        if not (self.CALLS_PERSON and self._return_digest.takes_key(event)):
            await super().on_event(event)

    def _looked(self) -> None:
        """The person is here."""
        self.was_touched = True
        self._return_digest.looked(self.view.looked_at, self.clock())
        self.view.looked_at = self.clock()

    def on_app_blur(self) -> None:
        self.changes.went_away()
        self._return_digest.focus_left()

    def on_app_focus(self) -> None:
        self.changes.came_back()
        if self.CALLS_PERSON:
            self._return_digest.focus_came()

    @work(group="keys", name="keys")
    async def _take_keys(self) -> None:
        await self.typed.run()

    # What comes

    @work(group="feed", name="feed")
    async def _listen(self) -> None:
        async for item in self.feed.items():
            self._frames.fold(partial(self.view.apply, item))
            self._take_answers(item)
            self.give_way()
            if isinstance(item, Message):
                self._notifier.take(item, is_stopping=self.is_ending)
            elif isinstance(item, Link):
                self._notifier.link_changed()
            self.wake()
        if self.view.link.state != "ended":
            self.view.apply(Link("ended"))
            self._take_answers(self.view.link)
            self.wake()

    def _take_answers(self, item: FeedItem) -> None:
        """Let those see an item that wait for answers."""
        for waiting in self._awaiting:
            waiting.take(item)

    # Frames

    def wake(self, *, is_moving: bool = False) -> None:
        self._frames.wake(is_moving=is_moving)

    def paint(self) -> None:
        """Paint what changed now; `wake()` is the usual way."""
        self._frames.paint()

    def frame_begins(self, news: Sequence[ev.Event], dirty: frozenset[str]) -> None:
        """Tell the person what has happened since the frame before."""
        self.announce(news)
        if dirty:
            self._notifier.title()
            self.main.show(
                self.view, start_key=self.key_of("start-here") if self.can_start_here else ""
            )
        if "clock" in dirty:
            for problem in self.themes.reload():
                self.notify(problem, severity="warning")

    def announce(self, news: Sequence[ev.Event]) -> None:
        """Show notices about what happened, and call the person if that is due."""
        for event in news:
            self._notifier.happened(event)
            self._starts.happened(event)
        if self.CALLS_PERSON:
            self._notifier.call_person()

    # What goes

    def move(self, provider_id: str, session_id: str) -> None:
        self._notifier.moves(provider_id, session_id)
        self.send(ProviderMove(provider_id=provider_id, session_id=session_id))

    def way_to(self, record: FoundRecord) -> Callable[[], object] | None:
        view = self.view
        session = view.state.sessions.get(record.session_id or "")
        if session is None or record.turn is None or "turns" not in self.main.area.pane_ids:
            return None
        from tapui.tower.turns.steps import keyed_turns

        begun = (one for one in keyed_turns(view, session.id) if one[1].started_at <= record.ts)
        newest = max(begun, key=lambda one: one[1].started_at, default=None)
        return None if newest is None else partial(self.show_turn, session.id, newest[0])

    async def show_turn(self, session_id: str, key: str) -> None:
        """Show a turn, or a step, of a session in Turns; `key` is one of `steps`."""
        self._select_session(session_id)
        await self.show_pane("turns")
        cast("TurnsPane", self.main.current_pane).go_to(session_id, key)

    def _select_session(self, session_id: str) -> None:
        sessions = self.main.panes.get("sessions")
        if sessions is not None:
            cast("SessionsPane", sessions).select_session(session_id)

    async def act_on(self, session_id: str, what: str) -> None:
        await self._back_to_panes()
        self._select_session(session_id)
        if what == "next-failure":
            await self.action_next_failure()
        elif what == "answer":
            await self._answer_first(session_id, is_chosen=True)
        elif what == "actions":
            self.main.panes["sessions"].action_actions()
        elif pane := next((one.id for one in self.pane_kinds if one.key == what), ""):
            await self.show_pane(pane)

    def _open_away(self, target: "AwayTarget") -> None:
        if target.kind == "request":
            self.call_later(partial(self.main.answer, target.key, is_chosen=True))
        elif target.kind == "turn":
            self.call_later(self.show_turn, target.session_id, target.key)
        elif target.kind == "call":
            from tapui.tower.calls.call_detail import CallDetail

            self.push_screen(Sheet(CallDetail(target.key)))
        else:
            from tapui.tower.sessions.session_detail import SessionDetail

            self.push_screen(Sheet(SessionDetail(target.session_id)))

    async def show_stream(self, key: StreamKey) -> None:
        await self.show_pane("streams")
        cast("StreamsPane", self.main.current_pane).go_to(key)

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done now is not offered."""
        if action == "undo_move":
            return self._notifier.undo is not None
        if action == "start_here":
            return self.can_start_here
        if action == "answer":
            return bool(self.view.waiting) and not self.is_replay
        if action == "answers":
            return bool(self.view.decided)
        if action == "away":
            return self.CALLS_PERSON
        if action == "deliveries":
            return self.orders.told is not None
        if action == "tell":
            return self._told_session() is not None
        if action == "start_session":
            return not self.is_replay and self.view.link.state == "up"
        if action == "next_failure":
            return self.view.has_failures
        if action == "workbench":
            return self.can_call
        if action == "demo":
            return self.can_show_demo and self.view.is_empty
        is_covered = len(self.screen_stack) > 1
        if action in ("pane", "find", "stored") and is_covered:
            return False
        if action == "stored":
            return self.store is not None or self.is_demo
        if action == "find":
            return self.finder is not None
        if action == "query":
            return self.questions is not None
        if action == "suggest":
            return self.suggestions is not None or self.is_demo or self.is_replay
        return super().check_action(action, parameters)

    async def show_pane(self, pane_id: str) -> None:
        await self.main.go_to(pane_id)
        self.paint()
        self.main.current_pane.focus_inside()

    async def action_go_to_pane(self, pane_id: str) -> None:
        """Go to a pane, out of what is open over the panes."""
        await self._back_to_panes()
        await self.show_pane(pane_id)

    async def _back_to_panes(self) -> None:
        while len(self.screen_stack) > 1:
            await self.pop_screen()

    async def action_pane(self, pane_id: str) -> None:
        await self.show_pane(pane_id)

    async def action_answer(self) -> None:
        # The detail shows what the selected session asks: that is what is answered.
        is_shown = self.main.area.has_detail and self.main.current_kind.id == "sessions"
        await self._answer_first(self.view.chosen_session if is_shown else "")

    async def _answer_first(self, session_id: str, *, is_chosen: bool = False) -> None:
        """Open what a session asks, else the most urgent request."""
        waiting = [one.approval for one in requests(self.view)]
        waiting.sort(key=lambda one: one.session_id != session_id)
        if waiting:
            await self.main.answer(waiting[0].id, is_chosen=is_chosen)

    def action_answers(self) -> None:
        from tapui.tower.requests.answers_sheet import AnswersScreen

        self.push_screen(AnswersScreen())

    def _told_session(self) -> Session | None:
        """Return the session that the person would say something to: the selected one, or the
        first; None where there is none."""
        view = self.view
        if self.is_replay or view.link.state != "up":
            return None
        there = [one for one in view.open_sessions if not is_local(one)]
        chosen = [one for one in there if one.id == view.chosen_session]
        return next(iter(chosen or there), None)

    def action_tell(self) -> None:
        marked = self.view.marked_sessions if self._told_session() is not None else []
        if marked:
            self._tell_several(marked)
            return
        session = self._told_session()
        if session is not None:
            self._begin_to_tell(session)

    def tell_notes(self, session_id: str) -> None:
        session = self.view.state.sessions.get(session_id)
        marks = self.view.state.marks.get(session_id)
        if session is not None and is_open(session) and marks is not None and marks.untold:
            while self.screen is not self.main and isinstance(self.screen, Sheet):
                self.pop_screen()
            self._begin_to_tell(session, len(marks.untold))

    def _begin_to_tell(self, session: Session, notes: int = 0) -> None:
        if ways_of(session):
            self.main.tell_line.open(session, notes)
        else:
            self.notify(untold_words(session), severity="warning")

    def _tell_several(self, sessions: list[Session]) -> None:
        if any(ways_of(one) for one in sessions):
            self.main.tell_line.open_several(sessions)
        else:
            self.notify(untold_words(sessions[0]), severity="warning")

    def action_away(self) -> None:
        self._return_digest.show_again()

    def action_deliveries(self) -> None:
        from tapui.tower.sessions.deliveries import DeliveriesDetail

        self.push_screen(Sheet(DeliveriesDetail()))

    def ask_stop(self, session: Session) -> None:
        self.main.tell_line.open_stop(session)

    def action_start_session(self) -> None:
        if self.is_demo:
            self._not_in_demo("start sessions")
        else:
            self._starts.ask()

    def end_session(self, session: Session) -> None:
        self._starts.ask_end(session)

    def hand_over(self, session: Session) -> None:
        self._starts.ask_hand_over(session)

    async def action_next_failure(self) -> None:
        """Open what failed last and was not seen; pressed again, what failed before that."""
        from tapui.tower.turns.steps import failures

        panes = self.main.area.pane_ids
        failed = [
            one for one in failures(self.view) if ("turns" if one.is_step else "calls") in panes
        ]
        unseen = [one for one in failed if one.is_unseen]
        if not unseen and self.view.failures:
            self.notify("What failed is kept here no longer; the records have it.")
            for lost in list(self.view.failures):
                self.view.see_failure(lost.session_id, lost.key)
            return
        failed = unseen or failed
        if not failed:
            return
        known = [one.key for one in failed]
        at = known.index(self._failure) + 1 if self._failure in known else 0
        one = failed[at % len(failed)]
        self._failure = one.key
        if one.is_step:
            await self.show_turn(one.session_id, one.key)
        else:
            await self.show_pane("calls")
            self.main.current_pane.query_one(Table).select(one.key)
        if not self.has_detail:
            self.main.current_pane.open_shown()

    def action_workbench(self) -> None:
        from tapui.tower.workbench.tools import call_tool

        chosen = getattr(self.main.current_pane, "selected", "")
        call_tool(self, self.view.open_sessions, selected=chosen)

    def action_find(self) -> None:
        if self.finder is not None:
            from tapui.tower.finding.find_sheet import FindScreen

            self.push_screen(FindScreen(self.finder, self.last_find))

    def action_query(self) -> None:
        self.ask_records("")

    def ask_records(self, text: str) -> None:
        if self.questions is not None:
            from tapui.tower.finding.query_sheet import QueryScreen

            if text and isinstance(self.screen, QueryScreen):
                self.screen.ask(text)
            else:
                self.push_screen(QueryScreen(self.questions(), text, last=self.last_question))

    def action_suggest(self) -> None:
        if self.suggestions is not None:
            from tapui.tower.requests.suggestions_sheet import SuggestionsScreen

            self.push_screen(SuggestionsScreen(self.suggestions))
        elif self.is_demo:
            self._not_in_demo("suggest rules")
        else:
            self.notify("A replay writes no rules; tapui itself suggests them.")

    def action_stored(self) -> None:
        if self.store is not None:
            from tapui.tower.sessions.stored_sheet import StoredScreen

            self.push_screen(StoredScreen(self.store))
        elif self.is_demo:
            self._not_in_demo("show the sessions that Copilot has stored")

    def _not_in_demo(self, what: str) -> None:
        self.notify(f"The demonstration does not {what}; tapui itself does.")

    def action_undo_move(self) -> None:
        undo, self._notifier.undo = self._notifier.undo, None
        if undo is not None:
            self.move(undo.provider.id, undo.source)

    def action_help(self) -> None:
        from tapui.tower.app.help import HelpScreen, sections, sheet_sections

        main, top = self.main, self.screen
        areas = [one for one in AREAS if self.is_replay or one != "replay"]
        over = sheet_sections(top) if isinstance(top, LiveScreen) else []
        shown = sections(main.current_kind, self.pane_kinds, self.keys_of, areas, main.seen_kinds)
        self.push_screen(HelpScreen([*over, *shown]))

    def _came_back(self, _app: object) -> None:
        """The terminal is the tower's again: paint all of it."""
        self._notifier.title_anew()
        self.refresh(layout=True)
        self.wake()
