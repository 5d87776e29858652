"""The tower as a person has it: `tapui` on a terminal, read as a screen and driven by keys."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from tests.rig.gateway import Home, tapui_argv
from tests.rig.tmux import Screen, Tmux
from tests.rig.waiting import until

_SENT = "sent, waiting for the gateway"
PANES = {"sessions": "1", "streams": "3", "providers": "4", "calls": "5"}


class TowerProcess:
    """`tapui` with `args` on a terminal, painted and with its gateway found."""

    def __init__(
        self,
        tmux: Tmux,
        home: Home,
        *args: str,
        size: tuple[int, int] = (160, 45),
        env: Mapping[str, str] | None = None,
        record: Path | None = None,
        cwd: Path | None = None,
    ) -> None:
        home.root.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.screen: Screen = tmux.start(
            tapui_argv(*args),
            env={**home.env(), **(env or {})},
            cwd=cwd or home.root,
            size=size,
            record=record,
        )
        self.screen.wait_for("Sessions")
        (below,) = psutil.Process(self.screen.pid).children()
        self._pid: int = below.pid
        self.gateway: dict[str, Any] = until(
            self._announced, what=lambda: f"gateway.json:\n{self.screen.text()}"
        )

    def _announced(self) -> dict[str, Any] | None:
        for file in self.home.tapui.glob("run/*/gateway.json"):
            found: dict[str, Any] = json.loads(file.read_text())
            return found
        return None

    @property
    def url(self) -> str:
        """The gateway's address."""
        return str(self.gateway["url"])

    @property
    def token(self) -> str:
        """The provider token."""
        return Path(self.gateway["tokenFile"]).read_text().strip()

    @property
    def internal_token(self) -> str:
        """The token of hosts and towers."""
        return Path(self.gateway["internalTokenFile"]).read_text().strip()

    @property
    def pid(self) -> int:
        """The tower's process; its parent is the one that the terminal's shell would wait for."""
        return self._pid

    def end(self) -> None:
        """End it, if it still runs: without its terminal it would outlive the test by half a
        minute, as long as it waits for others to come back."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.screen.pid, signal.SIGTERM)
        self.screen.wait_dead()

    def pane(self, name: str) -> None:
        """Go to a pane by its number."""
        self.screen.keys(PANES[name])

    def approve(self, what: str) -> None:
        """Approve the most urgent request, which is about `what` (a regex)."""
        self._decide(what, "y", "Enter allows")

    def keep(self, what: str) -> None:
        """Allow exactly the most urgent request, which is about `what`, until the session ends."""
        self._decide(what, "s", "Enter allows exactly")

    def deny(self, what: str) -> None:
        """Deny the most urgent request, which is about `what` (a regex)."""
        self._decide(what, "d", "Enter denies")

    def _decide(self, what: str, key: str, armed: str) -> None:
        self.screen.wait_for(f"{what}.*(waits|left)")
        self.screen.keys("a")
        self.screen.wait_for("A letter, then Enter")  # it takes keys; "d  deny" may be of a former
        # A letter in its first half second is lost; a second one chooses the same answer.
        self.screen.keep_pressing(key, lambda: self.screen.find(armed) is not None)
        self.screen.press("Enter", lambda: self.screen.find(armed) is None)
        until(lambda: not self.screen.find(_SENT), what=self.screen.text)


async def confirm(screen: Screen, question: str) -> None:
    """Say yes to a question (a regex)."""
    await screen.seen(question)
    await asyncio.to_thread(screen.press, "y", lambda: screen.find(question) is None)
