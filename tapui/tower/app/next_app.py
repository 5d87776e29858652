"""`tapui next`: only what waits, the most urgent first, and no longer than something does."""

from typing import ClassVar

from tapui.tower.app.app import TowerApp
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.requests.urgency import requests
from tapui.tower.textual.sheet import Sheet

NONE_LEFT = "quit"
GONE = "the gateway is gone"


class NextApp(TowerApp):
    """The tower without its panes: a request's sheet, then the next one's, then the end.

    `run()` returns `NONE_LEFT` when nothing is left to answer, as when the person quits, and `GONE`
    when the gateway went away.
    A request that the person closes without an answer goes on waiting, and is not shown again.
    """

    CSS: ClassVar[str] = "MainScreen > * { display: none !important; }"

    def on_mount(self) -> None:
        """Nothing was shown so far. (Textual calls the tower's own `on_mount` as well.)"""
        self._left: set[str] = set()
        self._was_up = False

    def frame_ends(self) -> None:
        self._follow()

    @property
    def lines_above(self) -> int:
        return 0

    @property
    def lines_below(self) -> int:
        return 0

    @property
    def has_detail(self) -> bool:
        return False

    CALLS_PERSON: ClassVar[bool] = False

    def _follow(self) -> None:
        """Show the most urgent request unless one is shown; end when none is left."""
        is_up = self.view.link.state == "up"
        if self._was_up and not is_up:
            self.leave(GONE)
            return
        self._was_up = is_up
        if not is_up or len(self.screen_stack) > 1:
            return
        waiting = [id_ for id_ in self._waiting() if id_ not in self._left]
        if not waiting:
            self.leave(NONE_LEFT)
            return
        detail = RequestDetail(waiting[0], self._left)

        def closed(_result: None) -> None:
            if detail.key in self._waiting():
                self._left.add(detail.key)
            self.wake()

        self.push_screen(Sheet(detail), closed)

    def _waiting(self) -> list[str]:
        return [one.approval.id for one in requests(self.view)]
