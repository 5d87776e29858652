"""A provider as a program: its arguments, what it prints, and its end."""

import argparse
import asyncio
import io
import logging
import os
import shlex
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

import msgspec

from tapui import DEFAULT_PORT
from tapui.invocation import command
from tapui.provider.conversation import Listener
from tapui.provider.declarations import Declared
from tapui.provider.errors import DeclarationError, GatewayRefusal
from tapui.provider.gateway_finder import SESSION_VARIABLE, GatewayFinder
from tapui.provider.loop_watch import LoopWatch
from tapui.provider.members import folder_here
from tapui.provider.serving import Serving
from tapui.schemas.descriptions import example_words
from tapui.text import few, safe_text
from tapui.wire.message import ActiveSession, Tool

MAX_WAITING = 4 * 1024 * 1024
"""Characters that wait for a reader; further ones are dropped, and counted."""
PATIENCE = 1.0
"""Seconds that a thread of a tool waits for room, and that the end waits for what is left."""
_BLOCK = 64 * 1024


class PatientStream(io.TextIOBase):
    """Takes text at once; a thread of its own writes it to `under`."""

    def __init__(self, under: TextIO) -> None:
        self._under = under
        self._waiting: deque[str] = deque()
        self._size = 0
        self._dropped = 0
        self._changed = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="printing", daemon=True)
        self._thread.start()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # it is the other's
        return self._under.encoding

    def fileno(self) -> int:
        return self._under.fileno()

    def isatty(self) -> bool:
        return self._under.isatty()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Take text; wait a moment for room, unless this is the loop's thread."""
        is_in_loop = threading.current_thread() is threading.main_thread()
        with self._changed:
            for start in range(0, len(text), _BLOCK):
                part = text[start : start + _BLOCK]
                while self._size + len(part) > MAX_WAITING and not self._is_over:
                    if is_in_loop or not self._changed.wait(PATIENCE):
                        self._dropped += len(text) - start
                        return len(text)
                self._waiting.append(part)
                self._size += len(part)
            self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Nothing waits here for a flush."""

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._dropped:
                    if self._is_over:
                        return
                    self._changed.wait()
                text = "".join(self._waiting)
                if self._dropped:
                    text += f"\n[{self._dropped} characters were not printed: they were not read]\n"
                self._waiting.clear()
                self._size = self._dropped = 0
                self._changed.notify_all()
            data = memoryview(text.encode(self._under.encoding, "replace"))
            try:
                # Not by way of `under`: a thread that is stuck in it would hang the program's end.
                while data:
                    data = data[os.write(self._under.fileno(), data) :]
            except (OSError, ValueError):
                continue  # it was closed: what is printed now goes nowhere

    def end(self) -> None:
        """Write what is left; wait a little for a slow reader."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._thread.join(PATIENCE)


@contextmanager
def patient_printing() -> Iterator[None]:
    """Print through `PatientStream`s meanwhile."""
    before = sys.stdout, sys.stderr
    streams = [PatientStream(one) for one in before if one is not None]
    if len(streams) == len(before):
        sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in streams:
            stream.end()


def try_line(
    tool: Tool, port: int | None, sessions: Sequence[ActiveSession] = (), front: str | None = None
) -> str:
    """Return the command that calls a tool of these sessions; it names one, unless the tool is in
    the one in front, too."""
    where = "" if port in (None, DEFAULT_PORT) else f" --port {port}"
    if sessions and all(session.id != front for session in sessions):
        where += f" --session {shlex.quote(sessions[0].id)}"
    return command(f"call {tool.name} {example_words(tool.parameters)}".rstrip() + where)


REFUSED = 1
_ENDING = (signal.SIGINT, signal.SIGTERM)


