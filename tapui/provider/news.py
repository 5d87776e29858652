"""What a provider hears of its sessions."""

from typing import Any

import msgspec
from msgspec import Raw

from tapui.provider.session import Session


class SessionNews:
    """Something that happened in a session: the event's `name`, and its `data` (a dict)."""

    def __init__(self, session: Session, name: str, data: Raw) -> None:
        self.session = session
        self.name = name
        self._data = data

    @property
    def data(self) -> dict[str, Any]:
        """What the event says; see "What a host tells" in `tapui/wire/README.md`."""
        found: dict[str, Any] = msgspec.json.decode(self._data, type=dict[str, Any])
        return found

    def __repr__(self) -> str:
        return f"SessionNews({self.name!r})"
