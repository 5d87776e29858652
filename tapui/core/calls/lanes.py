"""Lanes: how many calls a provider takes at once; the others wait in order."""

from tapui.core.model import Lane, PendingCall
from tapui.wire.provider import Concurrency


class Lanes:
    """The lanes in use, by what their calls share."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, ...], Lane] = {}

    def enter(self, call: PendingCall, limit: Concurrency) -> bool:
        """Give a call its lane; return whether there is a place in it."""
        key = _key(call, limit.scope)
        call.lane = lane = self._lanes.setdefault(key, Lane(key, limit.max))
        lane.most = limit.max
        if lane.running < lane.most:
            lane.running += 1
            return True
        return False

    def queue(self, call: PendingCall) -> int:
        """Let a call wait in its lane; return how many wait there."""
        assert call.lane is not None
        call.lane.queue.append(call)
        return len(call.lane.queue)

    def leave(self, call: PendingCall) -> list[PendingCall]:
        """Give up a call's place, or its turn in the queue; return those that may go now."""
        lane = call.lane
        assert lane is not None
        call.lane = None
        if call.is_queued:
            lane.queue.remove(call)
            return []
        lane.running -= 1
        following = []
        while lane.queue and lane.running < lane.most:
            lane.running += 1
            following.append(lane.queue.popleft())
        if not lane.running:
            del self._lanes[lane.key]
        return following

    @property
    def in_use(self) -> list[Lane]:
        """The lanes with calls in them."""
        return list(self._lanes.values())


def _key(call: PendingCall, scope: str) -> tuple[str, ...]:
    if scope == "tool":
        return (scope, call.provider.name, call.invoke.tool)
    return (scope, call.provider.name if scope == "provider" else call.provider.id)
