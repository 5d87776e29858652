"""Goals: what a session is to reach, how each criterion stands, and how the person works on them.

Times are RFC 3339 in UTC with microseconds. A goal is achieved when all of its criteria have passed
at one moment, or by the person: no message of an agent sets it.
"""

from typing import Annotated, Literal

from msgspec import Meta

from tapui.wire import limits
from tapui.wire.bounds import Id, Text
from tapui.wire.criteria import AnyDemand, Criterion, CriterionText, Pointer, Sha256, Verdict
from tapui.wire.message import Message, WireStruct

GoalStatus = Literal["active", "paused", "blocked", "achieved", "failed", "abandoned"]
GoalOpener = Literal["agent", "person", "file", "copilot"]
"""`file`: the folder's `tap.config.json`, with the person's consent. `copilot`: the session's own
objective, which has no criteria."""
Unproven = Literal["tell", "send back"]
"""What the end of a turn does with a goal that is not proven; only the person sets `send back`."""
CheckStatus = Literal["pass", "fail", "error", "unknown"]
GoalTitle = Annotated[str, Meta(max_length=limits.MAX_SUMMARY)]
GoalNoteText = Annotated[str, Meta(max_length=limits.MAX_CRITERION)]

GOALS_STREAM = "goals@tap"
"""The stream that has a line for each change of a session's goals."""
FOLD = "fold"
"""Has closed a goal of which all criteria had passed."""
DEADLINE = "deadline"
"""Has closed one that was not achieved by then."""
CLOSED: frozenset[GoalStatus] = frozenset({"achieved", "failed", "abandoned"})
"""A goal in one of these states does not change any more."""


class GoalBudget(WireStruct):
    """What sending a goal's agent back may use; None: without bounds beside the three a turn."""

    turns: Annotated[int, Meta(ge=0, le=limits.MAX_SEQ)] | None = None
    tokens: Annotated[int, Meta(ge=0, le=limits.MAX_SEQ)] | None = None


class CriterionGiven(WireStruct):
    """A criterion of a message; without `id` it gets one, without `text` that of its check."""

    id: Id | None = None
    text: CriterionText = ""
    check: AnyDemand | None = None


CriteriaGiven = Annotated[list[CriterionGiven], Meta(max_length=limits.MAX_CRITERIA)]


class SurfaceChange(WireStruct):
    """A file that says what a check does, and that is not what it was at the goal's opening."""

    path: str
    diff: str = ""
    """Its lines before and after, as a unified diff, which ends in `…` where it was cut; "" where
    one of both was not read as text, and of further files."""


class GoalCriterion(Criterion):
    """A criterion of a goal, who gave it, and how it stood when it was judged last."""

    by: GoalOpener = "person"
    verdict: Verdict | None = None
    """None: it was not judged yet."""
    surface: str = ""
    """The sha256 of the files that say what its check does, as they are now."""
    changed: list[SurfaceChange] = []
    """How they differ from those at the opening, or from those that the person allowed since."""


class SentBack(WireStruct):
    """How often the agent was sent back for a goal, and what that used."""

    times: int = 0
    """In the turn under way, or the last one."""
    turns: int = 0
    """Over all turns."""
    tokens: int = 0
    """Tokens in and out that turns used after they were sent back."""
    most: int = limits.TRIES
    """How often it may be in one turn."""


class FileEntry(WireStruct):
    """The entry of a folder's `tap.config.json` that a goal was opened from: the folder without
    links, the title as the file has it, and a digest of all of the entry."""

    folder: str
    name: str
    digest: Sha256


