"""Sections of the system prompt in a session of our own: what a provider makes of them is sent."""

import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.provider_process import ProviderProcess

TRANSFORMS = {
    "custom_instructions": {"action": "append", "content": "Mind the gap."},
    "identity": {"action": "append", "content": "Stand behind the line."},
    "tone": {"action": "replace", "content": "Be brief."},
    "guidelines": {"action": "callback"},
}


def test_a_providers_sections_reach_the_model_of_a_session_of_our_own(
    home: Home, cli: Path, cli_cache: Path, model: ModelServer, serve: Callable[..., Gateway]
) -> None:
    folder = home.root / "work"
    folder.mkdir()
    (home.root / ".cache").symlink_to(cli_cache)
    env = home.env(
        PATH=f"{cli.parent}{os.pathsep}{home.env()['PATH']}",
        COPILOT_OFFLINE="true",
        COPILOT_AUTO_UPDATE="false",
        COPILOT_PROVIDER_BASE_URL=model.url,
        COPILOT_MODEL="scripted",
    )
    gateway = serve("--no-attach", env=env)
    model.script(Rule(text="so be it", times=ALWAYS))
    styler = {"name": "styler", "tools": [], "hooks": {"transforms": TRANSFORMS}}
    # It waits on the session `local`, and goes to the first that opens.
    with ProviderProcess(gateway.url, gateway.token, **styler) as provider:
        ran: list[subprocess.CompletedProcess[str]] = []
        args = ("run", "go on", "--cwd", str(folder), "--trust-folder", "--json")
        running = threading.Thread(
            target=lambda: ran.append(home.run(*args, env=env, within=120)), daemon=True
        )
        running.start()
        asked = provider.expect("transform.request", within=90)
        assert asked["section"] == "guidelines"
        said = asked["current"]
        answer = {"type": "transform.result", "callId": asked["callId"], "content": "No tips."}
        provider.send(answer)
        running.join(120)
        assert ran[0].returncode == 0, ran[0].stderr
    (request,) = [one for one in model.requests if "go on" in one.text]
    system = str([one["content"] for one in request.messages if one["role"] == "system"])
    for text in ("Mind the gap.", "Stand behind the line.", "Be brief.", "No tips."):
        assert system.count(text) == 1
    assert said.strip()
    assert json.dumps(said.strip())[1:60] not in json.dumps(system)
    assert "<prohibited_actions>" in system  # which no provider changed