def run(
    provider: Declared,
    argv: list[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Serve a provider until Ctrl-C or SIGTERM; a second one ends the program at once.

    `environ` names the gateway and the token, in the place of the process's own.

    Ends the program with exit code 1 when the gateway refuses the provider.
    """
    arguments = _parser(provider).parse_args(argv)
    with patient_printing():
        is_refused = _run(provider, arguments, dict(os.environ if environ is None else environ))
    if is_refused:
        sys.exit(REFUSED)


def _run(provider: Declared, arguments: argparse.Namespace, environ: Mapping[str, str]) -> bool:
    logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stderr)
    before = {number: signal.getsignal(number) for number in _ENDING}
    try:
        asyncio.run(_serve(provider, arguments, environ))
    except GatewayRefusal as error:
        _say(f"{provider.name}: the gateway refuses it: {error}", is_error=True)
        return True
    except DeclarationError as error:
        _say(f"{provider.name}: it cannot be declared: {error}", is_error=True)
        return True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)  # None: it was not set by Python
    return False


def _parser(provider: Declared) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=f"The provider '{provider.name}', for sessions that tapui is attached to."
    )
    parser.add_argument(
        "--session",
        metavar="ID",
        help=(
            f"the session, by id or label (else {SESSION_VARIABLE}, else the one of this folder,"
            " else the one in front)"
        ),
    )
    parser.add_argument("--port", type=int, metavar="N", help="the gateway's port (else 9400)")
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        default="",
        help="what stands in front of each tool's name, where another provider has the names",
    )
    return parser


async def _serve(
    provider: Declared, arguments: argparse.Namespace, environ: Mapping[str, str]
) -> None:
    finder = GatewayFinder(environ, arguments.port)
    serving = Serving(
        provider,
        finder.dial,
        token=finder.token,
        session=arguments.session or environ.get(SESSION_VARIABLE) or None,
        folder=folder_here(),
        prefix=arguments.prefix,
        listener=_Printer(provider, finder),
    )
    work = asyncio.ensure_future(serving.run())
    _end_with_signals(work)
    watch = LoopWatch()
    try:
        await work
    except asyncio.CancelledError:
        _say(f"{provider.name}: left")
    finally:
        watch.close()


def _end_with_signals(work: "asyncio.Future[None]") -> None:
    """Cancel `work` with the first signal. A second one ends the process at once, also past a
    coroutine that does not let go of the loop, or a thread of the author's."""
    loop, has_come = asyncio.get_running_loop(), False

    def come(number: int, _frame: FrameType | None) -> None:
        nonlocal has_come
        if has_come:
            os._exit(128 + number)
        has_come = True
        loop.call_soon_threadsafe(work.cancel)

    for number in _ENDING:
        signal.signal(number, come)


class _Printer(Listener):
    """Prints the status of the provider; the same line is not repeated."""

    def __init__(self, provider: Declared, finder: GatewayFinder) -> None:
        self._provider = provider
        self._finder = finder
        self._last = ""
        self._has_shown_how = False

    def waiting(self, why: str) -> None:
        self._line(f"waiting: {why}")

    def bound(self, sessions: list[ActiveSession], front: str | None) -> None:
        names = ", ".join(f"{one.label} ({one.id})" for one in sessions) or "every session to come"
        self._line(f"in session {names}")
        if self._has_shown_how:
            return
        self._has_shown_how = True
        tools = self._provider.tools
        if tools:
            named, rest = few([tool.name for tool in tools])
            _say(f"  tools: {', '.join([*named, *rest])}")
            _say(f"  try one: {try_line(tools[0], self._finder.port, sessions, front)}")
        file = os.path.abspath(sys.argv[0])  # noqa: PTH100 - links stay as they are
        if not os.path.isfile(file):  # noqa: PTH113 - likewise
            return
        entry = {"name": self._provider.name, "command": sys.executable, "args": [file]}
        _say("  with every session of a folder: put this into its tap.config.json")
        _say(f"    {msgspec.json.encode({'providers': [entry]}).decode()}")

    def noticed(self, text: str) -> None:
        self._line(text)

    def _line(self, text: str) -> None:
        if text != self._last:
            self._last = text
            _say(f"{self._provider.name}: {text}")


def _say(text: str, *, is_error: bool = False) -> None:
    print(safe_text(text), file=sys.stderr if is_error else sys.stdout)
