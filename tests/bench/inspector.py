"""A tower that inspects a provider while it is told to, as a process of its own.

`python -m tests.bench.inspector URL`, internal token in TAPUI_INTERNAL_TOKEN. It reads all that a
tower is told. A line `on` on its input begins an inspection of the gateway's provider, `off` ends
it; it prints the line once that is so.
"""

import os
import select
import sys

from tests.bench.frames import Frames

HELLO = {"type": "tower.hello", "protocolVersion": 2, "session": ""}


def main(url: str) -> None:
    """Read until killed, or until the gateway goes."""
    client = Frames.connect(url, os.environ["TAPUI_INTERNAL_TOKEN"], HELLO)
    provider_id = sys.stdin.readline().strip()
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([client.socket, sys.stdin], [], [])
        if sys.stdin in ready:
            order = sys.stdin.readline().strip()
            if order == "on":
                client.say({"type": "inspect.start", "id": "x", "providerId": provider_id})
                client.expect("inspect.lines", id="x")
                client.say({"type": "inspect.read", "id": "x"})
            else:
                client.say({"type": "inspect.stop", "id": "x"})
            print(order, flush=True)
        if client.socket in ready:
            for message in client.receive():
                if message.startswith(b'{"type":"inspect.lines"'):
                    client.say({"type": "inspect.read", "id": "x"})


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except ConnectionError:
        sys.exit(0)
