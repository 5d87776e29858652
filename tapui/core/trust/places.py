"""Places for connections: how many of which kind there may be, and who has them.

Who has not authenticated is closed for one that comes later, within its own kind: pages, other
users and silent programs take no place of the person's tower. Who has said hello keeps the place;
the next is refused, with the reason and who holds the places.
"""

from collections import Counter
from dataclasses import dataclass

from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import SlidingWindow
from tapui.core.model import Connection, Standing, Way
from tapui.core.trust.grants import Grant
from tapui.wire import limits
from tapui.wire.errors import ErrorCode
from tapui.wire.events import ErrorSent
from tapui.wire.message import Error
from tapui.wire.tower import Holder, Notice, PlacesTaken

_TRY_LATER = 1013
_NAMED = 3
"""Holders that a refusal names."""
_MORE_DESCRIPTORS = 1000
"""With so many descriptors there are as many places as the limits say."""
_OWN_DESCRIPTORS = 100
_LEAST = 20


def places_for(descriptors: int) -> int:
    """Return how many connections may be authenticated in a process with so many descriptors."""
    if descriptors >= _MORE_DESCRIPTORS:
        return limits.MAX_CONNECTIONS
    share = (descriptors - _OWN_DESCRIPTORS) / (_MORE_DESCRIPTORS - _OWN_DESCRIPTORS)
    return max(_LEAST, int(limits.MAX_CONNECTIONS * share))


