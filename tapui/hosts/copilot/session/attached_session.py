"""One attached session: reports its events to the gateway and carries out the gateway's orders."""

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from tapui.hosts.copilot.asks.own_questions import OwnQuestions
from tapui.hosts.copilot.asks.permissions import Permissions, judged, permission_mode
from tapui.hosts.copilot.asks.questions import Questions, asked_before
from tapui.hosts.copilot.connection import (
    SPOKEN,
    AttachError,
    CliConnection,
    CliEvent,
    CliSession,
    Participation,
    ProtocolError,
    text_of,
)
from tapui.hosts.copilot.session.activity import BEGINNINGS, IdleDetector, LiveOutput, LiveText
from tapui.hosts.copilot.session.hooks import CliHooks
from tapui.hosts.copilot.session.ledger import Ledger, settle
from tapui.hosts.copilot.session.looking import look
from tapui.hosts.copilot.session.objective import (
    OBJECTIVE_CHANGED,
    TODOS_CHANGED,
    objective_told,
    todos_told,
)
from tapui.hosts.copilot.session.opening import SessionOpening, is_past_trust, mode_of
from tapui.hosts.copilot.session.prompts import Outgoing
from tapui.hosts.copilot.session.steering import Steering
from tapui.hosts.copilot.session.toolset import Toolset
from tapui.hosts.copilot.session.translator import Translator
from tapui.hosts.copilot.session.usage import UsageTold
from tapui.hosts.copilot.uplink import SessionUplink, Uplink
from tapui.policies.requests import shell_of
from tapui.runtime.tasks import BackgroundTasks
from tapui.wire.host import (
    ApprovalAnswer,
    SessionClose,
    SessionLook,
    SessionUpdate,
)
from tapui.wire.message import Message, OfferedTool

_EARLY = 1_000
"""Events kept between attaching and the gateway's answer."""
_SEEN = 2_000
_WRITTEN = frozenset({"assistant.message", "session.idle", "abort"})
"""Events after which the agent no longer writes the message of which it streamed pieces."""
_CALLS = frozenset({"tool.execution_start", "tool.execution_complete"})
_TRUST, _RIGHTS = "trust this folder?", "may its extension tapui have these rights?"
_OPEN_TIME = 10.0
_DETACH_TIME = 2.0
_CLOCK_SLACK = timedelta(seconds=5)
_CONSENT = (
    "Copilot asks whether its extension tapui may skip tool permission prompts (for tapui's own "
    "tools alone), register hooks and handle permission requests: answer it there. Its second "
    "choice is remembered for the repository; until then tapui only watches, and no rule of yours "
    "denies anything"
)


class Joining(Protocol):
    """How a session is joined where it is no person's: it is made, say."""

    async def __call__(self, server: CliConnection, part: Participation) -> CliSession:
        """Join it. Raises `AttachError`."""


