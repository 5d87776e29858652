"""The provider of the benchmarks, a process of its own: answers every call with one fixed result.

`python -m tests.bench.provider URL SIZE`, token in TAP_PROVIDER_TOKEN; prints `ready` once bound.
`python -m tests.bench.provider direct SIZE` listens instead, for the path without a gateway.
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


def main(url: str, size: int) -> None:
    """Bind to the gateway, or listen, and serve."""
    if url == "direct":
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        client = Frames(listener.accept()[0])
    else:
        tool = {"name": "bench", "description": "Bench", "parameters": {"type": "object"}}
        client = Frames.connect(
            url,
            os.environ["TAP_PROVIDER_TOKEN"],
            {"type": "hello", "name": "bench", "protocolVersion": 2, "tools": [tool]},
        )
        print("ready", flush=True)
    try:
        serve(client, result(size))
    except ConnectionError:
        return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
