"""The conversation with one Copilot CLI, over a socket or with a process of ours: its methods, its
events and its hooks, in the protocols `SPOKEN`.

What methods and events have stays JSON, by the CLI's names; `text_of` and `objects_of` read it. A
call fails with an `AttachError` alone, within a time.
"""

import asyncio
import contextlib
import json
import logging
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tapui.hosts.copilot.finding.discovery import LOOPBACK
from tapui.invocation import install_line
from tapui.jsonrpc.connection import (
    RpcConnection,
    RpcError,
    RpcLostError,
    RpcNoAnswerError,
    RpcRefusedError,
)
from tapui.jsonrpc.peer import METHOD_NOT_FOUND
from tapui.runtime.processes.reaping import kill_tree, signal_group
from tapui.text import cut
from tapui.wire import limits

NO_CLI = "Copilot CLI was not found on PATH; install it with: npm install -g @github/copilot"
SPOKEN = (3, 4)
"""Protocol 4 has other names in the requests that make and resume a session. Those of 3 are sent to
both: some CLIs of 4 take them. A CLI leaves names aside that it does not know, without a word: with
4 each join is checked."""
CALL_TIME = 10.0
"""Seconds that a call to the CLI may take."""
_END_TIME = 5.0
_REASON = 2_000
"""Characters of the CLI's reason for a refusal."""
_JOIN: dict[str, Any] = {
    "toolFilterPrecedence": "excluded",
    "requestElicitation": False,
    "requestExitPlanMode": False,
    "requestAutoModeSwitch": False,
    "hooks": True,
    "includeSubAgentStreamingEvents": False,
    "envValueMode": "direct",
}

_PING = {"message": None}
UPDATE = "copilot update"
PROBE = {
    "name": "tapui_joins",
    "description": "Does nothing; tapui takes it back at once.",
    "parameters": {"type": "object", "properties": {}},
}
"""A tool with which a session is joined, to see whether the request was understood."""

OnHook = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Takes a hook's input; returns its output, or None: go ahead."""

_log = logging.getLogger(__name__)


class AttachError(Exception):
    """A session cannot be reached, or a call to the CLI failed; the text says what to do."""


class UnknownMethodError(AttachError):
    """The CLI does not know what it was asked: it is of another version."""


class NoAnswerError(AttachError):
    """The CLI did not answer in time; it may be stopped, and the connection may still be good."""


class LostError(AttachError):
    """The connection ended before the CLI had answered, or there was none."""


