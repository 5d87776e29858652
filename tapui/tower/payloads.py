"""Arguments and results of calls that are larger than what the state keeps of them."""

from dataclasses import dataclass

from msgspec import Raw

PAYLOAD_BYTES = 16 * 1024 * 1024
"""Bytes of arguments and results, of all calls together, beyond what the state keeps."""


@dataclass(slots=True)
class Payload:
    """Arguments and result of a call, whole as its events carried them."""

    args: Raw | None = None
    data: Raw | None = None

    @property
    def size(self) -> int:
        """Bytes held."""
        return length(self.args) + length(self.data)


class Payloads:
    """The newest of them, by call id, within `PAYLOAD_BYTES`."""

    def __init__(self) -> None:
        self._of: dict[str, Payload] = {}
        self._bytes = 0

    def of(self, call_id: str) -> Payload | None:
        """Return what is kept of a call."""
        return self._of.get(call_id)

    def keep(self, call_id: str, *, args: Raw | None = None, data: Raw | None = None) -> None:
        """Keep a call's arguments or its result; the oldest calls make room."""
        payload = self._of.setdefault(call_id, Payload())
        self._bytes -= payload.size
        payload.args = args or payload.args
        payload.data = data or payload.data
        self._bytes += payload.size
        while self._bytes > PAYLOAD_BYTES and self._of:
            oldest = self._of.pop(next(iter(self._of)))
            self._bytes -= oldest.size

    def clear(self) -> None:
        """Drop all of them."""
        self._of.clear()
        self._bytes = 0


def length(raw: Raw | None) -> int:
    """Return the bytes of a JSON text, 0 without one."""
    return 0 if raw is None else memoryview(raw).nbytes
