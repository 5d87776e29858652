"""What every kind of request has: its words, its facts, its answers, and how one is given."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from tapui.projection.changes import changes
from tapui.projection.paragraphs import Paragraph, readable, title, value
from tapui.projection.state import State, subagent_name
from tapui.text import cut
from tapui.wire.subjects import Approval
from tapui.wire.turns import StepKind

Answer = Literal["allow", "keep", "make-rule", "deny", "deny-and-tell", "one-by-one"]
"""What a letter stands for: the action of its key."""
Fields = Literal["sessions", "answer", "form"]
"""What is filled in before a request is allowed."""


class Option(NamedTuple):
    """An answer that a request can have: what its letter does, what Enter then does."""

    answer: Answer
    does: str
    enter: str


TITLES = {
    "warning": "warning",
    "riskAssessment": "risk, as Copilot sends it",
    "hookMessage": "the hook says",
    "args": "arguments",
    "toolArgs": "arguments",
    "diff": "changes",
    "newFileContents": "new contents",
    "plan": "plan",
    "resolvedPath": "where it really is",
    "hardLinks": "has other names",
    "possiblePaths": "paths in it",
    "shellType": "shell",
}

MOST_PROMPT = 60
"""Characters of its first prompt that name a session."""
DENY = Option("deny", "deny", "denies")
DENY_AND_TELL = Option("deny-and-tell", "deny, and tell the agent …", "denies and tells it this")


class AskedRequest(NamedTuple):
    """A request, and all of its detail."""

    approval: Approval
    detail: Mapping[str, Any]


class RequestContext(NamedTuple):
    """What an explanation reads besides the request. `date` shows a time as the person reads it:
    local time is no business of a fold without I/O. `is_whole`: fields that have no words are
    shown, too."""

    state: State
    date: Callable[[str], str]
    is_whole: bool = False


class RequestKind:
    """One kind of request. Nothing that it returns is made safe yet.

    A request is shown alone, or with others that one answer settles (`together`): what takes
    several gets them in the order of the screen.
    """

    word: ClassVar[str] = ""
    """What it is called in the history of turns."""
    verb_word: ClassVar[str] = ""
    """What is asked for, in a word."""
    asks: ClassVar[str] = "asks for a permission"
    """What the asker does, after its name, in a headline."""
    notice: ClassVar[str] = "asks for a permission"
    """The same in a notice: constant words, after the session's name unless `is_of_session`."""
    is_of_session: ClassVar[bool] = True
    fields: ClassVar[Fields | None] = None
    must_be_read: ClassVar[bool] = True
    """Whether it can be allowed only once its end was on screen."""
    is_revealed: ClassVar[bool] = False
    """Whether allowing it shows a code that is to be entered elsewhere."""
    kept_as: ClassVar[Mapping[str, Any] | None] = None
    """The answer that goes with `keep`; None where the gateway keeps the decision itself."""
    is_explained_alone: ClassVar[bool] = True
    """Whether `known` tells of its session and turn: `explained` does not."""
    titles: ClassVar[Mapping[str, str]] = TITLES
    """Fields that follow what is asked, in this order, with their names in words. All others are
    folded: they are a host's own."""
    is_copied: ClassVar[bool] = True
    """Whether `subject` is what is copied, and not the sheet's text."""

    def verb(self, approval: Approval) -> str:
        """Return in a word what is asked to be done: `run`, `write`, `mode`, `pair` …"""
        del approval
        return self.verb_word

    def notice_of(self, approval: Approval) -> str:
        del approval
        return self.notice

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        """Return what `verb` is done to, in full; it may have line feeds."""
        raise NotImplementedError

    def about(self, state: State, approval: Approval, detail: Mapping[str, Any]) -> str:
        """Return what is asked, for a list in which the verb is not shown."""
        del state
        return self.line(approval, detail)

    def who(self, state: State, approval: Approval) -> str:
        """Return who asks: a session, a provider, or a terminal."""
        if approval.session_id is not None:
            return session_name(state, approval.session_id)
        return approval.provider or "-"

    def asker(self, state: State, approval: Approval, *, is_below: bool = False) -> str:
        """Return who asks, with the subagent. `is_below`: a request above names the session."""
        if approval.session_id is None:
            return self.who(state, approval)
        name, agent = session_name(state, approval.session_id), agent_name(state, approval)
        if agent and is_below:
            return f"└ {agent}"
        return f"{name} └ {agent}" if agent else name

    def reason(self, detail: Mapping[str, Any]) -> object:
        return detail.get("intention")

    def approved(self, approval: Approval) -> str:
        """Return what a yes to it is called."""
        del approval
        return "approved"

    def denied(self, approval: Approval) -> str:
        """Return what a denial of it is called."""
        del approval
        return "denied"

    def step(self, detail: Mapping[str, Any]) -> StepKind | None:
        """Return as which step a turn shows it; None where it is none of the agent's doing."""
        del detail
        return "gate"

    def is_only_for_the_tower(self, approval: Approval) -> bool:
        """Return whether a yes alone does not answer it."""
        del approval
        return False

    def unfit(self, approval: Approval, answer: object) -> str:
        """Return the field of an answer that does not fit what was asked, and why: `answer.then:
        choose one`; "" where all fit, or where it is not known what the request takes."""
        del approval, answer
        return ""

    def commands(self, approval: Approval) -> Sequence[tuple[str, str]]:
        """Return the commands that answer it, without the program, and the answer that each one
        gives; "" where the command says it."""
        if self.is_only_for_the_tower(approval):
            return (("next", "an answer"), ("deny ID", "none"))
        return (("approve ID", ""), ("deny ID", ""))

    # The sheet

    def together(
        self, state: State, waiting: Sequence[Approval], approval: Approval
    ) -> list[Approval]:
        del state, waiting
        return [approval]

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        return f"{self.asker(state, asked[0].approval)} {self.asks}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        """Return the answers that have an effect. `others`: how many requests could be
        answered together, these included."""
        raise NotImplementedError

    def subject(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        """Return the thing itself that is asked, whole and with its line feeds; "" where only the
        fields of the request have it."""
        return self.line(approval, detail)

    def explained(self, context: RequestContext, asked: Sequence[AskedRequest]) -> list[Paragraph]:
        """Return everything that the person should know before they decide, nothing cut."""
        approval, detail = asked[0]
        parts: list[Paragraph] = []
        main = self.subject(approval, detail)
        if shown := self.shown(context.state, approval, detail, main):
            parts += [*shown, Paragraph("")]
        if remarks := self.remarks(context, approval):
            parts += [*remarks, Paragraph("")]
        told = self.told(approval, detail)
        for key, name in self.titles.items():
            if key in detail and key not in told:
                is_diff = key == "diff" and isinstance(detail[key], str)
                parts.append(title(name))
                if is_diff:
                    parts += changes(detail[key])
                elif detail[key] is not True:  # of what is so the name says all
                    parts.append(value(readable(detail[key])))
                parts.append(Paragraph(""))
        if folded := self.folded(approval, detail):
            fields = f"{len(folded)} field{'s' * (len(folded) != 1)}"
            parts.append(title(f"{fields} that this tapui has no words for"))
            parts += [value(readable(folded))] if context.is_whole else []
            parts.append(Paragraph(""))
        return parts[:-1]

    def folded(self, approval: Approval, detail: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that `explained` shows only where all of it is wanted."""
        if not self.is_explained_alone:
            return {}
        told = {*self.titles, *self.told(approval, detail)}
        return {str(key): field for key, field in detail.items() if key not in told}

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        """Return the fields that are shown in another way than by their names."""
        raise NotImplementedError

    def shown(
        self, state: State, approval: Approval, detail: Mapping[str, Any], subject: str
    ) -> list[Paragraph]:
        """Return what is asked, with what is known of its parts."""
        del state, detail
        return [value(f"{subject}{changed_lines(approval)}", "strong")] if subject else []

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        del context
        if approval.provider is None:
            return []
        name = " ".join(approval.provider.split())
        return [Paragraph(f"provider, as it calls itself: {name}", "muted")]


