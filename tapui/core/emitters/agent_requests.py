"""Emitters that a session's agent asks for, through the built-in tools.

A command is a shell request: judged as one of `bash`, gates included, and then always asked of the
person. What the person owns, the agent cannot change; its own ends with its session.
"""

import posixpath
import re
import shlex
from dataclasses import dataclass
from functools import partial

from msgspec import UNSET
from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.approvals.policies import (
    BY_NOBODY,
    BY_RULE,
    UNATTENDED,
    Policies,
    judged,
    refusal,
)
from tapui.core.calls.calls import Calls
from tapui.core.context import CoreContext
from tapui.core.conversations.caller import CallerConversation
from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.plans import EmitterEntryRead, EmitterPlan, Schedule
from tapui.core.emitters.registry import Emitters, described
from tapui.core.hooks.gates import Settled
from tapui.core.hooks.matching import Matcher
from tapui.core.model import Connection, OpenSession
from tapui.core.runs.lines import EmitterLines
from tapui.core.runs.runs import Runs
from tapui.core.runs.schedules import (
    in_words,
    runs_in_words,
)
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.streams import Streams, compile_filter
from tapui.policies.rules import is_within
from tapui.projection.summary import one_line
from tapui.wire import limits
from tapui.wire.builtin import (
    EmitterAnswer,
    EmitterAsked,
    EmitterAskedCancel,
    EmitterAskedStop,
    EmitterRulesAsked,
    EmittersAnswer,
    EmittersRead,
    EmitterWanted,
    InjectorAsked,
)
from tapui.wire.codec import raw
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import BUILTIN_PROVIDER

_ASKER = "the session's agent"
_NAME = re.compile(rf"[a-z0-9._-]{{1,{limits.MAX_NAME}}}")
_USUAL = frozenset(
    f"{place}{name}" for place in ("", "/bin/", "/usr/bin/") for name in ("bash", "sh")
)


@dataclass(slots=True, eq=False)
class _Request:
    """What an agent asked for, until it is decided."""

    connection: Connection
    id: str
    session: OpenSession
    entry: EmitterEntryRead
    asker: str


