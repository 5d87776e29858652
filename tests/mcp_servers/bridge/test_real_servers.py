"""Two servers that people use, from their makers' packages: `npm ci` in tests/live."""

from pathlib import Path

from tapui.mcp_servers.messages import ServerReady, ServerSession
from tapui.secret import Secret
from tests.conftest import missing
from tests.mcp_servers.bridge.conftest import Scene

PACKAGES = Path(__file__).parents[2] / "live" / "node_modules" / "@modelcontextprotocol"


def package(name: str) -> str:
    """Return the script that starts a server."""
    script = PACKAGES / f"server-{name}" / "dist" / "index.js"
    if not script.exists():
        missing(f"server-{name} is not installed (npm ci in tests/live)")
    return str(script)


async def test_everything(scene: Scene) -> None:
    bridge = await scene.bridge(package("everything"), "stdio", name="everything", command="node")
    ready = await bridge.heard(ServerReady)
    assert len(ready.tools) >= 13
    assert all(tool.offered_as == tool.name and not tool.problem for tool in ready.tools)
    assert (await scene.call("echo", {"message": "hi"}))["data"] == "Echo: hi"
    image = (await scene.call("get-tiny-image"))["file"]
    assert (image["mimeType"], image["size"]) == ("image/png", 4033)
    assert image["note"] == "Here's the image you requested:\n\nThe image above is the MCP logo."
    weather = await scene.call("get-structured-content", {"location": "New York"})
    assert weather["data"] == {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
    id_ = await scene.invoke("trigger-long-running-operation", {"duration": 0.6, "steps": 3})
    progress = await scene.host.expect("tool.progress", id=id_)
    assert progress["message"] == "1/3"
    assert "completed" in (await scene.outcome(id_))["data"]


async def test_filesystem_works_in_the_sessions_folder(scene: Scene, tmp_path: Path) -> None:
    given, folder = tmp_path / "given", tmp_path / "folder"
    for place in (given, folder):
        place.mkdir()
        (place / "hello.txt").write_text(f"hello from {place.name}")
    bridge = await scene.start(package("filesystem"), str(given), name="filesystem", command="node")
    ready = await bridge.heard(ServerReady)
    assert len(ready.tools) == 14
    await bridge.say(
        ServerSession(scene.session, Secret(scene.gateway.token), str(folder.resolve()))
    )
    await scene.sees(lambda names: "read_text_file" in names)
    file = {"path": str(folder.resolve() / "hello.txt")}
    outcome = await scene.call("read_text_file", file)
    while "error" in outcome:  # it asks for the folders when it is told that there are others
        assert "Access denied" in outcome["error"]
        outcome = await scene.call("read_text_file", file)
    assert outcome["data"] == "hello from folder"
    beyond = await scene.call("read_text_file", {"path": "/etc/hostname"})
    assert (beyond["errorCode"], "Access denied" in beyond["error"]) == ("TOOL_FAILED", True)
