"""The helper's process: `python -m tapui.emitters.runner CHANNEL`, a connected socket's number.

It ends, and all that it runs, when the gateway closes the channel or is gone.
"""

import asyncio
import logging
import socket
import sys

from tapui.emitters.runner.serving import Helper
from tapui.runtime.children.lines import inherited_end
from tapui.runtime.children.supervisor import LOG_FORMAT


def main() -> int:
    logging.basicConfig(format=LOG_FORMAT, level=logging.INFO, stream=sys.stderr)
    asyncio.run(_serve(inherited_end(sys.argv[1])))
    return 0


async def _serve(channel: socket.socket) -> None:
    await Helper().run(channel)


if __name__ == "__main__":
    sys.exit(main())
