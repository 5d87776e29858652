"""Watches sessions: what happens in them becomes facts, which are written ahead and then judged.

Only the shells that a session's host named make commands: a provider's tool of the same name does
not. The facts of a session go into its ledger; what rests on facts that are not on the disk is not
shown.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.effects import (
    CloseLedger,
    FactsKept,
    KeepFacts,
    LedgerOpened,
    LookAtFolder,
    OpenLedger,
)
from tapui.core.model import OpenSession
from tapui.core.proof import facts as fact
from tapui.core.proof.checks import check, may_check
from tapui.core.proof.facts import AnyFact
from tapui.core.proof.folder_states import TOO_LARGE, FolderState, is_counted, state_changes
from tapui.core.proof.history import FactHistory, RecordedCommand
from tapui.core.proof.known_reporters import REPORTERS, SCRIPTS
from tapui.core.proof.ledger import ProofLedger
from tapui.core.proof.reporters import absence, summary
from tapui.core.proof.summaries import Summary
from tapui.core.proof.turn_proofs import has_changed, standing, turn_proof
from tapui.core.sessions.sessions import OpenSessions
from tapui.projection.proof import has_changed_files, is_proven
from tapui.projection.summary import one_line
from tapui.projection.turns.turn import LiveTurn
from tapui.settings.settings import Checking
from tapui.wire import events as ev
from tapui.wire.criteria import SessionStanding, TurnProof
from tapui.wire.errors import CallError
from tapui.wire.subjects import Alarm, Call, Session
from tapui.wire.tower import Notice

LOOK_SECONDS = 0.05
END_SECONDS = 1.0
"""How long a look may take: while the agent works; and as the first one, after what may be a check,
and at a turn's end."""
MOST_HELD = 4 * 1024 * 1024
"""Bytes of facts that wait for the disk. With more, what they were about is unknown."""
_TRIES = 3
"""Looks that are begun for one end of a turn, where something happens meanwhile."""
_WHOLE = frozenset({"cat", "tee"})
"""Filters that leave no line out."""
READERS = frozenset(
    """ask_user fetch_copilot_cli_documentation glob grep list_agents list_bash list_powershell
    read_agent read_bash read_powershell report_intent rg skill sql stop_bash stop_powershell task
    update_todo view web_fetch web_search""".split()  # noqa: SIM905 - readable
)
"""Tools of Copilot CLI's own that change no file of the folder."""
_STARTERS = frozenset({"tap_start_emitter", "tap_stop_emitter"})
"""The tools of tapui's own that start or end a program, which may write."""
_REPORTING = re.compile(
    "|".join(
        map(re.escape, {*SCRIPTS, *(one for row in REPORTERS for one in row.programs.split())})
    )
)
"""A program that reports. What names none is not read for its summaries."""


class SessionProof:
    """What is recorded of one session that is open."""

    def __init__(self, session_id: str, folder: str, run: str) -> None:
        self.session_id = session_id
        self.folder = folder
        self.run = run
        self.history = FactHistory()
        self.closed = ""
        """Why nothing can be written; "" while it can."""
        self.judged: dict[str, TurnProof | None] = {}
        """What was shown of its turns that changed files, by their beginning; None where no check
        was known."""
        self.begun: set[str] = set()
        """When its turns began that were watched."""
        self.standing: SessionStanding | None = None
        self.is_told_changed = False
        """Whether towers were told that it changed files."""
        self.has_moved = False
        """Whether anything happened since it was last judged how it stands."""
        self.turn = ""
        """When the turn under way began; "" between turns."""
        self.agents: list[str] = []
        """The names of its subagents at work."""
        self.tools: set[str] = set()
        """Calls under way that are no commands and may change files."""
        self.ledger = 0
        """The ticket with which its ledger was opened."""
        self.is_open = False
        self.is_left = False
        self.chain = ProofLedger(session_id)
        self.unwritten: list[AnyFact] = []
        """Facts that came before the ledger was read."""
        self.lines: list[bytes] = []
        self.is_writing = False
        self.is_checked = False
        """Whether its ledger was looked at a last time before it is let go."""
        self.alarm: Alarm | None = None
        """That what was proven before is unknown."""
        self.looking: tuple[str, int] | None = None
        """The look under way: the call that it is for, and the acts that there were."""
        self.next_look: tuple[str, int] | None = None
        """The look after that: the call that it is for, and the acts that there were at its end."""
        self.waiting: list[Callable[[], None]] = []
        self.tries = 0


