"""MCP servers in the real CLI: the model calls a tool of each of two, and sees an image."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.conftest import missing
from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools

PACKAGES = Path(__file__).with_name("node_modules") / "@modelcontextprotocol"


def entry(name: str, *args: str) -> dict[str, object]:
    """Return how a server is started, for the person's own file."""
    script = PACKAGES / f"server-{name}" / "dist" / "index.js"
    if not script.exists():
        missing(f"server-{name} is not installed (npm ci in tests/live)")
    return {"command": shutil.which("node"), "args": [str(script), *args]}


def test_the_model_calls_tools_of_two_servers_and_gets_an_image(
    copilot: Copilot, serve: Callable[..., Gateway], home: Home, model: ModelServer
) -> None:
    folder = copilot.cwd
    (folder / "hello.txt").write_text("hello from the folder")
    home.tapui.mkdir(exist_ok=True)
    servers = {
        "everything": entry("everything", "stdio"),
        "files": entry("filesystem", str(folder)),
    }
    (home.tapui / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    serve()
    wait_for_tools(home, copilot, providers=2)
    copilot.allow_all()
    read = {"path": str(folder.resolve() / "hello.txt")}
    model.script(
        Rule(calls=[("echo", {"message": "Ada"})], when="say hello", needs="echo"),
        Rule(calls=[("get-tiny-image", {})], when="Echo: Ada"),
        Rule(calls=[("read_text_file", read)], needs="read_text_file"),
        Rule(text="I have read it", when="hello from the folder"),
    )
    copilot.prompt("say hello")
    copilot.screen.wait_for("I have read it")
    told = str([request.messages for request in model.requests])
    assert "Here's the image you requested:" in told
    (asset,) = copilot.stored("session.binary_asset")
    assert asset["type"] == "image"
    assert base64.b64decode(asset["data"]).startswith(b"\x89PNG")
