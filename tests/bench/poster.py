"""Posts lines to a stream at a steady rate, as a process of its own.

`python -m tests.bench.poster URL RATE`, internal token in TAPUI_INTERNAL_TOKEN; prints `ready` once
the first line was taken. It is a host with a session of its own in the foreground, and calls
`tap_post` there, RATE times a second.
"""

import os
import select
import sys
import time

from tests.bench import roundtrip
from tests.bench.frames import frame

SESSION = "lines"
_TICK = 0.005


def main(url: str, rate: int) -> None:
    """Post until killed, or until the gateway goes."""
    client = roundtrip.host(url, os.environ["TAPUI_INTERNAL_TOKEN"], SESSION)
    args = b'{"stream":"bench","message":"build step done, %b"}' % (b"x" * 60)
    before, after = roundtrip.invoke("tap_post", args, SESSION).split(b"%")
    sent, began = 0, time.monotonic()
    is_ready = False
    while True:
        due = int((time.monotonic() - began) * rate) + 1
        calls = [before + str(number).encode() + after for number in range(sent, due)]
        client.socket.sendall(b"".join(map(frame, calls)))
        sent = due
        while select.select([client.socket], [], [], 0)[0]:
            client.receive()
            if not is_ready:
                is_ready = True
                print("ready", flush=True)
        time.sleep(_TICK)


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except ConnectionError:
        sys.exit(0)
