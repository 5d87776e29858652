"""What the tower needs of the station: finding in the records, questions to them, stored sessions,
past requests, rules that answers suggest.

The tower knows these protocols only; a tower over a feed without them shows less."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from tapui.projection import approvals
from tapui.projection.requests.request_kind import detail_of
from tapui.tower.wording.words import quantity
from tapui.wire.subjects import Approval

if TYPE_CHECKING:
    from tapui.policies.rules import PolicyRule
    from tapui.policies.suggestions import SuggestedRules


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


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """The recorded change that a line of a file comes from. `prompt` is what its turn was asked to
    do, "" where that is not known; `title` is the call. `is_sure`: no other change interfered."""

    ts: str
    session_id: str | None
    session: str
    turn: int | None
    prompt: str
    title: str
    is_sure: bool


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

    def damaged(self) -> int:
        """Return how many lines of the records are damaged, and cannot be found. Raises
        `FinderFault`."""

    def is_catching_up(self) -> bool:
        """Return whether more will be found in a moment, without anything new being recorded."""

    def read(self, record: FoundRecord) -> RecordText | None:
        """Return the record, None if it is no longer there."""

    def writer_of(self, path: Path, line: int, text: str) -> WrittenLine | None:
        """Return the last recorded change of a line (from 1) of a file, which says `text`; None for
        none, also where that line says something else by now. Raises `FinderFault`."""

    def interrupt(self) -> None:
        """End what `find` does, soon; it may raise `FinderFault` then."""

    def close(self) -> None:
        """Let everything go."""


class KnownQuestion(NamedTuple):
    """A question to the records that has a name. `takes` are what it takes, as (KEY, its value
    where none is given, what it is); `is_own`: the person's own."""

    name: str
    about: str
    takes: tuple[tuple[str, str, str], ...] = ()
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    """An answer of the records: `rows` has texts, numbers and None, `texts` the same as a person
    reads them. `numbers` are the columns of numbers. `is_cut`: there are more rows than these.
    `note`: what is missing in it or damaged, "" for nothing."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]
    texts: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    is_cut: bool = False
    note: str = ""


class AnswerFault(Exception):  # noqa: N818 - in words, for the person
    """There is no answer, and why."""


AnswerForm = Literal["csv", "json", "md"]
"""What an answer is written as."""


class AskedQuestion(Protocol):
    """A question that was asked once."""

    def answer(self) -> RecordAnswer:
        """Wait for the answer. Raises `AnswerFault`, soon after `cancel`."""

    def cancel(self) -> None:
        """End it, from any thread; also one whose `answer` is yet to be called."""


class RecordQuestions(Protocol):
    """Questions to the records. All but `ask` block, and may be called in any thread."""

    def known(self) -> list[KnownQuestion]:
        """Return the stock questions and the person's own, by name. Raises `AnswerFault`."""

    def ask(self, text: str) -> AskedQuestion:
        """Return what answers `NAME KEY=VALUE …`, or SQL."""

    def read(self, ref: str) -> tuple[FoundRecord, RecordText] | None:
        """Return the record that a row leads to, None if it is no longer there. Raises
        `AnswerFault`."""

    def write(self, answer: RecordAnswer, name: str, form: AnswerForm) -> Path:
        """Write an answer into a file of this name and the time, and return it. Raises
        `AnswerFault`."""


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


class FolderHead(NamedTuple):
    """The repository that a folder lies in, by the folder of its files, and what is checked out: a
    branch, or the beginning of a commit in parentheses. Both are "" where there is none."""

    repository: str = ""
    branch: str = ""


class AgentOnDisk(NamedTuple):
    """A custom agent, by the name that it is chosen by; `is_own`: the person's, in all folders."""

    name: str
    description: str
    is_own: bool


class PastChecks(NamedTuple):
    """Of turns that changed files and ended: how many, and how many without a check since."""

    turns: int
    unchecked: int


class StoreFault(Exception):  # noqa: N818 - in words, for the person
    """It could not be done; the text says why."""


class IgnoredFiles(NamedTuple):
    """Files of a work tree that git ignores, without those that programs make again.

    `names` are the first ones, files and whole folders; `seal` names the set of all, "" for none.
    """

    files: int = 0
    size: int = 0
    """Bytes."""
    names: tuple[str, ...] = ()
    seal: str = ""


class WorktreeState(NamedTuple):
    """A work tree that tapui has made, why it cannot be removed, and what would go with it.

    `folder` is "" for another folder, `fault` is "" where it can be removed.
    """

    folder: str = ""
    fault: str = ""
    ignored: IgnoredFiles = IgnoredFiles()


class SessionStore(Protocol):
    """Stored sessions. All methods but `resume_line` take a while: they are called on a thread."""

    @property
    def panes(self) -> str:
        """What has panes here: `tmux`, `zellij`, `kitty`, `wezterm`; "" in a plain terminal."""

    def sessions(self) -> list[SessionOnDisk]:
        """Return them, the one used last first. Raises `StoreFault`."""

    def resume_line(self, session: SessionOnDisk) -> str:
        """Return the line that resumes one in any terminal."""

    def resume(self, session: SessionOnDisk) -> None:
        """Resume one in a new pane. Raises `StoreFault`."""

    def go_to(self, session_id: str) -> None:
        """Go to the pane of the program that has a session open. Raises `StoreFault`, which says
        where it runs."""

    def go_to_process(self, pid: int) -> None:
        """Go to the pane of a program. Raises `StoreFault` like `go_to`."""

    def head(self, folder: str) -> FolderHead:
        """Read what is checked out in a folder."""

    def delete(self, session: SessionOnDisk) -> None:
        """Delete one for good. Raises `StoreFault`."""

    def past_checks(self, since: float, goes_on: Callable[[], bool]) -> PastChecks:
        """Return what stored sessions tell of turns since then (seconds since the epoch), as far as
        it was read while `goes_on` said yes. Raises `StoreFault`."""

    def agents(self, folder: str) -> list[AgentOnDisk]:
        """Return the custom agents whose files name them for a folder, by name."""

    # Work trees that tapui makes for sessions

    def add_worktree(self, folder: str, branch: str) -> str:
        """Make one with a new branch beside a folder's repository; return where it is. Raises
        `StoreFault`."""

    def worktree(self, folder: str) -> WorktreeState:
        """Look at the work tree that a folder is."""

    def remove_worktree(self, folder: str, seal: str = "") -> None:
        """Remove one in which all is committed, with the ignored files of this seal; its branch
        stays. Raises `StoreFault`."""


MOST = 2_000
"""Records of requests and answers that are looked at, the newest."""
_MOST_SHOWN = 4

EarlierRequests = Callable[[str, int], Iterable[Approval]]
"""Yields the permissions that sessions in a folder asked for, the newest first; it looks at so many
records at most. Called on a thread of its own; raises `EarlierFault`."""


class EarlierFault(Exception):  # noqa: N818 - in words, for the person
    """What was asked earlier cannot be told, and why."""


class RuleSuggestions(Protocol):
    """Rules that the person's answers suggest."""

    def found(self) -> "Sequence[SuggestedRules]":
        """Return them, as of now. Called on a thread; raises `EarlierFault`."""

    def take(self, suggestion: "SuggestedRules") -> str | None:
        """Write the rules; return why that failed, or None."""

    def refuse(self, suggestion: "SuggestedRules") -> str | None:
        """Suggest them never again; return why that failed, or None."""


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
