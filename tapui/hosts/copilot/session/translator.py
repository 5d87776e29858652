"""What happens in a Copilot session, put into the words of the host conversation."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from tapui.hosts.copilot.asks.permissions import ALLOW_ALL, ASSISTED
from tapui.hosts.copilot.connection import CliEvent, objects_of, text_of
from tapui.hosts.copilot.session.history import OpenCall, changes
from tapui.hosts.copilot.session.hooks import Asker
from tapui.hosts.copilot.session.known_events import LEFT_ASIDE, TAKEN
from tapui.hosts.copilot.session.prompts import (
    OWN_SOURCE,
    SENT_BACK,
    SentPrompts,
    notice_words,
)
from tapui.hosts.copilot.session.shells import Shells, exit_code, result_type
from tapui.hosts.copilot.session.usage import credits_of, number_of
from tapui.policies.commands import parsed
from tapui.projection.summary import summary
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import Agent, SessionEvent, SessionUpdate
from tapui.wire.message import UPDATE_MARK, Message, Mode

OUTPUT_LENGTH = 64 * 1024
"""Characters that are passed on of a tool's output or a message."""
ARGUMENTS_BYTES = 256 * 1024
"""Bytes that are passed on whole of a call's arguments, as JSON."""
_NAME = re.compile(r"[\w.-]{1,40}")
_MODES = ("interactive", "plan", "autopilot")
_SOME_SERVER, _SOME_PROGRAM = "an MCP server", "another program"
"""What answered a call, where its name is not known."""
_PROTOCOL = "model."
"""How the names of events begin that repeat what was said to the model, whole, each turn."""
_NO_SERVER = frozenset({"disabled", "stopped", "not_configured"})
"""States of MCP servers that the CLI does not run."""
_NEWS = 4_096
"""Characters of what a call tells before its end that are passed on: the last."""
_NEWS_INTERVAL = timedelta(seconds=1)
_NOTICES = 5
"""Notices that wait for the work that they begin; further ones are left out."""
_AT_WORK = frozenset({"assistant.turn_start", "assistant.message", "tool.execution_start"})
"""Events with which the agent is at work: what the CLI was told before has begun it."""
_REMEMBERED_PROMPTS = 1_000
_REMEMBERED_CALLS = 1_000
"""Of these many the end is awaited; the oldest is forgotten beyond that."""


def as_mode(mode: Any) -> Mode | None:
    """Return the mode, or None for one that this conversation has no word for."""
    return cast("Mode", mode) if mode in _MODES else None


def own_mcp_servers(told: Any) -> list[str]:
    """Return the names of the `servers` that the CLI runs, or tries to."""
    servers = objects_of(told, "servers")
    found = [
        text_of(one, "name") or "" for one in servers if text_of(one, "status") not in _NO_SERVER
    ]
    return [name for name in found if 0 < len(name) <= limits.MAX_ID][: limits.MAX_IDS]


def agents_of(told: Any) -> list[Agent]:
    """Return the custom `agents`, each with the tools on its allowlist; None and "*" mean all."""
    return [
        _agent(name, one) for one in objects_of(told, "agents") if (name := text_of(one, "name"))
    ]


def _agent(name: str, told: dict[str, Any]) -> Agent:
    given, description = told.get("tools"), text_of(told, "description") or ""
    tools = [str(tool) for tool in given] if isinstance(given, list) else None
    about = cut(" ".join(description[: 2 * limits.MAX_SUMMARY].split()), limits.MAX_SUMMARY)
    return Agent(name, None if tools is None or "*" in tools else tools, about or None)


def _cut(text: str) -> str:
    return cut(text, OUTPUT_LENGTH)


