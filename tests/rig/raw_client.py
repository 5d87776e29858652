"""A client without tapui's code, in each role that there is: it says one thing, or watches.

`python raw_client.py URL SOCKET TOKEN ROLE NAME MESSAGE [handed]`: SOCKET is the path of the
gateway's Unix socket, or - to come by TCP; TOKEN is a file; MESSAGE is what it says, or - to stay
and say nothing. `handed`: the process that has connected ends before its child says it. Prints the
type of each message that comes, and errors whole, up to the answer to its own.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect, unix_connect

Json = dict[str, Any]


def hello(role: str, name: str) -> Json:
    """Return the first message of a role."""
    if role == "host":
        return {"type": "host.hello", "name": name, "kind": name, "protocolVersion": 2}
    if role == "provider":
        said = {"type": "hello", "name": name, "protocolVersion": 2, "session": "s1"}
        return {**said, "tools": []}
    return {"type": "tower.hello", "protocolVersion": 2, "role": role, "name": name}


def opened(url: str, end: str) -> ClientConnection:
    """Connect by TCP or by the Unix socket."""
    if end == "-":
        return connect(url, proxy=None, compression=None, max_size=None)
    return unix_connect(end, url, compression=None, max_size=None)


def came(socket: ClientConnection) -> Iterator[Json]:
    """Print and give what comes."""
    for text in socket:
        message = json.loads(text)
        print(text if message["type"] == "error" else message["type"], flush=True)
        yield message


def say_in_child(socket: ClientConnection, message: str) -> None:
    """Say it from an orphan that has the socket alone; wait until the gateway closes it."""
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        time.sleep(0.002)
    socket.send(message)
    while socket.socket.recv(65536):
        pass
    os._exit(0)


def wait_in_parent() -> None:
    """Go on in a child; the parent ends once all processes below it have."""
    reading, writing = os.pipe()
    if os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing is left of a child that has ended
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)


def say(
    url: str, end: str, token: str, role: str, name: str, message: str, handed: str = ""
) -> bool:
    """Say it; return whether the gateway decided what it was about."""
    if handed:
        wait_in_parent()
    with opened(url, end) as socket:
        socket.send(json.dumps({"type": "auth", "token": Path(token).read_text().strip()}))
        for one in came(socket):
            match one["type"]:
                case "sessions":
                    socket.send(json.dumps(hello(role, name)))
                case "error":
                    return False
                case _ if message == "-":
                    continue
                case "host.ack" | "hello.ack" | "tower.snapshot" if handed:
                    say_in_child(socket, message)
                case "host.ack" | "hello.ack" | "tower.snapshot":
                    socket.send(message)
                case "tower.event" if one["event"]["kind"] == "approval.decided":
                    return True
    return False


if __name__ == "__main__":
    try:
        sys.exit(not say(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