class AgentEmitters:
    """Handlers of the built-in tools' messages about emitters. Each raises `WireError`."""

    def __init__(
        self,
        context: CoreContext,
        *,
        sessions: OpenSessions,
        approvals: Approvals,
        policies: Policies,
        caller: CallerConversation,
        calls: Calls,
        emitters: Emitters,
        folders: EmitterFolders,
        runs: Runs,
        lines: EmitterLines,
        streams: Streams,
        matcher: Matcher,
        patience: float,
    ) -> None:
        self._clock, self._out = context.clock, context.out
        self._sessions = sessions
        self._approvals = approvals
        self._policies = policies
        self._caller = caller
        self._calls = calls
        self._emitters = emitters
        self._folders = folders
        self._runs = runs
        self._lines = lines
        self._streams = streams
        self._matcher = matcher
        self._patience = patience
        """How long the person has to decide, in seconds."""

    # Starting

    def start(self, connection: Connection, message: EmitterAsked) -> None:
        """Start an emitter, once rules, gates and the person have let it."""
        session = self._sessions.required(message.session_id)
        wanted = message.emitter
        plan = self._plan_of(session, wanted)
        self._check_free(session, plan)
        entry = EmitterEntryRead(
            plan=plan,
            ownership="modelOwned",
            filter_ownership="modelOwned",
            lifespan="temporary",
            description=wanted.description,
        )
        request = self._request(connection, message.id, session, entry)
        if plan.command is None:
            self._begin(request, request.asker)
        else:
            self._check_patience(session)
            then = partial(self._gated, request)
            command = _as_bash(plan, _folder_of_work(session))
            self._caller.inquire_shell(session, connection, message.id, command, then)

    def _request(
        self, connection: Connection, id_: str, session: OpenSession, entry: EmitterEntryRead
    ) -> _Request:
        """Return a request with who made it: the session's agent, unless a tower or command did."""
        return _Request(connection, id_, session, entry, self._calls.tower_of(id_) or _ASKER)

    def _check_patience(self, session: OpenSession) -> None:
        """Check that the person can be asked again: an agent may ask in a loop."""
        waiting = [*self._approvals.waiting.values(), *self._approvals.deciding.values()]
        asked = [one for one in waiting if isinstance(one.subject, _Request)]
        if sum(one.view.session_id == session.id for one in asked) >= limits.MODEL_REQUESTS:
            text = f"{limits.MODEL_REQUESTS} commands of yours wait for the person already"
            raise WireError(ErrorCode.RATE_LIMITED, text, session_id=session.id)
        if session.agent_denials.is_full(self._clock.now):
            text = "the person has denied such commands again and again: ask them what they want"
            raise WireError(ErrorCode.RATE_LIMITED, text, session_id=session.id)

    def _gated(self, request: _Request, settled: Settled) -> None:
        """Rules and gates have decided about the command: now the person does, in any case."""
        session, plan = settled.inquiry.session, request.entry.plan
        request.session = session
        if settled.is_dropped:
            return
        if settled.decision == "deny":
            by, why = settled.by or "nobody", settled.reason or "denied"
            self._answer(request, by, error=f"not started: {why} (decided by {by})")
            return
        if not session.is_open:
            self._answer(request, "nobody", error="the session ended")
            return
        if _has_other_shell(plan):  # what it reads may be what a rule forbids, too
            plain = raw({"command": plan.command})
            rule = self._policies.strictest(session, settled.inquiry.tool, plain)
            if rule is not None and rule.effect == "deny":
                text = f"not started: {refusal(rule)} (decided by {BY_RULE})"
                self._answer(request, BY_RULE, error=text)
                return
        try:
            self._check_patience(session)  # others may have been asked for meanwhile
        except WireError as error:
            self._answer(request, BY_NOBODY, error=error.text)
            return
        folder = _folder_of_work(session)
        command = _as_bash(plan, folder)
        asked = self._policies.asked(session, {"kind": "shell", "fullCommandText": command})
        verdict = self._policies.judge(session, asked)
        waiting = self._approvals.request(
            "emitter",
            request.connection,
            request,
            {
                "name": plan.name,
                "asker": request.asker,
                "command": plan.command,
                "cwd": plan.cwd,
                "isOutside": not is_within(plan.cwd, posixpath.normpath(folder)),
                "shell": plan.shell,
                "schedule": runs_in_words(plan),
                "maxRuns": plan.max_runs,
                "stream": plan.stream,
                "rules": [[rule.match, rule.outcome] for rule in plan.rules],
                "injector": plan.injector,
                "delivery": plan.delivery,
                "description": request.entry.description,
            },
            self._patience,
            on_decided=self._decided,
            on_expired=lambda one: self._refuse(one, "nobody decided in time"),
            on_withdrawn=self._refuse,
            session_id=session.id,
            judged=judged(verdict) if verdict is not None else None,
        )
        request.connection.emitter_requests[request.id] = waiting.view.id
        if session.view.unattended:
            self._approvals.decide(Decided(waiting, "deny", BY_NOBODY, reason=UNATTENDED))

    def _refuse(self, waiting: WaitingApproval, reason: str) -> None:
        request: _Request = waiting.subject
        request.connection.emitter_requests.pop(request.id, None)
        self._answer(request, BY_NOBODY, error=f"not started: {reason}")

    def _decided(self, decided: Decided) -> None:
        request: _Request = decided.waiting.subject
        by, session = decided.by, request.session
        request.connection.emitter_requests.pop(request.id, None)
        if decided.verdict != "approve":
            reason = decided.reason or ""
            if by != BY_NOBODY:
                session.agent_denials.take(self._clock.now)
                reason = f"the person denied it: {reason}" if reason else "the person denied it"
            self._answer(request, by, error=f"not started: {reason}")
            return
        if not session.is_open:  # another may have its place
            session = self._sessions.get(session.id) or session
        try:
            if not session.is_open:
                raise _refused(session, "the session ended")
            self._check_free(session, request.entry.plan)
        except WireError as error:
            self._answer(request, by, error=error.text)
            return
        request.session = session
        self._begin(request, by)

    def _begin(self, request: _Request, by: str) -> None:
        known = self._find(request.session, request.entry.plan.name)
        if known is not None:
            known.entry = request.entry
            known.has_own_rules = False
        else:
            folder = self._folders.folder_of(request.session)
            known = self._emitters.add(request.entry, folder, request.session, "tool")
        request.session.prompt_runs += known.runs if known.is_prompt else 0
        self._runs.start(known)
        if known.is_prompt:
            words = f"{_ASKER} sends itself a prompt"
            if request.asker != _ASKER:
                words = f"a prompt for this session from {request.asker}"
            prompt = one_line(known.plan.prompt or "")
            self._lines.tell(known, f"{words}, {in_words(known.plan)}: {prompt}")
        self._answer(request, by, emitter=known)

    def cancel(self, connection: Connection, message: EmitterAskedCancel) -> None:
        """The caller of the tool gave up."""
        self._caller.give_up(connection, message.id)
        approval = connection.emitter_requests.pop(message.id, "")
        waiting = self._approvals.waiting.get(approval)
        if waiting is not None:
            self._approvals.withdraw(waiting, reason="the caller gave up")

    # What is there

    def read(self, connection: Connection, message: EmittersRead) -> None:
        session = self._sessions.required(message.session_id)
        listed = [described(one) for one in self._seen(session)]
        self._out.send(connection.id, EmittersAnswer(message.id, listed))

    def stop(self, connection: Connection, message: EmitterAskedStop) -> None:
        session = self._sessions.required(message.session_id)
        emitter = self._one(session, message.name)
        if emitter.entry.ownership == "userOwned":  # a file may call one the model's
            raise _users(session, emitter)
        if emitter.is_active:
            self._runs.stop(emitter)
        request = self._request(connection, message.id, session, emitter.entry)
        self._answer(request, request.asker, emitter=emitter)

    def set_rules(self, connection: Connection, message: EmitterRulesAsked) -> None:
        """Change the filter of an emitter that the session's agent started."""
        session = self._sessions.required(message.session_id)
        emitter = self._one(session, message.name)
        self._check_own(session, emitter)
        compile_filter(message.rules, self._matcher)
        self._runs.set_filter(emitter, tuple(message.rules))
        rules = ", ".join(f'{rule.outcome}:"{rule.match}"' for rule in message.rules)
        request = self._request(connection, message.id, session, emitter.entry)
        self._lines.tell(emitter, f"{request.asker} set the filter: rules=[{rules}]")
        self._answer(request, request.asker, emitter=emitter)

    def set_injector(self, connection: Connection, message: InjectorAsked) -> None:
        """Switch the injector of a stream to which only the agent's own emitters post."""
        session = self._sessions.required(message.session_id)
        posting = [one for one in self._seen(session) if one.stream == message.stream]
        if not posting:
            raise _refused(session, f"no emitter posts to stream '{message.stream}'")
        for one in posting:
            self._check_own(session, one)
        request = self._request(connection, message.id, session, posting[0].entry)
        for one in posting:
            entry = one.entry
            plan = replace(
                one.plan,
                injector="enabled" if message.enabled else "disabled",
                delivery=message.delivery or one.plan.delivery,
            )
            one.plan = plan
            changed = replace(entry.plan, injector=plan.injector, delivery=plan.delivery)
            one.entry = replace(entry, plan=changed)
            told = f"{request.asker} set the injector: {plan.injector}, {plan.delivery}"
            self._lines.tell(one, told)
            self._emitters.show(one)
        self._answer(request, request.asker, emitter=posting[0])

    def _one(self, session: OpenSession, name: str) -> LiveEmitter:
        emitter = self._find(session, name)
        if emitter is None:
            text = f"emitter '{name}' is not there"
            raise WireError(ErrorCode.NOT_FOUND, text, session_id=session.id)
        return emitter

    def _check_own(self, session: OpenSession, emitter: LiveEmitter) -> None:
        """Check that an emitter is of the agent alone: what the person allowed in a file stays."""
        if emitter.source == "file":
            raise _users(session, emitter)

    def _answer(
        self,
        request: _Request,
        by: str,
        *,
        emitter: LiveEmitter | None = None,
        error: str | None = None,
    ) -> None:
        if request.connection.is_open:
            view = described(emitter) if emitter is not None else None
            answer = EmitterAnswer(request.id, by, view, error)
            self._out.send(request.connection.id, answer)

    # Plans

    def _plan_of(self, session: OpenSession, wanted: EmitterWanted) -> EmitterPlan:
        """Return what would run; nothing of it is there yet."""
        compile_filter(wanted.rules, self._matcher)
        if (fault := _fault(wanted)) is not None:
            raise _refused(session, fault)
        if wanted.cron and self._clock.next_time(wanted.cron) is None:
            raise _refused(session, "cron: its time never comes, or it has not five fields")
        plan = EmitterPlan(
            kind="emitter",
            name=wanted.name,
            stream=wanted.stream,
            schedule=Schedule(wanted.kind, wanted.every, wanted.cron or UNSET),
            cwd=posixpath.normpath(posixpath.join(_folder_of_work(session), wanted.cwd or "")),
            command=wanted.command,
            prompt=wanted.prompt,
            shell=wanted.shell,
            max_runs=wanted.max_runs,
            auto_start=False,
            include_stderr=wanted.include_stderr,
            rules=tuple(wanted.rules),
            injector=wanted.injector,
            delivery=wanted.delivery,
        )
        return plan if plan.command is not None else self._bounded(session, plan)

    def _bounded(self, session: OpenSession, plan: EmitterPlan) -> EmitterPlan:
        """Bound the runs of a prompt: an agent that prompts itself is a loop."""
        own = [one for one in self._emitters.of_agent(session) if one.is_prompt]
        if any(one.is_active for one in own):
            raise _refused(session, "another prompt of yours waits or runs already: stop it first")
        left = limits.MODEL_PROMPT_RUNS - session.prompt_runs - sum(one.runs for one in own)
        if left <= 0:
            text = f"{limits.MODEL_PROMPT_RUNS} runs of your prompts are all that a session has"
            raise _refused(session, text)
        return replace(plan, max_runs=min(plan.max_runs or left, left))

    def _check_free(self, session: OpenSession, plan: EmitterPlan) -> None:
        """Check that it can be started now: its name is free, and there is room."""
        if not self._folders.is_on:
            raise _refused(session, "emitters are not run here")
        known = self._find(session, plan.name)
        if known is not None and known.source == "file":
            raise _refused(session, f"emitter '{plan.name}' is there already, in the folder's file")
        if known is not None and known.is_active:
            raise _refused(session, f"emitter '{plan.name}' is active already")
        self._streams.require_room(session.id, plan.stream_name, BUILTIN_PROVIDER)
        if known is None and not self._has_room(session):
            raise _refused(session, f"a gateway has at most {limits.MAX_EMITTERS} emitters")

    def _has_room(self, session: OpenSession) -> bool:
        """Return whether there may be one more; the oldest of a session that is over makes room."""
        if self._emitters.room > 0:
            return True
        over = next((one for one in self._emitters.of_agent(session) if not one.is_active), None)
        if over is None:
            return False
        session.prompt_runs += over.runs if over.is_prompt else 0
        self._runs.drop(over, "another one took its place")
        return True

    def _seen(self, session: OpenSession) -> list[LiveEmitter]:
        """Return the emitters of a session's folder, and those that its agent started."""
        folder = self._folders.folder_of(session)
        return [*folder.emitters.values(), *self._emitters.of_agent(session)]

    def _find(self, session: OpenSession, name: str) -> LiveEmitter | None:
        return next((one for one in self._seen(session) if one.name == name), None)