def _written(tool: str, arguments: Any, shell: Mapping[str, Any]) -> list[str]:
    """Return the files that a command's redirections write. Copilot's own `possiblePaths` are all
    words that could name something (`push`, a URL, a number), and lack what is written."""
    command = text_of(arguments, "command")
    if tool != "bash" or command is None:
        return list(shell.get("possiblePaths", ()))
    names = [name for part in parsed(command).parts for name in part.writes]
    return [name for name in dict.fromkeys(names) if not {"$", "`"} & set(name)]


@dataclass(slots=True)
class _Started:
    tool: str
    args: Any
    at: datetime
    written: list[str]
    """Files that its command seems to write."""
    told_at: datetime | None = None
    """When its progress was told last."""
    server: str | None = None
    """The MCP server of the CLI's whose tool it is."""
    is_seen: bool = True
    """Whether the CLI told of it; else it was read in the session's file, to which its agent can
    write."""


class Translator:
    """Translates the events of one session.

    `is_ours` tells the names of the tools that this host offers: their calls are the gateway's to
    show, so they are left out here. Known events that say nothing to a person (deltas, the model's
    protocol) are left out too; those that are not known are handed on as they are.
    """

    def __init__(self, session_id: str, is_ours: Callable[[str], bool]) -> None:
        self.session_id = session_id
        self._is_ours = is_ours
        self._calls: OrderedDict[str, _Started] = OrderedDict()
        self.shells = Shells()
        self._awaited: list[str] = []
        """The commands in the background that were told last."""
        self.sent = SentPrompts()
        """What this host had sent: whose prompts these are is known by them."""
        self.permission_mode: str | None = None
        """How the CLI asks for permissions, by its own word, as far as it says."""
        self.mode: Mode | None = None
        self.last_words = ""
        """The end of what the agent wrote last in its turn."""
        self._prompts: OrderedDict[str, str] = OrderedDict()
        """When each prompt was given, by its event's id, the newest last."""
        self._notices: list[str] = []
        """What the CLI told its agent by itself, and no work has followed yet."""
        self._in_use: tuple[int, int] | None = None
        """How full the context was last: its tokens, and the most that it can have."""
        self._filled: dict[str, int | None] = {}
        """What fills the context, in tokens."""
        self._compacts_at: int | None = None
        self.table: dict[str, Callable[[CliEvent, Any], list[Message]]] = {
            "user.message": self._user_message,
            "assistant.turn_start": self._plain("turnId"),
            "assistant.turn_end": self._plain("turnId"),
            "assistant.message": self._assistant_message,
            "assistant.intent": self._plain("intent"),
            "assistant.usage": self._usage,
            "session.usage_info": self._context,
            "session.idle": self._idle,
            "session.error": self._plain("errorType", "message"),
            "session.compaction_start": self._plain(),
            "session.compaction_complete": self._compacted,
            "session.mode_changed": self._mode,
            "session.permissions_changed": self._permission_mode,
            "session.model_change": self._model,
            "session.title_changed": self._title,
            "session.context_changed": self._folder,
            "session.custom_agents_updated": self._agents,
            "session.mcp_servers_loaded": self._mcp_servers,
            "abort": self._plain("reason"),
            "assistant.reasoning": self._plain("content", "reasoningId"),
            "model.call_failure": self._plain(
                "source",
                "model",
                "errorType",
                "errorCode",
                "errorMessage",
                "statusCode",
                "retryAttempt",
            ),
            "session.snapshot_rewind": self._rewound,
            "session.warning": self._plain("warningType", "message", "url"),
            "session.autopilot_stopped": self._plain("reason"),
            "commands.changed": self._commands,
            "capabilities.changed": self._capabilities,
            "tool.execution_progress": self._tool_news,
            "tool.execution_start": self._tool_start,
            "tool.execution_complete": self._tool_complete,
            "tool.shell_output": self._printed,
            "external_tool.requested": self._answered_elsewhere,
            "hook.end": self._hook_ended,
            "system.notification": self._notified,
            "subagent.started": self._subagent_started,
            "subagent.completed": self._subagent("subagent.completed"),
            "subagent.failed": self._subagent("subagent.failed"),
        }

    def translate(self, event: CliEvent) -> list[Message]:
        """Return the messages to the gateway that `event` causes."""
        name = event.name
        translate = self.table.get(name)
        if translate is not None:
            begun = self._begun_itself() if name in _AT_WORK and event.agent_id is None else []
            return begun + translate(event, event.data)
        if name in TAKEN or name in LEFT_ASIDE or event.is_ephemeral or name.startswith(_PROTOCOL):
            return []
        return self._newer(name, event)

    def _begun_itself(self) -> list[Message]:
        """Return the prompt that the CLI gave its agent, once its work begins: some notices are
        read much later, or never. In a turn under way it is a step of that."""
        if not self._notices:
            return []
        content = _cut(", ".join(self._notices))
        self._notices.clear()
        return self._event(
            "prompt.automatic", content=content, source=OWN_SOURCE, delivery="steering"
        )

    def _newer(self, name: str, event: CliEvent) -> list[Message]:
        """Hand on an event that is not known: of a large one its name alone."""
        if not 0 < len(name) <= limits.MAX_ID:
            return []
        data = raw(event.data)
        if len(bytes(data)) > OUTPUT_LENGTH:
            data = raw({})
        return [SessionEvent(session_id=self.session_id, event=name, data=data)]

    def _event(self, name: str, **data: Any) -> list[Message]:
        kept = {key: value for key, value in data.items() if value is not None}
        return [SessionEvent(session_id=self.session_id, event=name, data=raw(kept))]

    def _plain(self, *fields: str) -> Callable[[CliEvent, Any], list[Message]]:
        """Return a translation that passes the named fields on."""

        def translate(event: CliEvent, data: Any) -> list[Message]:
            values = {}
            for name in fields:
                value = data.get(name)
                values[name] = _cut(value) if isinstance(value, str) else value
            return self._event(event.name, **values, agentId=event.agent_id)

        return translate

    def _user_message(self, event: CliEvent, data: Any) -> list[Message]:
        content: str = data["content"]
        if event.agent_id is not None:
            return []  # what an agent tells its own subagent
        self._prompts[event.id] = _utc(event.at)
        if len(self._prompts) > _REMEMBERED_PROMPTS:
            self._prompts.popitem(last=False)
        self.last_words = ""
        self._notices.clear()  # the agent reads them with this prompt
        delivery = data.get("delivery")
        told = {"content": _cut(content), "delivery": delivery if delivery != "idle" else None}
        if (sent := self.sent.take(content)) is not None:
            if sent.sender == "hook":
                return self._event("prompt.automatic", content=told["content"], **SENT_BACK)
            name = "user.message" if sent.sender == "person" else "prompt.injected"
            return self._event(name, **told, **{"from": sent.by or None})
        if data.get("isAutopilotContinuation"):
            return self._event("prompt.automatic", **told, source="autopilot")
        if data.get("source") not in (None, "user"):
            return self._event("prompt.automatic", **told, source=data.get("source"))
        return self._event("user.message", **told)

    def _hook_ended(self, event: CliEvent, data: Any) -> list[Message]:
        if event.agent_id is None:
            self.sent.by_hook(data.get("hookType"), data.get("output"))
        return []

    def prompted_before(self, prompts: Mapping[str, str]) -> None:
        """Take prompts of before this host came: when each was given, by its event's id."""
        before = [one for one in prompts.items() if one[0] not in self._prompts]
        self._prompts = OrderedDict([*before, *self._prompts.items()][-_REMEMBERED_PROMPTS:])

    def _rewound(self, event: CliEvent, data: Any) -> list[Message]:
        """The CLI took events back: from one on, or those of a list."""
        if event.agent_id is not None:
            return []
        prompts = list(self._prompts)
        if listed := data.get("eventIds"):
            gone = {str(id_)[: limits.MAX_ID] for id_ in listed} & set(prompts)
        else:
            first = str(data.get("upToEventId"))
            gone = set(prompts[prompts.index(first) :]) if first in self._prompts else set()
        times = [self._prompts.pop(one) for one in gone]
        return self._event("session.snapshot_rewind", since=min(times, default=None))

    def _assistant_message(self, event: CliEvent, data: Any) -> list[Message]:
        content = text_of(data, "content") or ""
        if event.agent_id is None and content:
            self.last_words = content[-_NEWS:]
        requests = [
            {"name": request["name"], "args": _arguments(request.get("arguments"))}
            for request in objects_of(data, "toolRequests")
        ]
        return self._event(
            "assistant.message",
            content=_cut(content),
            toolRequests=requests or None,
            agentId=event.agent_id,
        )

    def _usage(self, event: CliEvent, data: Any) -> list[Message]:
        nano = (data.get("copilotUsage") or {}).get("totalNanoAiu")
        return self._event(
            event.name,
            model=_cut(data["model"]),
            inputTokens=data.get("inputTokens"),
            outputTokens=data.get("outputTokens"),
            cacheReadTokens=data.get("cacheReadTokens"),
            cacheWriteTokens=data.get("cacheWriteTokens"),
            cost=data.get("cost"),
            credits=credits_of(nano, data.get("aiCreditsStatus")),
            agentId=event.agent_id,
        )

    def _context(self, event: CliEvent, data: Any) -> list[Message]:
        used, limit = int(data["currentTokens"]), int(data["tokenLimit"])
        if event.agent_id is not None:
            return self._event("session.context", tokens=used, limit=limit, agentId=event.agent_id)
        self._is_full(used, limit, data)
        return self._context_now()

    def _is_full(self, used: int, limit: int, data: Any) -> None:
        self._in_use = used, limit
        self._filled = {
            "system": data.get("systemTokens"),
            "tools": data.get("toolDefinitionsTokens"),
            "conversation": data.get("conversationTokens"),
        }

    def _context_now(self) -> list[Message]:
        if self._in_use is None:
            return []
        tokens, limit = self._in_use
        return self._event(
            "session.context",
            tokens=tokens,
            limit=limit,
            compactsAt=self._compacts_at,
            **self._filled,
        )

    def context_info(self, info: Any) -> list[Message]:
        """Take what the CLI says of the context when it is asked: at how many tokens it is made
        smaller and, until an event has told it, how full it is."""
        at, was = number_of(info, "compactionThreshold"), (self._compacts_at, self._in_use)
        self._compacts_at = None if at is None else int(at)
        tokens, limit = number_of(info, "totalTokens"), number_of(info, "limit")
        if self._in_use is None and tokens and limit:
            self._is_full(int(tokens), int(limit), info)
        return self._context_now() if was != (self._compacts_at, self._in_use) else []

    def _idle(self, event: CliEvent, data: Any) -> list[Message]:
        if event.agent_id is not None:
            return []
        aborted = True if data.get("aborted") else None
        return self.idle() + self._event("session.idle", aborted=aborted)

    def idle(self) -> list[Message]:
        """The CLI has said `session.idle`, maybe of a rest that was told before."""
        self.shells.rested()
        return self.waits()

    def rests(self) -> list[Message]:
        """The agent rests without `session.idle`: the CLI waits for commands in the background."""
        return self.waits() + self._event("session.idle")

    def waits(self) -> list[Message]:
        """Tell for which commands in the background the CLI waits, where that has changed."""
        awaited = self.shells.awaited()
        if awaited == self._awaited:
            return []
        self._awaited = awaited
        return [SessionUpdate(self.session_id, shells=awaited)]

    def _compacted(self, event: CliEvent, data: Any) -> list[Message]:
        return self._event(
            "session.compaction_complete",
            success=data.get("success"),
            tokensBefore=data.get("preCompactionTokens"),
            tokensRemoved=data.get("tokensRemoved"),
            agentId=event.agent_id,
        )

    def _update(self, event: CliEvent, **changes: Any) -> list[Message]:
        if event.agent_id is not None or None in changes.values() or "" in changes.values():
            return []  # a subagent's own model, folder …
        return [SessionUpdate(session_id=self.session_id, **changes)]

    def _mode(self, event: CliEvent, data: Any) -> list[Message]:
        return self.mode_is(as_mode(data.get("newMode"))) if event.agent_id is None else []

    def mode_is(self, mode: Mode | None) -> list[Message]:
        if mode is None:
            return []
        self.mode = mode
        return [SessionUpdate(session_id=self.session_id, mode=mode)]

    def asker_of_rules(self) -> Asker:
        """Return who asks the person what a rule wants to be asked. In autopilot Copilot denies
        what it is to ask, and in assisted a model may answer."""
        if self.mode == "autopilot" or self.permission_mode == ASSISTED:
            return "tapui"
        return "hook" if self.permission_mode == ALLOW_ALL else "copilot"

    def call_of(self, tool: str, args: Any) -> str | None:
        """Return the newest call under way of a tool with these arguments."""
        wanted = (tool, args)
        calls = reversed(self._calls.items())
        return next((id_ for id_, call in calls if (call.tool, call.args) == wanted), None)

    def _model(self, event: CliEvent, data: Any) -> list[Message]:
        model = text_of(data, "newModel")
        if event.agent_id is not None or not model:
            return []
        effort = text_of(data, "reasoningEffort") or ""
        return [SessionUpdate(self.session_id, model=model, effort=effort)]

    def _title(self, event: CliEvent, data: Any) -> list[Message]:
        label = session_label(text_of(data, "title"))
        return self._update(event, label=label) if label is not None else []

    def _folder(self, event: CliEvent, data: Any) -> list[Message]:
        return self._update(event, cwd=text_of(data, "cwd"))

    def _agents(self, event: CliEvent, data: Any) -> list[Message]:
        return self._update(event, agents=agents_of(data))

    def _mcp_servers(self, event: CliEvent, data: Any) -> list[Message]:
        return self._update(event, mcp_servers=own_mcp_servers(data))

    def _tool_start(self, event: CliEvent, data: Any) -> list[Message]:
        call_id, tool, arguments = data["toolCallId"], data["toolName"], data.get("arguments")
        if self._is_ours(tool):
            return self._unasked(call_id)
        shell = data.get("shellToolInfo") or {}
        server = data.get("mcpServerName")
        is_mcp = server is not None or data.get("mcpToolName") is not None
        self._calls[call_id] = _Started(
            tool,
            arguments,
            event.at,
            _written(tool, arguments, shell) if shell.get("hasWriteFileRedirection") else [],
            server=(server or _SOME_SERVER)[: limits.MAX_ID] if is_mcp else None,
        )
        if len(self._calls) > _REMEMBERED_CALLS:
            self._calls.popitem(last=False)
        self.shells.started(call_id, tool, is_mcp=is_mcp)
        return self._event(
            "tool.execution_start",
            toolCallId=call_id,
            tool=tool,
            args=_arguments(arguments),
            agentId=event.agent_id,
        ) + self._unasked(call_id)

    def tool_of(self, call_id: str | None) -> str:
        """Return the tool of a call under way; "" for one that is not known."""
        started = self._calls.get(call_id or "")
        return started.tool if started is not None and started.is_seen else ""

    def go_on(self, calls: Iterable[OpenCall]) -> list[Message]:
        """Return messages about calls that were under way when this host came."""
        told: list[Message] = []
        for call in list(calls)[-_REMEMBERED_CALLS:]:
            if self._is_ours(call.tool) or call.id in self._calls:
                continue
            began = datetime.fromisoformat(call.at)
            self._calls[call.id] = _Started(call.tool, call.args, began, [], is_seen=False)
            told += self._event(
                "tool.execution_start",
                toolCallId=call.id,
                tool=call.tool,
                args=_arguments(call.args),
                agentId=call.agent,
            )
        return told

    def _unasked(self, call_id: str) -> list[Message]:
        """Return who allows a call that begins, where the CLI asks about nothing."""
        if self.permission_mode != ALLOW_ALL:
            return []
        return self._event("permission.completed", toolCallId=call_id, by="allow-all")

    def _permission_mode(self, event: CliEvent, data: Any) -> list[Message]:
        return [
            *self.permissions_are(text_of(data, "mode")),
            *self._event(event.name, mode=self.permission_mode),
        ]

    def permissions_are(self, mode: str | None) -> list[Message]:
        """Take how the CLI asks for permissions; None where it does not say."""
        if not mode:
            return []
        self.permission_mode = mode[: limits.MAX_ID]
        return [SessionUpdate(self.session_id, permissions=self.permission_mode)]

    def _commands(self, event: CliEvent, data: Any) -> list[Message]:
        listed = objects_of(data, "commands")[: limits.MAX_IDS]
        commands = [{"name": command["name"][: limits.MAX_ID]} for command in listed]
        return self._event(event.name, commands=commands)

    def _capabilities(self, event: CliEvent, data: Any) -> list[Message]:
        elicitation = (data.get("ui") or {}).get("elicitation")
        ui = None if elicitation is None else {"elicitation": elicitation}
        return self._event(event.name, ui=ui)

    def _tool_news(self, event: CliEvent, data: Any) -> list[Message]:
        """Tell what a call tells of its progress: the newest, once a second."""
        call_id = data["toolCallId"]
        started = self._calls.get(call_id)
        if started is None:
            return []  # one of ours, or begun before we came
        if started.told_at is not None and event.at - started.told_at < _NEWS_INTERVAL:
            return []
        started.told_at = event.at
        text = data["progressMessage"][-_NEWS:]
        told = {"toolCallId": call_id, "tool": started.tool, "progressMessage": text}
        return self._event(event.name, **told, agentId=event.agent_id)

    def output_of(self, call_id: str, merged: str = "") -> dict[str, Any] | None:
        """Return what a call under way has printed so far, as the wire has it; None for a call that
        is not known. `merged` is what the CLI tells in a partial result: of its own commands the
        pieces are read, as the CLI will no longer tell it otherwise."""
        started = self._calls.get(call_id)
        text = self.shells.newest(call_id) or merged
        if started is None or not text:
            return None
        return {
            "toolCallId": call_id,
            "tool": started.tool,
            "partialOutput": text[-limits.MAX_LIVE_OUTPUT :],
        }

    def _tool_complete(self, event: CliEvent, data: Any) -> list[Message]:
        call_id = data["toolCallId"]
        started = self._calls.pop(call_id, None)
        if started is None:
            return []  # one of ours, or begun before we came
        command = summary(started.tool, _arguments(started.args))
        call = {"toolCallId": call_id, "tool": started.tool, "command": command}
        by = started.server
        if by is None and not self.shells.is_own(call_id):
            by = _SOME_PROGRAM
        args = started.args if isinstance(started.args, dict) else {}
        is_detached = args.get("detach") is True
        kind = result_type(data)
        if by is None and started.tool == "stop_bash" and kind == "success":
            self.shells.stopped((event.agent_id, text_of(args, "shellId") or ""))
        shell, ended = self.shells.completed(data, call, event.agent_id, is_detached=is_detached)
        output = text_of(data.get("result"), "content")
        if data.get("success") is not True and data.get("error") is not None:
            output = text_of(data["error"], "message")
        result = {"type": kind} if output is None else {"type": kind, "output": _cut(output)}
        return self._event(
            "tool.execution_complete",
            toolCallId=call_id,
            tool=started.tool,
            args=_arguments(started.args),
            result=result,
            durationMs=round((event.at - started.at).total_seconds() * 1000, 3),
            exitCode=exit_code(data),
            changes=changes(data, started.written),
            shell=shell,
            answeredBy=by,
            agentId=event.agent_id,
        ) + self._shell_ended(event, ended)

    def _printed(self, event: CliEvent, data: Any) -> list[Message]:  # noqa: ARG002
        self.shells.printed(data["toolCallId"], data["sequence"], data["text"])
        return []

    def _answered_elsewhere(
        self,
        event: CliEvent,  # noqa: ARG002
        data: Any,
    ) -> list[Message]:
        self.shells.answered_elsewhere(data["toolCallId"])
        return []

    def _notified(self, event: CliEvent, data: Any) -> list[Message]:
        """The CLI tells its agent something, such as that a command in the background has ended."""
        words = notice_words(data) if event.agent_id is None else None
        if words is not None and len(self._notices) < _NOTICES:
            self._notices.append(words)
        return self._shell_ended(event, self.shells.notified(data, event.agent_id))

    def _shell_ended(self, event: CliEvent, ended: dict[str, Any] | None) -> list[Message]:
        if ended is None:
            return []
        told = self._event("shell.completed", **ended, agentId=event.agent_id)
        return told + (self.waits() if self._awaited else [])

    def _subagent_started(self, event: CliEvent, data: Any) -> list[Message]:
        call_id = data["toolCallId"]
        started = self._calls.get(call_id)
        args = started.args if started is not None else None
        description = args.get("description") if isinstance(args, dict) else None
        # What its agent calls it: the name of its kind is the same for several at once. It stands
        # before what is asked, so it is one word.
        name = text_of(args, "name") or ""
        if not _NAME.fullmatch(name):
            name = text_of(data, "agentDisplayName") or ""
        return self._event(
            "subagent.started",
            remoteSessionId=event.agent_id or call_id,
            toolCallId=call_id,
            agentName=data["agentName"],
            agentDisplayName=_cut(name) or None,
            description=_cut(description) if isinstance(description, str) else None,
        )

    def subagents(self, tasks: Iterable[Any]) -> list[Message]:
        """Return messages about tasks (`tasks.list`) that are subagents at work."""
        told: list[Message] = []
        for task in tasks:
            # One that is idle has answered, and would work again only if it were told something.
            if task.get("type") == "agent" and task.get("status") == "running":
                told += self._event(
                    "subagent.started",
                    remoteSessionId=task.get("id"),
                    toolCallId=task.get("toolCallId"),
                    agentName=task.get("agentType"),
                    agentDisplayName=_cut(text_of(task, "displayName") or "") or None,
                )
        return told

    def _subagent(self, name: str) -> Callable[[CliEvent, Any], list[Message]]:
        def translate(event: CliEvent, data: Any) -> list[Message]:
            return self._event(
                name,
                remoteSessionId=event.agent_id or data["toolCallId"],
                toolCallId=data["toolCallId"],
                agentName=data["agentName"],
                error=data.get("error"),
                durationMs=data.get("durationMs"),
                tokens=data.get("totalTokens"),
                calls=data.get("totalToolCalls"),
            )

        return translate


def _arguments(args: Any) -> Any:
    """Return a call's arguments as JSON; of very large ones the beginning, under `truncated`."""
    given = raw({} if args is None else args)
    if len(bytes(given)) <= ARGUMENTS_BYTES:
        return given
    return {"truncated": _cut(bytes(given).decode())}


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def session_label(title: str | None) -> str | None:
    """Return the label of a session with this title, which often is its first prompt.

    None for one that a background event began: it is what woke the session, not what it is about.
    """
    text = (title or "").strip()
    if not text or text.startswith(UPDATE_MARK):
        return None
    return text.splitlines()[0].strip()
