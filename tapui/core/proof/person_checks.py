"""Prove it now: a session's check as the person's own command, with the runner of emitters.

Nothing runs before the person has seen the command, its folder and what of its files changed. The
same over the same files goes at once later, until the session ends. What it showed becomes a fact
of the session, as the agent's own commands do. Sending back is a prompt of the person's, in words
of tapui's own.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from tapui.core.context import CorePart
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import SendIfIdle, StartRun, StopRun
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.plans import EmitterPlan, Schedule
from tapui.core.model import Connection, OpenSession
from tapui.core.proof.check_commands import (
    CheckCommand,
    digest_of,
    known_check,
    surface_of,
)
from tapui.core.proof.checks import check
from tapui.core.proof.deciding import ShellPart, read
from tapui.core.proof.endings import interruption
from tapui.core.proof.sent_back import missing
from tapui.core.proof.turn_proofs import check_name, counted
from tapui.core.proof.verdicts import CheckRun, Judge
from tapui.core.proof.watching import Proof, SessionProof
from tapui.core.runs.reports import RunEnded, RunLines, RunReport
from tapui.core.runs.runs import Runs
from tapui.core.sessions.orders import Orders
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.streams import Streams
from tapui.projection.summary import one_line
from tapui.settings.settings import Proving
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.criteria import Verdict
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import BUILTIN_PROVIDER, Error
from tapui.wire.proving import (
    ProofBegan,
    ProofEnded,
    ProofLines,
    ProofOutcome,
    ProofPlan,
    ProofRun,
    ProofSendBack,
    ProofStop,
)
from tapui.wire.steering import SessionTell

STREAM = "prove"
"""The stream of the session that has the output of its checks, too."""
_SHOWN_FILES = 20
_KEPT_CHARACTERS = 16 * 1024
"""How much is kept of the beginning of an output, and as much of its end."""
_MOST_ALLOWED = 100
"""What the person has allowed that is remembered of a session, the newest."""


class _Output:
    """The beginning and the end of an output."""

    def __init__(self) -> None:
        self.count = 0
        self.is_cut = False
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._room = self._tail_room = _KEPT_CHARACTERS

    def add(self, line: str) -> None:
        self.count += 1
        line = line[:_KEPT_CHARACTERS]
        size = len(line) + 1
        if not self._tail and size <= self._room:
            self._head.append(line)
            self._room -= size
            return
        self._room = 0
        self._tail.append(line)
        self._tail_room -= size
        while self._tail_room < 0:
            self._tail_room += len(self._tail.popleft()) + 1
            self.is_cut = True

    def text(self) -> str:
        return "\n".join([*self._head, *self._tail])


@dataclass(slots=True, eq=False)
class PersonCheck:
    """A check under way."""

    id: str
    session: OpenSession
    watched: SessionProof
    command: CheckCommand
    at: str
    followers: list[tuple[Connection, str]]
    """Who ordered it or came to it, with the ids of their orders."""
    deadline: Deadline | None = None
    output: _Output = field(default_factory=_Output)
    stopped: str = ""
    """Why it was stopped."""


@dataclass(eq=False, repr=False)
class PersonChecks(CorePart):
    """Handlers of `proof.…`. Each raises `WireError` to refuse."""

    sessions: OpenSessions
    proof: Proof
    runs: Runs
    folders: EmitterFolders
    streams: Streams
    orders: Orders
    setting: Proving

    def __post_init__(self) -> None:
        super().__post_init__()
        self.running: dict[str, PersonCheck] = {}
        """By session."""
        self._allowed: dict[str, dict[str, None]] = {}
        """The digests of what the person has allowed, by session."""

    # Orders

    def run(self, tower: Connection, message: ProofRun) -> None:
        """Show what would run, or run it."""
        session, watched = self._watched(message)
        if not self.setting.prove:
            raise _refused(message, ErrorCode.UNAUTHORIZED, "proof.prove = false forbids it here")
        if not self.folders.is_on:
            raise _refused(message, ErrorCode.NOT_FOUND, "commands are not run here")
        if message.command is not None and not message.command.strip():
            raise _refused(message, ErrorCode.INVALID_JSON, "command: must not be empty")
        then = partial(self._looked, tower, message, session, watched)
        if session.id in self.running:
            then()
        else:
            self.proof.look_now(watched, then)

    def stop(self, tower: Connection, message: ProofStop) -> None:  # noqa: ARG002
        live = self.running.get(message.session_id)
        if live is not None:
            self._stop(live, "you stopped it")

    def send_back(self, tower: Connection, message: ProofSendBack) -> None:
        """Tell the agent what is missing, once the folder was looked at."""
        session, watched = self._watched(message)
        if not self.setting.send_back:
            text = "proof.send-back = false forbids it here"
            raise _refused(message, ErrorCode.UNAUTHORIZED, text)

        def then() -> None:
            named = self.proof.setting.commands
            known = known_check(watched.history, watched.folder, named)
            proof = self.proof.standing(watched)
            text = missing(proof, known.text if known is not None else "")
            if text is None:
                is_open = proof is None and watched.judged
                why = "no check is known here: name one" if is_open else "nothing is missing"
                self._refuse(tower, message, why)
                return
            try:
                self.orders.tell(tower, SessionTell(message.id, session.id, text))
            except WireError as error:
                self._refuse(tower, message, error.text, error.code)

        self.proof.look_now(watched, then)

    def _watched(self, message: ProofRun | ProofSendBack) -> tuple[OpenSession, SessionProof]:
        session = self.sessions.required(message.session_id)
        watched = self.proof.watched(session)
        if watched is None:
            text = f"tapui does not see the commands of session {session.id}"
            raise _refused(message, ErrorCode.NOT_FOUND, text)
        return session, watched

    def _looked(
        self, tower: Connection, message: ProofRun, session: OpenSession, watched: SessionProof
    ) -> None:
        if not tower.is_open:
            return
        if not session.is_open or watched.is_left:
            self._refuse(tower, message, "the session has ended")
            return
        live = self.running.get(session.id)
        if live is not None:
            self._join(live, tower, message)
            return
        history, named = watched.history, self.proof.setting.commands
        if message.command is not None:
            command: CheckCommand | None = CheckCommand(message.command, watched.folder)
        else:
            command = known_check(history, watched.folder, named)
        if command is None:
            self._refuse(tower, message, "no check is known here: name one")
            return
        surface = surface_of(command, tuple(history.first.values()), history.states)
        digest = digest_of(command, surface)
        allowed = self._allowed.setdefault(session.id, {})
        if digest != message.seen and (surface.doubt or digest not in allowed):
            shown = surface.changed[:_SHOWN_FILES]
            plan = ProofPlan(
                message.id,
                session.id,
                command.text,
                command.cwd,
                digest,
                list(shown),
                len(surface.changed) - len(shown),
                surface.doubt,
            )
            self._out.send(tower.id, plan)
            return
        try:
            self.streams.require_room(session.id, STREAM, BUILTIN_PROVIDER)
        except WireError as error:
            self._refuse(tower, message, error.text, error.code)
            return
        allowed[digest] = None
        if len(allowed) > _MOST_ALLOWED:
            del allowed[next(iter(allowed))]
        self._begin(tower, message, session, watched, command)

    def _join(self, live: PersonCheck, tower: Connection, message: ProofRun) -> None:
        """Let a second order follow the check under way, if it means that one."""
        if message.command not in (None, live.command.text):
            text = f"another check of it runs: {one_line(live.command.text)}"
            self._refuse(tower, message, text, ErrorCode.RATE_LIMITED)
            return
        live.followers.append((tower, message.id))
        self._out.send(tower.id, _began(live, message.id))

    # A run

    def _begin(
        self,
        tower: Connection,
        message: ProofRun,
        session: OpenSession,
        watched: SessionProof,
        command: CheckCommand,
    ) -> None:
        live = PersonCheck(
            self._ids.id("r"),
            session,
            watched,
            command,
            self._clock.timestamp(),
            [(tower, message.id)],
        )
        self.running[session.id] = live
        due = self._clock.now + limits.PROOF_RUN_SECONDS
        live.deadline = self._deadlines.add(due, Due.PROOF, live)
        self.runs.others[live.id] = partial(self._reported, live)
        self._post(live, f"run by {tower.by}: {command.text}", "system")
        self.proof.began(watched, live.id, command.text, by="person")
        plan = EmitterPlan(
            kind="emitter",
            name=STREAM,
            command=command.text,
            cwd=command.cwd,
            schedule=Schedule("oneTime"),
        )
        self._out.effects.append(StartRun(live.id, plan, (), keeps_layout=True))
        self._out.send(tower.id, _began(live, message.id))

    def _reported(self, live: PersonCheck, report: RunReport) -> None:
        match report:
            case RunLines(lines=lines):
                first = live.output.count + 1
                for line in lines:
                    live.output.add(line.text)
                    if line.text:
                        self._post(live, line.text, line.source)
                self._tell_lines(live, first, [line.text for line in lines])
            case RunEnded():
                self._ended(live, report)

    def _tell_lines(self, live: PersonCheck, first: int, lines: list[str]) -> None:
        """Tell those that keep up; the others see that lines are missing."""
        for tower, id_ in live.followers:
            if tower.is_open:
                self._out.effects.append(SendIfIdle(tower.id, ProofLines(id_, first, lines)))

    def _post(self, live: PersonCheck, text: str, source: str) -> None:
        self.streams.post(
            live.session.id,
            STREAM,
            BUILTIN_PROVIDER,
            level="keep",
            event=text,
            metadata=raw({"run": live.id, "source": source}),
        )

    def due(self, live: PersonCheck) -> None:
        hours = limits.PROOF_RUN_SECONDS / 3600
        self._stop(live, f"it was stopped after {hours:g} h")

    def _stop(self, live: PersonCheck, why: str) -> None:
        if not live.stopped:
            live.stopped = why
            self._out.effects.append(StopRun(live.id))

    def session_ended(self, session: OpenSession) -> None:
        """End what runs for it, and forget what the person allowed there."""
        self._allowed.pop(session.id, None)
        live = self.running.get(session.id)
        if live is not None:
            self._stop(live, "the session ended")
            self._over(live, "unknown", "the session ended", None)

    # Its end

    def _ended(self, live: PersonCheck, end: RunEnded) -> None:
        if self.running.get(live.session.id) is not live:
            return  # its session has ended
        why = live.stopped
        if not why and end.error is not None:
            why = f"it could not run: {end.error}"
        elif not why and end.code is None:
            why = f"it was ended by {end.signal}" if end.signal else "its runner was lost"
        elif not why and end.left:
            why = f"processes of it still run: {', '.join(end.left[:3])}"
        code = None if why else end.code
        output = live.output
        self.proof.ended(
            live.watched,
            live.id,
            code,
            output.text(),
            is_cut=output.is_cut,
            cwd=live.command.cwd,
        )
        self.proof.looked(live.watched, partial(self._judge, live, why, end.code))

    def _judge(self, live: PersonCheck, why: str, code: int | None) -> None:
        """Say what the run has shown, and show the last turn anew."""
        if self.running.get(live.session.id) is not live:
            return
        outcome: ProofOutcome = "unknown"
        name = one_line(live.command.text)
        command = live.watched.history.command(live.id)
        unrun = command.unrun if command is not None else ""
        if why or (code is not None and (why := interruption(code) or unrun)):
            text = f"{name}, {why}"
        elif live.watched.closed:
            text = f"{name}, the ledger cannot be written: {live.watched.closed}"
        else:
            outcome, text = self._verdict(live)
        now = self.proof.standing(live.watched)
        if outcome == "passed" and now is not None and now.state != "checked":
            outcome, text = "unknown", f"{text}, but not all is checked: {now.text}"
        self.proof.show_anew(live.watched)
        self._over(live, outcome, text, code)

    def _verdict(self, live: PersonCheck) -> tuple[ProofOutcome, str]:
        """Judge each part of the command: all have to pass, and one that failed is enough."""
        history = live.watched.history
        command = history.command(live.id)
        if command is None or not command.reading.parts:
            doubt = command.reading.doubt if command is not None else "it is not in the records"
            return "unknown", f"{one_line(live.command.text)}: {doubt or 'nothing ran'}"
        judge = Judge(history, live.watched.folder, self.proof.setting.ignore)
        runs = [CheckRun(command, at, part) for at, part in enumerate(command.reading.parts)]
        named = [part for one in self.proof.setting.commands for part in read(one).parts]
        found = [_judged(run, judge.of_part(run.part, run.folder), named) for run in runs]
        worst = next((one for one in found if one[0] == "failed"), None)
        worst = worst or next((one for one in found if one[0] == "unknown"), None)
        return worst or ("passed", "; ".join(text for _, text in found))

    def _over(self, live: PersonCheck, outcome: ProofOutcome, text: str, code: int | None) -> None:
        del self.running[live.session.id]
        self._deadlines.cancel(live.deadline)
        if live.session.is_open:
            self._post(live, f"{outcome}: {text}", "system")
        for tower, id_ in live.followers:
            if tower.is_open:
                self._out.send(tower.id, ProofEnded(id_, outcome, text, code))

    def _refuse(
        self,
        tower: Connection,
        message: ProofRun | ProofSendBack,
        text: str,
        code: ErrorCode = ErrorCode.NOT_FOUND,
    ) -> None:
        """Refuse an order that was taken, and found to be impossible later."""
        if tower.is_open:
            error = Error(
                code,
                text,
                reply_to=str(message.__struct_config__.tag),
                id=message.id,
                session_id=message.session_id,
            )
            self._out.send(tower.id, error)


def _judged(
    run: CheckRun, verdict: Verdict, named: Sequence[ShellPart]
) -> tuple[ProofOutcome, str]:
    """Return what a verdict says of one part of this very run. `named`: the person's checks."""
    what = check(run.part.words)
    name = check_name(run.part, what) if what is not None else " ".join(run.part.words[:2])
    if not any(one.uri == run.pointer().uri for one in verdict.pointers):
        return "unknown", f"{name}, {verdict.reason or 'it ran again meanwhile'}"
    if verdict.state == "passed":
        part = what.part if what is not None and not any(map(run.part.is_same, named)) else ""
        text = ", ".join(filter(None, [name, *counted(run), verdict.reason, part]))
        return "unknown" if part else "passed", text
    outcome: ProofOutcome = "failed" if verdict.state == "failed" else "unknown"
    return outcome, f"{name}, {verdict.reason}"


def _began(live: PersonCheck, id_: str) -> ProofBegan:
    return ProofBegan(id_, live.session.id, live.command.text, live.command.cwd, live.at)


def _refused(message: ProofRun | ProofSendBack, code: ErrorCode, text: str) -> WireError:
    return WireError(code, text, id=message.id, session_id=message.session_id)
