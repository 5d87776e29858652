"""What follows when the person decided, or nobody did: each kind of approval has its own way on."""

from tapui.core.approvals import Decided, Waiting
from tapui.core.builtin_side import answer_mode
from tapui.core.host_side import HostSide
from tapui.core.pairing import Pairings
from tapui.core.registers import Registers
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error


class Reactions:
    """Lets decisions have their way, once they are recorded."""

    def __init__(self, registers: Registers, pairings: Pairings, hosts: HostSide) -> None:
        self._r = registers
        self._pairings = pairings
        self._hosts = hosts

    def decided(self, decided: Decided) -> None:
        """A decision holds, or could not be recorded."""
        waiting, subject = decided.waiting, decided.waiting.subject
        tower = decided.tower
        if not decided.is_recorded and tower is not None and tower.is_open:
            text = "the decision could not be recorded (is the disk full?), so it does not hold"
            self._r.out.send(tower.id, Error(ErrorCode.INTERNAL, text))
        kind, is_approved = waiting.view.kind, decided.verdict == "approve"
        if kind == "pairing":
            if decided.verdict == "reveal":
                self._pairings.revealed(decided)
            else:
                self._pairings.decided(decided)
        elif kind == "mode":
            subject.by = decided.by
            if is_approved and subject.session.is_open:
                waiting.asker.modes.pop(subject.request_id, None)
                self._r.modes.order(subject)
            else:
                text = decided.reason or f"denied by {decided.by}"
                answer_mode(waiting.asker, self._r, subject, text)
        elif kind == "bindAll":
            if is_approved:
                waiting.asker.may_bind_all = subject
        else:
            self._hosts.answer(
                waiting.asker, subject, decided.verdict, decided.answer, decided.reason
            )

    def expired(self, waiting: Waiting) -> None:
        """Nobody decided in time."""
        self._r.approvals.expire(waiting)
        kind, subject = waiting.view.kind, waiting.subject
        if kind == "pairing":
            self._pairings.expired(waiting.asker)
        elif kind == "mode":
            subject.by = "nobody"
            answer_mode(waiting.asker, self._r, subject, "nobody decided in time")
        elif kind != "bindAll":
            self._hosts.answer(waiting.asker, subject, "expired")
