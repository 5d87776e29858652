"""A feed from a real core: what the tower sends is handled, and what it brings forth comes back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tapui.projection.feed import Link
from tapui.settings.settings import Settings
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Message
from tapui.wire.provider import Sessions, SessionsUpdated
from tapui.wire.tower import TowerHello, TowerSnapshot
from tests.core.conftest import Scene
from tests.core.goals.played import GoalScene
from tests.core.harness import Conversation, InProcessEnd
from tests.tower.running import Running, running
from tests.tower.scripted import ScriptedFeed


class CoreFeed(ScriptedFeed):
    """The tower's end in the gateway's process. `pump` passes on what has happened besides."""

    def __init__(self, talk: Conversation) -> None:
        super().__init__()
        self._talk = talk
        self._told = len(talk.entries)
        self._end = InProcessEnd(talk, self._receive)
        talk.turn()

    def _receive(self, message: Message) -> None:
        if isinstance(message, Sessions):
            self._end.send(TowerHello(PROTOCOL_VERSION, "tapui"))
        elif not isinstance(message, SessionsUpdated):
            self.put(message)
            if isinstance(message, TowerSnapshot):
                self.put(Link("up"))

    def send(self, message: Message) -> None:
        super().send(message)
        self._end.send(message)
        self._talk.turn()
        self.pump()

    def pump(self) -> None:
        new, self._told = self._talk.entries[self._told :], len(self._talk.entries)
        if new:
            self.put(list(new))


@asynccontextmanager
async def at_core(
    played: GoalScene, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[Running, CoreFeed]]:
    """Run the tower at the core of a played session."""
    feed = CoreFeed(played.talk)
    async with running(size=size, feed=feed, begins=False) as rig:
        yield rig, feed


def played_scene(settings: Settings | None = None) -> GoalScene:
    """Return a played session `s2` in `/code`, in which goals can be opened."""
    talk = Conversation(settings)
    host = talk.host()
    host.open("s1")
    scene = Scene(talk, host, talk.provider("s1"), talk.tower())
    return GoalScene(scene)
