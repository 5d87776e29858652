"""The helper's process: `python -m tapui.emitters.runner CHANNEL`, a connected socket's number.

It ends, and all that it runs, when the gateway closes the channel or is gone.
"""

import asyncio
import logging
import socket
import sys

from tapui.emitters.runner.serving import Helper

_LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
"""As `runtime.own_program` reads it, which would bring asyncio along."""


def main() -> int:
    logging.basicConfig(format=_LOG_FORMAT, level=logging.INFO, stream=sys.stderr)
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    asyncio.run(_serve(channel))
    return 0


async def _serve(channel: socket.socket) -> None:
    await Helper().run(channel)


if __name__ == "__main__":
    sys.exit(main())
