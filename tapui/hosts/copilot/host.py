"""The `copilot` host: looks for running CLIs, attaches to them, and routes the gateway's messages.

It speaks the host conversation over a port, in a process of its own (`__main__`). What it finds
and cannot reach is listed for the tower with the command that makes it reachable.
"""

import asyncio
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tapui.hosts.copilot.attachment import SHORT, Attachment, DoorAttachment
from tapui.hosts.copilot.connection import (
    UPDATE,
    AttachError,
    LostError,
    NoAnswerError,
    ProtocolError,
    UnknownMethodError,
)
from tapui.hosts.copilot.finding.discovery import Cli, Discovery, Process
from tapui.hosts.copilot.finding.unattached_sessions import (
    AttachRefusal,
    RetryLog,
    SeenSessions,
    Target,
)
from tapui.hosts.copilot.own.headless import HeadlessServer
from tapui.hosts.copilot.session.attached_session import AttachedSession
from tapui.hosts.copilot.uplink import HostTiming, Uplink
from tapui.hosts.port import HostPort, OpenPort, Report
from tapui.runtime.tasks import BackgroundTasks, cancelled
from tapui.wire.errors import ErrorCode
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalAsk,
    ApprovalAskCancel,
    ApprovalAskResult,
    HookDecision,
    HostAck,
    HostHello,
    HostLooked,
    HostSessionOpened,
    ModeResult,
    ModeSet,
    PromptHeld,
    PromptPrepared,
    SessionAbort,
    SessionGuarded,
    SessionLog,
    SessionLook,
    SessionLooked,
    SessionSend,
    ToolsChanged,
    TurnEnd,
)
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Error, Message, ToolOutcome, ToolProgress
from tapui.wire.provider import Sessions
from tapui.wire.steering import (
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionCompact,
    SessionEnd,
    SessionSet,
    SessionStart,
    SessionStop,
    SessionTell,
)

_ENDED = "the session ended"


