"""The interface's provider in Python: one tool, no more."""

import asyncio
import json
import os
from typing import Any

import websockets

TOKEN = os.environ["TAP_PROVIDER_TOKEN"]
TOOL = {
    "name": "compute",
    "description": "Evaluate a Python expression",
    "parameters": {
        "type": "object",
        "properties": {"expr": {"type": "string"}},
        "required": ["expr"],
    },
}


async def provider() -> None:
    async with websockets.connect("ws://localhost:9400") as ws:

        async def say(message: dict[str, Any]) -> None:
            await ws.send(json.dumps(message))

        await say({"type": "auth", "token": TOKEN})
        async for raw in ws:
            msg = json.loads(raw)
            if msg["type"] == "sessions":
                active = msg["active"]
                hello = {"type": "hello", "name": "python-provider", "protocolVersion": 2}
                session = active[0]["id"] if active else "all"
                await say({**hello, "session": session, "tools": [TOOL]})
            if msg["type"] == "tool.call" and msg["tool"] == "compute":
                try:
                    result = eval(msg["args"]["expr"])
                except Exception as error:  # noqa: BLE001 - it is the tool's answer
                    result = str(error)
                await say({"type": "tool.result", "id": msg["id"], "data": result})
            if msg["type"] == "tool.cancel":
                cancelled = {"error": "Cancelled", "errorCode": "CANCELLED"}
                await say({"type": "tool.result", "id": msg["id"], **cancelled})


asyncio.run(provider())
