"""A server of the package `mcp`: `python own_server.py stdio`, or `PORT TOKEN` for HTTP."""

import asyncio
import sys
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged

OBJECT = {"type": "object", "properties": {}}
PAGE = 2

bus = InMemorySubscriptionBus()
names = ["echo", "wait", "add", "ask", "where", "big"]


async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    begin = int(params.cursor) if params is not None and params.cursor else 0
    end = begin + PAGE
    tools = [types.Tool(name=name, description=name, input_schema=OBJECT) for name in names]
    following = str(end) if end < len(tools) else None
    return types.ListToolsResult(tools=tools[begin:end], next_cursor=following)


def text(told: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=told)])


async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
    arguments = params.arguments or {}
    if params.name == "wait":
        await asyncio.sleep(arguments["seconds"])
    if params.name == "add":
        names.append("added")
        await bus.publish(ToolsListChanged())
    if params.name == "big":
        return text("x" * arguments["size"])
    if params.name == "ask":
        if not params.input_responses:
            form = types.ElicitRequestFormParams(
                message="Who?", requested_schema={"type": "object", "properties": {}}
            )
            request = types.ElicitRequest(params=form)
            return types.InputRequiredResult(input_requests={"who": request}, request_state="1")
        (answer,) = params.input_responses.values()
        return text(f"{answer.action} {params.request_state}")
    return text(str(arguments))


server = Server(
    "own",
    version="1.2",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_subscriptions_listen=ListenHandler(bus),
)


def guarded(app: Any, token: str) -> Any:
    """Let requests with the token in, others get 401."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        wanted = (b"authorization", f"Bearer {token}".encode())
        if scope["type"] == "http" and wanted not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return
        await app(scope, receive, send)

    return guard


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    if sys.argv[1] == "stdio":
        asyncio.run(over_stdio())
        return
    import uvicorn

    app = guarded(server.streamable_http_app(), sys.argv[2])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")


if __name__ == "__main__":
    main()
