"""The core profile's whole provider: it takes leave of a session that ends, and comes back."""

import asyncio
import json
import os
from typing import Any

import websockets

TOKEN = os.environ["TAP_PROVIDER_TOKEN"]
TOOL = {
    "name": "greet",
    "description": "Greet someone by name",
    "parameters": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
}
FATAL = ("AUTH_FAILED", "UNSUPPORTED_VERSION")


async def serve() -> bool:
    """Serve over one connection; return whether to come back."""
    async with websockets.connect("ws://localhost:9400") as ws:

        async def say(message: dict[str, Any]) -> None:
            await ws.send(json.dumps(message))

        await say({"type": "auth", "token": TOKEN})
        async for raw in ws:
            msg = json.loads(raw)
            if msg["type"] == "sessions":
                if not msg["active"]:
                    return False
                hello = {"type": "hello", "name": "example-provider", "protocolVersion": 2}
                await say({**hello, "session": msg["active"][0]["id"], "tools": [TOOL]})
            elif msg["type"] == "hello.ack":
                print(f"Registered as {msg['providerId']}", flush=True)
            elif msg["type"] == "tool.call":
                data = f"Hello, {msg['args']['name']}!"
                await say({"type": "tool.result", "id": msg["id"], "data": data})
            elif msg["type"] == "tool.cancel":
                cancelled = {"error": "Cancelled", "errorCode": "CANCELLED"}
                await say({"type": "tool.result", "id": msg["id"], **cancelled})
            elif msg["type"] == "session.lifecycle":
                if msg["state"] == "shutdown.pending":
                    await say({"type": "goodbye", "reason": "session ending"})
                    return False
            elif msg["type"] == "error":
                print(f"Error [{msg['code']}]: {msg['message']}", flush=True)
                if msg["code"] in FATAL:
                    return False
    return True


async def connect() -> None:
    while True:
        try:
            if not await serve():
                return
        except (ConnectionError, websockets.ConnectionClosed):
            print("Disconnected. Reconnecting in 5s...", flush=True)
            await asyncio.sleep(5)


asyncio.run(connect())
