"""Lanes: how many calls a provider takes at once; the others wait in order."""

from tapui.core.model import Lane, OpenSession, PendingCall


class Lanes:
    """The lanes in use, by what their calls share."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[object, ...], Lane] = {}

    def enter(self, call: PendingCall, scope: str, most: int) -> bool:
        """Give a call its lane; return whether there is a place in it."""
        key = _key(call, scope)
        call.lane = lane = self._lanes.setdefault(key, Lane(key, most))
        lane.most = most
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

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Let `current` count on from `former`."""
        for lane in [lane for lane in self._lanes.values() if former in lane.key]:
            del self._lanes[lane.key]
            lane.key = tuple(current if part is former else part for part in lane.key)
            self._lanes[lane.key] = lane

    @property
    def in_use(self) -> list[Lane]:
        """The lanes with calls in them."""
        return list(self._lanes.values())


def _key(call: PendingCall, scope: str) -> tuple[object, ...]:
    """Return what the calls of a lane share. Names mean something within one session only."""
    if scope == "instance":
        return (scope, call.provider.id)
    if scope == "provider":
        return (scope, call.session, call.provider.name)
    return (scope, call.session, call.provider.name, call.invoke.tool)
