"""A program that attaches to the CLIs of a home and never answers a call: made to be killed."""

import asyncio
import sys
from pathlib import Path

from tapui.hosts.copilot.host import CopilotHost
from tapui.wire.host import SessionOpen
from tapui.wire.message import Message, ToolInvoke
from tests.hosts.gateway import GatewayPlayed


class _Silent(GatewayPlayed):
    def send(self, message: Message) -> None:
        super().send(message)
        if isinstance(message, SessionOpen):
            print("opened", flush=True)
        elif isinstance(message, ToolInvoke):
            print("called", flush=True)


def main() -> None:
    """Attach until killed; print `opened` at each session and `called` at each call."""
    gateway = _Silent()

    def report(text: str, level: str) -> None:
        print(level, text, file=sys.stderr)

    host = CopilotHost(gateway.open_port, copilot_home=Path(sys.argv[1]), report=report)
    asyncio.run(host.run())


if __name__ == "__main__":
    main()
