"""Starting and handing over sessions without a screen, as the person does it in the tower."""

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.projection.state import is_local
from tapui.tower.app.services import SessionOnDisk, StoreFault
from tapui.tower.sessions.sent_orders import SessionsStarted, StartDraft
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire import events as ev
from tapui.wire.steering import SessionStarted
from tapui.wire.subjects import Session

if TYPE_CHECKING:
    from tapui.tower.app.tower import Tower


class SessionStarts:
    """Asks for what a session needs, starts it, and gives it away to a terminal."""

    def __init__(self, app: "Tower") -> None:
        self._app = app
        self.started = SessionsStarted(app.send, self._told)
        self._handed_over: dict[str, Session] = {}
        """Sessions that are being closed so that a terminal can have them."""

    # Starting

    def ask(self) -> None:
        from tapui.tower.sessions.start_sheet import StartScreen

        draft = self.started.draft
        if not draft.folder:
            draft = StartDraft(self._usual_folder(), draft.prompt, draft.model, draft.mode)

        def written(draft: StartDraft | None) -> None:
            if draft is not None:
                self.started.start(draft)

        self._app.push_screen(StartScreen(draft), written)

    def _usual_folder(self) -> str:
        """Return the folder of the selected session, or of the first, or this process's."""
        view = self._app.view
        there = [one for one in view.open_sessions if not is_local(one)]
        chosen = [one for one in there if one.id == view.chosen_session]
        found = next((one.cwd for one in chosen or there), "")
        if not found:
            with contextlib.suppress(OSError):  # that folder was removed
                found = str(Path.cwd())
        return found

    def _told(self, draft: StartDraft, answer: SessionStarted) -> None:
        app = self._app
        if answer.session_id is not None:
            app.notify(f"A session has started in {draft.folder}.")
        elif answer.problem == "untrusted":
            self._ask_trust(draft)
        else:
            text = f"No session was started: {answer.error}"
            app.notify(text, severity="error", timeout=20)

    def _ask_trust(self, draft: StartDraft) -> None:
        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self.started.start(draft, trust_folder=True)

        lines = [
            draft.folder,
            "Copilot CLI does not trust it. Its hooks, servers, skills and instructions would be",
            "used, and may run programs. It is trusted for this session alone.",
        ]
        question = "Trust this folder for the session?"
        self._app.push_screen(ConfirmScreen(question, lines, "trust it and start"), answered)

    # Ending and handing over

    def ask_end(self, session: Session) -> None:
        """Ask whether a session is to be ended; end it on *yes*."""

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._app.orders.end(session.id)

        lines = ["What it has is stored: it can be gone on with."]
        question = f"End the session {session.label or session.id}?"
        self._app.push_screen(ConfirmScreen(question, lines, "end it"), answered)

    def ask_hand_over(self, session: Session) -> None:
        """Ask whether a session is to go on in a terminal; it is closed here first."""

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._handed_over[session.id] = session
                self._app.orders.end(session.id)

        lines = [
            "It is closed here first: its turn is stopped, and what waits for you is withdrawn."
        ]
        question = f"Go on with {session.label or session.id} in a terminal?"
        self._app.push_screen(ConfirmScreen(question, lines, "hand it over"), answered)

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

        def answered(is_sure: bool | None) -> None:
            if is_sure and store.panes:
                app.run_worker(resume(), group="stored")
            elif is_sure:
                app.copy(line, "The command")

        verb = f"open it in a pane ({store.panes})" if store.panes else "copy the command"
        question = "The session is free. This goes on with it:"
        app.push_screen(ConfirmScreen(question, [line], verb), answered)
