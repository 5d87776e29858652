"""A provider of the kit in a session of the real Copilot CLI."""

import base64
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.test_host_copilot import PIXEL
from tests.rig.copilot import Copilot
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.tower import TowerProcess

README = Path(__file__).parents[2] / "README.md"
CAMERA = f"""
import base64
from tapui.provider import Image, Provider

camera = Provider("camera")

@camera.tool
def look() -> Image:
    \"\"\"Take a picture.\"\"\"
    return Image(base64.b64decode({base64.b64encode(PIXEL).decode()!r}), note="a lawn")

camera.run()
"""


def of_the_readme() -> str:
    found = re.search(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture
def providers(tower: TowerProcess, copilot: Copilot) -> Iterator[None]:
    """The README's provider and one with a camera, programs of their own in the CLI's session."""
    env = tower.home.env(TAP_GATEWAY=tower.url)
    programs = [
        subprocess.Popen([sys.executable, "-c", source], env=env)
        for source in (of_the_readme(), CAMERA)
    ]
    try:
        wait_for_tools(tower.home, copilot, providers=2)
        yield
        assert [program.poll() for program in programs] == [None, None]
    finally:
        for program in programs:
            program.kill()
            program.wait()


@pytest.mark.usefixtures("providers")
def test_a_provider_of_the_kit_is_called_wakes_the_model_denies_and_shows_a_picture(
    copilot: Copilot, model: ModelServer
) -> None:
    wanted = {"text": "Publish the release", "seconds": 0.5}
    push = {"command": "git push --force", "description": "push"}
    model.script(
        Rule(calls=[("remind", wanted)], when="remind me", needs="remind"),
        Rule(text="I will remind you.", role="tool", when="You will be told."),
        Rule(calls=[("bash", push)], when="Publish the release"),
        Rule(text="So I may not.", role="tool", when="use --force-with-lease"),
        Rule(calls=[("look", {})], when="show me", needs="look"),
        Rule(text="I see green."),
    )
    copilot.prompt("remind me of the release")
    copilot.choose_first("Run extension tool")
    copilot.screen.wait_for("So I may not")
    copilot.prompt("show me the lawn")
    copilot.choose_first("Run extension tool")
    copilot.screen.wait_for("I see green")
    (asset,) = copilot.stored("session.binary_asset")
    assert (asset["type"], base64.b64decode(asset["data"])) == ("image", PIXEL)
    assert "a lawn" in copilot.stored("tool.execution_complete", 3)[-1]["result"]["content"]
