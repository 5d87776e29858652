"""The live rig itself, without tapui: a prompt reaches the model, its answer the person."""

from tests.rig.copilot import Copilot
from tests.rig.model_server import ModelServer, Rule
from tests.rig.waiting import until


def test_prompt_goes_to_the_model_and_its_answer_to_the_screen(
    copilot: Copilot, model: ModelServer
) -> None:
    model.script(Rule(text="a scripted answer", when="please"))
    copilot.prompt("please answer")
    copilot.screen.wait_for("a scripted answer")
    request = model.wait_for(lambda one: "please answer" in one.text)
    assert "bash" in request.tools
    # While it works the footer shows that instead.
    until(lambda: copilot.mode == "Interactive", what=copilot.screen.text)
    assert copilot.port > 0
    assert copilot.workspace.is_dir()


def test_bash_asks_the_person_first(copilot: Copilot, model: ModelServer) -> None:
    model.script(
        Rule(calls=[("bash", {"command": "touch proof", "description": "touch"})], when="run it"),
        Rule(text="it ran", role="tool"),
    )
    copilot.prompt("run it")
    copilot.screen.wait_for("touch proof")
    assert not (copilot.cwd / "proof").exists()
    copilot.choose_first("Do you want to run this command")
    copilot.screen.wait_for("it ran")
    assert (copilot.cwd / "proof").exists()
