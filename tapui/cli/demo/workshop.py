"""A provider with three tools: one reports progress, one is too slow, one waits to be cancelled."""

import asyncio
import contextlib

from websockets.exceptions import ConnectionClosed

from tapui.cli.demo.line import GatewayLine, Json, ended, is_farewell, pace, provide, run

SESSION = "demo-migration"
STEP = 0.5


def _tool(name: str, description: str, timeout: int) -> Json:
    subject = {"type": "object", "properties": {"subject": {"type": "string"}}}
    return {
        "name": name,
        "description": description,
        "parameters": subject,
        "timeout": timeout,
    }


TOOLS = [
    _tool("run_tests", "Run the tests and report how they went", 30_000),
    _tool("yearly_report", "Add up a year of builds; takes longer than anybody waits", 4_000),
    _tool("migrate", "Move every build to the new store; takes until it is cancelled", 60_000),
]


async def work() -> None:
    line = await provide("workshop", SESSION, TOOLS)
    calls: dict[str, asyncio.Task[None]] = {}
    try:
        async for message in line:
            if message["type"] == "tool.call":
                calls[message["id"]] = asyncio.create_task(_answer(line, message))
            elif message["type"] == "tool.cancel" and message["id"] in calls:
                calls.pop(message["id"]).cancel()
            elif is_farewell(message):
                await line.send("goodbye", reason="the session ends")
                return
    finally:
        # They lose the gateway as we do.
        await ended(calls.values())
        await line.close()


async def _answer(line: GatewayLine, call: Json) -> None:
    id_ = call["id"]
    try:
        if call["tool"] == "run_tests":
            for done in range(0, 100, 20):
                await line.send("tool.progress", id=id_, message=f"{done} % of 250 tests")
                await asyncio.sleep(STEP * pace())
            await line.send("tool.result", id=id_, data={"passed": 249, "failed": 1})
        elif call["tool"] == "yearly_report":
            await asyncio.sleep(3600)
        else:
            for moved in range(3600):
                await line.send("tool.progress", id=id_, message=f"{moved * 37} builds moved")
                await asyncio.sleep(2 * STEP * pace())
    except asyncio.CancelledError:
        with contextlib.suppress(ConnectionClosed):  # the reader notices it, too
            await line.send("tool.result", id=id_, error="stopped half way", errorCode="CANCELLED")


if __name__ == "__main__":
    run(work())
