"""Changes to what a provider has declared: one of a kind at a time, the newest wins."""

from msgspec.structs import replace

from tapui.provider.outbox import Outbox
from tapui.wire.provider import ContextUpdate, FilterSet, ToolsUpdate

Update = ToolsUpdate | ContextUpdate | FilterSet


class Updates:
    """Sends updates; while one waits for its acknowledgement the next of its kind is held."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._count = 0
        self._under_way: dict[str, str] = {}
        """The kind of each update that was sent, by its request's id."""
        self._held: dict[str, dict[str, Update]] = {}

    def want(self, update: Update) -> None:
        """Send an update, now or when the one before it is settled."""
        kind = str(update.__struct_config__.tag)
        if kind not in self._under_way.values():
            self._send(kind, update)
            return
        about = update.stream if isinstance(update, FilterSet) else update.session_id or ""
        held = self._held.setdefault(kind, {})
        held.pop(about, None)
        held[about] = update

    def settled(self, request_id: str) -> str | None:
        """An update was acknowledged, or refused; return its kind."""
        kind = self._under_way.pop(request_id, None)
        held = self._held.get(kind or "")
        if kind is not None and held:
            self._send(kind, held.pop(next(iter(held))))
        return kind

    def _send(self, kind: str, update: Update) -> None:
        self._count += 1
        id_ = f"u{self._count}"
        self._under_way[id_] = kind
        self._outbox.put(replace(update, request_id=id_))
