"""What the tower needs of the station: finding in the records, stored sessions, past requests.

The tower knows these protocols only; a tower over a feed without them shows less."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tapui.projection import approvals
from tapui.projection.requests.kind import detail_of
from tapui.tower.wording.words import quantity
from tapui.wire.subjects import Approval

if TYPE_CHECKING:
    from tapui.policies.rules import PolicyRule


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record in which something was found.

    `marks` are the places in `excerpt` that were looked for. `is_cut`: the record itself holds only
    the beginning of what there was.
    """

    key: str
    kind: str
    ts: str
    session_id: str | None
    session: str
    turn: int | None
    title: str
    excerpt: str
    marks: tuple[tuple[int, int], ...]
    is_cut: bool


class RecordText(NamedTuple):
    """A record: its fields as text to be read, the file it is in, how many secrets were masked."""

    text: str
    path: str
    masked: int


@dataclass(slots=True)
class LastFind:
    """What was looked for last, and the row that was selected: the next sheet begins there."""

    text: str = ""
    key: str = ""


class FinderFault(Exception):  # noqa: N818 - in words, for the person
    """Nothing can be found, and why. `will_pass`: it is worth trying again in a moment."""

    def __init__(self, text: str, *, will_pass: bool = False) -> None:
        super().__init__(text)
        self.will_pass = will_pass


class Finder(Protocol):
    """Looks in the records. It belongs to one thread; `interrupt` alone is for others."""

    def find(self, text: str, most: int) -> Iterator[list[FoundRecord]]:
        """Yield what is found, in parts, each at most `most` and its newest first. A part may hold
        newer records than the ones before it. Raises `FinderFault`."""

    def indexed(self) -> float:
        """Return how much of the records can be found, from 0 to 1. Raises `FinderFault`."""

    def is_catching_up(self) -> bool:
        """Return whether more will be found in a moment, without anything new being recorded."""

    def read(self, record: FoundRecord) -> RecordText | None:
        """Return the record, None if it is no longer there."""

    def interrupt(self) -> None:
        """End what `find` does, soon; it may raise `FinderFault` then."""

    def close(self) -> None:
        """Let everything go."""


@dataclass(frozen=True, slots=True)
class SessionOnDisk:
    """A session on disk. `used_at` is in seconds since the epoch, `size` in bytes.

    `pid` is the program that has it open, None when it can be resumed.
    """

    id: str
    title: str
    cwd: str
    branch: str
    used_at: float
    size: int
    pid: int | None


class StoreFault(Exception):  # noqa: N818 - in words, for the person
    """It could not be done; the text says why."""


class SessionStore(Protocol):
    """Stored sessions. All methods but `resume_line` take a while: they are called on a thread."""

    @property
    def panes(self) -> str:
        """What has panes here: `tmux`, `zellij`; "" in a plain terminal."""

    def sessions(self) -> list[SessionOnDisk]:
        """Return them, the one used last first. Raises `StoreFault`."""

    def resume_line(self, session: SessionOnDisk) -> str:
        """Return the line that resumes one in any terminal."""

    def resume(self, session: SessionOnDisk) -> None:
        """Resume one in a new pane. Raises `StoreFault`."""

    def go_to(self, session_id: str) -> None:
        """Go to the pane of the program that has a session open. Raises `StoreFault`."""

    def delete(self, session: SessionOnDisk) -> None:
        """Delete one for good. Raises `StoreFault`."""


MOST = 2_000
"""Records of requests and answers that are looked at, the newest."""
_MOST_SHOWN = 4

EarlierRequests = Callable[[str, int], Iterable[Approval]]
"""Yields the permissions that sessions in a folder asked for, the newest first; it looks at so many
records at most. Called on a thread of its own; raises `EarlierFault`."""


class EarlierFault(Exception):  # noqa: N818 - in words, for the person
    """What was asked earlier cannot be told, and why."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What rules would have allowed. `texts` are what was asked, and how often."""

    looked_at: int
    allowed: int
    texts: list[str]

    def words(self, where: str) -> str:
        if not self.looked_at:
            return f"{where} nothing else was asked."
        shown = ", ".join(self.texts[:_MOST_SHOWN])
        more = len(self.texts) - _MOST_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        allowed = f"{self.allowed}: {shown}{rest}" if self.allowed else "none of them"
        return f"{where} of {quantity(self.looked_at, 'request')} it would have allowed {allowed}"


NOTHING = Matched(0, 0, [])


def matched(requests: Iterable[Approval], rules: "Sequence[PolicyRule]", folder: str) -> Matched:
    """Judge what was asked by rules alone, as if nothing were guarded."""
    from tapui.policies.guards import Guards
    from tapui.policies.requests import of_permission
    from tapui.policies.verdicts import judge

    allowed: Counter[str] = Counter()
    looked_at = 0
    for one in requests:
        looked_at += 1
        request = of_permission(detail_of(one), folder)
        if judge(request, rules, folder, Guards()).effect == "allow":
            allowed[approvals.request(one)] += 1
    texts = [f"{text} ({times}×)" for text, times in allowed.most_common()]
    return Matched(looked_at, allowed.total(), texts)