def detail_of(approval: Approval) -> Mapping[str, Any]:
    """Return the approval's detail as a mapping, also where something else was sent."""
    detail = approval.detail
    return detail if isinstance(detail, dict) else {"detail": detail}


def session_name(state: State, session_id: str | None) -> str:
    """Return what the person or its program has named a session, else its first prompt, else its
    folder's name or its id; "" for no session."""
    if session_id is None:
        return ""
    session = state.sessions.get(session_id)
    if session is None:
        return session_id
    if session.label and session.label != session.cwd.rstrip("/").rpartition("/")[2]:
        return session.label
    known = state.turns.get(session_id)
    prompts = (one.prompt for one in known.turns if one.source.kind == "person") if known else ()
    return cut(next(filter(None, prompts), ""), MOST_PROMPT) or session.label or session_id


def agent_of(state: State, approval: Approval) -> str | None:
    """Return the id of the subagent that asks, None where the session itself does."""
    detail = detail_of(approval)
    agent = detail.get("agentId")
    if not isinstance(agent, str):
        call = state.calls.get(str(detail.get("toolCallId")))
        agent = call.agent_id if call is not None else None
    return agent


def agent_name(state: State, approval: Approval) -> str:
    """Return the name of the subagent that asks, "" where the session itself does."""
    agent = agent_of(state, approval)
    session = state.sessions.get(approval.session_id or "")
    if agent is None or session is None:
        return ""
    return next((subagent_name(one) for one in session.subagents if one.id == agent), agent)


def changed_lines(approval: Approval) -> str:
    """Return how many lines a diff that is known whole adds and removes, two spaces before it;
    empty for none."""
    diff = detail_of(approval).get("diff")
    if not isinstance(diff, str) or approval.is_cut:
        return ""
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return f"  +{added} \N{MINUS SIGN}{removed}" if added or removed else ""


def first_text(detail: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Return the first of these fields that is a text; "" where none is."""
    return next((key for key in keys if isinstance(detail.get(key), str) and detail[key]), "")
