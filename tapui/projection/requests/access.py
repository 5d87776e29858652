"""Who may come in: pages and programs that pair, providers of all sessions, terminals, commands."""

from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.paragraphs import Paragraph, value
from tapui.projection.requests.request_kind import (
    DENY,
    AskedRequest,
    Option,
    RequestContext,
    RequestKind,
    detail_of,
)
from tapui.projection.state import State
from tapui.wire.subjects import Approval

_WANTED = {
    "approve": "approve",
    "deny": "deny",
    "approval.decide": "decide",
    "approval.reveal": "show a pairing code",
    "session.mode": "switch the mode of session",
    "session.budget": "change the budget of session",
    "session.tell": "send a text to session",
    "session.stop": "stop the turn of session",
    "session.compact": "compact session",
    "session.set": "change session",
    "session.end": "end session",
    "session.start": "start a session",
    "tower.hello": "decide as a tower",
    "provider.move": "move a provider to session",
    "injects.resume": "release held messages in session",
    "token.mint": "make a token for session",
    "emitter.start": "start an emitter",
    "emitter.stop": "stop an emitter",
    "emitter.pause": "pause an emitter",
    "emitter.resume": "resume an emitter",
    "emitter.run": "run an emitter",
    "emitter.filter": "change a filter",
    "emitter.keep": "keep an emitter",
    "goal.open": "open a goal in session",
    "goal.change": "change goal",
    "goal.verify": "verify goal",
    "goal.note": "note something at goal",
    "goal.drop": "drop goal",
    "goal.allow": "let a changed check count for goal",
}
"""What a message that only the person may send does, in words; of decisions by what is decided."""


class PairingRequest(RequestKind):
    """A page or a program asks for a token: a code that is entered there shows that both are the
    person's."""

    word = "pairing"
    verb_word = "pair"
    asks = "asks to be paired"
    notice = "a web page or program asks to pair"
    is_of_session = False
    fields = "sessions"
    must_be_read = False
    is_revealed = True

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        return str(detail.get("origin") or "local program")

    def asker(self, state: State, approval: Approval, *, is_below: bool = False) -> str:
        if approval.session_id is None:
            return "a web page"
        return super().asker(state, approval, is_below=is_below)

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        origin = detail_of(asked[0].approval).get("origin")
        return f"{'A web page' if origin else 'A local program'} {self.asks}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        if asked[0].approval.state == "revealed":
            return [Option("deny", "deny: the code is of no use any more", "denies")]
        return [Option("allow", "show the pairing code", "shows the pairing code"), DENY]

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"origin"})

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        remark = Paragraph("The code that you are shown is to be entered there.", "muted")
        return [*super().remarks(context, approval), remark]


class BindAllRequest(RequestKind):
    """A provider asks to join all sessions, later ones too."""

    word = "bind to all sessions"
    verb_word = "join all"
    asks = "asks to join all sessions"
    notice = "a provider asks to join all sessions"
    is_of_session = False

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        return str(detail.get("name") or approval.provider or "a provider")

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        approval = asked[0].approval
        return f"{self.line(approval, detail_of(approval))} {self.asks}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        return [Option("allow", "allow", "allows it"), DENY]

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"name"})

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        return [Paragraph("It would see every session, later ones too.", "muted")]


class _WantsToAnswer(RequestKind):
    asks = "wants to answer for you"
    is_of_session = False

    def who(self, state: State, approval: Approval) -> str:
        return str(detail_of(approval).get("device") or "-")

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        return f"A {self.word} {self.asks}"

    def subject(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        return self.line(approval, detail_of(approval)).strip().replace("\n", " ⏎ ")

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return frozenset(detail)


class TerminalRequest(_WantsToAnswer):
    """A shell that the person has not let in: it may be an agent's."""

    word = "shell"
    verb_word = "let in"
    notice = "a shell wants to answer for you"

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        """Return what it is: `zsh in tmux wants to answer`."""
        holder = f" in {detail['holder']}" if detail.get("holder") else ""
        return f"{detail.get('program')}{holder} wants to answer"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        yours = "it is yours: let this shell in until it closes"
        return [Option("allow", yours, "lets the shell in"), DENY]

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        detail = detail_of(approval)
        warning, programs = detail.get("warning"), detail.get("above")
        above = programs if isinstance(programs, list) else []
        opened = context.date(str(detail.get("since")))
        return [
            *super().remarks(context, approval),
            *([Paragraph(str(warning), "warning")] if warning else []),
            value(f"{detail.get('device')}: {detail.get('program')}, opened {opened}"),
            *(value(_program_words(one, context), "muted") for one in above),
            value(f"it wants to {_wanted_words(detail)}, with {detail.get('command')}"),
            Paragraph("An agent can open a shell too: let in only one that you opened.", "muted"),
        ]


def _program_words(program: object, context: RequestContext) -> str:
    """Return a program above a shell: `below tmux: server 801, since 2026-11-30 20:07:11`."""
    found = program if isinstance(program, dict) else {}
    since = context.date(str(found.get("since")))
    return f"below {found.get('name')} {found.get('pid')}, since {since}"


class CommandRequest(_WantsToAnswer):
    """A command that the person may have typed, or an agent."""

    word = "command"
    verb_word = "let pass"
    notice = "a command wants to answer for you"

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        """Return its process and what it wants: `tapui 4711: approve “run npm ci”`."""
        line = detail.get("line")
        process = line[0] if isinstance(line, list) and line else "a process"
        return f"{process}: {_wanted_words(detail)}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        return [Option("allow", "it is yours: let it through once", "lets it through"), DENY]

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        detail = detail_of(approval)
        line = detail.get("line")
        above = line[1:] if isinstance(line, list) else []
        return [
            *super().remarks(context, approval),
            value(str(detail.get("why"))),
            *(value(f"started by {one}", "muted") for one in above),
            Paragraph("An agent can start a command too: allow only one that you typed.", "muted"),
        ]


def _wanted_words(detail: Mapping[str, Any]) -> str:
    """Return what a command wants to do, in words: `approve “run npm ci”`, `send a text to session
    s1`."""
    wanted = str(detail.get("wanted"))
    words = _WANTED.get(str(detail.get("decision") or wanted), wanted)
    if detail.get("tool"):
        words = f"call {detail['tool']} in session"
    if detail.get("keep"):
        words = f"{words} and make a rule of"
    if detail.get("request"):
        return f"{words} “{detail['request']}”"
    if detail.get("mode") or detail.get("text"):
        return f"{words} {detail.get('about', '')}: {detail.get('mode') or detail.get('text')}"
    return f"{words} {detail['about']}" if detail.get("about") else words
