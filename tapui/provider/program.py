"""A provider as a program: arguments, signals, and what it prints."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType

import msgspec

from tapui.provider.declared import Declared
from tapui.provider.errors import DeclarationError, GatewayRefusal
from tapui.provider.finding import SESSION_VARIABLE, GatewayFinder
from tapui.provider.listener import Listener
from tapui.provider.loop_watch import LoopWatch
from tapui.provider.printing import patient_printing
from tapui.provider.serving import Serving
from tapui.provider.trying import try_line
from tapui.text import few, safe_text
from tapui.wire.message import ActiveSession

REFUSED = 1
_ENDING = (signal.SIGINT, signal.SIGTERM)


def run(provider: Declared, argv: list[str] | None = None) -> None:
    """Serve a provider until Ctrl-C or SIGTERM; a second one ends the program at once.

    Ends the program with exit code 1 when the gateway refuses the provider.
    """
    arguments = _parser(provider).parse_args(argv)
    with patient_printing():
        is_refused = _run(provider, arguments)
    if is_refused:
        sys.exit(REFUSED)


def _run(provider: Declared, arguments: argparse.Namespace) -> bool:
    """Serve; return whether the gateway has refused the provider."""
    logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stderr)
    before = {number: signal.getsignal(number) for number in _ENDING}
    try:
        asyncio.run(_serve(provider, arguments, dict(os.environ)))
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
        help=f"the session, by id or label (else {SESSION_VARIABLE}, else the one in front)",
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
    """Cancel `work` with the first signal. A second one ends the process, whatever holds it up: a
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
    """Prints what becomes of the provider; the same line is not repeated."""

    def __init__(self, provider: Declared, finder: GatewayFinder) -> None:
        self._provider = provider
        self._finder = finder
        self._last = ""
        self._has_shown_how = False

    def waiting(self, why: str) -> None:
        """It is not bound, and tries again by itself."""
        self._line(f"waiting: {why}")

    def bound(self, sessions: list[ActiveSession]) -> None:
        """It is in these sessions now."""
        names = ", ".join(f"{one.label} ({one.id})" for one in sessions) or "every session to come"
        self._line(f"in session {names}")
        if self._has_shown_how:
            return
        self._has_shown_how = True
        tools = self._provider.tools
        if tools:
            named, rest = few([tool.name for tool in tools])
            _say(f"  tools: {', '.join([*named, *rest])}")
            _say(f"  try one: {try_line(tools[0], self._finder.port)}")
        file = os.path.abspath(sys.argv[0])  # noqa: PTH100 - links stay as they are
        if not os.path.isfile(file):  # noqa: PTH113 - likewise
            return
        entry = {"name": self._provider.name, "command": sys.executable, "args": [file]}
        _say("  with every session of a folder: put this into its tap.config.json")
        _say(f"    {msgspec.json.encode({'providers': [entry]}).decode()}")

    def noticed(self, text: str) -> None:
        """The gateway has refused something."""
        self._line(text)

    def _line(self, text: str) -> None:
        if text != self._last:
            self._last = text
            _say(f"{self._provider.name}: {text}")


def _say(text: str, *, is_error: bool = False) -> None:
    print(safe_text(text), file=sys.stderr if is_error else sys.stdout)
