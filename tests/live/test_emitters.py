"""Emitters with the real CLI: the model starts one, a folder's file another; both are heard."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapui.core.emitters.introduction import USUAL
from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import until

ASKS_ANYTHING = "Do you want to|Run extension tool"
UPDATE = "※ tap — background event stream update"
# Says each thing once the test has made the file that it waits for.
PULSE = """\
#!/bin/sh
echo starting
echo "pid $$"
until [ -e go-on ]; do sleep 0.1; done
echo "warn: the disk is nearly full"
until [ -e go-further ]; do sleep 0.1; done
echo "fail: the disk is full"
exec sleep 1000
"""
CONFIGURATION = {
    "emitters": [
        {
            "name": "pulse",
            "command": "./pulse.sh",
            "autoStart": True,
            "eventFilter": [
                {"match": "starting", "outcome": "drop"},
                {"match": "warn|fail", "outcome": "inject"},
                {"match": ".*", "outcome": "keep"},
            ],
        }
    ]
}
Json = dict[str, Any]


def pulse(folder: Path) -> None:
    script = folder / "pulse.sh"
    script.write_text(PULSE)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def state(gateway: Gateway) -> Json:
    """Return what the gateway tells of itself."""
    return gateway.home.state()


def asked(gateway: Gateway, name: str) -> Json:
    """Wait until the person is asked about an emitter; return the approval."""

    def waiting() -> Json | None:
        every = state(gateway).get("approvals", [])
        return next(
            (
                one
                for one in every
                if one["kind"] == "emitter"
                and one["state"] == "waiting"
                and one["detail"]["name"] == name
            ),
            None,
        )

    found = until(waiting, what=lambda: f"{name} is asked about: {state(gateway)}")
    assert found is not None
    return found


def decide(gateway: Gateway, approval: Json, decision: str) -> None:
    done = gateway.home.run(decision, approval["id"])
    assert done.returncode == 0, done.stderr


def emitter(gateway: Gateway, name: str) -> Json:
    return next(one for one in gateway.home.listed("emitters") if one["name"] == name)


def starts(name: str, command: str) -> Rule:
    """Return the rule by which the model wants to start an emitter."""
    wanted = {
        "name": name,
        "command": command,
        "eventFilter": [{"match": "warn|fail", "outcome": "inject"}],
    }
    return Rule(calls=[("tap_start_emitter", wanted)], when=name, needs="tap_start_emitter")


def test_the_model_starts_an_emitter_with_the_persons_word_and_hears_of_it(
    copilot: Copilot, serve: Callable[..., Gateway], home: Home, model: ModelServer
) -> None:
    pulse(copilot.cwd)
    gateway = serve()
    wait_for_tools(home, copilot)
    model.script(
        starts("checks", "./pulse.sh"),
        Rule(text="I watch them", role="tool"),
        Rule(text="I saw that it is nearly full", when=f"{UPDATE}.*warn: the disk"),
    )
    copilot.prompt("watch the checks")
    approval = asked(gateway, "checks")
    assert not copilot.screen.find(ASKS_ANYTHING), "the CLI asks a second time"
    detail = approval["detail"]
    assert (detail["command"], detail["cwd"]) == ("./pulse.sh", str(copilot.cwd))
    assert detail["schedule"] == "runs all the time, without asking again"
    assert state(gateway).get("emitters", []) == [], "nothing is there before the person's word"
    assert USUAL.partition(":")[0] in str(model.requests[0].messages)
    decide(gateway, approval, "approve")
    copilot.screen.wait_for("I watch them")
    (copilot.cwd / "go-on").touch()
    told = model.wait_for(lambda one: UPDATE in one.text)
    assert "- stream=checks emitter=checks/stdout: warn: the disk is nearly full" in told.text
    copilot.screen.wait_for("I saw that it is nearly full")

    # Beside what is allowed for the session, another command is asked about, and may be denied.
    copilot.allow_all()
    model.script(starts("proof", "touch proof"), Rule(text="so be it", role="tool"))
    copilot.prompt("make a proof")
    approval = asked(gateway, "proof")
    assert approval["detail"]["command"] == "touch proof"
    decide(gateway, approval, "deny")
    refused = model.wait_for(lambda one: "the person denied it" in one.text)
    assert refused.role == "tool"
    copilot.screen.wait_for("so be it")
    assert not (copilot.cwd / "proof").exists()
    assert [one["name"] for one in gateway.home.listed("emitters")] == ["checks"]


def test_a_folders_configuration_runs_once_it_is_allowed_and_clear_keeps_it(
    copilot: Copilot, serve: Callable[..., Gateway], home: Home, model: ModelServer
) -> None:
    folder = copilot.cwd
    pulse(folder)
    (folder / "tap.config.json").write_text(json.dumps(CONFIGURATION))
    gateway = serve()
    wait_for_tools(home, copilot)
    approval = asked(gateway, "pulse")
    assert emitter(gateway, "pulse")["state"] == "asking"
    assert approval["detail"]["command"] == "./pulse.sh"
    model.script(
        Rule(text="I heard the warning", when=f"{UPDATE}.*warn: the disk"),
        Rule(text="I heard the failure", when=f"{UPDATE}.*fail: the disk"),
        Rule(text="hello again", when="who is there", times=ALWAYS),
    )
    decide(gateway, approval, "approve")
    (folder / "go-on").touch()
    copilot.screen.wait_for("I heard the warning")
    run = emitter(gateway, "pulse")
    assert (run["state"], run["sessionId"]) == ("running", copilot.session_id)

    copilot.clear()
    copilot.prompt("who is there")
    copilot.screen.wait_for("hello again")
    until(
        lambda: emitter(gateway, "pulse")["sessionId"] == copilot.session_id,
        what=lambda: f"the emitter is the new session's: {emitter(gateway, 'pulse')}",
    )
    (folder / "go-further").touch()
    copilot.screen.wait_for("I heard the failure")
    kept = emitter(gateway, "pulse")
    assert kept["sessionId"] == copilot.session_id
    assert (kept["state"], kept["runs"]) == ("running", 1)
    assert kept["counts"]["injected"] == 2
    told = model.wait_for(lambda one: "fail: the disk is full" in one.text)
    assert "- stream=pulse emitter=pulse/stdout: fail: the disk is full" in told.text
