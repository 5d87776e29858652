"""Starting sessions: what a tower wants, what a host is told, and what became of it.

A tower says `session.start`, the gateway says the same to a host that starts sessions; the answer,
`session.started`, goes the same way back.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from tapui.wire import limits
from tapui.wire.bounds import Id, Path, Text
from tapui.wire.message import Message, Mode
from tapui.wire.steering import Told
from tapui.wire.subjects import RuleEffect

StartProblem = Literal["untrusted", "held", "unknown", "missing", "failed"]
"""Why a session was not started: its folder is not trusted, another process holds it, there is none
of this id, there is no CLI, or something else."""
StartedName = Annotated[str, Meta(max_length=limits.MAX_STARTED_NAME)]
Pattern = Annotated[str, Meta(max_length=limits.MAX_MESSAGE_BYTES)]


class GivenRule(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A rule for one session. `place` is `file:line`; `targets` are a path's pattern made absolute,
    as it is written and without links; `folder` is a real path."""

    effect: RuleEffect
    kind: Id
    pattern: Pattern
    place: Path = ""
    folder: Path | None = None
    exact: bool = False
    reason: Pattern | None = None
    targets: Annotated[list[Path], Meta(max_length=2)] | None = None


class SessionStart(Message, tag="session.start", frozen=True):
    """Start a session in a folder, or go on with a stored one (`resume`).

    `trust_folder`: the person trusts the folder for this session. `unattended`: nobody is asked in
    it: what no rule allows is denied at once, and it ends with the connection that started it.
    `rules` are for this session alone. A host is not told of `prompt`, which comes as an order, nor
    of `rules`; `sender` (`from` on the wire) is the gateway's to say.
    """

    id: Id
    folder: Path | None = None
    prompt: Told | None = None
    model: Id | None = None
    mode: Mode | None = None
    name: StartedName | None = None
    trust_folder: bool = False
    resume: Id | None = None
    unattended: bool = False
    rules: Annotated[list[GivenRule], Meta(max_length=limits.MAX_GIVEN_RULES)] | None = None
    sender: Id | None = field(default=None, name="from")


class SessionStarted(Message, tag="session.started", frozen=True):
    """The answer to `session.start`: the session that is open, or why there is none."""

    id: Id
    session_id: Id | None = None
    problem: StartProblem | None = None
    error: Text | None = None


class HostWanted(Message, tag="host.wanted", frozen=True):
    """Sessions are to be started, and no host that does so is there: start one."""
