"""A tool of a folder's `tools/` in a session of the real Copilot CLI."""

from collections.abc import Callable

from tests.folder_tools.folder import SAMPLES, folder_with
from tests.live.test_emitters import asked, decide
from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools


def test_the_model_calls_a_tool_of_the_documents(
    copilot: Copilot, serve: Callable[..., Gateway], home: Home, model: ModelServer
) -> None:
    sample = (SAMPLES / "your_tool_name.py.txt").read_text()
    folder_with(copilot.cwd, your_tool_name=sample)
    gateway = serve()
    approval = asked(gateway, "tools")
    assert approval["detail"]["files"] == ["tools/your_tool_name.py"]
    decide(gateway, approval, "approve")
    wait_for_tools(home, copilot, providers=1)
    model.script(
        Rule(
            calls=[("your_tool_name", {"param1": "a live test"})],
            when="try it",
            needs="your_tool_name",
        ),
        Rule(text="It works.", role="tool", when="Processed a live test"),
    )
    copilot.prompt("try it")
    copilot.choose_first("Run extension tool")
    copilot.screen.wait_for("It works.")
