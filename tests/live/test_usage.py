"""What the real session used, as it tells it: also before tapui came."""

import json
from collections.abc import Callable
from typing import Any

from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until


def used(home: Home, *args: str) -> dict[str, Any]:
    done = home.run("usage", "--json", *args)
    return dict(json.loads(done.stdout)) if done.stdout else {}


def context_of(home: Home, copilot: Copilot) -> dict[str, int] | None:
    """Return how full the context is, once it is told when it is compacted."""
    state = json.loads(home.run("status", "--json").stdout)["state"]
    (session,) = [one for one in state["sessions"] if one["id"] == copilot.session_id]
    context = session.get("context", {})
    return context if "compactsAt" in context else None


def test_what_the_session_used_is_told_with_what_it_used_before_tapui_came(
    copilot: Copilot, model: ModelServer, home: Home, start_tower: Callable[..., TowerProcess]
) -> None:
    model.script(Rule(text="early is over", when="early"))
    copilot.prompt("early")
    copilot.screen.wait_for("early is over", within=30)
    start_tower()
    wait_for_tools(home, copilot)
    runs = ("bash", {"command": "echo seen", "description": "a command"})
    model.script(Rule(calls=[runs], when="late"), Rule(text="late is over"))
    copilot.prompt("late")
    copilot.screen.wait_for("late is over", within=30)

    # An answer of the scripted model is 100 tokens in and 20 out.
    whole = until(
        lambda: found if (found := used(home)).get("usage", {}).get("calls") == 3 else None,
        within=30,
        what=lambda: f"three answers: {used(home)}",
    )
    (one,) = whole["models"]
    assert one["model"] == "scripted"
    assert (one["usage"]["input"], one["usage"]["output"]) == (300, 60)
    assert (one["history"]["input"], one["history"]["calls"]) == (100, 1)
    assert whole["sessions"][0]["sessionId"] == copilot.session_id
    assert used(home, "--since", "1h")["usage"]["input"] == 200
    context = until(lambda: context_of(home, copilot), what="the context with its threshold")
    assert 0 < context["tokens"] < context["compactsAt"] < context["limit"]
