"""How a session is, as its own agent reads it: what the gateway knows, and what its host tells."""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals
from tapui.core.approvals.modes import Modes
from tapui.core.approvals.note_writes import MEMORY, NoteWrites
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import AskRecords, RecordsFound
from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.registry import Emitters, described
from tapui.core.model import ConnectedProvider, Connection, OpenSession
from tapui.core.providers.instances import metadata_of, shown_metadata
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.streams import StreamLog, Streams, full_name
from tapui.projection.folder_tools import told_tools
from tapui.projection.goal_words import told_goal
from tapui.projection.proof import newest_record, told_record
from tapui.projection.provider_status import stream_of, told_line
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.reviews import told_monitors
from tapui.projection.span_counts import told_export, told_spans
from tapui.projection.summary import one_line
from tapui.projection.words import ledger_words
from tapui.wire import limits
from tapui.wire.builtin import StateAnswer, StateRead, StreamSummary
from tapui.wire.host import HostSchedule, SessionLook, SessionLooked
from tapui.wire.message import BUILTIN_PROVIDER

_LOOKED = ("tasks", "schedules", "canvases", "ui")
_NOT_TOLD = "the session's program does not say"
_NO_ANSWER = f"the session's program did not say within {limits.LOOK_TIMEOUT:g} s"


@dataclass(slots=True, eq=False)
class _Look:
    """An agent that waits for what its session's host tells."""

    id: str
    session: OpenSession
    asker: Connection
    request_id: str
    deadline: Deadline | None = None


