"""Providers that answer like `tests.bench.provider`, as authors write them.

`python -m tests.bench.kit_provider WAY SIZE SESSION`, gateway in TAP_GATEWAY, token in
TAP_PROVIDER_TOKEN; prints `ready` once it serves. WAY is `plain` or `coroutine` (a function of the
provider kit), or `by-hand`: `websockets` and `json`, as the interface's own example does it.
"""

import json
import os
import sys
from typing import Any

from tapui.provider import Provider, Session


def kit(way: str, size: int, session: str) -> None:
    """Serve with the kit."""
    answer = "x" * (size - 2)
    provider = Provider("bench", session=session)

    @provider.background
    async def ready(_session: Session) -> None:
        print("ready", flush=True)

    if way == "plain":

        @provider.tool
        def bench(text: str) -> str:
            return answer
    else:

        @provider.tool(name="bench")
        async def bench_in_the_loop(text: str) -> str:
            return answer

    provider.run([])


def by_hand(size: int, session: str) -> None:
    """Serve without the kit."""
    from websockets.sync.client import connect

    answer = "x" * (size - 2)
    tool = {"name": "bench", "description": "Bench", "parameters": {"type": "object"}}
    with connect(os.environ["TAP_GATEWAY"], proxy=None, compression=None) as socket:

        def say(**message: Any) -> None:
            socket.send(json.dumps(message))

        say(type="auth", token=os.environ["TAP_PROVIDER_TOKEN"])
        for text in socket:
            message = json.loads(text)
            if message["type"] == "sessions":
                say(type="hello", name="bench", protocolVersion=2, session=session, tools=[tool])
            elif message["type"] == "hello.ack":
                print("ready", flush=True)
            elif message["type"] == "tool.call":
                assert message["args"]["text"]
                say(type="tool.result", id=message["id"], data=answer)


if __name__ == "__main__":
    if sys.argv[1] == "by-hand":
        by_hand(int(sys.argv[2]), sys.argv[3])
    else:
        kit(sys.argv[1], int(sys.argv[2]), sys.argv[3])