class CopilotHost:
    """The host of all Copilot CLI sessions of this user.

    `open_port` opens the host's port at the gateway. `copilot_home` is where the CLI keeps its
    sessions. With `port`, only the CLI on that loopback port is attached to; else, with
    `discover`, every CLI that is found; without `with_ports`, by tapui's extension only. With
    `idle`, the host ends once there was no CLI to attach to for so many seconds. `environ` is the
    environment of sessions that are started here. `report` gets what the person should know.
    """

    def __init__(
        self,
        open_port: OpenPort,
        *,
        copilot_home: Path,
        port: int | None = None,
        with_ports: bool = True,
        discover: bool = True,
        idle: float | None = None,
        environ: Mapping[str, str] | None = None,
        report: Report,
        timing: HostTiming | None = None,
    ) -> None:
        self._open_port = open_port
        self._copilot_home = copilot_home
        self._only = port
        self._discover = discover or port is not None
        self._idle = idle
        self._report = report
        self._timing = timing or HostTiming()
        self._discovery = Discovery(copilot_home, with_ports=with_ports)
        self._ids = itertools.count(1)
        self._uplink = Uplink(self._send, self._new_id, report, self._timing)
        self._tasks = BackgroundTasks(self._uplink.on_fault)
        self._headless = HeadlessServer(
            self._uplink, copilot_home=copilot_home, environ=environ or {}
        )
        self._port: HostPort | None = None
        self._accepted = asyncio.Event()
        self._closed = asyncio.Event()
        self.attachments: dict[Target, Attachment] = {}
        self._running: dict[Target, asyncio.Task[None]] = {}
        self.retry_log = RetryLog(report)
        self._seen = SeenSessions(copilot_home, with_ports=with_ports)
        self._attachable_at = 0.0
        self._awaited: set[Target] | None = None
        """What the first look has found and is not attached to yet; None: it has not begun."""
        self._has_looked = False
        self._refusal = ""
        self.is_lost = False
        """Whether the gateway ended the connection."""

    # Living

    async def run(self) -> None:
        """Attach to what there is, and keep looking, until `stop()` or the gateway's end."""
        try:
            self._port = self._open_port(self._receive, self.lose)
            await self._first(self._accepted)
            self._attachable_at = asyncio.get_running_loop().time()
            while not self._closed.is_set() and not self._is_idle():
                if self._headless.is_running:
                    self._attachable_at = asyncio.get_running_loop().time()
                if self._discover:
                    await self._look()
                    if self._awaited is None:
                        self._awaited = set(self._running)
                        self._tell_looked()
                await self._first(self._closed, within=self._timing.scan)
        finally:
            await self._leave()

    def _is_idle(self) -> bool:
        now = asyncio.get_running_loop().time()
        return self._idle is not None and now - self._attachable_at >= self._idle

    async def _first(self, event: asyncio.Event, *, within: float | None = None) -> None:
        waits = [asyncio.ensure_future(one.wait()) for one in {event, self._closed}]
        await asyncio.wait(waits, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    def stop(self) -> None:
        """Have `run()` leave every session as it was found, and end."""
        self._closed.set()

    def lose(self) -> None:
        """The gateway is gone: have `run()` leave every session, and end."""
        self.is_lost = self.is_lost or not self._closed.is_set()
        self._closed.set()

    async def _leave(self) -> None:
        running = list(self._running.values())
        attachments = list(self.attachments.values())
        self._running.clear()
        self.attachments.clear()
        await asyncio.gather(
            self._headless.leave(is_lost=self.is_lost),
            *(attachment.leave(is_lost=self.is_lost) for attachment in attachments),
        )
        await cancelled(running)
        if self._port is not None:
            self._port.close()
            self._port = None

    async def _look(self) -> None:
        known = [one.process for one in self.attachments.values() if one.process is not None]
        scanned = await asyncio.to_thread(self._discovery.scan, known=known)
        found = [cli for cli in scanned if not self._headless.owns(cli.process.pid)]
        if self.attachments or any(cli.is_attachable for cli in found):
            self._attachable_at = asyncio.get_running_loop().time()
        if self._only is not None:
            self._look_at_port(self._only, found)
            self._seen.tell(self._send, found, [], self._refusals(found, [self._only]))
        else:
            for cli in found:
                self._look_at(cli)
            doors = {door for cli in found for door in cli.doors}
            self.retry_log.keep({cli.process for cli in found} | doors)
            joined = {one.process for one in self.attachments.values()}
            apart = [
                one
                for one in found
                if one.process not in (self.attachments if one.sessions else joined)
            ]
            self._seen.tell(self._send, found, apart, self._refusals(found))

    def _refusals(
        self, found: Iterable[Cli], ports: Iterable[int] = ()
    ) -> dict[str, AttachRefusal]:
        """Return why sessions are not attached to, by their ids."""
        attached = {session.id for session in self._sessions() if session.is_open}
        refused: dict[str, AttachRefusal] = {}
        for cli in found:
            named = [port for port in ports if port in cli.ports]
            refusal = self.retry_log.refusal([cli.process, *cli.doors, *named])
            if refusal is not None:
                refused |= dict.fromkeys(set(cli.sessions) - attached, refusal)
        return refused

    def _tell_looked(self, key: Target | None = None) -> None:
        """Tell that the first look is over once nothing of it is waited for any more. `key` is
        attached to by now, or cannot be."""
        if self._awaited is None or self._has_looked:
            return
        self._awaited.discard(key)
        if not self._awaited:
            self._has_looked = True
            self._send(HostLooked())

    def _look_at(self, cli: Cli) -> None:
        attachment = self.attachments.get(cli.process)
        if attachment is not None:
            if cli.sessions:  # without a lock it is not known which sessions it has
                attachment.sync(cli.sessions)
        elif not cli.ports:
            self._look_at_doors(cli)
        elif self.retry_log.is_due(cli.process):
            attachment = self._by_port(cli.process, cli.ports, cli.cwd)
            self._start(cli.process, attachment, cli.ports, cli.sessions)

    def _look_at_doors(self, cli: Cli) -> None:
        attached = [one for one in self.attachments.values() if isinstance(one, DoorAttachment)]
        here = [one.door for one in attached if one.process == cli.process]
        if not set(here) <= set(cli.doors):
            return  # the extension has left a session, and comes back for the one in its place
        for door in cli.doors:
            if door not in here and self.retry_log.is_due(door):
                attachment = DoorAttachment(
                    cli.process,
                    door,
                    self._uplink,
                    copilot_home=self._copilot_home,
                    cwd=cli.cwd,
                    is_attached=lambda id_: self._session(id_) is not None,
                )
                self._start(door, attachment, (door.port,), ())

    def _look_at_port(self, port: int, found: list[Cli]) -> None:
        owner = next((cli for cli in found if port in cli.ports), None)
        attachment = self.attachments.get(port)
        if attachment is not None:
            held = [cli for cli in found if cli.process == attachment.process]
            if held and held[0].sessions:
                attachment.sync(held[0].sessions)
        elif self.retry_log.is_due(port):
            if owner is not None:
                attachment = self._by_port(owner.process, (port,), owner.cwd)
                self._start(port, attachment, (port,), owner.sessions)
            else:
                self._start(port, self._by_port(None, (port,), ""), (port,), ())

    # Attaching

    def _by_port(self, process: Process | None, ports: tuple[int, ...], cwd: str) -> Attachment:
        return Attachment(process, ports[0], self._uplink, copilot_home=self._copilot_home, cwd=cwd)

    def _start(
        self,
        key: Target,
        attachment: Attachment,
        ports: tuple[int, ...],
        sessions: tuple[str, ...],
    ) -> None:
        self.attachments[key] = attachment
        self._running[key] = self._tasks.start(self._attend(key, attachment, ports, sessions))

    async def _attend(
        self,
        key: Target,
        attachment: Attachment,
        ports: tuple[int, ...],
        sessions: tuple[str, ...],
    ) -> None:
        try:
            await self._connect(attachment, ports, sessions)
            self.retry_log.attached(key)
            self._tell_looked(key)
            began = asyncio.get_running_loop().time()
            await attachment.run()
            self._ended(key, attachment, asyncio.get_running_loop().time() - began)
        except ProtocolError as error:
            # A port that was named may be another program's by the next look.
            is_final = error.is_final and not isinstance(key, int)
            self.retry_log.refused(key, str(error), error.hint, is_final=is_final)
        except AttachError as error:
            hint = UPDATE if isinstance(error, UnknownMethodError) else ""
            self.retry_log.failed(key, attachment.port, str(error), hint)
        except Exception as error:
            self.retry_log.failed(key, attachment.port, f"{type(error).__name__}: {error}")
            raise
        finally:
            self._tell_looked(key)
            if self.attachments.get(key) is attachment:
                del self.attachments[key], self._running[key]

    def _ended(self, key: Target, attachment: Attachment, lasted: float) -> None:
        """Note whether an attachment that has ended held for a while, or its CLI drops us at
        once: then it is tried again after a pause."""
        process = attachment.process
        if self._closed.is_set():
            return
        if lasted >= SHORT or process is None or not process.is_alive():
            self.retry_log.over(key)
        else:
            text = "the connection is lost at once"
            self.retry_log.failed(key, attachment.port, text)

    async def _connect(
        self, attachment: Attachment, ports: tuple[int, ...], sessions: tuple[str, ...]
    ) -> None:
        """Connect on the first of the process's own ports that is the CLI's. Where none is, raises
        what was said by the one that is likest to be."""
        errors: dict[int, AttachError] = {}
        for port in ports:
            attachment.port = port
            try:
                return await attachment.connect(sessions)
            except AttachError as error:
                errors[port] = error
        attachment.port = min(errors, key=lambda port: _rank(errors[port]))
        raise errors[attachment.port]

    # Talking

    def _new_id(self) -> str:
        return f"c{next(self._ids)}"

    def _send(self, message: Message) -> None:
        if self._port is not None:
            self._port.send(message)

    def _sessions(self) -> Iterator[AttachedSession]:
        for attachment in self.attachments.values():
            yield from attachment.sessions.values()
        yield from self._headless.sessions.values()

    def _session(self, session_id: str) -> AttachedSession | None:
        return next((one for one in self._sessions() if one.id == session_id), None)

    def _receive(self, message: Message) -> None:
        """Take a message of the gateway; called on the event loop's thread."""
        match message:
            case Sessions() if not self._accepted.is_set():
                self._send(
                    HostHello(
                        name="copilot",
                        kind="copilot",
                        protocol_version=PROTOCOL_VERSION,
                        hooks=True,
                        sections=False,  # of sessions that tapui starts alone
                        starts=True,
                        looks=self._discover,
                        session_looks=True,
                    )
                )
            case HostAck():
                self._accepted.set()
            case SessionStart():
                self._headless.start(message)
            case SessionEnd():
                self._headless.end(message)
            case (
                ToolOutcome(id=id_)
                | ToolProgress(id=id_)
                | HookDecision(id=id_)
                | PromptHeld(id=id_)
                | PromptPrepared(id=id_)
                | TurnEnd(id=id_)
            ):
                if (on_answer := self._uplink.answers.get(id_)) is not None:
                    on_answer(message)
            case ApprovalAnswer():
                any(session.answered(message) for session in self._sessions())
            case Error():
                self._refused(message)
            case _:
                self._for_session(message)

    def _for_session(self, message: Message) -> None:
        """Hand on a message about one session, or answer for one that has ended."""
        session = self._session(getattr(message, "session_id", None) or "")
        if session is not None:
            _deliver(session, message)
        elif isinstance(message, ModeSet):
            self._send(ModeResult(id=message.id, ok=False, error=_ENDED))
        elif isinstance(message, ApprovalAsk):
            self._send(ApprovalAskResult(message.id, "impossible", _ENDED))
        elif isinstance(message, ModelsRead):
            self._send(ModelsList(message.id, error=_ENDED))
        elif isinstance(message, SessionLook):
            self._send(SessionLooked(message.id))
        elif isinstance(message, SessionTell | SessionStop | SessionCompact | SessionSet):
            self._send(OrderResult(message.id, "failed", _ENDED))

    def _refused(self, error: Error) -> None:
        """End what a refusal answers; what has no other answer is reported."""
        session = self._session(error.session_id or "")
        is_known = True
        if session is not None and not session.is_open:
            session.refused(error.message)
        elif session is not None and error.code is ErrorCode.INVALID_SESSION:
            session.is_open = False  # the gateway has ended it: it is going down itself
        else:
            is_known = False
        on_answer = self._uplink.answers.get(error.id or "")
        if on_answer is not None:
            on_answer(error)
        elif not is_known and error.message != self._refusal:
            self._refusal = error.message
            self._report(f"the gateway refused {error.reply_to}: {error.message}", "warning")


def _deliver(session: AttachedSession, message: Message) -> None:
    match message:
        case HostSessionOpened(tools=tools, revision=revision):
            session.opened(tools, revision)
        case ToolsChanged(tools=tools, revision=revision):
            session.toolset.offer(tools, revision)
        case SessionGuarded():
            session.hooks.guarded(is_guarded=message.guarded)
        case SessionSend():
            session.outgoing.prompt(message.prompt, message.sender.provider, message.traceparent)
        case SessionLog():
            session.outgoing.line(message.message, message.level, is_ephemeral=message.ephemeral)
        case SessionAbort():
            session.abort()
        case ModeSet():
            session.steering.set_mode(message)
        case ApprovalAsk():
            session.own_questions.ask(message)
        case ApprovalAskCancel():
            session.own_questions.cancel(message.id)
        case SessionTell() | SessionStop() | SessionCompact() | SessionSet():
            session.steering.begin(message)
        case ModelsRead():
            session.steering.list_models(message)
        case SessionLook():
            session.look(message)
        case _:
            pass  # session.closed: it has ended here before


def _rank(error: AttachError) -> int:
    """How far what listens on a port is from a CLI: 0 for one of another protocol, 2 for what is
    silent, 3 for what closes the connection or has none."""
    ranks = {ProtocolError: 0, NoAnswerError: 2, LostError: 3}
    return ranks.get(type(error), 1)
