"""Terminals: programs on ptys of a private tmux server, read as screens and typed into as keys."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tapui.tower.requests.request_detail import DEAF_SECONDS
from tests.rig.waiting import HUNG, until, until_async

_CONF = """\
set -g remain-on-exit on
set -g status off
set -g escape-time 0
set -g default-terminal xterm-256color
set -g history-limit 5000
set -g set-titles off
set -g allow-rename off
"""


class Tmux:
    """A tmux server of one's own, on its own socket; used as a context manager.

    A program that has ended keeps its last screen until the server goes, so that it can be read.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tapui-tmux-"))
        conf = self.folder / "tmux.conf"
        conf.write_text(_CONF)
        self._tmux = ["tmux", "-f", str(conf), "-S", str(self.folder / "socket")]
        self._started = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server and with it every program on it."""
        if self._started:
            subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def shell_command(self) -> str:
        """The begin of a shell's command that tells this server something."""
        return shlex.join(self._tmux)

    def command(self, *args: str) -> str:
        """Run one tmux command; return what it prints."""
        done = subprocess.run(
            [*self._tmux, *args], check=False, capture_output=True, text=True, timeout=HUNG
        )
        if done.returncode:
            raise AssertionError(f"tmux {args[0]}: {done.stderr.strip()}")
        return done.stdout

    def start(
        self,
        argv: Iterable[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        size: tuple[int, int] = (120, 36),
        record: Path | None = None,
    ) -> "Screen":
        """Run `argv` on a new pty of `size` (columns, rows), with `env` and nothing else.

        `record` names a file that gets every byte that the program writes.
        """
        self._started += 1
        name = f"s{self._started}"
        inner = ["env", "-i", *(f"{k}={v}" for k, v in env.items()), *map(str, argv)]
        columns, rows = size
        # The program starts only when the pipe below is in place: the first bytes count too.
        gate = self.folder / f"{name}.gate"
        shell = ["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.02; done; exec "$@"', str(gate)]
        self.command(
            *("new-session", "-d", "-s", name, "-x", str(columns), "-y", str(rows)),
            *("-c", str(cwd), "--", *shell, *inner),
        )
        if record is not None:
            self.command("pipe-pane", "-t", name, f"exec cat >> '{record}'")
        gate.touch()
        return Screen(self, name)


class Screen:
    """One program's terminal."""

    def __init__(self, tmux: Tmux, name: str) -> None:
        self._tmux = tmux
        self.name = name
        self._seen: set[str] = set()
        """Patterns that were waited for, and so have been on the screen."""

    @property
    def pid(self) -> int:
        """The program's process id."""
        return int(self.ask("pane_pid"))

    @property
    def is_dead(self) -> bool:
        """Whether the program has ended: its terminal is closed, and how it ended is known."""
        if self.ask("pane_dead") != "1":
            return False
        if any(self.ask(how) for how in ("pane_dead_status", "pane_dead_signal")):
            return True
        # tmux 3.3a sometimes leaves a child that has ended unread until it is told of the next.
        os.kill(int(self.ask("pid")), signal.SIGCHLD)
        return False

    @property
    def exit_status(self) -> int | None:
        """The exit code of a program that has ended by itself, else None."""
        status = self.ask("pane_dead_status")
        return int(status) if status else None

    def ask(self, variable: str) -> str:
        """Return a tmux format variable of this pane, such as `alternate_on`."""
        return self._tmux.command(
            "display-message", "-p", "-t", self.name, f"#{{{variable}}}"
        ).strip()

    def split(self, argv: Iterable[str], *, env: Mapping[str, str], cwd: Path) -> "Screen":
        """Run `argv` on a new pty beside this one, with `env` and nothing else."""
        inner = ["env", "-i", *(f"{k}={v}" for k, v in env.items()), *argv]
        pane = self._tmux.command(
            *("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", self.name),
            *("-c", str(cwd), "--", *inner),
        )
        return Screen(self._tmux, pane.strip())

    def text(self, *, colours: bool = False) -> str:
        """Return what is on the screen; with `colours`, the escape sequences too."""
        return self._tmux.command(
            "capture-pane", "-p", *(["-e"] if colours else []), "-t", self.name
        )

    def scrollback(self) -> str:
        """Return the screen and what has scrolled off it."""
        return self._tmux.command("capture-pane", "-p", "-S", "-", "-t", self.name)

    def keys(self, *keys: str) -> None:
        """Press keys by their tmux names (`Enter`, `C-c`, `BTab`, `a`)."""
        self._tmux.command("send-keys", "-t", self.name, *keys)

    def press(self, key: str, is_done: Callable[[], bool]) -> None:
        """Press a key that answers, and wait for its effect.

        A request takes none in its first half second, nor keys that come together, so that half
        second goes by first. Once more it is pressed only where the first was surely lost: on a
        busy machine the first has its effect seconds later, and the second meets another screen.
        """
        self._press(key, is_done, before=DEAF_SECONDS, again=HUNG / 3)

    def keep_pressing(self, key: str, is_done: Callable[[], bool]) -> None:
        """Press a key after one second, two, four …, until it has its effect.

        Before, it may be lost unseen; and a tower that was busy for longer than between two meets
        both at once, and takes neither.
        """
        self._press(key, is_done, before=0, again=1)

    def _press(self, key: str, is_done: Callable[[], bool], *, before: float, again: float) -> None:
        def pressed() -> bool:
            nonlocal again
            time.sleep(before)
            self.keys(key)
            try:
                return until(is_done, within=again, what=key)
            except AssertionError:
                again *= 2
                return False

        until(pressed, what=lambda: self._story(f"{key} had no effect"))

    def type(self, text: str) -> None:
        """Type text literally."""
        self._tmux.command("send-keys", "-l", "-t", self.name, text)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self._tmux.command("resize-window", "-t", self.name, "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        """Take the terminal away from under the program (it gets SIGHUP)."""
        self._tmux.command("kill-session", "-t", self.name)

    def find(self, pattern: str) -> re.Match[str] | None:
        """Search the screen now (multi-line)."""
        return re.search(pattern, self.text(), re.MULTILINE)

    def wait_for(self, pattern: str, *, within: float = HUNG) -> re.Match[str]:
        """Wait until the screen shows `pattern`."""
        found = until(
            lambda: self.find(pattern), within=within, what=lambda: self._story(repr(pattern))
        )
        self._seen.add(pattern)
        return found

    def wait_gone(self, pattern: str, *, within: float = HUNG) -> None:
        """Wait until the screen no longer shows `pattern`, which was waited for before: what is not
        there yet would count as gone."""
        self._has_been_seen(pattern)
        until(
            lambda: not self.find(pattern),
            within=within,
            what=lambda: self._story(f"{pattern!r} gone"),
        )

    async def seen(self, pattern: str, *, within: float = HUNG) -> re.Match[str]:
        """As `wait_for`, from a coroutine."""
        found = await until_async(
            lambda: self.find(pattern), within=within, what=lambda: self._story(repr(pattern))
        )
        self._seen.add(pattern)
        return found

    async def gone(self, pattern: str, *, within: float = HUNG) -> None:
        """As `wait_gone`, from a coroutine."""
        self._has_been_seen(pattern)
        await until_async(
            lambda: not self.find(pattern),
            within=within,
            what=lambda: self._story(f"{pattern!r} gone"),
        )

    def _has_been_seen(self, pattern: str) -> None:
        assert pattern in self._seen, f"wait for {pattern!r} before you wait until it is gone"
        self._seen.discard(pattern)

    def wait_dead(self, *, within: float = HUNG) -> int | None:
        """Wait until the program has ended; return its exit status (None after a signal)."""
        until(lambda: self.is_dead, within=within, what=lambda: self._story("the program's end"))
        return self.exit_status

    def _story(self, what: str) -> str:
        return f"{what} on the screen, which was:\n{self.text()}"