class Goal(WireStruct):
    """A goal of a session. `revision` counts its changes, from 1."""

    id: str
    session_id: str
    title: str
    status: GoalStatus
    revision: int
    opened_by: GoalOpener
    opened_at: str
    criteria: list[GoalCriterion] = []
    unproven: Unproven = "tell"
    agent: str | None = None
    """The subagent, by its name, whose ends it is about; None: the session's own."""
    parent: str | None = None
    deadline: str | None = None
    budget: GoalBudget | None = None
    note: str = ""
    """The newest note."""
    note_by: GoalOpener | None = None
    sent_back: SentBack = SentBack()
    is_unasked: bool = False
    """Whether it is to send back and its session's host did not ask before a turn ended: there the
    person is only told how it stands."""
    verified_at: str | None = None
    closed_at: str | None = None
    closed_by: str | None = None
    """`FOLD`, `DEADLINE`; `file`: its entry is gone, or another one is allowed; `copilot`: it
    follows the session's own objective; else how the person, or the agent, is recorded."""
    changed_since: int | None = None
    """How many files changed since it was achieved; None where that is not known."""
    turn: int | None = None
    """The number of the turn in which it was opened."""
    trace_id: str | None = None
    entry: FileEntry | None = None
    """Where a file opened it."""
    is_cut: bool = False
    """Whether texts were cut and checks left out; `goals.read` gives all. Only in snapshots."""

    @property
    def is_open(self) -> bool:
        return self.status not in CLOSED

    @property
    def is_persons(self) -> bool:
        """Whether an agent may neither close nor change it."""
        return self.opened_by in ("person", "file")


class Objective(WireStruct):
    """A session's own objective, the data of its event `session.objective`; without an `id` it has
    none."""

    id: Id | None = None
    text: CriterionText = ""
    status: Literal["active", "paused", "completed"] = "active"
    reason: CriterionText = ""
    """Why it is paused, or what its agent said when it completed it."""


# Evidence


class CommandExpected(WireStruct):
    """What a stated command is to have ended with."""

    exit_code: int = 0
    contains: CriterionText | None = None
    not_contains: CriterionText | None = None
    matches: Annotated[str, Meta(max_length=limits.MAX_PATTERN)] | None = None
    where: Literal["stdout", "stderr", "both"] = "both"


class CommandStated(WireStruct, tag_field="kind", tag="command", kw_only=True):
    """A command that a caller says it ran: only a record of the same call makes it evidence."""

    command: CriterionText
    exit_code: int | None = None
    stdout: Text = ""
    stderr: Text = ""
    cwd: Annotated[str, Meta(max_length=limits.MAX_PATH)] | None = None
    ran_at: Id | None = None
    tool_call_id: Id | None = None
    expect: CommandExpected = CommandExpected()


class EvidenceNamed(WireStruct, tag_field="kind", tag="record", kw_only=True):
    """A pointer that a caller names: `stream@provider#seq`, a file, `records:…`."""

    uri: Annotated[str, Meta(max_length=limits.MAX_PATH)]


class EvidenceCheck(WireStruct):
    """A check of evidence: a demand, a stated command, or a pointer."""

    of: AnyDemand | CommandStated | EvidenceNamed
    id: Id | None = None
    why: CriterionText = ""


EvidenceChecks = Annotated[list[EvidenceCheck], Meta(max_length=limits.MAX_EVIDENCE_CHECKS)]


class CheckResult(WireStruct):
    """What came of a check. `expected` and `actual` are in words, secrets masked."""

    id: str
    kind: str
    status: CheckStatus
    expected: str
    actual: str = ""
    reason: str = ""
    evidence: Pointer | None = None


class CheckCounts(WireStruct, omit_defaults=False):
    """How many checks ended so."""

    # The names of the interface; `pass` is a keyword.
    passed: int = 0
    failed: int = 0
    error: int = 0
    unknown: int = 0


class GoalReport(WireStruct):
    """What came of verifying: `verified` where all checks pass, `failed` where one fails."""

    verdict: Literal["verified", "failed", "unverifiable"]
    checks: list[CheckResult]
    counts: CheckCounts
    evidence_id: str
    checked_at: str
    goal_id: str | None = None


class Claim(WireStruct):
    """A claim to audit, with what is to support it."""

    text: CriterionText
    id: Id | None = None
    evidence: EvidenceChecks = []
    material: bool = True


Claims = Annotated[list[Claim], Meta(max_length=limits.MAX_CLAIMS)]
ClaimVerdict = Literal["supported", "contradicted", "unsupported"]


class AuditedClaim(WireStruct):
    """A claim, and how far its evidence carries it."""

    id: str
    text: str
    verdict: ClaimVerdict
    reason: str = ""
    material: bool = True
    checks: list[CheckResult] = []


class ClaimAudit(WireStruct):
    """What came of an audit: the worst of the material claims."""

    verdict: ClaimVerdict
    claims: list[AuditedClaim]
    audit_id: str
    audited_at: str
    goal_id: str | None = None


# Tower → gateway


