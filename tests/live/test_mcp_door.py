"""The MCP door in the real CLI: a plain session, without port or extension, calls a tool."""

from collections.abc import Callable
from typing import Any

import psutil

from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.provider_process import ProviderProcess
from tests.rig.waiting import until

TOOL = "tapui-greet"
ELEVATED = 'Extension "user:tapui" wants elevated permissions'


def sessions(home: Home) -> list[dict[str, Any]]:
    return list(home.state().get("sessions", []))


def session_of_the_door(home: Home) -> dict[str, Any] | None:
    """Return the session of the door that knows its client. The CLI may start a door before, which
    it ends when it is slow."""
    return next(
        (
            one
            for one in sessions(home)
            if one["host"] == "mcp"
            and one["state"] != "ended"
            and "copilot" in one["label"].lower()
        ),
        None,
    )


def watched(home: Home, session_id: str) -> bool:
    """Return whether a session is known, and its agent has none of the tools."""
    return any(one["id"] == session_id and one.get("toolsTaken") is False for one in sessions(home))


def is_door(process: psutil.Process, home: Home) -> bool:
    """Return whether a process is the door of this test's CLI."""
    try:
        is_one = "mcp-door" in process.cmdline()
        return is_one and process.environ().get("TAPUI_HOME") == str(home.tapui)
    except psutil.Error:
        return False  # it has ended, or is another user's


def offer_the_tool(copilot: Copilot, model: ModelServer) -> None:
    """Prompt until the CLI, which hears of the tool meanwhile, offers it to the model."""
    while not any(TOOL in one.tools for one in model.requests):
        asked = len(model.requests)
        copilot.prompt("what is there")
        until(lambda before=asked: len(model.requests) > before, what="a request")


def test_a_plain_cli_calls_a_providers_tool(
    home: Home,
    serve: Callable[..., Gateway],
    start_copilot: Callable[..., Copilot],
    model: ModelServer,
) -> None:
    installed = home.run("install", "mcp")
    assert installed.returncode == 0, installed.stderr
    gateway = serve("--no-attach")
    copilot = start_copilot(args=())
    session = until(lambda: session_of_the_door(home), what="the door's session")
    assert session["cwd"] == str(copilot.cwd)
    # While this CLI is attached otherwise, its session here would be closed: see `pid`.
    (door,) = [one for one in psutil.process_iter() if is_door(one, home)]
    assert copilot.pid in [one.pid for one in door.parents()]
    model.script(
        Rule(calls=[(TOOL, {"name": "bob"})], when="say hello", needs=TOOL),
        Rule(text="the model is done", role="tool"),
        Rule(text="not yet", times=ALWAYS),
    )
    with ProviderProcess(gateway.url, gateway.token, session=session["id"]) as provider:
        offer_the_tool(copilot, model)
        copilot.prompt("say hello")
        copilot.choose_first("Do you want to use this tool")
        call = provider.answer(data={"said": "hello bob"})
        assert (call["args"], call["sessionId"]) == ({"name": "bob"}, session["id"])
        copilot.screen.wait_for("the model is done")
        told = model.wait_for(lambda one: one.role == "tool").text
        assert "hello bob" in told


def test_who_keeps_the_extension_out_keeps_the_tools_of_the_door(
    home: Home,
    serve: Callable[..., Gateway],
    start_copilot: Callable[..., Copilot],
    model: ModelServer,
) -> None:
    for what in ("mcp", "extension"):
        installed = home.run("install", what)
        assert installed.returncode == 0, installed.stderr
    gateway = serve()
    copilot = start_copilot(args=("--experimental",))
    copilot.screen.wait_for(ELEVATED)
    copilot.screen.keys("Escape")
    copilot.screen.wait_gone(ELEVATED)
    until(lambda: watched(home, copilot.session_id), what="tapui watches")
    session = until(lambda: session_of_the_door(home), what="the door's session")
    model.script(Rule(text="not yet", times=ALWAYS))
    with ProviderProcess(gateway.url, gateway.token, session=session["id"]):
        offer_the_tool(copilot, model)
        assert (session_of_the_door(home) or {})["id"] == session["id"]
        assert watched(home, copilot.session_id)
