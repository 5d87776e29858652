"""The Copilot host as a process: `python -m tapui.hosts.copilot URL TOKEN_FILE …`.

The gateway's process starts it (`launcher`) and ends it with TERM. It ends by itself with code 0
when there was nothing to attach to for a while, with 1 when the gateway cannot be reached or is
gone. What it logs goes to standard error, a line `LEVEL logger: text` each.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from tapui.client.gateways import GatewayError
from tapui.client.socket import GatewaySocket
from tapui.hosts.copilot.host import CopilotHost
from tapui.hosts.port import Closed, Receive, ReportLevel
from tapui.hosts.socket_port import HostSocket
from tapui.runtime.children.supervisor import LOG_FORMAT
from tapui.text import safe_text
from tapui.wire.host import HostNotice, ToHost
from tapui.wire.limits import MAX_FRAME_BYTES

_REPORT = 2_000
"""Characters of a report: it may quote what a CLI says."""

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_ORPHAN_SECONDS = 1.0
"""Grace period: TERM or a lost connection arrives with EOF on the input and tells the reason."""

_log = logging.getLogger("tapui.hosts.copilot")


def main() -> int:
    """Run the host until the gateway ends it; return the exit code."""
    args = _parser().parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    with contextlib.suppress(KeyboardInterrupt):  # before the signals are caught: it ends
        return asyncio.run(_run(args))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tapui.hosts.copilot", description="Attach Copilot CLIs to a gateway."
    )
    parser.add_argument("url", help="the gateway's address")
    parser.add_argument("token_file", type=Path, help="the file with its internal token")
    parser.add_argument("--socket", type=Path, help="the gateway's Unix socket")
    parser.add_argument("--copilot-home", type=Path, required=True, help="the CLI's folder")
    parser.add_argument("--port", type=int, help="attach to the CLI on this port only")
    parser.add_argument("--no-attach", action="store_true", help="only start sessions")
    parser.add_argument("--no-ports", action="store_true", help="attach to no port of a CLI")
    parser.add_argument("--idle", type=float, help="seconds without a CLI after which to end")
    return parser


async def _run(args: argparse.Namespace) -> int:
    try:
        token = args.token_file.read_text().strip()
        socket = await GatewaySocket.open(
            args.url, token, ToHost, max_bytes=MAX_FRAME_BYTES, end=args.socket
        )
    except (OSError, GatewayError) as error:
        _log.error("the gateway cannot be reached: %s", error)
        return 1
    ports: list[HostSocket] = []

    def open_port(receive: Receive, closed: Closed) -> HostSocket:
        ports.append(HostSocket(socket, receive, closed))
        return ports[0]

    def report(text: str, level: ReportLevel) -> None:
        text = safe_text(text, limit=_REPORT)
        _log.log(_LEVELS[level], "%s", text)
        if ports:
            ports[0].send(HostNotice(text, level))

    host = CopilotHost(
        open_port,
        copilot_home=args.copilot_home,
        port=args.port,
        discover=not args.no_attach,
        with_ports=not args.no_ports,
        idle=args.idle,
        environ=os.environ,
        report=report,
    )
    _end_on_signals(host.stop)
    _end_with_parent(host.lose)
    await host.run()
    for port in ports:
        await port.wait_closed()
    return 1 if host.is_lost else 0


def _end_on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop)


def _end_with_parent(lose: Callable[[], None]) -> None:
    """Call `lose` some time after the input's end: the process that held it is gone."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        with contextlib.suppress(OSError):  # an input that cannot be read has ended
            while os.read(0, 4096):
                pass
        with contextlib.suppress(RuntimeError):  # the loop has ended before
            loop.call_soon_threadsafe(loop.call_later, _ORPHAN_SECONDS, lose)

    threading.Thread(target=watch, name="watch the input", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
