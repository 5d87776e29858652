"""Conversations with the core: what is said, what is heard, and a clock turned by hand."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from tapui import times
from tapui.core.effects import (
    AgentProcess,
    AnswerPart,
    AskRecords,
    Authenticated,
    CheckEmitter,
    Close,
    CloseLedger,
    CompareFolder,
    Copied,
    CopyFile,
    EarlierTurns,
    Identified,
    Identify,
    KeepConsent,
    KeepFacts,
    KeepGoalConsent,
    LeaveEmitters,
    LookAtFiles,
    LookAtFolder,
    MakeDurable,
    MakePersistDir,
    McpSession,
    McpSessionsChanged,
    NotCopied,
    NoteAgent,
    OpenLedger,
    PutFileBack,
    ReadEmitters,
    ReadRecords,
    ReadRules,
    RecordsAbout,
    RecordsFound,
    RecordsRead,
    SaveEmitter,
    SeenProcess,
    Send,
    SendIfIdle,
    SetRunFilter,
    Sight,
    SpansBetween,
    StartRun,
    StopGateway,
    StopRun,
    TryFilter,
)
from tapui.core.gateway import Gateway
from tapui.core.model import Standing, Way
from tapui.core.trust.grants import Grant
from tapui.core.trust.person import shell_of
from tapui.cron import next_time
from tapui.hosts.local import LocalHost
from tapui.policies.guards import Guards
from tapui.policies.rule_reader import FolderRules
from tapui.policies.rules import PolicyRule
from tapui.runtime.system import RegexMatcher
from tapui.secret import Secret
from tapui.settings.settings import Settings, Timeouts
from tapui.tools.builtin import BuiltinTools
from tapui.wire.codec import encode
from tapui.wire.errors import CallError
from tapui.wire.events import Entry, SpanEnded, StreamPosted, TurnsRestored
from tapui.wire.message import Message
from tapui.wire.turns import Turn
from tests.core.proof_shell import ProofShell
from tests.core.runner import EmitterShell

Json = dict[str, Any]

PROVIDER_TOKEN = "ptk-project"
INTERNAL_TOKEN = "itk-internal"
TOOLS_TOKEN = "ttk-tools"
ORIGIN = "https://app.example.com"
EVERYTHING = 48 * 3600.0
"""Seconds after which no deadline of the gateway is left."""

GREET: Json = {"name": "greet", "description": "Say hello", "parameters": {"type": "object"}}

AGENT_START, NOW = 100.0, 300.0
"""When every agent began, and when each look is taken: seconds since boot."""
INIT = SeenProcess(1, "init", 0.0, is_first=True)
TMUX = SeenProcess(801, "tmux", 10.0)
SHELL = SeenProcess(4020, "zsh", 20.0)


def seen(
    *above: SeenProcess,
    pid: int = 4711,
    leader: SeenProcess | None = SHELL,
    terminal: str | None = "/dev/pts/3",
    is_foreground: bool = True,
    marked: SeenProcess | None = None,
    is_tapui: bool = True,
) -> Sight:
    """Return a process that began after every agent, below `above`, parent first."""
    first = SeenProcess(pid, "tapui", 200.0, is_tapui)
    line = (first, *(above or (SHELL, TMUX)), INIT)
    below = next((line[at:] for at, one in enumerate(line) if one == leader), ())
    if leader is not None and not below:
        below = (leader, INIT)
    return Sight(
        line,
        group=pid,
        session=leader.pid if leader is not None else 4019,
        leader_line=below,
        terminal=terminal,
        foreground=pid if is_foreground else 4020,
        marked=marked,
    )


PERSON = seen()
"""A command that the person typed in the shell in which the gateway was started."""
_CLIENT = SeenProcess(4890, "claude", AGENT_START)
DOOR = seen(_CLIENT, pid=4891, leader=_CLIENT, terminal=None)
"""The door of an MCP client, where a test has no other process in mind."""


def tool(name: str, **more: Any) -> Json:
    """Return a definition that is in order."""
    return {**GREET, "name": name, **more}


_BEGIN = datetime(2026, 1, 1)  # noqa: DTZ001 - it is written with its zone


class CountingIds:
    """Ids, tokens and codes by number, and times since the beginning of a day."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.set_back = 0.0
        """Seconds by which the calendar was set back."""

    def _next(self, kind: str) -> int:
        self.numbers[kind] = self.numbers.get(kind, 0) + 1
        return self.numbers[kind]

    def id(self, prefix: str) -> str:
        return f"{prefix}-{self._next(prefix)}"

    def trace(self) -> str:
        return f"{self._next('trace'):032x}"

    def span(self) -> str:
        return f"{self._next('span'):016x}"

    def token(self, prefix: str) -> str:
        return f"{prefix}{self._next(prefix)}"

    def code(self) -> str:
        return f"{self._next('code'):06d}"

    def timestamp(self, now: float) -> str:
        micros = round((now - self.set_back) * 1_000_000)
        moment = _BEGIN + timedelta(microseconds=micros)
        return f"{moment.isoformat(timespec='microseconds')}Z"

    def until(self, text: str, now: float) -> float | None:
        then = times.instant(text)
        begin = _BEGIN.replace(tzinfo=UTC).timestamp()
        return None if then is None else then - begin - (now - self.set_back)

    def next_time(self, cron: str, now: float) -> str | None:
        """Return the next time in UTC."""
        moment = _BEGIN.replace(tzinfo=UTC) + timedelta(seconds=now - self.set_back)
        then = next_time(cron, moment)
        return None if then is None else f"{then:%Y-%m-%dT%H:%M:%S}.000000Z"


