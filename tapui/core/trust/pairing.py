"""Pairing: a client without a token asks, the person opens the request and passes a code on.

Provider Interface v2 "External providers"; `tapui/wire/README.md`.
"""

import hmac
from collections import deque
from dataclasses import dataclass

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due, SlidingWindow
from tapui.core.effects import Authenticated
from tapui.core.model import Connection, Standing
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.trust.grants import Grant, Trustees
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import SessionLog
from tapui.wire.message import UPDATE_MARK
from tapui.wire.provider import AuthConfirm, AuthPairing, Sessions
from tapui.wire.tower import RevealedCode


@dataclass(slots=True, eq=False)
class Pairing:
    """One request. The code exists once the person opened it; it is good for one try."""

    code: str | None = None
    sessions: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class Pairings(CorePart):
    """Requests under way and the limiter of tries, over the whole gateway."""

    connections: Connections
    sessions: OpenSessions
    approvals: Approvals
    trustees: Trustees

    def __post_init__(self) -> None:
        super().__post_init__()
        self._tries = SlidingWindow(limits.PAIRING_ATTEMPTS_PER_MINUTE, 60.0)
        self._requests: deque[tuple[float, str | None]] = deque()
        """When the requests of the last minute came, and their Origins."""
        self._line_at = -limits.PAIRING_LINE_INTERVAL
        """When the last code went to the timeline."""
        self.next_line: Deadline | None = None

    def ask(self, connection: Connection) -> None:
        """A client asks to pair.

        Raises `RATE_LIMITED` when three requests wait already, or for too many in a minute.
        """
        if len(self.approvals.of_kind("pairing")) >= limits.MAX_PAIRINGS:
            raise WireError(
                ErrorCode.RATE_LIMITED,
                f"{limits.MAX_PAIRINGS} pairing requests wait already; try again later",
            )
        self._count(connection.origin)
        self._deadlines.cancel(connection.deadline)
        connection.standing = Standing.AWAIT_PAIRING
        pairing = Pairing()
        detail = {"origin": connection.origin, "transport": "websocket"}
        self.approvals.request(
            "pairing",
            connection,
            pairing,
            detail,
            limits.PAIRING_TIMEOUT,
            on_decided=self._decided,
            on_expired=self._expired,
        )
        prompt = "Enter the pairing code shown in tapui or in your Copilot session"
        self._out.send(connection.id, AuthPairing(prompt))
        self.open_into_timeline()

    def _count(self, origin: str | None) -> None:
        """Count a request. Raises `RATE_LIMITED` for too many of an Origin, or of all."""
        now, requests = self._clock.now, self._requests
        while requests and requests[0][0] <= now - 60.0:
            requests.popleft()
        if len(requests) >= limits.PAIRING_REQUESTS_PER_MINUTE:
            most, whose = limits.PAIRING_REQUESTS_PER_MINUTE, ""
        elif sum(one == origin for _, one in requests) >= limits.ORIGIN_REQUESTS_PER_MINUTE:
            most, whose = limits.ORIGIN_REQUESTS_PER_MINUTE, " of this origin"
        else:
            requests.append((now, origin))
            return
        raise WireError(
            ErrorCode.RATE_LIMITED, f"more than {most} pairing requests{whose} a minute"
        )

    def open_into_timeline(self) -> None:
        """While no tower is attached, open the oldest request; one code goes out at a time.

        The timeline of `local` has no reader: without another session, requests wait for a tower.
        """
        unopened = [one for one in self.approvals.of_kind("pairing") if one.view.state == "waiting"]
        session = self.sessions.foreground()
        if session is None or session.is_local:
            return
        if not unopened or self.connections.interactive_towers():
            return
        now, next_at = self._clock.now, self._line_at + limits.PAIRING_LINE_INTERVAL
        if now >= next_at:
            self._line_at, next_at = now, now + limits.PAIRING_LINE_INTERVAL
            self.reveal(unopened[0], None, (session.id,), by="nobody")
            unopened = unopened[1:]
        if unopened and self.next_line is None:
            self.next_line = self._deadlines.add(next_at, Due.PAIRING_LINE, None)

    def line_due(self) -> None:
        """The timeline may have another code."""
        self.next_line = None
        self.open_into_timeline()

    def reveal(
        self, waiting: WaitingApproval, tower: Connection | None, sessions: tuple[str, ...], by: str
    ) -> None:
        """Open a request: its code will exist once this is recorded."""
        if waiting.view.state != "waiting":
            raise WireError(ErrorCode.UNKNOWN_APPROVAL, "this pairing is open already")
        if not sessions:
            foreground = self.sessions.foreground()
            sessions = (foreground.id,) if foreground else ()
        if not sessions:
            raise WireError(ErrorCode.INVALID_SESSION, "there is no session to allow")
        decided = Decided(waiting, "reveal", by, tower=tower, sessions=sessions)
        self.approvals.decide(decided)

    def _revealed(self, decided: Decided) -> None:
        """The opening is recorded: make the code and show it where the request was opened."""
        waiting = decided.waiting
        if waiting.view.id not in self.approvals.waiting:
            return
        pairing: Pairing = waiting.subject
        pairing.code = self._ids.code()
        pairing.sessions = decided.sessions
        if decided.tower is not None:
            if decided.tower.is_open:
                self._out.send(
                    decided.tower.id,
                    RevealedCode(waiting.view.id, pairing.code, waiting.view.expires_at),
                )
            return
        session = self.sessions.get(decided.sessions[0])
        if session is not None:
            who = waiting.asker.origin or "a program without an Origin"
            text = f"{UPDATE_MARK}: {who} asks to plug in. Pairing code: {pairing.code}"
            self._out.send(session.host, SessionLog(session.id, text, "warning", ephemeral=True))

    def confirm(self, connection: Connection, message: AuthConfirm) -> None:
        """Try a code. A wrong one closes the connection and burns the code."""
        waiting = self._waiting_for(connection)
        if waiting is None:
            raise WireError(ErrorCode.AUTH_FAILED, "the pairing request is no longer open")
        if waiting.is_deciding:
            raise WireError(ErrorCode.RATE_LIMITED, "the code is not there yet; try again")
        if not self._tries.take(self._clock.now):
            raise WireError(
                ErrorCode.RATE_LIMITED,
                f"more than {limits.PAIRING_ATTEMPTS_PER_MINUTE} pairing attempts a minute",
            )
        pairing: Pairing = waiting.subject
        given = message.code.encode("utf-8", "replace")
        code, pairing.code = pairing.code, None
        if code is None or not hmac.compare_digest(code.encode(), given):
            self.approvals.withdraw(waiting, reason="wrong code")
            raise WireError(ErrorCode.AUTH_FAILED, "wrong pairing code")
        self.approvals.decide(Decided(waiting, "approve", waiting.view.decided_by or ""))

    def _decided(self, decided: Decided) -> None:
        """A pairing is open, or settled: admit the client with a token of its own, or refuse it."""
        if decided.verdict == "reveal":
            self._revealed(decided)
            return
        connection = decided.waiting.asker
        pairing: Pairing = decided.waiting.subject
        if connection.standing is not Standing.AWAIT_PAIRING:
            return
        sessions = (self.sessions.get(id_) for id_ in pairing.sessions)
        granted = {session.id for session in sessions if session is not None}
        if decided.verdict != "approve" or not granted:
            text = decided.reason or "the person denied the pairing"
            self.connections.refuse(
                connection, WireError(ErrorCode.AUTH_FAILED, text, reply_to="auth")
            )
            return
        token = self._ids.token("ext-")
        grant = Grant("external", Secret(token), granted, connection.origin)
        self.trustees.add(grant)
        connection.grant = grant
        connection.standing = Standing.AWAIT_HELLO
        self._out.effects.append(Authenticated(connection.id))
        self._out.send(connection.id, Sessions(self.sessions.visible(grant), token))

    def _expired(self, waiting: WaitingApproval) -> None:
        """The request was not opened, or the code not typed, in time."""
        connection = waiting.asker
        if connection.standing is Standing.AWAIT_PAIRING:
            error = WireError(ErrorCode.AUTH_FAILED, "the pairing request expired", reply_to="auth")
            self.connections.refuse(connection, error)

    def gone(self, connection: Connection) -> None:
        waiting = self._waiting_for(connection)
        if waiting is not None:
            self.approvals.withdraw(waiting, reason="the client disconnected")

    def _waiting_for(self, connection: Connection) -> WaitingApproval | None:
        for waiting in self.approvals.of_kind("pairing"):
            if waiting.asker is connection:
                return waiting
        return None
