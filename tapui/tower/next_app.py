"""`tapui next`: only what waits, the most urgent first, and no longer than something does."""

from typing import ClassVar

from tapui import times
from tapui.projection.state import is_waiting
from tapui.tower.app import TowerApp
from tapui.tower.screens.approval import ApprovalScreen
from tapui.wire import events as ev

SOON = 60.0
"""Seconds. What has less time left goes before everything else."""
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

    def _paint(self) -> None:
        super()._paint()
        self._follow()

    def _call_person(self) -> None:
        """The person looks at it already."""

    def _follow(self) -> None:
        """Show the most urgent request unless one is shown; end when none is left."""
        is_up = self.view.link.state == "up"
        if self._was_up and not is_up:
            self.leave(GONE)
            return
        self._was_up = is_up
        if not is_up or len(self.screen_stack) > 1:
            return
        waiting = [one for one in self.view.waiting if one.id not in self._left]
        if not waiting:
            self.leave(NONE_LEFT)
            return
        approval_id = min(waiting, key=self._urgency).id

        def closed(_result: None) -> None:
            known = self.view.state.approvals.get(approval_id)
            if known is not None and is_waiting(known):
                self._left.add(approval_id)
            self.wake()

        self.push_screen(ApprovalScreen(approval_id), closed)

    def _urgency(self, approval: ev.Approval) -> tuple[bool, float]:
        end = times.epoch(approval.expires_at)
        if end is not None and end - self.view.now < SOON:
            return False, end
        return True, times.epoch(approval.created_at) or 0.0