def _users(session: OpenSession, emitter: LiveEmitter) -> WireError:
    text = f"emitter '{emitter.name}' is the person's: ask them to change it"
    return WireError(ErrorCode.UNAUTHORIZED, text, session_id=session.id)


def _folder_of_work(session: OpenSession) -> str:
    """Return the folder that a session's names of files are relative to."""
    return session.folder or session.view.cwd


def _fault(wanted: EmitterWanted) -> str | None:
    """Return why a wanted emitter is refused; None where it is allowed."""
    text = wanted.command if wanted.prompt is None else wanted.prompt
    is_prompt, kind = wanted.prompt is not None, wanted.kind
    if text is None or (is_prompt and wanted.command is not None) or not text.strip():
        return "an emitter has either a command or a prompt"
    if len(text) > limits.MAX_PROPOSED:
        return f"a command or a prompt has at most {limits.MAX_PROPOSED:,} characters"
    for name in (wanted.name, wanted.stream):
        if not _NAME.fullmatch(name):
            return f"a name has 1 to {limits.MAX_NAME} characters of a-z, 0-9 and ._-"
    if (kind == "continuous") if is_prompt else (kind == "idle"):
        return f"a {'prompt' if is_prompt else 'command'} cannot be {kind}"
    if wanted.every is not None and not 1 <= wanted.every <= limits.MAX_INTERVAL:
        return f"every: 1 to {limits.MAX_INTERVAL:,} seconds"
    if kind == "timed" and (wanted.every is None) is (not wanted.cron):
        return "every: a timed emitter has either an interval or a cron expression"
    if kind != "timed" and wanted.cron:
        return "cron: only a timed emitter has a cron expression"
    if wanted.max_runs is not None and wanted.max_runs < 1:
        return "maxRuns: 1 or more"
    return None


def _refused(session: OpenSession, text: str) -> WireError:
    return WireError(ErrorCode.INVALID_JSON, text, session_id=session.id)


def _as_bash(plan: EmitterPlan, folder: str) -> str:
    """Return a command with the program that reads it, unless that is bash or sh, and with the
    folder where it runs, unless that is in the session's."""
    command = plan.command or ""
    if _has_other_shell(plan):
        command = shlex.join((plan.shell or "", "-c", command))
    if not is_within(plan.cwd, posixpath.normpath(folder)):
        command = f"cd {shlex.quote(plan.cwd)} && {command}"
    return command


def _has_other_shell(plan: EmitterPlan) -> bool:
    return plan.shell is not None and plan.shell not in _USUAL
