"""A Copilot CLI played by a test: its JSON-RPC, over a loopback socket.

It knows what attaching needs. What a session is asked for beside that is answered with an error,
as a CLI of another version does; the host reports it and goes on.
"""

import asyncio
import json
import os
import threading
import uuid
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.rig.waiting import HUNG

Json = dict[str, Any]


class CliPlayed:
    """A CLI that listens and holds `sessions`; used as a context manager, in a thread of its own.

    The first session is on the screen. Those in `broken` cannot be resumed; prompts to those in
    `deaf` are refused; tools in `taken` are another program's. Resuming those in `slow` takes
    until `answer_the_slow()`; with `holds_extensions` so does a join that wants hooks. With
    `refuses_extensions` none may have hooks. `requests` holds what was asked, `permissions` what
    the CLI asks the person.

    While it `is_hung` no ping is answered. `processing`, `queued`, `commands` and `models` are what
    it says of each session when asked; what is in `unknown` it does not know, and what is in `mute`
    it does not answer. A prompt's message has the id `m-PROMPT`.
    """

    def __init__(self, copilot_home: Path, *sessions: str) -> None:
        self.home = copilot_home
        self.sessions = sessions
        self.broken: set[str] = set()
        self.deaf: set[str] = set()
        self.taken: set[str] = set()
        self.slow: set[str] = set()
        self.is_hung = False
        self.refuses_extensions = False
        self.holds_extensions = False
        self.permissions: list[Json] = []
        self.processing = False
        self.is_restless = False
        self.queued: list[str] = []
        self.steering: list[str] = []
        self.agents: list[str] = []
        self.commands: list[str] = []
        self.models: list[Json] = []
        self.unknown: set[str] = set()
        self.mute: set[str] = set()
        self.objectives: dict[str, Json] = {}
        """What sessions are to reach, by session."""
        self.quotas: Json = {}
        """What the account may use, by the name of the quota."""
        self.account: Json = {"isAuthenticated": False}
        self.schedules: list[Json] = []
        self.canvases: list[Json] = []
        self.todos: list[Json] = []
        """What the agents want to do, as rows of the CLI's table."""
        self.capabilities: Json = {"ui": {"elicitation": True}}
        self.forms: dict[str, tuple[asyncio.StreamWriter, Json]] = {}
        """Forms of clients that stand, by the request's id: who asked, and the request."""
        self._unanswered: list[tuple[asyncio.StreamWriter, Json]] = []
        self._hooks: dict[str, Future[Json]] = {}
        self.requests: list[Json] = []
        self.greeting: Any = {"ok": True, "protocolVersion": 3, "version": "1.0.102"}
        self.is_strict = False
        """Whether it refuses the names of protocol 3 in requests that make or resume a session."""
        self.takes_tools = True
        """Whether it understands the tools in such a request."""
        self.is_ready = False
        """Whether it has made a session's tools ready: before that it tells none."""
        self._tools: list[Json] = []
        self.results: dict[str, Any] = {}
        """Results of methods that differ from those of a CLI that is well."""
        self.port = 0
        self._ready: Future[None] = Future()
        self._writers: list[asyncio.StreamWriter] = []
        self._serving: list[asyncio.Task[Any]] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Event

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.result(10)
        for session in self.sessions:
            folder = self.home / "session-state" / session
            folder.mkdir(parents=True)
            (folder / f"inuse.{os.getpid()}.lock").write_text(str(os.getpid()))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return sum(not one.done() for one in self._serving)

    def drop(self) -> None:
        """Close every connection."""
        self._loop.call_soon_threadsafe(self._drop)

    def asked(self, method: str) -> list[Json]:
        """Return the parameters of the requests of a method."""
        return [one["params"] for one in list(self.requests) if one["method"] == method]

    def happens(self, session: str, kind: str, **data: Any) -> None:
        """Tell every client of an event of a session."""
        event = {
            "type": kind,
            "id": str(uuid.uuid4()),
            "timestamp": "2036-01-01T00:00:00Z",
            "parentId": None,
            "data": data,
        }
        self._notify("session.event", sessionId=session, event=event)

    def aims(self, session: str, objective: Json | None) -> None:
        """Let a session have an objective, or none any more; tell every client."""
        if objective is None:
            self.objectives.pop(session, None)
            data: Json = {"operation": "delete"}
        else:
            known = session in self.objectives
            self.objectives[session] = {"turnCount": 1, "creditCountNanoAiu": "0", **objective}
            told = {key: objective[key] for key in ("id", "status")}
            data = {"operation": "update" if known else "create", **told}
        self.happens(session, "session.autopilot_objective_changed", **data)

    def hook(self, session: str, kind: str, **given: Any) -> Json | None:
        """Run a hook of the last client that connected, and return its output."""
        id_ = f"hook-{len(self._hooks)}"
        self._hooks[id_] = Future()
        given = {"sessionId": session, "timestamp": 0, "cwd": "/", **given}
        params = {"sessionId": session, "hookType": kind, "input": given}
        asked = {"jsonrpc": "2.0", "id": id_, "method": "hooks.invoke", "params": params}
        self._loop.call_soon_threadsafe(_write, self._writers[-1], asked)
        return self._hooks[id_].result(HUNG)["result"].get("output")

    def answer_form(self, action: str, content: Json | None = None) -> None:
        """Answer the form that stands, as the person does."""
        self._loop.call_soon_threadsafe(self._end_form, *self.forms, action, content)

    def _end_form(self, request_id: str, action: str, content: Json | None) -> bool:
        writer, asked = self.forms.pop(request_id, (None, {}))
        if writer is None:
            return False
        result = {"action": action, **({} if content is None else {"content": content})}
        _write(writer, {"jsonrpc": "2.0", "id": asked["id"], "result": result})
        session = asked["params"]["sessionId"]
        self.happens(session, "elicitation.completed", requestId=request_id, **result)
        return True

    def _ask_form(self, writer: asyncio.StreamWriter, asked: Json) -> None:
        request_id, params = f"form-{asked['id']}", dict(asked["params"])
        self.forms[request_id] = writer, asked
        self.happens(
            params.pop("sessionId"), "elicitation.requested", requestId=request_id, **params
        )

    def shows(self, session: str) -> None:
        """Bring a session to the screen, a new one perhaps."""
        folder = self.home / "session-state" / session
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"inuse.{os.getpid()}.lock").write_text(str(os.getpid()))
        self._notify("session.lifecycle", sessionId=session, type="session.foreground")

    def _notify(self, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        for writer in self._writers:
            self._loop.call_soon_threadsafe(_write, writer, message)

    def _is_slow(self, message: Json) -> bool:
        params = message["params"]
        held = self.holds_extensions and params.get("hooks")
        return bool(held) or params.get("sessionId") in self.slow

    def answer_the_slow(self) -> None:
        """Answer what was asked of slow sessions."""
        for writer, answered in self._unanswered:
            self._loop.call_soon_threadsafe(_write, writer, answered)

    def _drop(self) -> None:
        for hook in self._hooks.values():
            if not hook.done():
                hook.set_exception(ConnectionError("the connection was dropped"))
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    async def _main(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set_result(None)
        await self._ended.wait()
        server.close()
        self._drop()
        await asyncio.gather(*self._serving)
        await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        if (task := asyncio.current_task()) is not None:
            self._serving.append(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                message = json.loads(await reader.readexactly(size))
                if "method" not in message:
                    self._hooks[message["id"]].set_result(message)
                if "method" in message and "id" in message:
                    self.requests.append(message)
                    if message["method"] == "session.ui.elicitation":
                        self._ask_form(writer, message)
                        continue
                    answer = self._answer(message["method"], message.get("params") or {})
                    if not answer:
                        continue
                    answered = {"jsonrpc": "2.0", "id": message["id"], **answer}
                    if message["method"] == "session.resume" and self._is_slow(message):
                        self._unanswered.append((writer, answered))
                    else:
                        _write(writer, answered)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, method: str, params: Any) -> Json:
        given = params if isinstance(params, dict) else {}
        session = given.get("sessionId")
        result: Any
        if method in self.mute:
            return {}
        if method in self.unknown:
            return _error(f"Unhandled method {method}")
        if method in ("session.create", "session.resume"):
            self._tools = given.get("tools", []) if self.takes_tools else []
        if method in self.results:
            return {"result": self.results[method]}
        match method:
            case "connect":
                result = self.greeting
            case "ping" if self.is_hung:
                return {}
            case "ping":
                result = {"message": "", "timestamp": 0, "protocolVersion": 3}
            case "session.getForeground":
                result = {"sessionId": self.sessions[0]}
            case "session.resume" if session in self.broken:
                return _error(f"session {session} is corrupt")
            case "session.resume" if self.refuses_extensions and given.get("hooks"):
                return _error('Extension "user:tapui" was denied permission access')
            case "session.resume" if self.is_strict:
                return _error("unknown field `toolFilterPrecedence`")
            case "session.resume":
                result = {
                    "sessionId": session, "workspacePath": None, "capabilities": self.capabilities
                }  # fmt: skip
            case "session.tools.getCurrentMetadata":
                names = [tool["name"] for tool in self._tools]
                result = {"tools": [{"name": name} for name in names] if self.is_ready else None}
            case "session.tools.initializeAndValidate":
                self.is_ready = True
                result = {}
            case "session.ui.handlePendingElicitation":
                ended = given["result"]
                success = self._end_form(given["requestId"], ended["action"], ended.get("content"))
                result = {"success": success}
            case "session.send" if session in self.deaf:
                return _error("the session takes no prompt")
            case "session.send":
                result = {"messageId": f"m-{given['prompt']}"}
            case "session.abort":
                self.processing = self.processing and self.is_restless
                result = {}
            case "session.metadata.isProcessing":
                result = {"processing": self.processing}
            case "session.queue.pendingItems":
                items = [
                    {
                        "id": text,
                        "kind": "message",
                        "agentMode": "interactive",
                        "displayText": text,
                        "messageId": f"m-{text}",
                    }
                    for text in self.queued
                ]
                result = {
                    "items": items, "steeringMessages": self.steering, "inFlightSteeringCount": 0,
                }  # fmt: skip
            case "session.autopilotObjective.getState":
                result = {"state": self.objectives.get(str(session))}
            case "session.quota.get":
                result = {
                    "canSignupForCopilotFree": False, "delegateAvailable": False,
                    "dynamicWorkflowsEnabled": False, "dynamicWorkflowsUiVisible": False,
                    "isFreeUser": False, "isTbbUser": False, "modelCostColumnVisible": False,
                    "planTier": "unknown", "premiumRequestsBillable": False,
                    "snapshots": self.quotas,
                }  # fmt: skip
            case "session.gitHubAuth.getStatus":
                result = self.account
            case "session.plan.readSqlTodos":
                result = {"rows": self.todos}
            case "session.tasks.list":
                tasks = [_shell(command) for command in self.commands]
                result = {"tasks": tasks + [_agent(one) for one in self.agents]}
            case "session.schedule.list":
                result = {"entries": self.schedules}
            case "session.canvas.listOpen":
                result = {"openCanvases": self.canvases}
            case "session.history.compact":
                result = {"success": not self.deaf, "messagesRemoved": 1, "tokensRemoved": 2}
            case "session.model.list":
                result = {"list": self.models}
            case "session.model.getCurrent":
                result = {"modelId": "scripted"}
            case "session.model.switchTo":
                result = {"modelId": given["modelId"], "deferred": self.processing}
            case "session.model.setReasoningEffort":
                result = {"reasoningEffort": given["reasoningEffort"]}
            case "session.tools.listPendingRequests":
                result = {"items": []}
            case "session.permissions.pendingRequests":
                asked = enumerate(self.permissions)
                result = {"items": [{"requestId": f"p-{n}", "request": one} for n, one in asked]}
            case "session.tools.handlePendingToolCall":
                result = {"success": True}
            case "session.tools.set" if clash := sorted(
                self.taken.intersection(one["name"] for one in given["tools"])
            ):
                return _error(f"External tool name clash: {', '.join(clash)} already registered")
            case "session.detach":
                result = {"success": True}
            case "session.tools.set" | "session.log" | "session.name.set":
                result = {}
            case _:
                return _error(f"Unhandled method {method}")
        return {"result": result}


def _shell(command: str) -> Json:
    return {
        "type": "shell",
        "id": command,
        "command": command,
        "description": "",
        "attachmentMode": "detached",
        "startedAt": "2036-01-01T00:00:00Z",
        "status": "running" if "over" not in command else "completed",
    }


def _agent(type_: str) -> Json:
    return {
        "type": "agent",
        "id": type_,
        "agentType": type_,
        "description": "",
        "prompt": "",
        "toolCallId": f"call-{type_}",
        "startedAt": "2036-01-01T00:00:00Z",
        "status": "running",
    }


def _error(text: str) -> Json:
    return {"error": {"code": -32603, "message": text}}


def _write(writer: asyncio.StreamWriter, message: Json) -> None:
    if not writer.is_closing():
        data = json.dumps(message).encode()
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