class Peer:
    """One end of a connection. `closed` is (code, reason) once the gateway closed it."""

    def __init__(self, conversation: "Conversation", number: int) -> None:
        self._conversation = conversation
        self.number = number
        self.inbox: list[Json] = []
        self.closed: tuple[int, str] | None = None
        self.is_authenticated = False
        self.ack: Json = {}

    @property
    def state(self) -> str:
        """The name of the connection's state."""
        return str(self._conversation.gateway.standing(self.number))

    def say(self, message: Json | bytes | str | None = None, /, **fields: Any) -> "Peer":
        """Send a message (a frame as it is, when given as bytes or text)."""
        if isinstance(message, bytes):
            data = message
        elif isinstance(message, str):
            data = message.encode("utf-8", "surrogatepass")
        else:
            data = json.dumps({**(message or {}), **fields}).encode()
        conversation = self._conversation
        conversation.gateway.received(self.number, data, conversation.now)
        conversation.turn()
        return self

    def say_binary(self) -> "Peer":
        """Send a binary frame."""
        conversation = self._conversation
        conversation.gateway.tell(
            conversation.now, conversation.gateway.received_binary, self.number
        )
        conversation.turn()
        return self

    def hear(self) -> list[Json]:
        """Return everything that was said to this end since the last time."""
        heard, self.inbox = self.inbox, []
        return heard

    def hear_of(self, *types: str) -> list[Json]:
        """Return what was said to this end of the given types; the rest is dropped."""
        return [message for message in self.hear() if message["type"] in types]

    def hear_one(self, type_: str) -> Json:
        """Return the one message of a type; the rest is dropped."""
        heard = self.hear()
        of_type = [message for message in heard if message["type"] == type_]
        assert len(of_type) == 1, heard
        return of_type[0]

    def ask(self, message: Json | bytes | str | None = None, /, **fields: Any) -> list[Json]:
        """Say something and return what was heard since then."""
        self.hear()
        self.say(message, **fields)
        return self.hear()

    def error(self, message: Json | bytes | str | None = None, /, **fields: Any) -> Json:
        """Say something that is refused; return the error, which is all that was heard."""
        heard = self.ask(message, **fields)
        assert [one["type"] for one in heard] == ["error"], heard
        return heard[0]

    def drop(self) -> None:
        """The connection is lost."""
        conversation = self._conversation
        conversation.gateway.tell(conversation.now, conversation.gateway.closed, self.number)
        conversation.turn()

    # What hosts and providers say most

    def open(self, session_id: str, **session: Any) -> Json:
        """Open a session; return `session.opened`."""
        fields = {"id": session_id, "label": session_id, "cwd": f"/{session_id}", **session}
        self.say(type="session.open", session=fields)
        return self.hear_one("session.opened")

    def event(self, session_id: str, event: str, **data: Any) -> "Peer":
        """Report an event of a session."""
        return self.say(type="session.event", sessionId=session_id, event=event, data=data)

    def invoke(self, session_id: str, tool: str = "greet", id_: str = "i1", **more: Any) -> "Peer":
        """Call a tool."""
        return self.say(
            {"type": "tool.invoke", "id": id_, "sessionId": session_id, "tool": tool, **more}
        )

    def take_call(self) -> str:
        """Return the id of the one call that came since the last hearing."""
        return str(self.hear_one("tool.call")["id"])

    def result(self, call_id: str, **result: Any) -> "Peer":
        """Answer a call."""
        return self.say({"type": "tool.result", "id": call_id, **result})

    def push(self, event: str = "something", level: str = "keep", **more: Any) -> "Peer":
        """Push an event."""
        return self.say({"type": "push", "event": event, "level": level, **more})

    def hello(self, **fields: Any) -> "Peer":
        """Say hello as a provider, `greeter` with one tool unless `fields` say otherwise."""
        hello = {"type": "hello", "name": "greeter", "protocolVersion": 2, "tools": [GREET]}
        return self.say({**hello, **fields})


