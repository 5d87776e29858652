"""The checks that the person runs in this tower: what would run, its output, its verdict."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from tapui.projection.feed import FeedItem, Link
from tapui.wire.message import Error, Message
from tapui.wire.proving import (
    ProofBegan,
    ProofEnded,
    ProofLines,
    ProofPlan,
    ProofRun,
    ProofStop,
)

KEPT_LINES = 2_000
"""Lines of output that are kept, the newest."""


@dataclass(slots=True, eq=False)
class CheckRunHere:
    """A check that was ordered here. `fault` is why it was not run."""

    session_id: str
    command: str | None
    plan: ProofPlan | None = None
    began: ProofBegan | None = None
    ended: ProofEnded | None = None
    fault: str = ""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    seen: int = 0
    """The number of the last line that came."""
    missed: int = 0

    @property
    def is_over(self) -> bool:
        return self.ended is not None or bool(self.fault)


class ChecksRun:
    """Orders checks over the tower's link; `changed` is called when there is something to show."""

    def __init__(self, send: Callable[[Message], None], changed: Callable[[], None]) -> None:
        self._send = send
        self._changed = changed
        self._ids = count(1)
        self._under_way: dict[str, CheckRunHere] = {}
        self._shown: list[CheckRunHere] = []
        """Those that a sheet shows."""

    def order(self, session_id: str, command: str | None = None) -> CheckRunHere:
        """Ask for a session's check: it is shown first, unless it was allowed before."""
        run = CheckRunHere(session_id, command)
        self._shown.append(run)
        self._ask(run, None)
        return run

    def allow(self, run: CheckRunHere) -> None:
        """Let what is shown run."""
        plan, run.plan = run.plan, None
        if plan is not None:
            self._ask(run, plan.digest)

    def stop(self, run: CheckRunHere) -> None:
        self._send(ProofStop(run.session_id))

    def leave(self, run: CheckRunHere) -> None:
        """Take nothing more of it: it goes on without being watched."""
        self._shown = [one for one in self._shown if one is not run]
        for id_ in [id_ for id_, one in self._under_way.items() if one is run]:
            del self._under_way[id_]

    def is_shown(self, session_id: str) -> bool:
        """Return whether a sheet shows how a check of this session goes or went."""
        return any(one.session_id == session_id and one.began is not None for one in self._shown)

    def _ask(self, run: CheckRunHere, seen: str | None) -> None:
        id_ = f"prove-{next(self._ids)}"
        self._under_way[id_] = run
        self._send(ProofRun(id_, run.session_id, run.command, seen))

    def take(self, item: FeedItem) -> None:
        """Take in what the feed yielded, if it is about a check that was ordered here."""
        match item:
            case ProofPlan(id=id_) if id_ in self._under_way:
                self._under_way.pop(id_).plan = item
            case ProofBegan(id=id_) if id_ in self._under_way:
                self._under_way[id_].began = item
            case ProofLines(id=id_, first=first, lines=lines) if id_ in self._under_way:
                run = self._under_way[id_]
                run.missed += max(first - run.seen - 1, 0) if run.seen else 0
                run.seen = first + len(lines) - 1
                run.lines.extend(lines)
            case ProofEnded(id=id_) if id_ in self._under_way:
                self._under_way.pop(id_).ended = item
            case Error(reply_to="proof.run", id=str(id_)) if id_ in self._under_way:
                self._under_way.pop(id_).fault = item.message
            case Link(state=state) if state != "up" and self._under_way:
                for run in self._under_way.values():
                    run.fault = "the link to the gateway broke: what became of it is not known"
                self._under_way.clear()
            case _:
                return
        self._changed()
