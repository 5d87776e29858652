"""The real CLI finds tapui's skills: it offers them to the model, and to the person by a slash."""

from collections.abc import Callable

from tapui.hosts.copilot.install.own_files import SKILLS
from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule


def test_the_cli_finds_the_skills(
    home: Home, start_copilot: Callable[..., Copilot], model: ModelServer
) -> None:
    assert home.run("install", "skills").returncode == 0
    copilot = start_copilot(args=())
    model.script(Rule(text="it is set up", times=ALWAYS))
    copilot.prompt("/tap-loop 5m is CI green?")
    copilot.screen.wait_for("it is set up")
    asked = model.wait_for(lambda one: one.role == "user")
    for skill in SKILLS:
        assert f"<name>{skill}</name>" in str(asked.messages)
    assert "Find out two things" in str(asked.messages)
