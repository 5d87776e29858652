"""Five real servers through the bridge: `python -m tests.mcp_servers PACKAGES PYTHON`.

PACKAGES is a `node_modules` with `@modelcontextprotocol/server-everything`, `-filesystem` and
`-memory`; PYTHON an interpreter with `mcp-server-git` and `mcp-server-time`. Prints a line each.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tapui.mcp_servers.messages import ServerReady, ServerSession, ServerStart
from tapui.secret import Secret
from tests.rig.bridge_process import BridgeProcess
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host


async def _tried(gateway: Gateway, name: str, argv: list[str], tool: str, args: Any) -> str:
    start = ServerStart(name, gateway.url, command=argv[0], args=argv[1:])
    async with (
        await Host.hello(gateway.url, gateway.internal_token) as host,
        BridgeProcess(gateway.home, start) as bridge,
    ):
        await host.open(name)
        ready = await bridge.heard(ServerReady)
        await bridge.say(ServerSession(name, Secret(gateway.token)))
        names: list[str] = []
        while tool not in names:
            changed = await host.expect("tools.changed")
            names = [one["name"] for one in changed["tools"]]
        await host.invoke(name, tool, args)
        outcome = await host.expect("tool.outcome")
        told = str(outcome.get("data", outcome.get("file", outcome.get("error"))))
        how = f"{len(ready.tools):3} tools  {ready.protocol}  {ready.seconds:5.2f} s"
        return f"{name:<12} {how}  {tool}: {told[:60]!r}"


def main(packages: str, python: str) -> None:
    """Run them one after the other."""
    root = Path(tempfile.mkdtemp(prefix="tapui-mcp-"))
    (root / "hello.txt").write_text("hello")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    npm = [
        ("everything", ["stdio"], "echo", {"message": "hi"}),
        ("filesystem", [str(root)], "read_text_file", {"path": str(root / "hello.txt")}),
        ("memory", [], "read_graph", {}),
    ]
    scripts = Path(packages) / "@modelcontextprotocol"
    servers = [
        (name, ["node", str(scripts / f"server-{name}/dist/index.js"), *more], tool, args)
        for name, more, tool, args in npm
    ]
    servers += [
        ("git", [python, "-m", "mcp_server_git"], "git_status", {"repo_path": str(root)}),
        ("time", [python, "-m", "mcp_server_time"], "get_current_time", {"timezone": "UTC"}),
    ]
    with Gateway(Home(root), "--no-attach") as gateway:
        for name, argv, tool, args in servers:
            sys.stdout.write(asyncio.run(_tried(gateway, name, argv, tool, args)) + os.linesep)
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
