"""The real Copilot CLI on a pty: offline, in a scratch home, against a scripted model."""

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.rig.tmux import Screen, Tmux
from tests.rig.waiting import HUNG, until

VERSION = "1.0.102"
_MODULES = Path(__file__).parent.parent / "live" / "node_modules"
_POINTER = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
_INPUT = rf"^─{{20,}}\n{_POINTER} ?((?:.|\n)*?)\n─{{20,}}$"
_PROMPTED = rf"^ {_POINTER} .* \d\d:\d\d(?: +┃)?$"
_TRUST = r"Do you trust the files in this folder\?"
_CHOICE = rf"^│ {_POINTER} 1\. "
_FREE = "Allow All"
BEGINNING = "Interactive · Manual Approval"
"""What the CLI begins with, in its footer."""


def find_cli() -> Path | None:
    """Return the CLI's binary that `npm ci` in tests/live installed, or None."""
    system = platform.system().lower()
    cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    binary = _MODULES / "@github" / f"copilot-{system}-{cpu}" / "copilot"
    return binary if binary.exists() else None


class Copilot:
    """A CLI on a terminal, started and with its folder trusted.

    `home` is its scratch HOME (kept, so that a second one can resume), `cache` a folder that
    several share for the unpacked program, `cwd` the folder that it works in.
    """

    def __init__(
        self,
        tmux: Tmux,
        *,
        home: Path,
        cache: Path,
        cwd: Path,
        model_url: str,
        args: tuple[str, ...] = ("--ui-server",),
        size: tuple[int, int] = (140, 45),
        argv: tuple[str | Path, ...] | None = None,
    ) -> None:
        cli = find_cli()
        if cli is None:
            raise AssertionError("the Copilot CLI is missing: run `npm ci` in tests/live")
        self.home = home
        self.cwd = cwd
        self.copilot_home = home / ".copilot"
        self.model_url = model_url
        self.copilot_home.mkdir(parents=True, exist_ok=True)
        cwd.mkdir(parents=True, exist_ok=True)
        cache.mkdir(parents=True, exist_ok=True)
        if not (home / ".cache").exists():
            (home / ".cache").symlink_to(cache)
        if not (cwd / ".git").exists():
            subprocess.run(["git", "init", "-q", str(cwd)], check=True)
        self.screen: Screen = tmux.start(argv or (cli, *args), env=self.env, cwd=cwd, size=size)
        self._trust()

    @property
    def env(self) -> dict[str, str]:
        """The environment of the CLI, and of a `tapui copilot` that starts one."""
        cli = find_cli()
        return {
            "HOME": str(self.home),
            "COPILOT_HOME": str(self.copilot_home),
            "PATH": f"{cli.parent if cli else ''}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": self.model_url,
            "COPILOT_MODEL": "scripted",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def _trust(self) -> None:
        self.screen.wait_for(rf"{_TRUST}|{_INPUT}")
        if self.screen.find(_TRUST):
            self.choose_first(_TRUST)
        self.screen.wait_for(_INPUT)

    @property
    def pid(self) -> int:
        """The CLI's process id: what runs on the terminal, or in the shell there."""
        process = psutil.Process(self.screen.pid)
        inside = process.children() if process.name() == "sh" else []
        return inside[0].pid if inside else process.pid

    @property
    def session_id(self) -> str:
        """The id of the session on the screen: the newest one that the process holds."""
        locks = list(self.copilot_home.glob(f"session-state/*/inuse.{self.pid}.lock"))
        if not locks:
            raise AssertionError(f"no session of process {self.pid} in {self.copilot_home}")
        return max(locks, key=lambda lock: lock.stat().st_mtime_ns).parent.name

    @property
    def workspace(self) -> Path:
        """The folder of the session's files."""
        return self.copilot_home / "session-state" / self.session_id

    def stored(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until the session's file has so many events of a kind; return the data of each.

        The CLI writes them a while after they are on the screen.
        """
        file = self.workspace / "events.jsonl"

        def found() -> list[dict[str, Any]] | None:
            whole = file.read_text().rpartition("\n")[0] if file.exists() else ""
            events = [json.loads(line) for line in whole.splitlines()]
            data = [event["data"] for event in events if event["type"] == kind]
            return data if len(data) >= count else None

        return until(found, what=lambda: f"{count} of {kind} in {file}")

    @property
    def port(self) -> int:
        """The port on which the CLI lets others attach."""
        listening = [
            socket.laddr.port
            for socket in psutil.Process(self.pid).net_connections("tcp")
            if socket.status == psutil.CONN_LISTEN
        ]
        if len(listening) != 1:
            raise AssertionError(f"the CLI listens on {listening}")
        return int(listening[0])

    @property
    def mode(self) -> str:
        """The mode in the footer, as the person reads it: `Interactive`, `Plan`, `Autopilot`."""
        named = re.search(r"Interactive|Plan|Autopilot", self.footer)
        return named[0] if named else ""

    @property
    def footer(self) -> str:
        """The last line of the screen, with the mode and what the CLI asks about."""
        return self.screen.text().rstrip().rpartition("\n")[2]

    def prompt(self, text: str) -> None:
        """Type a prompt and send it; return when the CLI has taken it."""
        self.screen.wait_for(_INPUT)
        self.screen.type(text)
        until(
            lambda: (self._input() or "").startswith(text),
            what=lambda: f"{text!r} typed; the screen was:\n{self.screen.text()}",
        )
        self.screen.keys("Enter")
        until(
            lambda: not (self._input() or "").startswith(text),
            what=lambda: f"{text!r} sent; the screen was:\n{self.screen.text()}",
        )

    @property
    def takes_prompts(self) -> bool:
        """Whether it shows an empty prompt, and no dialog."""
        return not self.screen.is_dead and self._input() == ""

    def allow_all(self) -> None:
        """Have it ask about nothing, as after `--allow-all-tools --allow-all-paths`."""
        self.prompt("/allow-all on")
        self.screen.wait_for(_FREE)

    def settle(self, *, within: float) -> None:
        """Bring it back to an empty prompt, in the mode and with the policy that it begins with.

        A dialog is left by Escape; each key is pressed once, and waited for.
        """
        while self._input() is None:
            self._press("Escape", self.screen.text, within)
        until(lambda: self.mode and self.takes_prompts, within=within, what="the end of its turn")
        while self.mode != "Interactive":
            self._press("BTab", lambda: self.mode, within)
        if _FREE in self.footer:
            self.prompt("/allow-all off")
        until(lambda: BEGINNING in self.footer, within=within, what=BEGINNING)

    def _press(self, key: str, look: Callable[[], str], within: float) -> None:
        """Press a key once, and wait until what is looked at is there and another."""
        before = look()
        self.screen.keys(key)
        until(lambda: look() not in ("", before), within=within, what=f"an effect of {key}")

    def clear(self) -> str:
        """Begin another session by `/clear`; return its id when the CLI takes prompts again.

        Until its last lines about that, the CLI empties its input as it sets itself up. An earlier
        `/clear` has left the same lines: a prompt of the session tells when they are gone.
        """
        former, shown = self.session_id, self.screen.find(_PROMPTED)
        if shown is None:
            self.prompt("this session is over")
            shown = self.screen.wait_for(_PROMPTED)
        self.prompt("/clear")
        until(lambda: self.session_id != former, what="another session")
        until(lambda: shown[0] not in self.screen.text(), what=f"{shown[0]} gone")
        for last in ("Started a fresh session", "MCP Servers reloaded"):  # in either order
            self.screen.wait_for(last)
        return self.session_id

    def _input(self) -> str | None:
        found = self.screen.find(_INPUT)
        return re.sub(r"\s*\n\s*", " ", found[1]).strip() if found else None

    def choose_first(self, dialog: str, *, within: float = HUNG) -> None:
        """Wait for the dialog that shows `dialog` and take its first choice (yes, once)."""
        self.screen.wait_for(dialog, within=within)
        self.screen.wait_for(_CHOICE)
        self.screen.keys("Enter")
        self.screen.wait_gone(dialog)

    def choose_last(self, text: str) -> None:
        """Take the last choice of the dialog on the screen, which asks for a text, and send it."""
        last = max(
            int(one) for one in re.findall(r"^│ . (\d)\. ", self.screen.text(), re.MULTILINE)
        )
        for at in range(2, last + 1):
            self.screen.keys("Down")
            self.screen.wait_for(rf"^│ {_POINTER} {at}\. ")
        self.screen.type(text)
        self.screen.wait_for(text)
        self.screen.keys("Enter")

    def quit(self) -> None:
        """End the CLI as a person does."""
        self.screen.wait_for(_INPUT)
        self.screen.type("/exit")
        self.screen.keys("Enter")
        self.screen.wait_dead()

    def remove(self) -> None:
        """Delete the scratch home."""
        shutil.rmtree(self.home, ignore_errors=True)
