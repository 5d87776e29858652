"""What a script is made of. Seconds are those of the demo as people see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LATER = 20.0
"""Seconds for which one request is all that waits: there is time to answer it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing happens."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Intend:
    """The agent says what it is doing."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """A message, written piece by piece. `{answer}` stands for the person's last answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """A call of a tool of the session's own, which is only told of: nothing runs."""

    tool: str
    args: Mapping[str, object]
    seconds: float = 0.5
    output: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    """What the person decides: `then` is played if they agree, else `otherwise`."""

    then: "tuple[Step, ...]" = ()
    otherwise: "tuple[Step, ...]" = ()


@dataclass(frozen=True, slots=True)
class Ask(_Decided):
    """A command that runs only if the person allows it."""

    call: Use
    intention: str


@dataclass(frozen=True, slots=True)
class Replace(_Decided):
    """A text in a file of the session's folder is replaced if the person allows it."""

    path: str
    text: str
    old: str
    new: str
    intention: str


@dataclass(frozen=True, slots=True)
class Write:
    """A file that the session's folder has is written anew, without a question."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Tell:
    """A line for the person, from the demo itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Enquire(_Decided):
    """A question with choices, or with a `schema` a form."""

    text: str
    choices: tuple[str, ...] = ()
    schema: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Mode(_Decided):
    """The agent asks for another mode; nothing where the session is in it."""

    mode: str
    reason: str


@dataclass(frozen=True, slots=True)
class Provided:
    """A call of a provider's tool; `gives_up` seconds after its beginning the agent does."""

    tool: str
    args: Mapping[str, object]
    gives_up: float | None = None


@dataclass(frozen=True, slots=True)
class Delegate:
    """A subagent, which works beside the steps that follow."""

    name: str
    description: str
    steps: "tuple[Step, ...]"


@dataclass(frozen=True, slots=True)
class Meet:
    """Wait for the subagents."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these is played."""

    choices: "tuple[tuple[Step, ...], ...]"


@dataclass(frozen=True, slots=True)
class Fail:
    """The session reports an error."""

    kind: str
    text: str


Step = (
    Pause
    | Intend
    | Say
    | Use
    | Ask
    | Replace
    | Write
    | Tell
    | Enquire
    | Mode
    | Provided
    | Delegate
    | Meet
    | OneOf
    | Fail
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A turn: one of the prompts, what it leads to, and how long the session is idle afterwards."""

    prompts: tuple[str, ...]
    steps: tuple[Step, ...]
    rest: float = 6.0


@dataclass(frozen=True, slots=True)
class Script:
    """A session and its turns, which are played again and again."""

    session: str
    label: str
    folder: str
    turns: tuple[Scene, ...]
    foreground: bool = False
    begins: float = 0.0
    tokens: int = 12_000
    """How full its context is at the beginning."""
    woken: tuple[Step, ...] = field(default=())
    """What a provider's prompt leads to."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What is in its folder, by path."""
    later_files: Mapping[str, str] = field(default_factory=dict)
    """What comes into its folder from `LATER` on: what is asked for because of it."""
    is_recorded: bool = False
    """Whether its commands count for what is recorded: its files are real, and so must be what it
    tells of its checks."""


def run(command: str, seconds: float = 1.0, output: str = "", exit_code: int = 0) -> Use:
    return Use("bash", {"command": command}, seconds, output, exit_code)
