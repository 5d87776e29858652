"""Facts: what tapui saw happen in a session, in the order in which the ledger has it."""

from typing import Literal

from msgspec import field

from tapui.core.proof.folder_states import FolderState, StateChange
from tapui.core.proof.summaries import Summary
from tapui.wire.changes import ChangeNote
from tapui.wire.criteria import SessionStanding, TurnProof
from tapui.wire.goals import Goal
from tapui.wire.message import WireStruct
from tapui.wire.reviews import Finding

Author = Literal["agent", "person"]


class Fact(WireStruct, tag_field="fact", kw_only=True):
    """Base of all facts; the tag is its `fact`. Times are RFC 3339."""

    at: str


class WatchBegan(Fact, tag="watched"):
    """A run of the gateway began to watch the session: what happens between two runs is not known.

    With `why` the facts before this one do not count any more.
    """

    run: str
    why: str = ""


class TurnBegan(Fact, tag="turn"):
    """A turn of the agent began."""

    turn: int


class TurnEnded(Fact, tag="end"):
    """A turn of the agent ended."""

    turn: int


class TurnJudged(Fact, tag="judged"):
    """What was shown of the turn that began at `started_at` and changed files; None: nothing, as no
    check is known."""

    started_at: str
    proof: TurnProof | None = None


class SessionJudged(Fact, tag="stood"):
    """How the session stood after all facts before this one; None: no check is known."""

    standing: SessionStanding | None = None


class CommandBegan(Fact, tag="begin"):
    """The CLI's own shell, or a terminal that tapui runs, was given a command."""

    call_id: str
    text: str
    cwd: str
    shell: str = "bash"
    turn: int = 0
    by: Author = "agent"


class CommandEnded(Fact, tag="command"):
    """A command ended. Without `code` that was not reported. `is_behind`: it still runs, in the
    background, and another `command` follows. `cwd`: where it began, as its shell told."""

    call_id: str
    code: int | None = None
    is_behind: bool = False
    tests: dict[str, Summary] = field(default_factory=dict)
    """What the checks in it report, by their programs."""
    cwd: str = ""
    unrun: str = ""
    """Why a program in it did not run: something is not there, as its code or its output says."""
    shell_id: str = ""
    """The shell in which it still runs."""
    is_denied: bool = False
    """Whether it was not allowed: nothing of it ran."""


class FilesWritten(Fact, tag="files"):
    """A call of a tool other than a shell changed files, as its host reported. Without `paths` it
    may have: the host does not say. By the `person`: files that they put back with tapui."""

    call_id: str
    paths: list[str] = field(default_factory=list)
    tool: str = ""
    by: Author = "agent"


class FolderSeen(Fact, tag="folder"):
    """The folder was looked at. `call_id`: for a command, before (`is_before`) or after it.

    `is_same`: nothing has changed since the look before, whose states are not written again.
    `is_beside`: a call that may write was under way: it may be of before or after that.
    """

    states: list[FolderState] = field(default_factory=list)
    call_id: str = ""
    is_before: bool = False
    is_same: bool = False
    is_beside: bool = False


class FolderChangeSeen(Fact, tag="folderChange"):
    """The same, by what is not as at the look before, of which there was one since tapui began to
    watch: whole states would be much of a ledger.

    This is no field of `FolderSeen`: an earlier tapui, which does not know it, must not take the
    states for empty ones.
    """

    changes: list[StateChange]
    call_id: str = ""
    is_before: bool = False
    is_beside: bool = False


class GoalStood(Fact, tag="goal"):
    """A goal was opened or changed: all of it, from then on."""

    goal: Goal


class PersonAnswered(Fact, tag="answer"):
    """The person said whether exactly this text is so, for a goal."""

    goal_id: str
    text: str
    is_yes: bool


class ToolEnded(Fact, tag="tool"):
    """A call of a tool that an open goal is about ended. `by`: the provider, or another program
    that answered it; "" for the session's own."""

    call_id: str
    tool: str
    is_ok: bool
    by: str = ""
    args: dict[str, str] = field(default_factory=dict)
    """Its arguments by name, each as JSON; those that are too long are left out."""


class SurfaceSeen(Fact, tag="surface"):
    """What a criterion's check does at the goal's opening, or what the person allowed since: the
    files that say it, as text where they are one. `fault`: why they could not all be read then,
    unless the person allowed that."""

    goal_id: str
    criterion_id: str
    digest: str
    files: dict[str, str] = field(default_factory=dict)
    fault: str = ""


class ToolsStood(Fact, tag="tools"):
    """The person has switched tools off, by provider: from then on these, and no others. An empty
    list: all of the provider's."""

    off: dict[str, list[str]]


class SeenByPerson(Fact, tag="seen"):
    """The person marked a file as seen in this state; "": not any more."""

    root: str
    path: str
    state_id: str = ""


class NoteStood(Fact, tag="note"):
    """A note on the session's changes was kept or changed: all of it, from then on."""

    note: ChangeNote


class NoteLeft(Fact, tag="noteDropped"):
    """The person dropped a note."""

    note_id: str


class FindingStood(Fact, tag="finding"):
    """The person decided about a finding of a review, or an agent proposed to: what it is known by,
    without its body and its check."""

    finding: Finding


MarkFact = SeenByPerson | NoteStood | NoteLeft | FindingStood
"""What the person marked: nothing that was proven rests on it."""

AnyFact = (
    WatchBegan
    | TurnBegan
    | TurnEnded
    | TurnJudged
    | SessionJudged
    | CommandBegan
    | CommandEnded
    | FilesWritten
    | FolderSeen
    | FolderChangeSeen
    | GoalStood
    | PersonAnswered
    | ToolEnded
    | SurfaceSeen
    | ToolsStood
    | MarkFact
)