class AttachedSession:
    """A session of a CLI that this host speaks for.

    `workspace` is the session's folder where the CLI does not name one; `cwd` its folder until
    the session says otherwise. `pid` is the CLI's process, None where it is not known. With
    `by_extension`, it is reached by tapui's extension of the CLI; with `joining`, it lives in a
    process of this host's, as `start` wanted it.
    """

    def __init__(
        self,
        session_id: str,
        uplink: Uplink,
        *,
        workspace: Path,
        cwd: str,
        port: int | None = None,
        pid: int | None = None,
        by_extension: bool = False,
        joining: Joining | None = None,
        start: str | None = None,
    ) -> None:
        self.id = session_id
        self._by_extension = by_extension
        self._joining = joining
        self.ended = asyncio.Event()
        """Set when the session said that it shuts down."""
        self.is_open = False
        """Whether the gateway knows it."""
        self._tasks = BackgroundTasks(uplink.on_fault)
        self._uplink = own = SessionUplink(
            uplink.send,
            uplink.new_id,
            uplink.report,
            uplink.timing,
            uplink.answers,
            id=session_id,
            spawn=self._tasks.start,
        )
        self._since = datetime.now(UTC)
        self._seen: OrderedDict[object, None] = OrderedDict()
        self._unreadable: set[str] = set()
        self._early: deque[CliEvent] | None = deque(maxlen=_EARLY)
        self._opened: asyncio.Future[None] | None = None
        self._ledger = Ledger(workspace / "files" / "tap")
        self.toolset = Toolset(
            own,
            ledger=self._ledger,
            log=self._note,
            on_consent=self._on_consent if by_extension else None,
        )
        self._permissions = Permissions(own)
        self._questions = Questions(own)
        self.own_questions = OwnQuestions(own, is_headless=joining is not None)
        self._translator = translator = Translator(session_id, self.toolset.is_ours)
        self.hooks = CliHooks(
            own,
            asker=translator.asker_of_rules,
            call_of=translator.call_of,
            last_words=lambda: translator.last_words,
        )
        self._opening = SessionOpening(
            uplink=own,
            translator=translator,
            workspace=workspace,
            cwd=cwd,
            ports=[port] if port is not None else None,
            pid=pid,
            start=start,
            is_headless=joining is not None,
        )
        self.outgoing = Outgoing(own, translator.sent.by_provider)
        self.steering = Steering(own, translator, is_headless=joining is not None)
        self._live_text = LiveText(own)
        self._live_output = LiveOutput(own)
        self._idle_detector = IdleDetector(own, self._rests)
        self._usage = UsageTold(own, translator.context_info)
        self._objective = objective_told(own)
        self._todos = todos_told(own)
        self._asked_there: list[str] = []
        """What the CLI asks in its own terminal, the oldest first."""
        self._unasked: str | None = None
        """A call under way of which no hook was asked, until one was."""

    # Coming and going

    async def attach(
        self, connection: CliConnection, *, foreground: bool, replaces: str | None = None
    ) -> None:
        """Join the session and open it at the gateway; raises `AttachError`."""
        session = await self._resume(connection)
        beginning, abilities = self._opening, self.steering.abilities
        self._ledger.keep_in(beginning.workspace_of(session) / "files" / "tap")
        self._translator.permissions_are(await permission_mode(session))
        abilities.look(session)
        opening = await beginning.open(
            connection, session, abilities, foreground=foreground, replaces=replaces
        )
        self._permissions.folder = opening.session.cwd
        self._translator.mode = opening.session.mode
        self._opened = asyncio.get_running_loop().create_future()
        self._uplink.send(opening)
        try:
            async with asyncio.timeout(_OPEN_TIME):
                await self._opened
        except TimeoutError:
            raise AttachError("the gateway did not open the session") from None
        self.is_open = True
        await self._begin(session)

    async def reattach(self, connection: CliConnection) -> None:
        """Join the session again over a new connection; raises `AttachError`."""
        session = await self._resume(connection)
        told: list[Message] = []
        with contextlib.suppress(AttachError):  # it counts as unchanged
            told += self._translator.permissions_are(await permission_mode(session))
        told += self._translator.mode_is(await mode_of(session, self._uplink.report))
        self._send(told)
        await self._begin(session)

    async def _resume(self, connection: CliConnection) -> CliSession:
        # What the CLI tells again of the time before this moment is history.
        self._since = datetime.now(UTC)
        self._early = deque(maxlen=_EARLY)
        self.hooks.has_run, self._unasked = False, None
        part = Participation(self._happened, self.hooks.handlers(), self.hooks.section)
        if self._joining is not None:
            return await self._joining(connection, part)
        # An extension hears of permissions, and may answer them, only if it handles them; the CLI
        # asks the person all the same. Elsewhere a handler takes their dialog away.
        payload = {"requestPermission": self._by_extension, "disableResume": True}
        if self._by_extension and connection.protocol != SPOKEN[0]:
            # Its tools wait for the person's consent: whether it understood cannot be seen before.
            text = f"by its extension, protocol {connection.protocol} is not joined yet"
            raise ProtocolError(f"{text}; tapui can use its port", "copilot --ui-server")
        return await connection.join_checked(self.id, part, payload)

    def _on_consent(self, is_asked: bool) -> None:
        if is_asked:
            self._uplink.report(_CONSENT, "warning")
        self._asks_there(_RIGHTS, is_asked=is_asked)

    async def _begin(self, session: CliSession) -> None:
        self._uplink.session = session
        self.steering.reconnected()
        self.own_questions.reconnected()
        try:
            settled = await settle(session, self._ledger, self.toolset.abandoned)
            if settled:
                self._note(f"tapui settled {settled} call(s) that it had left unanswered")
        except (AttachError, OSError) as error:
            self._uplink.report(f"{error}; press Esc in the CLI if its turn hangs", "warning")
        self.toolset.bind(session)
        if await self._opening.tell(session, self._since):
            self._asks_there(_TRUST, is_asked=True)
        asked = await asked_before(session) if self._opening.is_busy else {}
        self._questions.recover(asked)
        try:  # of calls that have just been told of
            await self._permissions.recover(session, asked)
        except AttachError as error:
            self._uplink.report(f"{error}; answer in the CLI what it asks there", "warning")
        await self._usage.begin(session)
        self._objective.begin(session)
        self._todos.begin(session)
        early, self._early = self._early or (), None
        for event in early:
            self._tell(event)
        self._unasked = None  # it may have begun before our hooks were there
        self.hooks.open()
        self.outgoing.send_on()

    def lost(self) -> None:
        self._let_go()
        if self.is_open:
            self._send(self._translator.waits())
            self._uplink.send(SessionUpdate(session_id=self.id, tools_revision=0))

    def _let_go(self) -> None:
        self._uplink.session = None
        self._translator.shells.lost()
        self.toolset.unbind()
        self.hooks.hold()
        self._permissions.close()
        self._questions.close()
        self._live_text.close()
        self._live_output.close()

    def close(
        self, reason: str | None, *, replaced_by: str | None = None, by_itself: bool = False
    ) -> None:
        """Tell the gateway that the session is over, unless `reason` is None (it was replaced).

        `replaced_by` is the session that took its place and has been open beside it. With
        `by_itself` its program ended, and that counts unless the session had said that it ends.
        """
        self.hooks.close()
        self._let_go()
        self.toolset.close()
        self._tasks.cancel()
        if self.is_open and reason is not None:
            by_itself = by_itself and not self.ended.is_set()
            if by_itself:
                reason = f"{reason}; go on with it: copilot --resume {self.id}"
            self._uplink.send(SessionClose(self.id, reason, replaced_by, by_itself))
        self.is_open = False

    async def disconnect(self) -> str | None:
        """Leave the session, which ends unless another client has it; return what went wrong."""
        session = self._uplink.session
        self.hooks.close()
        await self.own_questions.leave()
        self._let_go()
        try:
            if session is not None:
                await session.leave()
        except AttachError as error:
            return str(error)
        return None

    def _asks_there(self, question: str, *, is_asked: bool) -> None:
        """The CLI asks something in its terminal, or no longer."""
        before = self._asked_there[:1]
        others = [asked for asked in self._asked_there if asked != question]
        self._asked_there = [*others, question] if is_asked else others
        if self._asked_there[:1] != before and self.is_open:
            first = next(iter(self._asked_there), "")
            self._uplink.send(SessionUpdate(session_id=self.id, asks_there=first))

    async def detach(self, *, is_lost: bool = False) -> None:
        """Leave the session as it was found: alive, without our tools.

        With `is_lost`, it is left because the gateway is gone.
        """
        session = self._uplink.session
        try:
            async with asyncio.timeout(_DETACH_TIME):
                await self.hooks.leave(is_lost=is_lost)
                await self.own_questions.leave()
                await self.toolset.give_up()
                self.close(None)
                if session is not None:
                    await session.leave()
        except (AttachError, TimeoutError) as error:
            self.close(None)
            text = str(error) or "the CLI does not answer"
            self._uplink.report(f"leave the session: {text}; its tools go with us", "warning")

    # What the session says

    def _happened(self, event: CliEvent) -> None:
        if (now := datetime.now(UTC)) < self._since:
            self._since = now - _CLOCK_SLACK  # the clock was set back: not all is history
        stale = event.at < self._since or event.id in self._seen
        if event.name == "external_tool.requested":
            self.toolset.requested(event, stale=stale)
        elif event.name == "external_tool.completed":
            self.toolset.completed(text_of(event.data, "requestId") or "")
        if stale:
            return
        self._seen[event.id] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        if self._early is not None:
            self._early.append(event)
        else:
            self._tell(event)

    def _tell(self, event: CliEvent) -> None:
        if not self.is_open:
            return  # the gateway has closed or replaced it
        name = event.name
        if _TRUST in self._asked_there and is_past_trust(name, event.data):
            self._asks_there(_TRUST, is_asked=False)
        try:
            self._tell_named(name, event)
        except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            if name not in self._unreadable:
                self._unreadable.add(name)
                self._uplink.report(
                    f"the CLI's event {name} cannot be read ({error!r}): "
                    "this tapui and this Copilot CLI do not fit; update the older one",
                    "warning",
                )

    def _tell_named(self, name: str, event: CliEvent) -> None:
        data = event.data
        match name:
            case "permission.requested":
                if not data.get("resolvedByHook"):
                    request = judged(data["permissionRequest"], data)
                    shell = shell_of(self._translator.tool_of(request.get("toolCallId")))
                    self._permissions.requested(data["requestId"], request, event.agent_id, shell)
            case "permission.completed":
                result = data.get("result")
                self._permissions.completed(
                    data["requestId"],
                    text_of(data, "toolCallId"),
                    text_of(data, "decisionSource"),
                    result if isinstance(result, dict) else None,
                )
            case "user_input.requested" | "elicitation.requested" | "exit_plan_mode.requested":
                given = dict(data)
                if not self.own_questions.is_own(data["requestId"], given):
                    self._questions.asked(name, data["requestId"], given, event.agent_id)
            case "user_input.completed" | "elicitation.completed" | "exit_plan_mode.completed":
                self._questions.completed(name, data["requestId"], data)
            case "assistant.message_delta" if event.agent_id is None:
                self._live_text.add(data["messageId"], data["deltaContent"])
            case "tool.shell_output" | "tool.execution_partial_result":
                self._translator.translate(event)
                merged = text_of(data, "partialOutput") or ""
                printed = self._translator.output_of(data["toolCallId"], merged)
                if printed is not None:
                    self._live_output.add(printed, event.agent_id)
            case "session.shutdown" if event.agent_id is None:
                self.ended.set()
            case "session.idle" if event.agent_id is None and not self._idle_detector.is_news(
                is_aborted=data.get("aborted") is True
            ):
                self._steered(name, event)
                self._send(self._translator.idle())
            case _:
                self._steered(name, event)
                if name in _CALLS and not self.hooks.has_run:
                    self._check_hooks(event)
                if name == "abort" and event.agent_id is None:
                    self.hooks.stopped()
                if name in _WRITTEN and event.agent_id is None:
                    self._live_text.close()
                if name == "tool.execution_complete":
                    self._live_output.ended(data["toolCallId"])
                for message in self._translator.translate(event):
                    if isinstance(message, SessionUpdate) and isinstance(message.cwd, str):
                        self._permissions.folder = message.cwd
                    self._uplink.send(message)

    def _send(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._uplink.send(message)

    def _check_hooks(self, event: CliEvent) -> None:
        """Leave a CLI that runs a tool without the hook before it: no rule would hold."""
        call_id = text_of(event.data, "toolCallId")
        if event.name == "tool.execution_start":
            self._unasked = self._unasked or call_id
        elif call_id is not None and call_id == self._unasked:
            self._unasked = None
            if event.data.get("success") is True and self._uplink.session is not None:
                self._uplink.session.lacks("its hooks")

    def _steered(self, name: str, event: CliEvent) -> None:
        """Let orders know what they wait for."""
        if event.agent_id is not None:
            return
        data = event.data
        match name:
            case "user.message":
                self.steering.prompted(text_of(data, "messageId"))
            case "assistant.idle" | "session.idle":
                self.steering.rested(is_aborted=data.get("aborted") is True)
            case "session.model_change":
                self.steering.model_changed(text_of(data, "newModel"))
            case "capabilities.changed":
                self.steering.capabilities_changed()
        if name in BEGINNINGS:
            self._idle_detector.began()
        elif name == "abort":
            self._idle_detector.stopped()
        session = self._uplink.session
        if session is None:
            return
        if name == "assistant.idle":
            self._idle_detector.paused(session)
        elif name == "session.idle":
            self._tasks.start(self._usage.turn_ended(session))
        elif name == "session.model_change":
            self._tasks.start(self._usage.threshold(session))
        elif name == OBJECTIVE_CHANGED:
            self._objective.changed(session)
        elif name == TODOS_CHANGED:
            self._todos.changed(session)

    def _rests(self) -> None:
        """The agent rests without `session.idle` from the CLI: commands keep running behind it."""
        self._live_text.close()
        if self.is_open:
            self._send(self._translator.rests())
        if self._uplink.session is not None:
            self._tasks.start(self._usage.turn_ended(self._uplink.session))

    def in_foreground(self, foreground: bool) -> None:
        if self.is_open:
            self._uplink.send(SessionUpdate(session_id=self.id, foreground=foreground))

    # What the gateway wants

    def opened(self, tools: Sequence[OfferedTool], revision: int) -> None:
        if self._opened is not None and not self._opened.done():
            self.toolset.offer(tools, revision)
            self._opened.set_result(None)

    def refused(self, text: str) -> None:
        if self._opened is not None and not self._opened.done():
            self._opened.set_exception(AttachError(text))

    def answered(self, answer: ApprovalAnswer) -> bool:
        """The person decided; return whether that was about this session."""
        parts = (self._permissions, self._questions, self.hooks)
        return any(part.answered(answer) for part in parts)

    def _note(self, text: str) -> None:
        self.outgoing.line(text)

    def look(self, asked: SessionLook) -> None:
        """Answer what goes on in it."""
        self._tasks.start(self._look(asked))

    async def _look(self, asked: SessionLook) -> None:
        self._uplink.send(await look(asked.id, self._uplink.session))

    def abort(self) -> None:
        if self._uplink.session is not None:
            self._tasks.start(self._abort(self._uplink.session))

    async def _abort(self, session: CliSession) -> None:
        try:
            await session.ask("stop the turn", "session.abort")
        except AttachError as error:
            self._uplink.report(f"{error}; press Esc in the CLI", "error")
