"""The person's rules at work: they answer permission requests, and forbid calls before they run.

The shell reads the files and hands the rules in; what they mean is in `tapui/policies`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.effects import ReadRules, Send
from tapui.core.hooks.gates import forbids, reindex
from tapui.core.model import OpenSession
from tapui.core.sessions.sessions import OpenSessions
from tapui.policies.guards import Guards
from tapui.policies.leads import Leads, WrittenPlace
from tapui.policies.requests import AskedFor, of_call, of_permission
from tapui.policies.rule_reader import FolderRules
from tapui.policies.rules import PolicyRule
from tapui.policies.verdicts import JudgedPart, Judgement, judge, strictest
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import SessionGuarded
from tapui.wire.subjects import AppliedRule, FileWritten, Judged, RequestPart

BY_RULE = "rule"
"""Who decided, where a rule did."""
BY_NOBODY = "nobody"
"""Who decided in an unattended session, where no rule did."""
UNATTENDED = "no rule allows it, and nobody is asked in this session"
_UNREADABLE = PolicyRule(
    "deny",
    "tool",
    "any call",
    "person",
    "",
    reason="rules forbid some calls, and tapui cannot read this one",
)


@dataclass(eq=False, repr=False)
class Policies(CorePart):
    """The rules in force, those of each session's folder, and what was allowed until it ends.

    Nothing is asked of the shell until it has handed in rules once (`rules_read`, which may be
    none).
    """

    connections: Connections
    sessions: OpenSessions
    approvals: Approvals

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rules: tuple[PolicyRule, ...] = ()
        self._guards = Guards()
        self._is_on = False
        self._seen: dict[int, frozenset[int]] = {}
        """Ports of the programs that a host sees, by its connection."""
        self._changed: dict[OpenSession, None] = {}
        """Sessions in which other rules or gates may be in force than before."""

    # What hosts see

    def ports_seen(self, host: int, ports: Sequence[int]) -> None:
        """A host sees programs with these ports; none once it is gone."""
        self._seen.pop(host, None)
        if ports:
            self._seen[host] = frozenset(ports)

    # What the shell has read

    def rules_read(self, rules: Sequence[PolicyRule], guards: Guards) -> None:
        """The person's rules and the administrator's were read, or read again."""
        self._rules, self._guards = tuple(rules), guards
        if not self._is_on:
            self._is_on = True
            for session in self.sessions.open.values():
                self.read_folder(session)
        self._note_changed(self.sessions.open.values())
        self._judge_again()

    def read_folder(self, session: OpenSession) -> None:
        """A session works in a folder from now on: ask which rules its files add."""
        if self._is_on:
            session.awaits_rules = True
            self._note_changed([session])
            ticket = self._tickets.keep(partial(self._folder_read, session))
            self._out.effects.append(ReadRules(ticket, session.view.cwd))

    def _folder_read(self, session: OpenSession, read: FolderRules) -> None:
        """The shell has read the files of a session's folder, or there are none."""
        if read.cwd != session.view.cwd:
            return  # it has moved on; the answer to that comes
        self._set_folder(session, read)
        session.awaits_rules = False
        waiting, session.rules_awaited = session.rules_awaited, []
        for step in waiting:
            step()
        self._judge_again()

    def folder_changed(self, read: FolderRules) -> None:
        """The files of a folder were changed."""
        for session in self.sessions.open.values():
            if session.folder == read.folder:
                self._set_folder(session, read)
        self._judge_again()

    def _set_folder(self, session: OpenSession, read: FolderRules) -> None:
        session.folder, session.folder_rules = read.folder, tuple(read.rules)
        self._note_changed([session])

    def when_read(self, session: OpenSession, step: Callable[[], None]) -> None:
        """Take a step once it is known which rules a session's folder has."""
        if session.awaits_rules:
            session.rules_awaited.append(step)
        else:
            step()

    # What hosts hear

    def hooks_changed(self, session: OpenSession) -> None:
        """Other providers are in a session, or they want something else before its tools."""
        reindex(session)
        self._note_changed([session])

    def _note_changed(self, sessions: Iterable[OpenSession]) -> None:
        self._changed.update(dict.fromkeys(sessions))

    def take_guarded(self) -> list[Send]:
        """Return what hosts must know of their sessions before anything else of this turn is sent.

        A provider that reads its `hello.ack` relies on its gate, and so does the host by then, even
        where the gateway stops between the two.
        """
        changed, self._changed = self._changed, {}
        sends = []
        for session in changed:
            host = self.connections.by_number.get(session.host)
            is_guarded = self._is_guarded(session)
            if host is None or not (host.host_asks_hooks and session.is_open):
                continue
            if is_guarded is not session.is_told_guarded:
                session.is_told_guarded = is_guarded
                sends.append(Send(host.id, SessionGuarded(session.id, is_guarded)))
        return sends

    def _is_guarded(self, session: OpenSession) -> bool:
        """Return whether anything may forbid a tool in a session, or ask about it."""
        if session.folder is None or session.awaits_rules or forbids(session.rules):
            return True
        return any(one.effect != "allow" for one in self._of(session))

    # Verdicts

    def _of(self, session: OpenSession) -> tuple[PolicyRule, ...]:
        given, folder, kept = session.given_rules, session.folder_rules, session.kept_rules
        if not (given or folder or kept):
            return self._rules
        return (*self._rules, *given, *folder, *kept)

    def asked(self, session: OpenSession, detail: dict[str, Any]) -> AskedFor:
        """Return what a permission request of a session asks for."""
        return of_permission(detail, session.folder or session.view.cwd)

    def judge(self, session: OpenSession, asked: AskedFor) -> Judgement | None:
        """Return the verdict of the rules; None where there are none about such requests."""
        rules = self._of(session)
        if self._is_early(session) or not any(one.kind == asked.kind for one in rules):
            return None
        return judge(asked, rules, session.folder, self._guards_now())

    def _is_early(self, session: OpenSession) -> bool:
        """Return whether rules that hold in a session are still read."""
        return session.awaits_rules or (bool(session.given_rules) and not self._is_on)

    def said(
        self, session: OpenSession, asked: AskedFor, verdict: Judgement | None
    ) -> tuple[AppliedRule | None, Judged | None]:
        """Return the rule that applies to a request, and its verdict part by part, as others see
        them; a command is taken apart also where no rule is about commands."""
        rule = applied(verdict.rule) if verdict is not None and verdict.rule else None
        if verdict is None and asked.kind == "shell" and not self._is_early(session):
            verdict = judge(asked, (), session.folder, self._guards_now())
        return rule, None if verdict is None else judged(verdict, asked.leads)

    def _guards_now(self) -> Guards:
        ports = {port for one in self.sessions.open.values() for port in one.ports}
        return Guards(self._guards.ports.union(ports, *self._seen.values()), self._guards.paths)

    def has_denials(self, session: OpenSession) -> bool:
        """Return whether a rule forbids anything in a session, or may."""
        rules = self._of(session)
        return session.awaits_rules or (bool(rules) and any(one.effect == "deny" for one in rules))

    def strictest(self, session: OpenSession, tool: str, args: Raw) -> PolicyRule | None:
        """Return the deny rule that applies to a call, else the ask rule, else None."""
        rules = self._of(session)
        effects = {one.effect for one in rules}
        if effects <= {"allow"}:
            return None
        try:
            arguments = msgspec.json.decode(args, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _UNREADABLE if "deny" in effects else None
        folder = session.folder or session.view.cwd
        asked = of_call(tool, arguments, folder, session.shell_tools)
        return strictest(asked, rules, session.folder)

    # Answers

    def answer(self, waiting: WaitingApproval, verdict: Judgement | None) -> None:
        """Decide a request that rules allow or forbid; what they do not is the person's, or is
        denied in an unattended session."""
        if verdict is None or verdict.rule is None or not verdict.is_automatic:
            self._deny_unattended(waiting)
            return
        rule = verdict.rule
        is_allowed = verdict.effect == "allow"
        self.approvals.decide(
            Decided(
                waiting,
                "approve" if is_allowed else "deny",
                BY_RULE,
                reason=None if is_allowed else refusal(rule),
                rule=applied(rule),
            )
        )

    def _deny_unattended(self, waiting: WaitingApproval) -> None:
        session = self.sessions.get(waiting.view.session_id or "")
        if session is None or not session.view.unattended:
            return
        if waiting.asked is not None and (session.awaits_rules or not self._is_on):
            return  # rules that are being read may allow it
        self.approvals.decide(Decided(waiting, "deny", BY_NOBODY, reason=UNATTENDED))

    def _judge_again(self) -> None:
        """Answer what rules that are new allow or forbid of what waits, and tell what they say of
        the rest."""
        for waiting in list(self.approvals.waiting.values()):
            session, asked = self.sessions.get(waiting.view.session_id or ""), waiting.asked
            if asked is None or session is None or waiting.is_deciding:
                continue
            verdict = self.judge(session, asked)
            if not self._is_early(session):
                self.approvals.judge(waiting, *self.said(session, asked, verdict))
            self.answer(waiting, verdict)

    def check_keepable(self, waiting: WaitingApproval) -> None:
        """Check that exactly this may be allowed until the session ends. Raises `WireError`."""
        session = self.sessions.get(waiting.view.session_id or "")
        asked: AskedFor | None = waiting.asked
        if asked is None or session is None:
            why = "only a permission of a session can be"
        elif len(session.kept_rules) >= limits.MAX_KEPT_RULES:
            why = f"{limits.MAX_KEPT_RULES} are, already"
        else:
            rules = self._of(session)
            why = judge(asked, rules, session.folder, self._guards_now()).unkeepable
        if why:
            text = f"this cannot be allowed until the session ends: {why}"
            raise WireError(ErrorCode.INVALID_JSON, text)

    def keep(self, waiting: WaitingApproval) -> None:
        """Allow exactly what was asked, in its folder, until the session ends."""
        session = self.sessions.get(waiting.view.session_id or "")
        asked: AskedFor | None = waiting.asked
        if asked is None or asked.kind is None or session is None:
            return
        rule = PolicyRule(
            "allow", asked.kind, asked.key, "session", folder=session.folder, is_exact=True
        )
        if rule not in session.kept_rules:
            session.kept_rules = (*session.kept_rules, rule)
        self._judge_again()


def refusal(rule: PolicyRule) -> str:
    """Return what the agent reads of a call that a rule forbids."""
    return rule.reason or f"the person's rule “{_text(rule.pattern)}” forbids it"


def question(rule: PolicyRule) -> str:
    """Return what the person reads where a rule has them asked even about what was allowed."""
    return rule.reason or f"your rule “{_text(rule.pattern)}” asks each time"


def applied(rule: PolicyRule) -> AppliedRule:
    """Return a rule as others see it."""
    pattern = "" if rule.source == "session" else _text(rule.pattern)
    return AppliedRule(rule.effect, rule.kind, pattern, rule.source, rule.place[-limits.MAX_ID :])


def judged(verdict: Judgement, leads: Leads | None = None) -> Judged:
    """Return a verdict as others see it: why the person is asked, part by part."""
    places = leads.written if leads is not None else {}
    parts = [
        RequestPart(
            _text(one.text),
            applied(one.rule) if one.rule else None,
            _why(one),
            _text(one.redirections),
            [_written(name, places.get(name)) for name in one.writes[: limits.MAX_PART_WRITES]],
        )
        for one in verdict.parts[: limits.MAX_REQUEST_PARTS]
    ]
    return Judged(parts, verdict.why, verdict.unkeepable)


def _why(part: JudgedPart) -> str:
    """Return in one line which rule is the nearest, and why it does not allow a part."""
    named = f"rule “{part.nearest.pattern}”: " if part.nearest is not None else ""
    return _text(safe_text(f"{named}{part.why}"))


def _written(name: str, place: WrittenPlace | None) -> FileWritten:
    if place is None:
        return FileWritten(_text(name))
    return FileWritten(_text(name), place.existing, place.outside)


def _text(text: str) -> str:
    most = limits.MAX_RULE_TEXT
    return text if len(text) <= most else text[: most - 1] + "…"
