"""Starting and handing over sessions without a screen, as the person does it in the tower."""

import asyncio
import contextlib
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.projection.feed import FeedItem, Link
from tapui.projection.state import is_local
from tapui.tower.app.services import SessionOnDisk, StoreFault
from tapui.tower.sessions.sent_orders import StartDraft
from tapui.tower.textual.sheet import ask, confirm
from tapui.wire import events as ev
from tapui.wire.message import Error
from tapui.wire.steering import SessionStart, SessionStarted
from tapui.wire.subjects import Session

if TYPE_CHECKING:
    from tapui.tower.app.tower import Tower


class SessionStarts:
    """Asks for what a session needs, starts it, and gives it away to a terminal."""

    def __init__(self, app: "Tower") -> None:
        self._app = app
        self._ids = count(1)
        self._pending: dict[str, StartDraft] = {}
        """Starts that have no answer yet, by the request's id."""
        self._draft = StartDraft()
        """What was written last and did not become a session."""
        self._handed_over: dict[str, Session] = {}
        """Sessions that are being closed so that a terminal can have them."""

    # Starting

    def ask(self) -> None:
        from tapui.tower.sessions.start_sheet import StartScreen

        draft = self._draft
        if not draft.folder:
            draft = StartDraft(self._usual_folder(), draft.prompt, draft.model, draft.mode)

        ask(self._app, StartScreen(draft), self.start)

    def _usual_folder(self) -> str:
        """Return the folder of the selected session, or of the first, or this process's."""
        view = self._app.view
        there = [one for one in view.open_sessions if not is_local(one)]
        chosen = [one for one in there if one.id == view.chosen_session]
        folder = next((one.cwd for one in chosen or there), "")
        if not folder:
            with contextlib.suppress(OSError):  # that folder was removed
                folder = str(Path.cwd())
        return folder

    def start(self, draft: StartDraft, *, trust_folder: bool = False) -> None:
        id_ = f"start-{next(self._ids)}"
        self._pending[id_] = self._draft = draft
        self._app.send(
            SessionStart(
                id_,
                folder=draft.folder,
                prompt=draft.prompt or None,
                model=draft.model or None,
                mode=draft.mode,
                trust_folder=trust_folder,
            )
        )

    def take(self, item: FeedItem) -> None:
        match item:
            case SessionStarted(id=id_) if id_ in self._pending:
                self._answered(self._pending.pop(id_), item)
            case Error(id=str(id_), reply_to="session.start"):
                self._pending.pop(id_, None)  # the refusal itself is shown as any other
            case Link(state=state) if state != "up":
                self._pending.clear()
            case _:
                pass

    def _answered(self, draft: StartDraft, answer: SessionStarted) -> None:
        app = self._app
        if answer.session_id is not None:
            if self._draft == draft:
                self._draft = replace(draft, prompt="")
            app.notify(f"A session has started in {draft.folder}.")
        elif answer.problem == "untrusted":
            self._ask_trust(draft)
        else:
            text = f"No session was started: {answer.error}"
            app.notify(text, severity="error", timeout=20)

    def _ask_trust(self, draft: StartDraft) -> None:
        lines = [
            draft.folder,
            "Copilot CLI does not trust it. Its hooks, servers, skills and instructions would be",
            "used, and may run programs. It is trusted for this session alone.",
        ]
        question = "Trust this folder for the session?"
        trust = partial(self.start, draft, trust_folder=True)
        confirm(self._app, question, lines, "trust it and start", trust)

    # Ending and handing over

    def ask_end(self, session: Session) -> None:
        lines = ["What it has is stored: it can be gone on with."]
        question = f"End the session {session.label or session.id}?"
        confirm(self._app, question, lines, "end it", lambda: self._app.orders.end(session.id))

    def ask_hand_over(self, session: Session) -> None:
        """Ask whether a session is to go on in a terminal; it is closed here first."""

        def close() -> None:
            self._handed_over[session.id] = session
            self._app.orders.end(session.id)

        lines = [
            "It is closed here first: its turn is stopped, and what waits for you is withdrawn."
        ]
        question = f"Go on with {session.label or session.id} in a terminal?"
        confirm(self._app, question, lines, "hand it over", close)

    def happened(self, event: ev.Event) -> None:
        """Offer a session to a terminal once it is closed here."""
        match event:
            case ev.OrderChanged(session_id=id_, state="failed"):
                self._handed_over.pop(id_, None)
            case ev.SessionClosed(session_id=id_):
                session = self._handed_over.pop(id_, None)
                if session is not None:
                    self._offer(session)

    def _offer(self, session: Session) -> None:
        app, store = self._app, self._app.store
        if store is None:
            return
        free = SessionOnDisk(session.id, session.label, session.cwd, "", 0.0, 0, None)
        line = store.resume_line(free)

        async def resume() -> None:
            try:
                await asyncio.to_thread(store.resume, free)
            except StoreFault as fault:
                app.notify(str(fault), severity="error", timeout=12)

        def go_on() -> None:
            if store.panes:
                app.run_worker(resume(), group="stored")
            else:
                app.copy(line, "The command")

        verb = f"open it in a pane ({store.panes})" if store.panes else "copy the command"
        question = "The session is free. This goes on with it:"
        confirm(app, question, [line], verb, go_on)