@dataclass(eq=False, repr=False)
class Proof(CorePart):
    """Makes facts of events, once a shell has called `begin`."""

    connections: Connections
    sessions: OpenSessions
    setting: Checking
    run: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self._watched: dict[str, SessionProof] = {}
        self.opened: list[Callable[[SessionProof], None]] = []
        """Called when a session's ledger was read."""
        self.begun_anew: list[Callable[[SessionProof], None]] = []
        """Called when a session's ledger is empty again, since something else changed it."""
        self.turn_judged: Callable[[SessionProof], None] = lambda _: None
        """Called when the folder was looked at for the end of a turn, and that was judged."""
        self.turn_began: Callable[[str, str], None] = lambda _session, _at: None
        """Called with a session's id and its turn's beginning."""
        self._is_on = False

    def begin(self) -> None:
        """Ledgers can be read and folders looked at, from now on."""
        if not self._is_on:
            self._is_on = True
            self._out.watch(self.happened)

    def of(self, session_id: str) -> SessionProof | None:
        """Return what is recorded of an open session; None where its shells are not watched."""
        return self._watched.get(session_id)

    def others(self, session_id: str) -> list[SessionProof]:
        """Return what is recorded of the other open sessions."""
        return [one for id_, one in self._watched.items() if id_ != session_id]

    def watched(self, session: OpenSession) -> SessionProof | None:
        """Return the same of a session of which nothing may have happened yet."""
        known = self._watched.get(session.id)
        if known is None and self._is_on and self._is_watched(session):
            known = self._watch(session)
        return known

    # Events

    def happened(self, event: ev.Event) -> None:
        """Look at an event once it is folded. This runs for each event of the gateway."""
        session_id = getattr(event, "session_id", None)
        if session_id is None:
            return
        watched = self._watched.get(session_id)
        match event:
            case ev.SessionReplaced(replaces=former):
                self._leave(former)
            case ev.SessionClosed():
                self._leave(session_id)
                return
            case ev.TurnProved() | ev.SessionStood() | ev.StreamPosted():
                return
        if watched is None:
            session = self.sessions.open.get(session_id)
            if session is None or not self._is_watched(session):
                return
            watched = self._watch(session)
        self._follow_turn(watched)
        match event:
            case ev.CallStarted(call=call):
                self._started(watched, call)
            case ev.CallFinished(call=call) | ev.CallExited(call=call):
                self._finished(watched, call)
            case ev.SessionUpdated(session=view):
                watched.folder = view.cwd or watched.folder
                agents, watched.agents = watched.agents, _at_work(view)
                if agents and not watched.agents:
                    self._look(watched)
            case ev.TurnsRestored():
                self._show_judged(watched)
                watched.has_moved = True
                self._go_on(watched)

    @staticmethod
    def _is_watched(session: OpenSession) -> bool:
        return bool(session.named_shells and session.is_main and session.view.cwd)

    def _watch(self, session: OpenSession) -> SessionProof:
        watched = SessionProof(session.id, session.view.cwd or "", self.run)
        watched.agents = _at_work(session.view)
        self._watched[session.id] = watched
        ticket = self._tickets.keep(lambda read: self._opened(watched, read))
        watched.ledger = ticket
        self._out.effects.append(OpenLedger(ticket, session.id))
        return watched

    def _leave(self, session_id: str) -> None:
        watched = self._watched.pop(session_id, None)
        if watched is not None:
            watched.is_left = True
            self._settle(watched)
            self._let_go(watched)

    def _let_go(self, watched: SessionProof) -> None:
        """Close the ledger of a session that is left, once it was looked at a last time."""
        if not watched.is_left or not watched.is_open or watched.is_writing:
            return
        if watched.is_checked or watched.closed:
            self._out.effects.append(CloseLedger(watched.ledger))
        else:
            watched.is_checked = True
            self._check(watched)

    def check(self) -> None:
        """Look at all ledgers: what something else has changed is to be noticed before the end."""
        for watched in self._watched.values():
            if watched.is_open and not watched.is_writing and not watched.closed:
                self._check(watched)

    def _check(self, watched: SessionProof) -> None:
        watched.is_writing = True
        ticket = self._tickets.keep(lambda kept: self._kept(watched, b"", kept))
        self._out.effects.append(KeepFacts(ticket, watched.ledger, b""))

    def _follow_turn(self, watched: SessionProof) -> None:
        turns = self._out.state.turns.get(watched.session_id)
        running = turns.running if turns is not None else None
        began = running.started_at if running is not None else ""
        if began == watched.turn:
            return
        former, watched.turn = watched.turn, began
        number = turns.latest.number if turns is not None and turns.latest is not None else 0
        if former:
            self.add(watched, fact.TurnEnded(at=self._clock.timestamp(), turn=number))
            agents = watched.agents
            self.looked(watched, lambda: self._judge(watched, former, agents))
        if began:
            self._settle(watched)
            self.turn_began(watched.session_id, began)
            self.add(watched, fact.TurnBegan(at=began, turn=number))
            self._look(watched)

    def _started(self, watched: SessionProof, call: Call) -> None:
        if not self._is_command(watched, call):
            if self._may_write(watched, call):
                watched.tools.add(call.id)
            return
        shell = "powershell" if call.tool == "powershell" else "bash"
        self.began(watched, call.id, _text_of(call), shell=shell)

    def _finished(self, watched: SessionProof, call: Call) -> None:
        shell = call.shell
        if call.id in watched.tools:
            watched.tools.discard(call.id)
            paths = [change.path for change in call.changes or ()]
            if paths or call.provider_id is not None or watched.history.has_running:
                now = self._clock.timestamp()
                told = fact.FilesWritten(at=now, call_id=call.id, paths=paths, tool=call.tool)
                self.add(watched, told)
                self._look(watched)
        elif shell is not None:
            output, is_cut = _output_of(call)
            self.ended(
                watched,
                call.id,
                call.exit_code,
                output,
                is_cut=is_cut,
                is_behind=shell.is_behind and call.exit_code is None,
                cwd=shell.cwd or "",
                shell_id=shell.id,
            )
        elif self._is_command(watched, call):
            is_denied = call.error_code == CallError.DENIED
            self.ended(watched, call.id, None, "", is_denied=is_denied)

    def _may_write(self, watched: SessionProof, call: Call) -> bool:
        """Return whether a call of a tool other than a shell may change files of the folder."""
        if call.provider_id is None:
            return call.tool not in READERS
        session = self.sessions.open.get(watched.session_id)
        provider = session.providers.get(call.provider_id) if session is not None else None
        is_own = provider is not None and provider.connection.is_builtin
        return not is_own or call.tool in _STARTERS

    def _is_command(self, watched: SessionProof, call: Call) -> bool:
        session = self.sessions.open.get(watched.session_id)
        return (
            session is not None
            and call.provider_id is None
            and call.tool in session.named_shells
            and call.tool not in session.tools
        )

    # Commands

    def began(
        self,
        watched: SessionProof,
        call_id: str,
        text: str,
        *,
        shell: str = "bash",
        by: fact.Author = "agent",
    ) -> None:
        """A command began: of the agent's, or one that tapui runs for the person."""
        self.add(
            watched,
            fact.CommandBegan(
                at=self._clock.timestamp(),
                call_id=call_id,
                text=text,
                cwd=watched.folder,
                shell=shell,
                turn=watched.history.turn,
                by=by,
            ),
        )

    def ended(
        self,
        watched: SessionProof,
        call_id: str,
        code: int | None,
        output: str,
        *,
        is_cut: bool = False,
        is_behind: bool = False,
        cwd: str = "",
        shell_id: str = "",
        is_denied: bool = False,
    ) -> None:
        """A command ended, goes on behind its call, or was not allowed to begin."""
        command = watched.history.command(call_id)
        now = self._clock.timestamp()
        for tool in watched.tools:  # they may have written while it ran
            self.add(watched, fact.FilesWritten(at=now, call_id=tool))
        is_read = command is not None and not is_behind and _REPORTING.search(command.text)
        tests = _summaries(command, output, is_cut=is_cut) if command and is_read else {}
        text = command.text if command is not None else ""
        self.add(
            watched,
            fact.CommandEnded(
                at=now,
                call_id=call_id,
                code=code,
                is_behind=is_behind,
                tests=tests,
                cwd=cwd,
                unrun=absence(text, code, output, tests, is_cut=is_cut),
                shell_id=shell_id if is_behind else "",
                is_denied=is_denied,
            ),
        )
        self._look(watched, "" if is_behind or is_denied else call_id)

    def person_wrote(
        self, watched: SessionProof, root: str, paths: Sequence[str], tool: str
    ) -> None:
        """The person has changed files with tapui: checks of before are not of them."""
        named = [posixpath.join(root, path) for path in paths]
        now = self._clock.timestamp()
        told = fact.FilesWritten(at=now, call_id="", paths=named, tool=tool, by="person")
        self.add(watched, told)
        self._look(watched)

    # Facts

    def add(self, watched: SessionProof, told: AnyFact) -> None:
        """Take the next fact of a session, and write it ahead of what rests on it."""
        watched.history.add(told)
        if isinstance(told, fact.TurnBegan):
            watched.begun.add(told.at)
        elif not isinstance(told, fact.TurnJudged | fact.SessionJudged | fact.MarkFact):
            watched.has_moved = True
        if not watched.is_open:
            watched.unwritten.append(told)
            return
        watched.lines.append(watched.chain.line(told))
        self._write(watched)

    def _opened(self, watched: SessionProof, read: LedgerOpened) -> None:
        """The ledger was read: what it has goes before what has happened since."""
        since, watched.unwritten = watched.unwritten, []
        watched.is_open, watched.closed = True, read.closed
        watched.chain = ProofLedger(watched.session_id, read.last)
        watched.history = FactHistory()
        for told in read.facts:
            watched.history.add(told)
            match told:
                case fact.TurnBegan(at=at):
                    watched.begun.add(at)
                case fact.TurnJudged(started_at=started_at, proof=proof):
                    watched.judged[started_at] = proof
        now = self._clock.timestamp()
        known = next((one for one in reversed(read.facts) if _is_doubt(one)), None)
        if read.fault:
            self._tell(watched, read.fault)
        elif isinstance(known, fact.WatchBegan):
            self._raise(watched, known.why, known.at)
        for told in (fact.WatchBegan(at=now, run=watched.run, why=read.fault), *since):
            self.add(watched, told)
        self._show_judged(watched)
        if watched.is_left:
            self._let_go(watched)
        else:
            for then in self.opened:
                then(watched)
            self._look(watched)

    def _write(self, watched: SessionProof) -> None:
        if watched.is_writing or not watched.lines or watched.closed:
            return
        watched.is_writing = True
        lines = b"".join(watched.lines)
        ticket = self._tickets.keep(lambda kept: self._kept(watched, lines, kept))
        watched.lines.clear()
        self._out.effects.append(KeepFacts(ticket, watched.ledger, lines))

    def _kept(self, watched: SessionProof, lines: bytes, kept: FactsKept) -> None:
        watched.is_writing = False
        if kept.was_changed:
            self._begin_anew(watched, "the ledger was changed outside of tapui")
        elif kept.fault:
            watched.lines.insert(0, lines)
            if sum(map(len, watched.lines)) > MOST_HELD:
                self._begin_anew(watched, f"the ledger could not be written: {kept.fault}")
            watched.closed = kept.fault
        else:
            self._write(watched)
        self._go_on(watched)  # what was waited for may add facts
        self._let_go(watched)

    def _begin_anew(self, watched: SessionProof, why: str) -> None:
        """What rested on the facts until now is unknown."""
        watched.lines.clear()
        watched.chain = ProofLedger(watched.session_id)
        self._tell(watched, why)
        self.add(watched, fact.WatchBegan(at=self._clock.timestamp(), run=watched.run, why=why))
        for then in self.begun_anew:
            then(watched)
        for started_at in watched.judged:
            self._show(watched, started_at, TurnProof("unchecked", why))
        if not watched.is_left:
            self._look(watched)

    def _tell(self, watched: SessionProof, why: str) -> None:
        session = self.sessions.open.get(watched.session_id)
        name = (session.view.label if session is not None else None) or watched.session_id
        text = f"{why}: what was proven in '{name}' is unknown from now on"
        for tower in self.connections.interactive_towers():
            self._out.send(tower.id, Notice(text, "warning"))
        self._raise(watched, why, self._clock.timestamp())

    def _raise(self, watched: SessionProof, why: str, since: str) -> None:
        """Raise the alarm that what was proven before is unknown; it stays with the session."""
        id_ = watched.alarm.id if watched.alarm is not None else self._ids.id("al")
        watched.alarm = Alarm(id_, "ledger", since, watched.session_id, why=why)
        self._out.emit(ev.AlarmRaised(alarm=watched.alarm, session_id=watched.session_id))

    # Looks

    def looked(self, watched: SessionProof, then: Callable[[], None]) -> None:
        """Call `then` once the folder was looked at and the facts are on the disk, or cannot be."""
        watched.waiting.append(then)
        watched.tries = 0
        self._look(watched)  # also where nothing happened here: an editor may have written

    def look_now(self, watched: SessionProof, then: Callable[[], None]) -> None:
        """Look at the folder, also where nothing is known to have happened, and then call `then`
        as `looked` does."""
        watched.waiting.append(then)
        watched.tries = 0
        self._look(watched)

    def look_for_news(self, watched: SessionProof, then: Callable[[], None]) -> None:
        """Look at the folder, and then call `then`. Only where it is not as the newest look found
        it, that is recorded (`look_now`): a pane on the screen asks every few seconds.

        It stands behind each other look: it is broken off for them, and holds up none.
        """
        if watched.is_open and watched.looking is None:
            ticket = self._tickets.keep(lambda states: self._glanced(watched, states, then))
            bases = {state.root: state.head for state in watched.history.states or ()}
            effect = LookAtFolder(ticket, watched.folder, bases, END_SECONDS, gives_way=True)
            self._out.effects.append(effect)
        else:
            self.look_now(watched, then)

    def _glanced(
        self,
        watched: SessionProof,
        states: tuple[FolderState, ...],
        then: Callable[[], None],
    ) -> None:
        is_broken_off = any(state.why == TOO_LARGE for state in states)
        if watched.is_left or is_broken_off or states == watched.history.states:
            then()
        else:
            self.look_now(watched, then)

    def _look(self, watched: SessionProof, call_id: str = "") -> None:
        if not watched.is_open:
            return  # the first look comes with the ledger
        if watched.looking is not None:
            if call_id or watched.next_look is None:
                watched.next_look = call_id, watched.history.acts
            return
        history = watched.history
        watched.looking = (call_id, history.acts)
        ticket = self._tickets.keep(lambda states: self._seen(watched, states))
        bases = {state.root: state.head for state in history.states or ()}
        command = history.command(call_id) if call_id else None
        is_of_check = command is not None and may_check(command.text)
        is_patient = watched.waiting or history.states is None or is_of_check
        seconds = END_SECONDS if is_patient else LOOK_SECONDS
        self._out.effects.append(LookAtFolder(ticket, watched.folder, bases, seconds))

    def _seen(self, watched: SessionProof, states: tuple[FolderState, ...]) -> None:
        history = watched.history
        call_id, acts = watched.looking or ("", -1)
        watched.looking = None
        if watched.is_left:
            return
        if acts >= 0 and history.is_quiet_since(acts):
            now = self._clock.timestamp()
            is_beside = bool(watched.tools)
            told: AnyFact
            if history.states is None:
                told = fact.FolderSeen(
                    at=now, states=list(states), call_id=call_id, is_beside=is_beside
                )
            elif history.states == states:
                told = fact.FolderSeen(at=now, call_id=call_id, is_same=True, is_beside=is_beside)
            else:
                changes = state_changes(history.states, states)
                told = fact.FolderChangeSeen(
                    at=now, changes=changes, call_id=call_id, is_beside=is_beside
                )
            self.add(watched, told)
        # What was looked at while something happened may be of before or after that.
        following, watched.next_look = watched.next_look, None
        if following is not None:
            call_id, acts = following  # what was done meanwhile is none of that call's work
            self._look(watched, call_id if history.is_quiet_since(acts) else "")
        elif watched.waiting and not history.is_seen and watched.tries < _TRIES:
            watched.tries += 1
            self._look(watched)
        self._go_on(watched)

    def _go_on(self, watched: SessionProof) -> None:
        """Serve what waits, if nothing is under way any more."""
        if watched.looking is None and not watched.is_writing and watched.is_open:
            self._settle(watched)
            if watched.has_moved and not watched.turn:
                self._stand(watched)

    def _settle(self, watched: SessionProof) -> None:
        waiting, watched.waiting = watched.waiting, []
        for then in waiting:
            then()

    # What is shown

    def _judge(self, watched: SessionProof, started_at: str, agents: Sequence[str] = ()) -> None:
        """A turn has ended: show what was recorded of it, and how the session stands. `agents`: its
        subagents that were at work."""
        history, setting = watched.history, self.setting
        proof = turn_proof(history, watched.folder, setting.commands, setting.ignore)
        if proof is not None or started_at in watched.judged:
            self._show(watched, started_at, self._bounded(watched, proof, agents))
        elif has_changed(history, watched.folder, setting.ignore):
            self._show(watched, started_at, None)
        self._stand(watched, started_at)
        self.turn_judged(watched)

    def show_anew(self, watched: SessionProof) -> None:
        """Show the last turn once more where it has a line: the person has run its check. That of a
        turn under way is shown at its end."""
        turns = self._out.state.turns.get(watched.session_id)
        latest = turns.latest if turns is not None else None
        if latest is not None and not watched.turn:
            if latest.started_at in watched.judged and not latest.is_outside:
                self._judge(watched, latest.started_at)
            else:
                self._stand(watched)

    def _stand(self, watched: SessionProof, ended: str = "") -> None:
        """Show how the session stands by all that it has changed. `ended`: the turn that has just
        ended, by its beginning."""
        turns = self._out.state.turns.get(watched.session_id)
        latest = turns.latest if turns is not None else None
        if turns is None or latest is None:
            return  # those of earlier runs are read back later
        watched.has_moved = False
        proof = self.standing(watched)
        now = None
        if proof is not None:
            if not ended and latest.is_outside and _is_changed(latest):
                self._show(watched, latest.started_at, proof)
            self._show_earlier(watched, is_checked=proof.state == "checked")
            unseen = {
                one.started_at
                for one in turns.turns
                if one.is_history and has_changed_files(one) and one.started_at not in watched.begun
            }.difference(watched.judged)
            unproven = len(unseen) + sum(not is_proven(one) for one in watched.judged.values())
            count = len(unseen) + len(watched.judged)
            now = SessionStanding(proof, ended or latest.started_at, count, unproven)
        if now is not None or watched.standing is not None:
            at = self._clock.timestamp()
            self.add(watched, fact.SessionJudged(at=at, standing=now))
        has_changed = bool(watched.judged) or watched.history.has_changed
        if (now, has_changed) != (watched.standing, watched.is_told_changed):
            watched.standing, watched.is_told_changed = now, has_changed
            self._out.emit(ev.SessionStood(watched.session_id, now, has_changed))

    def _show_earlier(self, watched: SessionProof, *, is_checked: bool) -> None:
        """Name the turn in which what others left unchecked was checked."""
        for started_at, known in list(watched.judged.items()):
            was = known or TurnProof("unchecked", "no check was known then")
            if is_checked and not is_proven(was):
                was = msgspec.structs.replace(was, checked_in=watched.history.turn)
            self._show(watched, started_at, was)

    def standing(self, watched: SessionProof) -> TurnProof | None:
        """Return how a session stands now that changed files; None where no check is known."""
        history, setting = watched.history, self.setting
        if not (watched.judged or history.has_changed):
            return None
        proof = standing(history, watched.folder, setting.commands, setting.ignore)
        if proof is None and any(watched.judged.values()):
            proof = TurnProof("unchecked", history.doubt or "no run of a check is known any more")
        return self._bounded(watched, proof, watched.agents)

    @staticmethod
    def _bounded(
        watched: SessionProof, proof: TurnProof | None, agents: Sequence[str]
    ) -> TurnProof | None:
        """Return a proof, as far as the disk has what it rests on and no subagent is at work."""
        if proof is None or proof.state == "failed":
            return proof
        if watched.closed:
            return TurnProof("unchecked", f"the ledger cannot be written: {watched.closed}")
        if agents and proof.state == "checked":
            return TurnProof("unchecked", f"{agents[0]} still works", proof.pointers)
        return proof

    def _show(self, watched: SessionProof, started_at: str, proof: TurnProof | None) -> None:
        known = watched.judged.get(started_at)
        if known == proof and started_at in watched.judged:
            return
        watched.judged[started_at] = proof
        now = self._clock.timestamp()
        self.add(watched, fact.TurnJudged(at=now, started_at=started_at, proof=proof))
        if known != proof:
            self._out.emit(ev.TurnProved(watched.session_id, started_at, proof))

    def _show_judged(self, watched: SessionProof) -> None:
        """Show again what an earlier run of the gateway has shown of turns that came back."""
        turns = self._out.state.turns.get(watched.session_id)
        for turn in turns.turns if turns is not None else ():
            proof = watched.judged.get(turn.started_at)
            if proof is not None and proof != turn.proof:
                self._out.emit(ev.TurnProved(watched.session_id, turn.started_at, proof))


