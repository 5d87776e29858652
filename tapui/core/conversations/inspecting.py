"""Who inspects whose conversation; the shell sees the messages themselves (README.md "Towers")."""

from tapui.core.context import CoreContext
from tapui.core.effects import ConnectionId, EndInspection, Inspect, InspectMore
from tapui.core.model import Connection
from tapui.core.providers.identity import Providers
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.tower import InspectEnded, InspectLines, InspectRead, InspectStart, InspectStop


class Inspecting:
    """The inspections of all towers. One ends with the tower, or with what it looks at."""

    def __init__(
        self, context: CoreContext, *, sessions: OpenSessions, providers: Providers
    ) -> None:
        self._out = context.out
        self._sessions = sessions
        self._providers = providers
        self._targets: dict[tuple[ConnectionId, str], ConnectionId] = {}
        """What is looked at, by the tower and the id that it chose."""

    def start(self, connection: Connection, message: InspectStart) -> None:
        """Begin to inspect. Raises `WireError` to refuse."""
        key = (connection.id, message.id)
        if key in self._targets:
            raise WireError(ErrorCode.INVALID_JSON, "id: this inspection goes on", id=message.id)
        if sum(tower == connection.id for tower, _ in self._targets) >= limits.MAX_INSPECTIONS:
            text = f"a tower has at most {limits.MAX_INSPECTIONS} inspections"
            raise WireError(ErrorCode.RATE_LIMITED, text, id=message.id)
        self._targets[key] = target = self._target(message)
        self._out.effects.append(Inspect(connection.id, message.id, target))
        self._out.send(connection.id, InspectLines(message.id, []))

    def read(self, connection: Connection, message: InspectRead) -> None:
        """Ask for more; of an inspection that has ended meanwhile there is none."""
        if (connection.id, message.id) in self._targets:
            self._out.effects.append(InspectMore(connection.id, message.id))

    def stop(self, connection: Connection, message: InspectStop) -> None:
        """End an inspection, if it has not ended."""
        if self._targets.pop((connection.id, message.id), None) is not None:
            self._out.effects.append(EndInspection(connection.id, message.id))

    def gone(self, connection: Connection) -> None:
        """A connection is gone: a tower, or one that was inspected."""
        for (tower, id_), target in list(self._targets.items()):
            if connection.id in (tower, target):
                del self._targets[tower, id_]
                self._out.effects.append(EndInspection(tower, id_))
                if target == connection.id:
                    self._out.send(tower, InspectEnded(id_))

    def _target(self, message: InspectStart) -> ConnectionId:
        if (message.provider_id is None) == (message.session_id is None):
            text = "providerId, sessionId: one of them says what to inspect"
            raise WireError(ErrorCode.INVALID_JSON, text, id=message.id)
        if message.session_id is not None:
            return self._sessions.required(message.session_id).host
        provider = self._providers.connected.get(message.provider_id or "")
        if provider is None:
            text = f"provider {message.provider_id} is not connected"
            raise WireError(ErrorCode.NOT_FOUND, text, id=message.id)
        return provider.connection.id
