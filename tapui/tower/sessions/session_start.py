"""Starting and handing over sessions without a screen, as the person does it in the tower."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.projection.feed import FeedItem, Link
from tapui.projection.state import is_local
from tapui.tower.app.services import (
    IgnoredFiles,
    SessionOnDisk,
    SessionStore,
    StoreFault,
    WorktreeState,
)
from tapui.tower.sessions.sent_orders import StartDraft
from tapui.tower.textual.sheet import ask, confirm
from tapui.tower.wording.words import quantity, size_of
from tapui.wire import events as ev
from tapui.wire.message import Error
from tapui.wire.steering import AgentsList, AgentsRead, SessionStart, SessionStarted
from tapui.wire.subjects import Session

if TYPE_CHECKING:
    from tapui.tower.app.tower import Tower
    from tapui.tower.sessions.agent_choice import OnAgents


class SessionStarts:
    """Asks for what a session needs, starts it, and gives it away to a terminal."""

    def __init__(self, app: "Tower") -> None:
        self._app = app
        self._ids = count(1)
        self._pending: dict[str, StartDraft] = {}
        """Starts that have no answer yet, by the request's id."""
        self._asked_agents: dict[str, OnAgents] = {}
        """Who waits for the agents that hosts name, by the question's id."""
        self._draft = StartDraft()
        """What was written last and did not become a session."""
        self._made: set[str] = set()
        """Work trees that were made here."""
        self._to_remove: dict[str, WorktreeState] = {}
        """Work trees that are to be removed once their sessions have ended, by the session's id."""
        self._handed_over: dict[str, Session] = {}
        """Sessions that are being closed so that a terminal can have them."""

    # Starting

    def ask(self) -> None:
        from tapui.tower.sessions.start_sheet import StartScreen

        draft = self._draft
        if not draft.folder:
            draft = replace(draft, folder=self._usual_folder())

        ask(self._app, StartScreen(draft, self.read_agents), self.start)

    def read_agents(self, folder: str, then: "OnAgents") -> None:
        """Find the custom agents for a folder: `then` gets those that files name, and those that
        hosts name in its sessions, each as they come."""
        id_ = f"agents-{next(self._ids)}"
        self._asked_agents[id_] = then
        self._app.send(AgentsRead(id_, folder))
        if self._app.store is not None:
            reading = self._read_files(self._app.store, folder, then)
            self._app.run_worker(reading, group="agents", exclusive=True)

    async def _read_files(self, store: SessionStore, folder: str, then: "OnAgents") -> None:
        from tapui.tower.sessions.agent_choice import AgentChoice

        found = await asyncio.to_thread(store.agents, folder)
        whose = {True: "yours", False: "this folder's"}
        then([AgentChoice(one.name, one.description, whose[one.is_own]) for one in found])

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
        if draft.branch:
            self._draft = draft
            self._app.run_worker(self._make_worktree(draft), group="worktree")
            return
        id_ = f"start-{next(self._ids)}"
        self._pending[id_] = self._draft = draft
        self._app.send(
            SessionStart(
                id_,
                folder=draft.folder,
                prompt=draft.prompt or None,
                model=draft.model or None,
                agent=draft.agent or None,
                mode=draft.mode,
                trust_folder=trust_folder,
            )
        )

    async def _make_worktree(self, draft: StartDraft) -> None:
        """Make the work tree, then start the session in it. Its folder is tapui's to name."""
        app = self._app
        if app.store is None:
            app.notify("Worktrees cannot be made here.", severity="warning")
            return
        app.notify(f"Making a worktree with the branch {draft.branch} …")
        try:
            place = await asyncio.to_thread(app.store.add_worktree, draft.folder, draft.branch)
        except StoreFault as fault:
            app.notify(f"No worktree was made: {fault}", severity="error", timeout=20)
            return
        self._made.add(place)
        self.start(replace(draft, folder=place, branch=""))

    def take(self, item: FeedItem) -> None:
        match item:
            case SessionStarted(id=id_) if id_ in self._pending:
                self._answered(self._pending.pop(id_), item)
            case AgentsList(id=id_, agents=agents) if id_ in self._asked_agents:
                from tapui.tower.sessions.agent_choice import AgentChoice

                told = [AgentChoice(one.name, one.description) for one in agents]
                self._asked_agents.pop(id_)(told)
            case Error(id=str(id_), reply_to="agents.read"):
                self._asked_agents.pop(id_, None)  # files name those that there are
            case Error(id=str(id_), reply_to="session.start"):
                self._pending.pop(id_, None)  # the refusal itself is shown as any other
            case Link(state=state) if state != "up":
                self._pending.clear()
                self._asked_agents.clear()
            case _:
                pass

    def _answered(self, draft: StartDraft, answer: SessionStarted) -> None:
        app = self._app
        if answer.session_id is not None:
            if self._draft == draft:
                folder = "" if draft.folder in self._made else draft.folder
                self._draft = replace(draft, folder=folder, prompt="")
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
        """Ask whether a session is to end, and what becomes of a work tree that tapui made."""
        if self._app.store is None:
            self._confirm_end(session)
        else:
            self._app.run_worker(self._look_and_ask(session, self._app.store), group="worktree")

    async def _look_and_ask(self, session: Session, store: SessionStore) -> None:
        from tapui.tower.textual.dialogs import Choice, ChooseScreen

        tree = await asyncio.to_thread(store.worktree, session.cwd)
        if not tree.folder:
            self._confirm_end(session)
            return
        ignored = tree.ignored
        about = f"with {_ignored_words(ignored)}" if ignored.files else "its branch stays"
        choices = [
            Choice("keep", "end it, keep the worktree", tree.folder),
            Choice("remove", "end it, remove the worktree", tree.fault or about),
        ]

        def end_and_remove() -> None:
            self._to_remove[session.id] = tree
            self._app.orders.end(session.id)

        def chosen(what: str) -> None:
            if what != "remove":
                self._app.orders.end(session.id)
            elif ignored.files:
                self._confirm_loss(tree, end_and_remove)
            else:
                end_and_remove()

        title = f"End the session {session.label or session.id}?"
        ask(self._app, ChooseScreen(title, choices, selected="keep"), chosen)

    def _confirm_loss(self, tree: WorktreeState, on_yes: Callable[[], None]) -> None:
        """Ask about files that are in no commit and go with a work tree."""
        ignored = tree.ignored
        lines = [
            f"In no commit, so gone with it: {_ignored_words(ignored)}",
            "",
            *ignored.names,
            *(["…"] if ignored.files > len(ignored.names) else []),
        ]
        question = f"Remove {tree.folder} with files that git ignores?"
        confirm(self._app, question, lines, "end the session, remove them", on_yes)

    async def _remove_worktree(self, tree: WorktreeState, store: SessionStore) -> None:
        try:
            await asyncio.to_thread(store.remove_worktree, tree.folder, tree.ignored.seal)
        except StoreFault as fault:
            text = f"The worktree {tree.folder} is kept: {fault}"
            self._app.notify(text, severity="warning", timeout=20)
        else:
            self._app.notify(f"The worktree {tree.folder} is removed; its branch stays.")

    def _confirm_end(self, session: Session) -> None:
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
                self._to_remove.pop(id_, None)
            case ev.SessionClosed(session_id=id_):
                session = self._handed_over.pop(id_, None)
                if session is not None:
                    self._offer(session)
                tree, store = self._to_remove.pop(id_, None), self._app.store
                if tree is not None and store is not None:
                    removing = self._remove_worktree(tree, store)
                    self._app.run_worker(removing, group="worktree")

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


def _ignored_words(ignored: IgnoredFiles) -> str:
    return f"{quantity(ignored.files, 'file')} that git ignores ({size_of(ignored.size)})"
