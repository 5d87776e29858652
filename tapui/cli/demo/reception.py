"""A provider which types the pairing code into the web page for a person without a browser.

It also says, in its stream, what a visitor of the demo can do.
"""

import os
import shlex

from tapui.cli.demo.line import COMMAND, HOME, URL, GatewayLine, Json, is_farewell, provide
from tapui.cli.demo.page import Page

SESSION = "demo-pairing"
TOOL: Json = {
    "name": "enter_code",
    "description": "Type the six digits that tapui shows into the web page that asks to pair",
    "parameters": {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[0-9]{6}$"}},
        "required": ["code"],
    },
}


async def receive(page: Page) -> None:
    """Answer calls until the session ends."""
    line = await provide("reception", SESSION, [TOOL])
    try:
        for text in _welcome(page):
            await line.send("push", level="surface", stream="welcome", event=text)
        async for message in line:
            if message["type"] == "tool.call":
                await _enter(line, message, page)
            elif is_farewell(message):
                await line.send("goodbye", reason="the session ends")
                return
    finally:
        await line.close()


def _welcome(page: Page) -> list[str]:
    command, home = os.environ.get(COMMAND, "tapui"), os.environ[HOME]
    port = os.environ[URL].rpartition(":")[2].partition("/")[0]
    enter = f'{command} call enter_code --port {port} --args \'{{"code": "CODE"}}\''
    search = f"TAPUI_HOME={shlex.quote(home)} {command} search pairing"
    return [
        "This is a demonstration: scripts play the sessions; no model and no command runs.",
        f"To look at it from another terminal: {command} status --port {port}",
        f"To find something in its records: {search}",
        f"{page.origin} asks to pair. Enter its code there, or run: {enter}",
    ]


async def _enter(line: GatewayLine, call: Json, page: Page) -> None:
    if page.is_paired:
        await line.send(
            "tool.result", id=call["id"], error="the page is paired already", errorCode="CONFLICT"
        )
        return
    page.enter(call["args"]["code"])
    await line.send("tool.result", id=call["id"], data={"entered": page.origin})
