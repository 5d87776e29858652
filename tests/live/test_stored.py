"""A session of the real CLI once it is over: listed, and deleted for good."""

from collections.abc import Callable

from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.model_server import ModelServer, Rule


def test_a_session_that_is_over_is_listed_and_deleted(
    start_copilot: Callable[..., Copilot], model: ModelServer, home: Home
) -> None:
    copilot = start_copilot()
    model.script(Rule(text="that was all", when="look around"))
    copilot.prompt("look around")
    copilot.screen.wait_for("that was all")
    session = copilot.session_id
    workspace = copilot.workspace
    held = home.run("sessions", "delete", session, "--yes")
    assert held.returncode == 1
    assert f"open in process {copilot.pid}" in held.stderr
    copilot.quit()
    listed = home.run("sessions", "list", "look", "around")
    assert session in listed.stdout
    assert str(copilot.cwd) in listed.stdout
    deleted = home.run("sessions", "delete", session, "--yes", within=90.0, env=copilot.env)
    assert (deleted.returncode, deleted.stdout) == (0, ""), deleted.stderr
    assert f"deleted {session}" in deleted.stderr
    assert not workspace.exists()
    assert home.run("sessions").stderr == "Copilot has stored no session\n"