@dataclass(eq=False, repr=False)
class SessionStates(CorePart):
    """Takes `state.read`, and what hosts answer to `session.look`."""

    connections: Connections
    sessions: OpenSessions
    streams: Streams
    approvals: Approvals
    modes: Modes
    emitters: Emitters
    emitter_folders: EmitterFolders
    note_writes: NoteWrites

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asked: dict[str, _Look] = {}

    def read(self, connection: Connection, message: StateRead) -> None:
        session = self.sessions.required(message.session_id)
        host = self.connections.by_number.get(session.host)
        has_room = len(self._asked) < limits.MAX_ORDERS
        may_ask = host is not None and host.host_session_looks and has_room
        if not (message.looks and may_ask):
            reasons = dict.fromkeys(_LOOKED, _NOT_TOLD)
            told = SessionLooked("", unknown=reasons)
            if message.looks:
                self._look_at_index(connection, message.id, session, told)
            else:
                self._answer(connection, message.id, session, told, {})
            return
        look = _Look(self._ids.id("lk"), session, connection, message.id)
        due = self._clock.now + limits.LOOK_TIMEOUT
        look.deadline = self._deadlines.add(due, Due.LOOK, look)
        self._asked[look.id] = look
        self._out.send(session.host, SessionLook(look.id, session.id))

    def looked(self, host: Connection, message: SessionLooked) -> None:
        """A host told what goes on; an answer to nothing is ignored."""
        look = self._asked.get(message.id)
        if look is not None and look.session.host == host.id:
            self._done(look, message)

    def due(self, look: _Look) -> None:
        self._done(look, SessionLooked("", unknown=dict.fromkeys(_LOOKED, _NO_ANSWER)))

    def _done(self, look: _Look, told: SessionLooked) -> None:
        self._deadlines.cancel(look.deadline)
        del self._asked[look.id]
        self._look_at_index(look.asker, look.request_id, look.session, told)

    def _look_at_index(
        self, asker: Connection, id_: str, session: OpenSession, told: SessionLooked
    ) -> None:
        """Ask how the index of the records stands, then answer."""

        def then(found: RecordsFound) -> None:
            fault = found.fault
            unknown = told.unknown if fault is None else {**told.unknown, "index": fault}
            self._answer(
                asker, id_, session, replace(told, unknown=unknown), {"index": found.found}
            )

        ticket = self._tickets.keep(then, session)
        self._out.effects.append(AskRecords(ticket, session.id, None))

    def _answer(
        self,
        asker: Connection,
        id_: str,
        session: OpenSession,
        told: SessionLooked,
        index: dict[str, Any],
    ) -> None:
        if asker.is_open:
            state = self._known(session) | self._told(session, told) | index
            self._out.send(asker.id, StateAnswer(id_, state, self._streams(session)))

    # What the gateway knows

    def _known(self, session: OpenSession) -> dict[str, Any]:
        view = session.view
        host = self.connections.by_number.get(session.host)
        emitters = self._emitters(session)
        pending = [
            waiting.view
            for waiting in self.approvals.waiting.values()
            if waiting.view.session_id in (None, session.id)
        ]
        return {
            "sessionId": session.id,
            "label": view.label,
            "mode": view.mode,
            "model": view.model,
            "modelDetail": None
            if view.model is None
            else {"id": view.model, "reasoningEffort": view.effort, "contextTier": None},
            "state": view.state,
            "context": None
            if view.context is None
            else {
                "tokens": view.context.tokens,
                "limit": view.context.limit,
                "compactsAt": view.context.compacts_at,
            },
            "abilities": {"can": view.can, "cannot": view.cannot},
            "recorded": self._recorded(session),
            "ledger": ledger_words(self._out.state, session.id, str),
            "tools": [
                {"name": entry.tool.name, "provider": entry.owner} for entry in session.tools_on()
            ],
            "folderTools": told_tools(self._out.state, session.id),
            "memory": self._memory(session),
            "docs": _own_words(session, "docs"),
            "providers": [
                self._described(session, provider)
                for provider in session.providers.values()
                if not provider.connection.is_builtin
            ],
            "emitters": [
                {"name": one.name, "state": one.state, "stream": one.stream} for one in emitters
            ],
            "goals": [told_goal(goal) for goal in self._out.state.goals_of(session.id)],
            "reviews": told_monitors(self._out.state, session.id),
            "spans": told_spans(self._out.state, session.id),
            "spanExport": told_export(self._out.state.span_export),
            "approvalsWaiting": len(pending),
            "pendingPermissions": [
                {
                    "id": one.id,
                    "kind": one.kind,
                    "what": one_line(kind_of(one).line(one, detail_of(one))),
                    "since": one.created_at,
                }
                for one in pending
                if one.session_id == session.id
            ],
            "host": {
                "name": view.host,
                "kind": host.host_kind if host else None,
                "hooks": bool(host and host.host_asks_hooks),
                "modes": view.mode is not None,
            },
            "modeSwitch": self.modes.told(session),
        }

    def _memory(self, session: OpenSession) -> dict[str, Any] | None:
        said = _own_words(session, MEMORY)
        asks = self.note_writes.setting.ask_writes
        return None if said is None else {**said, "asksBeforeWrites": asks}

    def _described(self, session: OpenSession, provider: ConnectedProvider) -> dict[str, Any]:
        about: dict[str, Any] = {"name": provider.label, "trust": provider.view.trust}
        if (metadata := shown_metadata(provider)) is not None:
            about["metadata"] = metadata
        hooks = provider.hooks.get(session.id)
        if hooks is not None and hooks.context is not None:
            about["context"] = hooks.context
        log = self.streams.of(session.id).get(stream_of(provider.view.name))
        if log is not None and log.lines:
            about["status"] = told_line(log.lines[-1])
        return about

    def _emitters(self, session: OpenSession) -> list[LiveEmitter]:
        return [
            one
            for one in self.emitters.by_id.values()
            if one.session is session or (session in one.folder.sessions and not one.is_provider)
        ]

    def _told(self, session: OpenSession, told: SessionLooked) -> dict[str, Any]:
        """Return what the host told: None with a reason in `unknown` where it did not. The earlier
        extension's names are there, too."""
        reasons = {name: told.unknown.get(name, _NOT_TOLD)[: limits.MAX_SUMMARY]
                   for name in _LOOKED if getattr(told, name) is None}  # fmt: skip
        if "index" in told.unknown:
            reasons["index"] = told.unknown["index"][: limits.MAX_SUMMARY]
        if session.view.context is None:
            reasons["context"] = _NOT_TOLD
        if session.view.model is None:
            reasons["model"] = _NOT_TOLD
        reasons["modelDetail.contextTier"] = _NOT_TOLD
        schedules = [_scheduled(one) for one in self._emitters(session) if not one.is_provider]
        schedules += [_own_schedule(one) for one in told.schedules or ()]
        canvases = None if told.canvases is None else msgspec.to_builtins(told.canvases)
        ui = told.ui
        return {
            "tasks": None if told.tasks is None else msgspec.to_builtins(told.tasks),
            "schedules": schedules,
            "canvases": canvases,
            "openCanvases": canvases,
            "ui": ui,
            "elicitation": None if ui is None else ui.get("elicitation", False),
            "canvasesAvailable": None if ui is None else ui.get("canvases", False),
            "unknown": reasons,
        }

    def _recorded(self, session: OpenSession) -> dict[str, Any] | None:
        """Return what is recorded of its turns so far; None where none changed a file."""
        turns = self._out.state.turns.get(session.id)
        return told_record(newest_record(turns)) if turns is not None else None

    def _streams(self, session: OpenSession) -> list[StreamSummary]:
        streams = [
            self._summary(session, name, log) for name, log in self.streams.of(session.id).items()
        ]
        for name, owner in self.emitter_folders.streams_of(session).items():
            streams.append(self._summary(owner, name, self.streams.of(owner.id)[name]))
        return streams

    def _summary(self, owner: OpenSession, name: str, log: StreamLog) -> StreamSummary:
        """Describe a stream of the session `owner`, with the emitters that post to it."""
        last = log.lines[-1] if log.lines else None
        posting = [
            one
            for one in self.emitters.by_id.values()
            if one.session is owner and full_name(one.stream, BUILTIN_PROVIDER) == name
        ]
        if not posting:
            return StreamSummary(name, log.count, last)
        plan = posting[0].plan
        return StreamSummary(
            name,
            log.count,
            last,
            emitters=[one.name for one in posting],
            session_injector="off" if plan.injector == "disabled" else "on",
            delivery=plan.delivery,
        )


def _scheduled(emitter: LiveEmitter) -> dict[str, Any]:
    view = described(emitter)
    told = {
        "name": view.name,
        "kind": view.kind,
        "every": view.every,
        "cron": view.cron,
        "nextRun": view.next_run_at,
        "runs": view.runs,
        "maxRuns": view.max_runs,
        "owner": "agent" if view.source == "tool" else "person",
    }
    return {name: value for name, value in told.items() if value is not None}


def _own_schedule(schedule: HostSchedule) -> dict[str, Any]:
    """Return a schedule of the session's program, which does not tell how often it ran."""
    told: dict[str, Any] = msgspec.to_builtins(schedule)
    return told | {"runs": None, "owner": "session"}


def _own_words(session: OpenSession, name: str) -> dict[str, Any] | None:
    """Return what a provider that ships says of itself; None where the session has none."""
    there = next((one for one in session.providers.values() if one.name == name), None)
    if there is None:
        return None
    return {} if shown_metadata(there) is None else metadata_of(there)