class ProtocolError(AttachError):
    """The CLI and tapui do not understand each other; `hint` is the command that may change this.
    One that is `final` is not tried again until the CLI is started anew."""

    def __init__(self, text: str, hint: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.hint = hint
        self.is_final = is_final


class NoCliError(AttachError):
    """There is no Copilot CLI to start."""


@dataclass(frozen=True, slots=True)
class CliEvent:
    """What happened in a session: in one of its subagents, where `agent_id` names it."""

    name: str
    id: str
    at: datetime
    data: Mapping[str, Any]
    agent_id: str | None = None
    is_ephemeral: bool = False
    """Whether the CLI keeps it out of its files."""

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "CliEvent":
        """Read an event. Raises `KeyError`, `TypeError` and `ValueError`."""
        at = datetime.fromisoformat(told["timestamp"])
        data = told.get("data")
        return cls(
            text_of(told, "type") or "",
            str(told["id"])[: limits.MAX_ID],
            at if at.tzinfo is not None else at.replace(tzinfo=UTC),
            data if isinstance(data, dict) else {},
            text_of(told, "agentId"),
            told.get("ephemeral") is True,
        )


@dataclass(slots=True)
class Participation:
    """What of a session is taken part in: who takes its events, the hooks that are run, and with
    `on_section` who changes sections of its system prompt, by name and text."""

    on_event: Callable[[CliEvent], None]
    hooks: Mapping[str, OnHook]
    on_section: Callable[[str, str], Awaitable[str]] | None = None


class CliSession:
    """A session that was joined, which is heard of until `leave`."""

    def __init__(self, connection: "CliConnection", id_: str, part: Participation) -> None:
        self.id = id_
        self.workspace: Path | None = None
        """The session's folder, where the CLI names one."""
        self.ui: dict[str, Any] = {}
        """What the CLI shows in its window for others, by name."""
        self.part = part
        self._connection = connection

    async def ask(
        self, what: str, method: str, /, *, within: float = CALL_TIME, **params: Any
    ) -> dict[str, Any]:
        """Call a method of the session, as `CliConnection.ask` does."""
        params = {"sessionId": self.id, **params}
        return await self._connection.ask(what, method, params, within=within)

    async def has_tool(self, name: str) -> bool:
        """Return whether the session has a tool; its tools are made ready where they are not."""
        what, method = "look at its tools", "session.tools.getCurrentMetadata"
        told = await self.ask(what, method)
        if told.get("tools") is None:
            await self.ask("make its tools ready", "session.tools.initializeAndValidate")
            told = await self.ask(what, method)
        return any(tool.get("name") == name for tool in objects_of(told, "tools"))

    def lacks(self, missing: str) -> None:
        """End the conversation: the CLI let us join and did not understand how."""
        if self._connection.protocol != SPOKEN[0]:
            self._connection.refuse(self._connection.left_aside(missing, is_final=True))

    async def leave(self) -> None:
        """Take our tools and hooks away; the session ends unless another client has it."""
        left = await self.ask("leave the session", "session.detach")
        self._connection.forget(self)
        if left.get("success") is False:
            why = text_of(left, "error") or "the CLI could not"
            raise AttachError(f"leave the session: {cut(why, _REASON)}")

    def joined(self, told: Mapping[str, Any]) -> None:
        folder = text_of(told, "workspacePath")
        self.workspace = Path(folder) if folder and "\0" not in folder else None
        self._has(told.get("capabilities"))

    def happened(self, event: CliEvent) -> None:
        if event.name == "capabilities.changed":
            self._has(event.data)
        self.part.on_event(event)

    def _has(self, capabilities: Any) -> None:
        ui = capabilities.get("ui") if isinstance(capabilities, dict) else None
        self.ui |= ui if isinstance(ui, dict) else {}


class CliConnection:
    """The conversation over a pair of streams, with `process` if that is one of ours.

    `greet` begins it, `close` ends both. `on_foreground` takes the session that the screen shows.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        process: asyncio.subprocess.Process | None = None,
        on_foreground: Callable[[str], None] | None = None,
    ) -> None:
        self.protocol = 0
        self.sessions: dict[str, CliSession] = {}
        self.refusal: ProtocolError | None = None
        """Why this side has ended the conversation."""
        self._name = "Copilot CLI"
        """The CLI with its version."""
        self._process = process
        self._on_foreground = on_foreground
        self._rpc = RpcConnection(
            writer,
            requests={
                "hooks.invoke": self._on_hook,
                "systemMessage.transform": self._on_sections,
                # Answered by the ids in the events that tell of them:
                "userInput.request": None,
                "exitPlanMode.request": None,
                "autoModeSwitch.request": None,
            },
            notifications={
                "session.event": self._on_event,
                "session.lifecycle": self._on_lifecycle,
            },
            other="the CLI",
        )
        self._serving = asyncio.create_task(self._serve(reader), name="a CLI's messages")

    @classmethod
    async def open(
        cls,
        port: int,
        token: str | None,
        *,
        within: float,
        on_foreground: Callable[[str], None],
    ) -> "CliConnection":
        """Connect to the CLI that listens on a port. Raises `AttachError`."""
        what = f"connect to port {port}"
        try:
            async with asyncio.timeout(within):
                reader, writer = await asyncio.open_connection(LOOPBACK, port)
        except TimeoutError:
            raise NoAnswerError(f"{what}: no answer within {within:g} s") from None
        except OSError as error:
            raise LostError(f"{what}: {error.strerror or error}") from None
        connection = cls(reader, writer, on_foreground=on_foreground)
        try:
            await connection.greet(what, token, within=within)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def greet(self, what: str, token: str | None = None, *, within: float) -> None:
        """Begin the conversation. Raises `AttachError`; `ProtocolError` for a CLI of another
        protocol."""
        params: dict[str, Any] = {"supportedTaskKinds": ["agent", "client", "shell"]}
        if token is not None:
            params["token"] = token
        try:
            told = await self.ask(what, "connect", params, within=within)
        except UnknownMethodError:
            told = await self.ask(what, "ping", _PING, within=within)
        self._name = f"{self._name} {cut(text_of(told, 'version') or '', 40)}".strip()
        protocol = told.get("protocolVersion")
        if protocol not in SPOKEN:
            named = f"speaks protocol {cut(json.dumps(protocol), 20)}"
            is_old = type(protocol) is int and protocol < SPOKEN[0]
            raise ProtocolError(
                f"{self._name} {'names no protocol' if protocol is None else named}; "
                f"tapui speaks {' and '.join(map(str, SPOKEN))}",
                UPDATE if is_old else install_line("tapui", "--upgrade"),
                is_final=True,
            )
        self.protocol = int(protocol)

    @property
    def program(self) -> str:
        """The CLI, its version and protocol, and whose names it is sent where these differ."""
        form = "" if self.protocol == SPOKEN[0] else f", with the names of {SPOKEN[0]}"
        return f"{self._name}, protocol {self.protocol}{form}"

    @property
    def pid(self) -> int | None:
        """The process of ours that it is."""
        return None if self._process is None else self._process.pid

    def has_ended(self) -> bool:
        """Whether that process has."""
        return self._process is None or self._process.returncode is not None

    async def close(self) -> None:
        """End it at once, and the process if it is ours with all that it started; calls under way
        fail."""
        self._rpc.close()
        self.sessions.clear()
        if (process := self._process) is not None:
            try:
                if process.returncode is None:
                    await asyncio.shield(asyncio.to_thread(kill_tree, process.pid))
            finally:
                # npm's `copilot` may have ended before the CLI that it had started.
                signal_group(process.pid, signal.SIGKILL)
                # Its pipes, which another process may hold, are closed with the transport.
                process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - no other way
            with contextlib.suppress(TimeoutError):  # the system does not end it
                await asyncio.wait_for(process.wait(), _END_TIME)
        await self._serving

    async def _serve(self, reader: asyncio.StreamReader) -> None:
        try:
            await self._rpc.run(reader)
        except RpcError as error:
            _log.debug("%s", error)
        finally:
            self._rpc.close()

    # Asking

    async def ask(
        self, what: str, method: str, params: Any = None, *, within: float = CALL_TIME
    ) -> dict[str, Any]:
        """Return the result of a method; one that is no object counts as an empty one.

        Raises `AttachError`, which says `what` could not be done and why.
        """
        try:
            result = await self._rpc.ask(method, {} if params is None else params, within=within)
        except RpcNoAnswerError:
            raise NoAnswerError(f"{what}: no answer from the CLI within {within:g} s") from None
        except RpcLostError as error:
            raise self.refusal or LostError(f"{what}: {error}") from None
        except RpcRefusedError as error:
            if error.code == METHOD_NOT_FOUND or "Unhandled method" in str(error):
                raise UnknownMethodError(f"{what}: this Copilot CLI does not know that") from None
            raise AttachError(f"{what}: {cut(str(error), _REASON)}") from None
        return result if isinstance(result, dict) else {}

    async def ping(self, *, within: float) -> None:
        """Return once the CLI answers, in any way. Raises `NoAnswerError`, `LostError` and
        `ProtocolError`."""
        try:
            await self.ask("ping", "ping", _PING, within=within)
        except (NoAnswerError, LostError, ProtocolError):
            raise
        except AttachError as error:
            _log.debug("%s", error)

    async def join(
        self,
        session_id: str,
        part: Participation,
        payload: Mapping[str, Any],
        *,
        what: str = "attach to the session",
        method: str = "session.resume",
        within: float = CALL_TIME,
    ) -> CliSession:
        """Join a session, without tools: one that is there already, or with another `method` one
        that is made. Raises `AttachError`."""
        session = self.sessions[session_id] = CliSession(self, session_id, part)
        try:
            params = {"sessionId": session_id, **_JOIN, **payload}
            session.joined(await self.ask(what, method, params, within=within))
        except BaseException as error:
            self.forget(session)
            if self.protocol == SPOKEN[0] or type(error) is not AttachError:
                raise
            raise ProtocolError(
                f"{self._name} speaks protocol {self.protocol}, and perhaps does not take the "
                f"names of protocol 3: {error}",
                UPDATE,
            ) from None
        return session

    async def join_checked(
        self,
        session_id: str,
        part: Participation,
        payload: Mapping[str, Any],
        lacking: Callable[[CliSession], Awaitable[str]] | None = None,
        **how: Any,
    ) -> CliSession:
        """Join a session as `join` does; in protocol 4 it is left where the CLI did not understand
        the request. `lacking` says what of it is not as it should be."""
        if self.protocol == SPOKEN[0]:
            return await self.join(session_id, part, payload, **how)
        session = await self.join(session_id, part, {**payload, "tools": [PROBE]}, **how)
        try:
            missing = "" if await session.has_tool(str(PROBE["name"])) else "its hooks and tools"
            if not missing and lacking is not None:
                missing = await lacking(session)
            if missing:
                raise self.left_aside(missing)
            await session.ask("take a tool back", "session.tools.set", tools=[])
        except BaseException as error:
            with contextlib.suppress(AttachError):  # it was not joined as it should be
                await session.leave()
            self.forget(session)
            if isinstance(error, UnknownMethodError):
                raise self.left_aside(f"the look at its tools ({error})") from None
            raise
        return session

    def left_aside(self, missing: str, *, is_final: bool = False) -> ProtocolError:
        text = f"{self._name} (protocol {self.protocol}) let tapui join a session and left aside"
        return ProtocolError(f"{text} {missing}", UPDATE, is_final=is_final)

    def refuse(self, refusal: ProtocolError) -> None:
        """End the conversation, as the CLI and tapui do not understand each other."""
        self.refusal = refusal
        self._rpc.close()

    def forget(self, session: CliSession) -> None:
        """Take nothing more of a session; one that was joined anew stays."""
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]

    # What the CLI asks and tells

    def _session(self, params: Any) -> CliSession | None:
        return self.sessions.get(text_of(params, "sessionId") or "")

    def _on_event(self, params: Any) -> None:
        session = self._session(params)
        if session is None:
            return
        try:
            event = CliEvent.read(params["event"])
        except (KeyError, TypeError, ValueError) as error:
            _log.debug("an event of session %s cannot be read: %r", session.id, error)
        else:
            session.happened(event)

    def _on_lifecycle(self, params: Any) -> None:
        shown = text_of(params, "sessionId")
        is_shown = text_of(params, "type") == "session.foreground"
        if is_shown and shown is not None and self._on_foreground is not None:
            self._on_foreground(shown)

    async def _on_hook(self, params: Any) -> dict[str, Any]:
        session = self._session(params)
        if session is None:
            raise RpcRefusedError("the session was not joined here")
        on_hook = session.part.hooks.get(text_of(params, "hookType") or "")
        given = params.get("input")
        if on_hook is None:
            return {}
        output = await on_hook(given if isinstance(given, dict) else {})
        return {} if output is None else {"output": output}

    async def _on_sections(self, params: Any) -> dict[str, Any]:
        session = self._session(params)
        if session is None or (change := session.part.on_section) is None:
            raise RpcRefusedError("the session was not joined here")
        texts = {
            name: text_of(given, "content") or "" for name, given in params["sections"].items()
        }
        changed = await asyncio.gather(*(change(name, text) for name, text in texts.items()))
        sections = zip(texts, changed, strict=True)
        return {"sections": {name: {"content": text} for name, text in sections}}


def text_of(told: Any, name: str) -> str | None:
    """Return a text of the CLI's; None where it is none."""
    text = told.get(name) if isinstance(told, dict) else None
    return text if isinstance(text, str) else None


def objects_of(told: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects of a list of the CLI's; what is none is left out."""
    listed = told.get(name) if isinstance(told, dict) else None
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
