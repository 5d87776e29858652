"""Prove it now, and send it back: a session's check as the person's own command, and what is
missing as a prompt.

`proof.run` first answers with `proof.plan`, and nothing runs; with the plan's digest, or of what
was allowed before over the same files, it runs and answers with `proof.began`. Its output and its
end follow, to every tower that asked for it.
"""

from typing import Literal

from tapui.wire.bounds import Id
from tapui.wire.criteria import CriterionText
from tapui.wire.message import Message

ProofOutcome = Literal["passed", "failed", "unknown"]


# Tower → gateway


class ProofRun(Message, tag="proof.run"):
    """Run the session's check once, with the person's rights. Without `command` it is the newest
    one that ran in its folder, and that the person can be shown. `seen`: the digest of the plan
    that the person was shown."""

    id: Id
    session_id: Id
    command: CriterionText | None = None
    seen: Id | None = None


class ProofStop(Message, tag="proof.stop"):
    """Stop the check that the person runs in the session; one that has ended is left alone."""

    session_id: Id


class ProofSendBack(Message, tag="proof.sendBack"):
    """Tell the session's agent what is missing of its last turn. The answer is
    `session.ordered`."""

    id: Id
    session_id: Id


# Gateway → tower


class ProofPlan(Message, tag="proof.plan"):
    """What would run. `changed` are the files of the check that changed since the session began,
    the first few, and `more` how many others; `doubt` says why there may be more."""

    id: str
    session_id: str
    command: str
    cwd: str
    digest: str
    changed: list[str] = []
    more: int = 0
    doubt: str = ""


class ProofBegan(Message, tag="proof.began"):
    """The check runs since `at`, as this tower or another one has ordered it."""

    id: str
    session_id: str
    command: str
    cwd: str
    at: str


class ProofLines(Message, tag="proof.lines"):
    """Lines of output; the first of them has the number `first`, counted from 1. Lines before it
    that did not come were too many."""

    id: str
    first: int
    lines: list[str]


class ProofEnded(Message, tag="proof.ended"):
    """The end of the check: `text` names it and says why. `code` is its exit code, where it had
    one."""

    id: str
    outcome: ProofOutcome
    text: str
    code: int | None = None
