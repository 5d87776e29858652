"""The process that the shell waits for: the tower's parent, which can return before the tower ends.

A gateway that goes on without its screen must give the shell back, and no process can leave the one
that waits for it. So the tower runs in a child, forked before any thread exists. The child has a
process group of its own, to which the terminal is given: what the terminal sends reaches the child
alone, what the shell or another process sends reaches the parent, which passes it on. A stop and
the end of either are the other's. The parent keeps what is loaded at the fork: this module imports
what only the child needs where it is used.
"""

import contextlib
import os
import select
import signal
import socket
from collections.abc import Iterator
from types import FrameType

LOOK_SECONDS = 0.5
"""Between two looks who has the terminal."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTSTP, signal.SIGQUIT)


class ShellParent:
    """The parent as its child sees it; `below_the_shell` makes it."""

    def __init__(self, pid: int, line: socket.socket, group: int, shell: int) -> None:
        self._pid = pid
        self._line = line
        self._group = group
        self._shell = shell

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """While the block lasts, on the running loop, this process ends as its parent does, if that
        is killed: nothing would wait for it any more."""
        import asyncio

        loop = asyncio.get_running_loop()
        loop.add_reader(self._line, self._killed)
        watching = loop.create_task(self._stop_behind(), name="watch the terminal's group")
        try:
            yield
        finally:
            watching.cancel()
            loop.remove_reader(self._line)

    async def _stop_behind(self) -> None:
        """Stop when the shell has taken the terminal: the parent was stopped by a signal that none
        can pass on. Leave where the shell that waited has gone: nothing would continue us."""
        import asyncio

        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if _group_of_terminal() in (None, os.getpgrp()):
                continue
            if os.getppid() != self._pid:
                # Killed, and the loop has yet to read the end of the line: stopped now, this
                # process would stay so for ever.
                self._killed()
            if _runs(self._shell):
                os.kill(os.getpid(), signal.SIGSTOP)
            else:
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # the screen is left from behind
                os.kill(os.getpid(), signal.SIGHUP)
                return

    def leave(self) -> None:
        """Have the parent return to the shell; this process has let go of the terminal."""
        import asyncio

        asyncio.get_running_loop().remove_reader(self._line)
        with contextlib.suppress(OSError):  # it has been killed
            self._line.send(b"\0")

    def _killed(self) -> None:
        _give_terminal(self._group, having=os.getpgrp())
        os.kill(os.getpid(), signal.SIGKILL)


def below_the_shell() -> ShellParent:
    """Fork: return in the child, which has the terminal. The parent never returns.

    No other thread may run, and nothing may wait to be written.
    """
    ours, theirs = socket.socketpair()
    own, group, shell = os.getpid(), os.getpgrp(), os.getppid()
    had_terminal = _group_of_terminal() == group
    pid = os.fork()
    if pid:
        theirs.close()
        os._exit(_Waiting(pid, ours).wait())
    ours.close()
    os.setpgid(0, 0)
    if had_terminal:
        _give_terminal(os.getpgrp(), having=group)
    return ShellParent(own, theirs, group, shell)


class _Waiting:
    """The parent's side: it waits, passes on, and returns the exit code for its shell."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self._pid = pid
        self._line = line
        self._group = os.getpgrp()
        with contextlib.suppress(OSError):  # the child was faster
            os.setpgid(pid, pid)

    def wait(self) -> int:
        """Return the exit code: the child's, or 0 when it goes on."""
        woken, waking = socket.socketpair()
        woken.setblocking(False)
        waking.setblocking(False)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)
        signal.signal(signal.SIGCONT, self._continued)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to be woken
        while True:
            pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                os.kill(os.getpid(), signal.SIGSTOP)
                continue
            if pid:
                return self._ended(status)
            ready, _, _ = select.select([self._line, woken], [], [])
            if woken in ready:
                woken.recv(4096)
            if self._line in ready and self._line.recv(1):
                self._take_terminal()
                return 0

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended: that is next
            os.kill(self._pid, number)

    def _continued(self, _number: int, _frame: FrameType | None) -> None:
        """The shell has continued this process, in the foreground or behind."""
        _give_terminal(self._pid, having=self._group)
        with contextlib.suppress(ProcessLookupError):  # see above
            os.kill(self._pid, signal.SIGCONT)

    def _take_terminal(self) -> None:
        _give_terminal(self._group, having=self._pid)

    def _ended(self, status: int) -> int:
        self._take_terminal()
        if not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return 128 + number  # it is one that does not end a process


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def _group_of_terminal() -> int | None:
    """Return the process group that has the terminal; None where this session has none."""
    try:
        return os.tcgetpgrp(0)
    except OSError:
        return None


def _give_terminal(group: int, *, having: int) -> None:
    """Give the terminal to a process group, where the group `having` has it."""
    if _group_of_terminal() != having:
        return
    # Who sets the terminal from the background is stopped.
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(0, group)
    except OSError:
        pass  # the terminal or the group has gone
    finally:
        signal.signal(signal.SIGTTOU, before)
