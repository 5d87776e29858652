"""What waits for a reader that is slow, and what that costs it.

Hosts are kept, and the providers that feed them are not read meanwhile. A tower gets no more
events, and a new snapshot once it has read what it was sent; the snapshot itself does not count,
however large it is. Whoever else does not read is dropped.
"""

from collections.abc import Mapping

from tapui.core.effects import ConnectionId
from tapui.core.gateway import Gateway
from tapui.core.model import Standing
from tapui.runtime.ports import Port
from tapui.wire import limits

_HOST_HIGH = limits.OUTBOX_BYTES // 8


class SlowReaders:
    """The bounds of what was sent to `ports` and not read."""

    def __init__(self, gateway: Gateway, ports: Mapping[ConnectionId, Port]) -> None:
        self._gateway = gateway
        self._ports = ports
        self._full_hosts: dict[ConnectionId, list[ConnectionId]] = {}
        """The providers that are not read for the sake of each full host."""
        self._snapshots: dict[ConnectionId, int] = {}
        """How many bytes each tower had been sent with the end of its last snapshot."""
        self.behind: set[ConnectionId] = set()
        """Towers that get no events until they have read what they were sent."""

    def snapshot_sent(self, tower: ConnectionId, port: Port) -> None:
        """A tower was sent a snapshot, as the last of what it was sent."""
        self._snapshots[tower] = port.sent_bytes

    def is_too_slow(self, number: ConnectionId) -> bool:
        """Bound what waits for a connection; return whether it must be dropped."""
        port = self._ports.get(number)
        if port is None:
            return False
        waiting = port.outbox_bytes
        if waiting < _HOST_HIGH:
            return False
        standing = self._gateway.standing(number)
        if standing is Standing.HOST:
            self._pause_feeders(number)
            return False
        most = limits.OUTBOX_BYTES
        if standing is Standing.TOWER:
            waiting = min(waiting, port.sent_bytes - self._snapshots.get(number, 0))
            if waiting > most:
                self.behind.add(number)
            most *= 2  # answers to its own questions still come, but not without end
        return waiting > most

    def _pause_feeders(self, host: ConnectionId) -> None:
        fed = self._full_hosts.setdefault(host, [])
        for feeder in self._gateway.feeders(host):
            if feeder in self._ports and feeder not in fed:
                fed.append(feeder)
                self._ports[feeder].pause_reading()

    def drained(self, number: ConnectionId) -> bool:
        """A connection has read what it was sent; return whether it is a tower that was behind."""
        self._read_feeders_of(number)
        was_behind = number in self.behind
        self.behind.discard(number)
        return was_behind

    def forget(self, number: ConnectionId) -> None:
        """A connection is gone; nothing waits for it."""
        self.behind.discard(number)
        self._snapshots.pop(number, None)
        self._read_feeders_of(number)

    def _read_feeders_of(self, host: ConnectionId) -> None:
        """Read on from the providers that were paused for the sake of a host."""
        for feeder in self._full_hosts.pop(host, ()):
            if not self._is_feeding_a_full_host(feeder) and (port := self._ports.get(feeder)):
                port.resume_reading()

    def _is_feeding_a_full_host(self, feeder: ConnectionId) -> bool:
        return any(feeder in feeders for feeders in self._full_hosts.values())
