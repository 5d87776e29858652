"""The host as a process: `python -m tapui.hosts.language_server URL TOKEN_FILE …`.

`tapui language-server` starts it and ends it with TERM. A line of JSON on standard output names the
session once it is open (`{"session": ID}`). It ends with code 0 when that was wanted, else with 1
and the reason as the last line of its log. What it logs goes to standard error, a line
`LEVEL logger: text` each.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from tapui.client.gateways import GatewayError
from tapui.client.socket import GatewaySocket
from tapui.hosts.language_server.server_host import HostEndedError, LanguageServerHost
from tapui.hosts.port import Closed, Receive, ReportLevel
from tapui.hosts.socket_port import HostSocket
from tapui.runtime.children.supervisor import LOG_FORMAT
from tapui.wire.host import HostNotice, ToHost
from tapui.wire.limits import MAX_FRAME_BYTES

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_log = logging.getLogger("tapui.hosts.language_server")


def main() -> int:
    """Run the host until it is ended; return the exit code."""
    args = _parser().parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    with contextlib.suppress(KeyboardInterrupt):  # before the signals are caught: it ends
        return asyncio.run(_run(args))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tapui.hosts.language_server",
        description="Hold a conversation with Copilot's language server at a gateway.",
    )
    parser.add_argument("url", help="the gateway's address")
    parser.add_argument("token_file", type=Path, help="the file with its internal token")
    parser.add_argument("--socket", type=Path, help="the gateway's Unix socket")
    parser.add_argument("--program", required=True, help="the language server")
    parser.add_argument("--folder", type=Path, required=True, help="the session's folder")
    parser.add_argument("--model", default="", help="the model, as ID or PROVIDER/ID")
    parser.add_argument("--unattended", action="store_true", help="ask no person")
    return parser


async def _run(args: argparse.Namespace) -> int:
    ports: list[HostSocket] = []

    def report(text: str, level: ReportLevel) -> None:
        _log.log(_LEVELS[level], "%s", text)
        if ports:
            ports[0].send(HostNotice(text, level))

    def opened(session: str) -> None:
        sys.stdout.write(f"{json.dumps({'session': session})}\n")
        sys.stdout.flush()

    host = LanguageServerHost(
        program=args.program,
        folder=args.folder,
        environ=os.environ,
        report=report,
        on_open=opened,
        model=args.model,
        unattended=args.unattended,
    )
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, host.stop)
    _end_with_parent(host)
    try:
        # The gateway gives up a connection that is silent for as long as the server may take.
        if not await host.start():
            return 0
        socket = await _socket(args)

        def open_port(receive: Receive, closed: Closed) -> HostSocket:
            ports.append(HostSocket(socket, receive, closed))
            return ports[0]

        await host.run(open_port)
    except HostEndedError as error:
        _log.warning("%s", error)
        return 1
    finally:
        await host.end_server()
        for port in ports:
            await port.wait_closed()
        for number in _SIGNALS:
            # One that comes while the loop is closed would be told on standard error.
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
    return 0


async def _socket(args: argparse.Namespace) -> GatewaySocket:
    try:
        token = args.token_file.read_text().strip()
        return await GatewaySocket.open(
            args.url, token, ToHost, max_bytes=MAX_FRAME_BYTES, end=args.socket
        )
    except (OSError, GatewayError) as error:
        raise HostEndedError(f"the gateway cannot be reached: {error}") from None


def _end_with_parent(host: LanguageServerHost) -> None:
    """End the host after the input's end: the process that held it is gone."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        with contextlib.suppress(OSError):  # an input that cannot be read has ended
            while os.read(0, 4096):
                pass
        with contextlib.suppress(RuntimeError):  # the loop has ended before
            loop.call_soon_threadsafe(host.stop)

    threading.Thread(target=watch, name="watch the input", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