class GoalOpen(Message, tag="goal.open"):
    """Open a goal of the person's in a session. Without a title it has that of its first
    criterion. The answer is `goal.answer`."""

    id: Id
    session_id: Id
    title: GoalTitle = ""
    criteria: CriteriaGiven = []
    unproven: Unproven = "tell"
    agent: Id | None = None
    parent: Id | None = None
    deadline: Id | None = None
    budget: GoalBudget | None = None


class GoalChange(Message, tag="goal.change"):
    """Change a goal: what is absent stays. `status` is the person's own: `achieved` needs no
    proof. `unproven` switches sending back. The answer is `goal.answer`."""

    id: Id
    goal_id: Id
    title: GoalTitle | None = None
    status: Literal["active", "paused", "blocked", "achieved", "failed"] | None = None
    unproven: Unproven | None = None
    add_criteria: CriteriaGiven = []
    drop_criteria: Annotated[list[Id], Meta(max_length=limits.MAX_CRITERIA)] = []
    deadline: Id | None = None
    budget: GoalBudget | None = None


class GoalVerify(Message, tag="goal.verify"):
    """Judge all criteria of a goal now. The answer is `goal.answer`, with the report."""

    id: Id
    goal_id: Id


class GoalNote(Message, tag="goal.note"):
    """Note something at a goal. The answer is `goal.answer`."""

    id: Id
    goal_id: Id
    text: GoalNoteText


class GoalDrop(Message, tag="goal.drop"):
    """Give a goal up. The answer is `goal.answer`."""

    id: Id
    goal_id: Id
    reason: GoalNoteText = ""


class SurfaceAllow(Message, tag="goal.allow"):
    """Let a criterion's check count although what it does was changed: exactly this change,
    `surface` of the criterion. The answer is `goal.answer`."""

    id: Id
    goal_id: Id
    criterion_id: Id
    surface: Sha256


class GoalsRead(Message, tag="goals.read"):
    """Ask for goals of a session, or of all, closed ones included. The answer is `goals.list`."""

    id: Id
    session_id: Id | None = None
    status: GoalStatus | None = None
    last: Annotated[int, Meta(ge=1, le=limits.MAX_GOALS)] = 20


# Gateway → tower


class GoalAnswer(Message, tag="goal.answer"):
    """The goal, and what came of verifying it."""

    id: str
    goal: Goal
    report: GoalReport | None = None


class GoalsList(Message, tag="goals.list"):
    """The answer to `goals.read`, oldest first."""

    id: str
    goals: list[Goal]


# Built-in tools → gateway


class GoalAsked(Message, tag="goals.create"):
    """A session's agent opens a goal of its own."""

    id: Id
    session_id: Id
    title: GoalTitle
    criteria: CriteriaGiven
    agent_id: Id | None = None
    parent: Id | None = None
    deadline: Id | None = None
    budget: GoalBudget | None = None


class GoalUpdateAsked(Message, tag="goals.update"):
    """A session's agent changes a goal of its own, or notes something at any."""

    id: Id
    session_id: Id
    goal_id: Id
    status: Literal["active", "paused", "blocked", "abandoned"] | None = None
    note: GoalNoteText = ""
    add_criteria: CriteriaGiven = []
    evidence: EvidenceChecks = []


class SessionGoalsRead(Message, tag="goals.ofSession"):
    """A session's agent asks for its goals. The answer is `goals.list`."""

    id: Id
    session_id: Id
    status: GoalStatus | None = None
    last: Annotated[int, Meta(ge=1, le=limits.MAX_GOALS)] = 20


class VerifyAsked(Message, tag="goals.verify"):
    """A session's agent has a goal verified, or checks of its own. The answer is
    `goals.verified`."""

    id: Id
    session_id: Id
    goal_id: Id | None = None
    checks: EvidenceChecks = []
    allow_stated: bool = False


class AuditAsked(Message, tag="claims.audit"):
    """A session's agent has claims audited. The answer is `claims.audited`."""

    id: Id
    session_id: Id
    claims: Claims
    goal_id: Id | None = None


# Gateway → built-in tools


class GoalReported(Message, tag="goals.verified"):
    """What came of `goals.verify`, and the goal."""

    id: str
    report: GoalReport
    goal: Goal | None = None


class ClaimsReported(Message, tag="claims.audited"):
    """What came of `claims.audit`."""

    id: str
    audit: ClaimAudit