@dataclass(eq=False, repr=False)
class Places(CorePart):
    """All places, of which `most` are for connections that have authenticated."""

    connections: Connections
    most: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kept = self.most * limits.KEPT_CONNECTIONS // limits.MAX_CONNECTIONS
        """Of them, those that only the internal token gets."""
        self.of_token = self.most * limits.MAX_TOKEN_CONNECTIONS // limits.MAX_CONNECTIONS
        self._refused = 0
        self._tellings = SlidingWindow(1, limits.REFUSALS_TOLD)

    # Before authentication

    def refusal(self, origin: str | None) -> str | None:
        """Return why the next handshake is refused, or None; `origin` is that of a page.

        A program is refused here only once no token would get it a place.
        """
        taken = len(self._open())
        if origin is not None:
            most = self.most - self.kept
            return f"{most} connections are open already" if taken >= most else None
        if taken >= self.most and len(self._bridges()) >= self.most:
            return f"{self.most} connections are open already"
        return None

    def opened(self, connection: Connection) -> None:
        """Close a connection that was silent for longest, if there are too many of its kind."""
        silent = self.connections.of_standing(Standing.AWAIT_AUTH, Standing.AWAIT_HELLO)
        if connection.pid is not None:
            same = [one for one in silent if one.pid == connection.pid]
            if len(same) > limits.MAX_SILENT_OF_PROCESS:
                self._close(same[0], "it said no hello")
                return
        strangers = [one for one in silent if one.standing is Standing.AWAIT_AUTH]
        if connection.origin is None:
            same = [one for one in strangers if one.origin is None and one.way is connection.way]
            is_other = connection.way is Way.OTHER
            most = limits.MAX_UNAUTHENTICATED if is_other else limits.MAX_OWN_UNAUTHENTICATED
            if len(same) > most:
                self._close(same[0])
            return
        pages = [one for one in strangers if one.origin is not None]
        counts = Counter(one.origin for one in pages)
        if counts[connection.origin] > limits.MAX_ORIGIN_UNAUTHENTICATED:
            self._close(next(one for one in pages if one.origin == connection.origin))
        elif len(pages) > limits.MAX_PAGES_UNAUTHENTICATED:
            most_of, _ = counts.most_common(1)[0]
            self._close(next(one for one in pages if one.origin == most_of))

    def _close(self, stranger: Connection, why: str = "it had not authenticated") -> None:
        self.connections.close(stranger, _TRY_LATER, f"closed for a newer connection: {why}")

    # At authentication

    def objection(self, grant: Grant) -> str | None:
        """Return why another connection with this grant gets no place, or None.

        With the internal token a connection is a stranger's still until its hello: the one that was
        silent for longest is closed for the new one.
        """
        if grant.is_bridge:
            if len(self._bridges()) >= self.most:
                return f"the bridges of MCP servers have all {self.most} connections they may have"
            return None
        taken = self._open()
        if grant.trust == "internal":
            silent = [
                one for one in taken if one.standing is Standing.AWAIT_HELLO and one.grant is grant
            ]
            is_full = len(taken) >= self.most
            if silent and (is_full or len(silent) >= limits.MAX_OWN_UNAUTHENTICATED):
                self._close(silent[0], "it said no hello")
            elif is_full:
                return f"all {self.most} connections are taken: {self._in_words()}"
            return None
        same = sum(1 for one in taken if one.grant is not None and one.grant.is_of_token(grant))
        why = None
        if same >= self.of_token:
            why = f"this token has all {self.of_token} connections that a token may have"
        elif len(taken) >= self.most - self.kept:
            why = f"all {self.most - self.kept} connections of providers and clients are taken"
        if why is None or grant.trust == "external":
            return why
        return f"{why}: {self._in_words()}"

    def refuse(self, connection: Connection, grant: Grant, why: str) -> None:
        """Refuse a connection that has shown a good token; towers hear of it once in a while."""
        self._refused += 1
        code = ErrorCode.RATE_LIMITED
        self._out.send(connection.id, Error(code, why, reply_to="auth"))
        self.connections.close(connection, _TRY_LATER, why)
        if not self._tellings.take(self._clock.now):
            return
        self._out.emit(ErrorSent(code, why, reply_to="auth", origin=connection.origin))
        reason = why if grant.trust != "external" else f"{why}: {self._in_words()}"
        for tower in self.connections.of_standing(Standing.TOWER):
            self._out.send(tower.id, Notice(f"A connection was refused: {reason}", "warning"))

    # Who has them

    def taken(self) -> PlacesTaken:
        """Return who has places, and how many connections were refused."""
        holders = [Holder(name, count) for name, count in self._holders().most_common()]
        return PlacesTaken(
            open=len(self._open()),
            most=self.most,
            bridges=len(self._bridges()),
            holders=holders[: limits.MAX_HOLDERS],
            refused=self._refused,
        )

    def _in_words(self) -> str:
        """Return the holders as they are named in a line, those of most places first."""
        every = self._holders().most_common()
        named = [f"{name} has {count}" for name, count in every[:_NAMED]]
        rest = sum(count for _, count in every[_NAMED:])
        return ", ".join([*named, f"others {rest}"] if rest else named)

    def _holders(self) -> Counter[str]:
        return Counter(map(_holder, self._open()))

    def _open(self) -> list[Connection]:
        """Return those that have authenticated, or wait for their pairing code."""
        return [
            one
            for one in self.connections.by_number.values()
            if one.is_counted
            and one.standing is not Standing.AWAIT_AUTH
            and not (one.grant is not None and one.grant.is_bridge)
        ]

    def _bridges(self) -> list[Connection]:
        return [
            one
            for one in self.connections.by_number.values()
            if one.is_counted and one.grant is not None and one.grant.is_bridge
        ]


def _holder(connection: Connection) -> str:
    """Return who has a place, in words."""
    if connection.provider is not None:
        return f"provider '{connection.provider.name}'"
    match connection.standing:
        case Standing.TOWER:
            return "a tower" if connection.is_interactive else "a command"
        case Standing.HOST:
            return "a host of sessions"
        case Standing.TOOL_HOST:
            return "an MCP client"
        case Standing.AWAIT_PAIRING:
            return "a page that pairs"
        case _:
            named = "" if connection.pid is None else f" (pid {connection.pid})"
            return f"a program that said no hello{named}"
