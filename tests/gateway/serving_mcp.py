"""A folder with an MCP server, and what a tower sees of MCP servers."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.gateway.emitting import WITHIN, Watcher
from tests.rig.gateway import Gateway
from tests.rig.peers import Json
from tests.rig.waiting import until_async

SERVER = (Path(__file__).parents[1] / "mcp_servers" / "tiny_server.py").read_text()


def tool(name: str = "echo", description: str = "Say it again", **properties: Json) -> Json:
    """Return a tool of the small server."""
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


def write_tools(folder: Path, *tools: Json) -> None:
    """Let the small server in a folder have these tools."""
    fresh = folder / "tools.new"
    fresh.write_text(json.dumps(tools))
    fresh.replace(folder / "tools.json")


def entry(*args: str, **more: Any) -> Json:
    """Return an entry for the small server, which is in the folder that it runs in."""
    return {"command": sys.executable, "args": ["server.py", *args], **more}


def write_server(folder: Path, **servers: Json) -> str:
    """Write a folder with the small server, and servers in its `.mcp.json`; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "server.py").write_text(SERVER)
    if not (folder / "tools.json").exists():
        write_tools(folder, tool())
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return str(folder.resolve())


class McpWatcher(Watcher):
    """A host and a tower on a gateway, which keeps what it sees of MCP servers."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway)
        self.servers: dict[str, Json] = {}
        """By name, as they were told last."""
        self.seen: list[tuple[str, str]] = []
        """Names and states, in order."""
        self.asks: dict[str, Json] = {}
        """Approvals of MCP servers that wait, by the server's name."""

    def _take(self, message: Json) -> bool:
        event = message.get("event", {}) if message["type"] == "tower.event" else {}
        kind, approval = event.get("kind", ""), event.get("approval", {})
        if kind == "mcp.changed":
            server = event["server"]
            self.servers[server["name"]] = server
            self.seen.append((server["name"], server["state"]))
        elif kind == "mcp.gone":
            self.servers.pop(event["name"], None)
            self.seen.append((event["name"], "gone"))
        elif approval.get("kind") in ("mcpServer", "elicitation"):
            name = approval.get("provider") or approval["detail"]["name"]
            if kind == "approval.requested":
                self.asks[name] = approval
            elif approval["state"] not in ("waiting", "deciding"):
                self.asks.pop(name, None)
        else:
            return super()._take(message)
        return True

    async def server(self, name: str, *states: str) -> Json:
        """Wait until a server has one of these states."""

        def there() -> bool:
            self.look()
            return self.servers.get(name, {"state": "gone"})["state"] in states

        await until_async(
            there, what=lambda: f"{name} is {states}: {self.servers.get(name)}", within=WITHIN
        )
        return self.servers.get(name, {})

    async def asked(self, name: str) -> Json:
        """Wait until a server, or a change of its tools, or a form of it, waits for the person."""

        def there() -> bool:
            self.look()
            return name in self.asks

        await until_async(there, what=lambda: f"{name} asks: {self.servers}", within=WITHIN)
        return self.asks[name]

    async def answer(self, name: str, decision: str = "approve", answer: Any = None) -> Json:
        """Answer it; return what was shown."""
        approval = await self.asked(name)
        del self.asks[name]
        await self.tower.send(
            {
                "type": "approval.decide",
                "approvalId": approval["id"],
                "decision": decision,
                "answer": answer,
            }
        )
        shown: Json = approval["detail"]
        return shown

    async def offered(self, name: str, *tools: str) -> Json:
        """Wait until a server offers exactly these tools."""

        def there() -> bool:
            self.look()
            found = self.servers.get(name, {}).get("tools", ())
            return {one.get("offeredAs") for one in found} - {None} == {*tools}

        await until_async(there, what=lambda: f"{name} offers {tools}", within=WITHIN)
        return self.servers[name]