def _at_work(view: Session) -> list[str]:
    return [one_line(one.agent) for one in view.subagents if one.state == "running"]


def _is_changed(turn: LiveTurn) -> bool:
    """Return whether a turn changed files that count, as its host told."""
    return any(is_counted(path.rpartition("/")[2]) for path in turn.files)


def _is_doubt(told: AnyFact) -> bool:
    return isinstance(told, fact.WatchBegan) and bool(told.why)


def _text_of(call: Call) -> str:
    """Return the command of a call; "" where it is too long to be kept."""
    if call.args is None:
        return ""
    args = msgspec.json.decode(call.args)
    text = args.get("command") if isinstance(args, dict) else None
    return text if isinstance(text, str) else ""


def _output_of(call: Call) -> tuple[str, bool]:
    """Return the output of a command, and whether lines of it are missing."""
    shell = call.shell
    if shell is not None and (shell.head or shell.tail):
        return f"{shell.head}\n{shell.tail}", bool(shell.head or shell.is_behind)
    if call.data is None:
        return "", True
    text = msgspec.json.decode(call.data)
    return (text, shell is not None and shell.is_cut) if isinstance(text, str) else ("", True)


def _summaries(command: RecordedCommand, output: str, *, is_cut: bool) -> dict[str, Summary]:
    """Return what the checks of a command report in its output, by their programs."""
    found: dict[str, Summary] = {}
    parts = [(part, what) for part in command.reading.parts if (what := check(part.words))]
    runs = Counter(what.program for _, what in parts)
    for part, what in parts:
        is_filtered = part.filtered_by is not None and part.filtered_by not in _WHOLE
        told = summary(what.program, output, runs=runs[what.program], is_cut=is_cut or is_filtered)
        if told is not None:
            found[what.program] = told
    return found
