"""The provider of the benchmarks, a process of its own: answers every call with one fixed result.

`python -m tests.bench.provider URL SIZE TOOLS SESSION`, token in TAP_PROVIDER_TOKEN; prints
`ready` once bound. It offers `bench` and, up to TOOLS, others that nobody calls; an empty SESSION
is the first one on offer.
`python -m tests.bench.provider direct SIZE 1 ""` listens instead, for the path without a gateway.
"""

import json
import os
import socket
import sys

from tests.bench.frames import Frames, frame

_ID = b'"id":"'


def result(size: int) -> bytes:
    """Return a JSON string of `size` bytes."""
    return json.dumps("x" * (size - 2)).encode()


def serve(client: Frames, data: bytes) -> None:
    """Answer calls until the connection ends."""
    head, tail = b'{"type":"tool.result","id":"', b'","data":' + data + b"}"
    while True:
        answers = []
        for message in client.receive():
            if message.startswith(b'{"type":"tool.call"'):
                start = message.index(_ID) + len(_ID)
                answers.append(frame(head + message[start : message.index(b'"', start)] + tail))
        if answers:
            client.socket.sendall(b"".join(answers))


def main(url: str, size: int, tools: int, session: str) -> None:
    """Bind to the gateway, or listen, and serve."""
    if url == "direct":
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        client = Frames(listener.accept()[0])
    else:
        tool = {"name": "bench", "description": "Bench", "parameters": {"type": "object"}}
        others = [{**tool, "name": f"bench_{number}"} for number in range(1, tools)]
        hello = {"type": "hello", "name": "bench", "protocolVersion": 2, "tools": [tool, *others]}
        if session:
            hello["session"] = session
        client = Frames.connect(url, os.environ["TAP_PROVIDER_TOKEN"], hello)
        print("ready", flush=True)
    try:
        serve(client, result(size))
    except ConnectionError:
        return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