class InProcessEnd:
    """The port of an end inside the gateway's process, as the shell gives it to hosts and tools."""

    def __init__(
        self,
        conversation: "Conversation",
        receive: Callable[[Message], None],
        grant: Grant | None = None,
        *,
        is_builtin: bool = False,
    ) -> None:
        self._conversation = conversation
        self.receive = receive
        self.number = conversation.gateway.opened_in_process(
            conversation.now, grant, is_builtin=is_builtin
        )
        conversation.ends[self.number] = self

    def send(self, message: Message) -> None:
        self._conversation.gateway.given(self.number, message, self._conversation.now)

    def close(self) -> None:
        self._conversation.gateway.tell(
            self._conversation.now, self._conversation.gateway.closed, self.number
        )


class Conversation:
    """A gateway without a shell.

    `records` says what becomes of what must be durable: `"kept"` (at once), `"refused"`, or
    `"held"` until `recorded()` is called.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.now = 0.0
        self.ids = CountingIds()
        self.gateway = Gateway(
            run="run-1",
            ids=self.ids,
            settings=settings or Settings(),
            persist_dir=lambda name: f"/providers/{name}",
            matcher=RegexMatcher(),
            provider_token=PROVIDER_TOKEN,
            internal_token=INTERNAL_TOKEN,
            shell=shell_of(PERSON),
        )
        self.peers: dict[int, Peer] = {}
        self.ends: dict[int, InProcessEnd] = {}
        self.entries: list[Entry] = []
        self.records = "kept"
        self.held: list[int] = []
        self.folders: list[str] = []
        self.files: dict[str, Copied | NotCopied] = {}
        self.copies: list[CopyFile] = []
        """What there is to find, by path: a fault, or none and the size."""
        self.looked_for: list[tuple[str, str]] = []
        self.is_stopped = False
        self.reads: list[ReadRecords] = []
        self.asked_records: list[AskRecords] = []
        self.records_found = RecordsFound({"collection": "calls", "records": []})
        self.folder_rules: dict[str, tuple[str, list[PolicyRule]]] = {}
        """By folder: what it is without links, and the rules of its files."""
        self.holds_rules = False
        self.held_rules: list[tuple[int, str]] = []
        self.sight: Sight | None = PERSON
        """The process that is found behind each connection in question."""
        self.holders: dict[int, int] = {}
        """The processes behind the connections of providers."""
        self.agents: dict[int, AgentProcess] = {}
        """The agents that are running, by process; each began at `AGENT_START`."""
        self.finds_askers = True
        self.asked_for: list[Identify] = []
        self.runner = EmitterShell(self)
        self.proof = ProofShell(self)
        self.mcp_sessions: tuple[McpSession, ...] = ()
        """The sessions in which MCP servers are offered, as they were told last."""
        self.answers: list[AnswerPart] = []
        """How questions of parts ended."""
        self.earlier: dict[str, list[Turn]] = {}
        """Turns of earlier runs that the records have, by session."""

    # The shell

    def _read_back(self, asked: ReadRecords) -> list[Entry]:
        """Find events as the records have them."""
        if isinstance(asked.wanted, EarlierTurns):
            earlier = self.earlier.get(asked.session_id or "")
            event = TurnsRestored(asked.session_id or "", earlier or [])
            return [Entry("r0", 0, "", event)] if earlier else []
        if isinstance(asked.wanted, SpansBetween):
            return [
                one
                for one in self.entries
                if isinstance(one.event, SpanEnded)
                and one.event.session_id == asked.session_id
                and asked.wanted.trace_id in (None, one.event.span.trace_id)
            ][-asked.wanted.most :]
        if isinstance(asked.wanted, RecordsAbout):
            found: dict[str, Entry] = {}
            for entry in self.entries:
                kind = str(entry.event.__struct_config__.tag)
                noun = kind.partition(".")[0]
                subject = getattr(getattr(entry.event, noun, None), "id", None)
                if kind in asked.wanted.kinds and subject == asked.wanted.subject:
                    found[kind] = entry
            return list(found.values())
        wanted = asked.wanted
        lines = [
            entry
            for entry in self.entries
            if isinstance(entry.event, StreamPosted)
            and (entry.event.session_id, entry.event.stream) == (asked.session_id, wanted.stream)
            and entry.event.line.seq < wanted.before
        ]
        return lines[-wanted.last :]

    def turn(self) -> None:
        """Carry out what the core brought forth, until it is quiet."""
        while True:
            entries, _, effects = self.gateway.take()
            if not entries and not effects:
                return
            self.entries += entries
            for effect in effects:
                self._carry_out(effect)

    def _carry_out(self, effect: Any) -> None:
        match effect:
            case Send(number, message) | SendIfIdle(number, message):
                if number in self.peers:
                    self.peers[number].inbox.append(json.loads(encode(message)))
                elif number in self.ends:
                    self.ends[number].receive(message)
            case Close(number, code, reason):
                if number in self.peers:
                    self.peers[number].closed = (code, reason)
            case Authenticated(number):
                if number in self.peers:
                    self.peers[number].is_authenticated = True
            case MakeDurable(ticket):
                if self.records == "held":
                    self.held.append(ticket)
                else:
                    is_ok = self.records == "kept"
                    self.gateway.tell(self.now, self.gateway.answered, ticket, is_ok)
            case MakePersistDir(provider):
                self.folders.append(provider)
            case CopyFile(ticket, path, folder):
                self.looked_for.append((path, folder))
                self.copies.append(effect)
                missing = NotCopied(CallError.INTERNAL, "file.path: no such file")
                self.gateway.tell(
                    self.now, self.gateway.answered, ticket, self.files.get(path, missing)
                )
            case NoteAgent(what, pid, connection):
                found = self.holders.get(connection or 0) if pid is None else pid
                if found is not None:
                    self.agents[found] = AgentProcess(found, AGENT_START, what)
            case Identify():
                self.asked_for.append(effect)
                if self.finds_askers:
                    self.found(effect)
            case AskRecords(ticket):
                self.asked_records.append(effect)
                found = self.records_found
                self.gateway.tell(self.now, self.gateway.answered, ticket, found)
            case ReadRecords(ticket):
                if not isinstance(effect.wanted, EarlierTurns):
                    self.reads.append(effect)
                self.gateway.tell(
                    self.now,
                    self.gateway.answered,
                    ticket,
                    RecordsRead(self._read_back(effect)),
                )
            case ReadRules(ticket, cwd):
                if self.holds_rules:
                    self.held_rules.append((ticket, cwd))
                else:
                    self._read_folder(ticket, cwd)
            case (
                ReadEmitters()
                | LeaveEmitters()
                | CheckEmitter()
                | KeepConsent()
                | KeepGoalConsent()
                | SaveEmitter()
                | StartRun()
                | StopRun()
                | SetRunFilter()
                | TryFilter()
            ):
                self.runner.carry_out(effect)
            case (
                OpenLedger()
                | KeepFacts()
                | CloseLedger()
                | LookAtFolder()
                | LookAtFiles()
                | CompareFolder()
                | PutFileBack()
            ):
                self.proof.carry_out(effect)
            case McpSessionsChanged(sessions):
                self.mcp_sessions = sessions
            case AnswerPart():
                self.answers.append(effect)
            case StopGateway():
                self.is_stopped = True

    def _read_folder(self, ticket: int, cwd: str) -> None:
        folder, rules = self.folder_rules.get(cwd, (cwd, []))
        self.gateway.tell(self.now, self.gateway.answered, ticket, FolderRules(cwd, folder, rules))

    def rules(
        self, *rules: PolicyRule, ports: Iterable[int] = (), paths: Iterable[str] = ()
    ) -> None:
        """Hand in the person's rules, as the shell does at its start and when they change."""
        guards = Guards(frozenset(ports), tuple(paths))
        self.gateway.tell(self.now, self.gateway.policies.rules_read, rules, guards)
        self.turn()

    def rules_found(self) -> None:
        """Answer what was asked about folders while `holds_rules` was set."""
        self.holds_rules = False
        held, self.held_rules = self.held_rules, []
        for ticket, cwd in held:
            self._read_folder(ticket, cwd)
        self.turn()

    def recorded(self, *, is_ok: bool = True) -> None:
        """Report what was held as durable, or as not."""
        held, self.held = self.held, []
        for ticket in held:
            self.gateway.tell(self.now, self.gateway.answered, ticket, is_ok)
        self.turn()

    def tell(self, step: Callable[..., Any], *args: object) -> Any:
        """Let the gateway take an input of the shell now."""
        return self.gateway.tell(self.now, step, *args)

    def found(self, asked: Identify) -> None:
        """Report who is behind a connection."""
        is_door = self.gateway.standing(asked.connection) is Standing.TOOL_HOST
        found = Identified(
            DOOR if is_door and self.sight is PERSON else self.sight,
            tuple(self.agents.values()),
            NOW,
        )
        self.gateway.tell(self.now, self.gateway.answered, asked.ticket, found)
        self.turn()

    def wait(self, seconds: float) -> None:
        """Let time pass; every deadline comes at its time."""
        end = self.now + seconds
        while (due := self.gateway.next_deadline) is not None and due <= end:
            self.now = max(due, self.now)
            self.gateway.tell(self.now, self.gateway.tick)
            self.turn()
        self.now = end

    # The ends

    def connect(
        self,
        token: str | None = None,
        origin: str | None = None,
        way: Way = Way.OTHER,
        pid: int | None = None,
    ) -> Peer:
        """Open a socket; with a `token`, authenticate and drop `sessions`."""
        number = self.gateway.opened(origin, self.now, way, pid)
        peer = self.peers[number] = Peer(self, number)
        self.turn()
        if token is not None:
            peer.say(type="auth", token=token)
            assert peer.state == "AwaitHello", peer.hear()
            peer.hear()
        return peer

    def host(self, name: str = "copilot", kind: str = "copilot", *, hooks: bool = False) -> Peer:
        """Return a host that has said hello."""
        peer = self.connect(INTERNAL_TOKEN)
        peer.say(type="host.hello", name=name, kind=kind, protocolVersion=2, hooks=hooks)
        peer.ack = peer.hear_one("host.ack")
        return peer

    def tool_host(self) -> Peer:
        """Return a tool host that has said hello."""
        self.tools_token(TOOLS_TOKEN)
        peer = self.connect(TOOLS_TOKEN)
        peer.say(type="host.hello", name="door", kind="mcp", protocolVersion=2)
        peer.ack = peer.hear_one("host.ack")
        return peer

    def tools_token(self, token: str | None) -> None:
        """Hand in the token for tools alone, as the shell does when its file has changed."""
        self.gateway.tell(
            self.now, self.gateway.tool_hosts.token_read, None if token is None else Secret(token)
        )
        self.turn()

    def provider(self, session: str = "s1", *, token: str = PROVIDER_TOKEN, **hello: Any) -> Peer:
        """Return a provider that is bound, everything heard so far dropped."""
        peer = self.connect(token)
        peer.hello(session=session, **hello)
        peer.ack = peer.hear_one("hello.ack")
        return peer

    def tower(self, **hello: Any) -> Peer:
        """Return a tower that has its snapshot."""
        peer = self.connect(INTERNAL_TOKEN)
        peer.say({"type": "tower.hello", "protocolVersion": 2, "name": "tapui", **hello})
        peer.ack = peer.hear_one("tower.snapshot")
        return peer

    def local(self) -> InProcessEnd:
        """Run the built-in session."""
        from pathlib import Path

        ends: list[InProcessEnd] = []
        LocalHost(self._opener(ends, is_builtin=False), Path("/here"))
        self.turn()
        return ends[0]

    def tools(self) -> InProcessEnd:
        """Run the built-in tools."""
        ends: list[InProcessEnd] = []
        self.builtin = BuiltinTools(self._opener(ends, is_builtin=True), Timeouts())
        self.turn()
        return ends[0]

    def _opener(self, ends: list[InProcessEnd], *, is_builtin: bool) -> Any:
        def open_port(
            receive: Callable[[Message], None], _closed: Callable[[], None]
        ) -> InProcessEnd:
            ends.append(InProcessEnd(self, receive, is_builtin=is_builtin))
            return ends[0]

        return open_port

    # What happened

    def events(self, *kinds: str) -> list[Json]:
        """Return all events so far but spans, or those of some kinds, as records have them."""
        found = [json.loads(encode(entry.event)) for entry in self.entries]
        return [
            event
            for event in found
            if (event["kind"] in kinds if kinds else event["kind"] != "span.ended")
        ]

    def kinds(self) -> list[str]:
        """Return the kinds of all events so far."""
        return [event["kind"] for event in self.events()]

    def forget(self) -> None:
        """Drop the events so far and what anybody heard."""
        self.entries.clear()
        self.hush(self.peers.values())

    @staticmethod
    def hush(peers: Iterable[Peer]) -> None:
        """Drop what these ends heard."""
        for peer in peers:
            peer.hear()

    @property
    def deadlines(self) -> int:
        """How many deadlines are set."""
        return len(self.gateway.parts.context.deadlines)
