"""Subagents of the real CLI: their calls, requests and context are theirs, however they end."""

from collections.abc import Callable
from typing import Any

from tapui.wire.subjects import UNCHECKED
from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.provider_process import ProviderProcess
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import until

LOOKUP = {
    "name": "lookup_order",
    "description": "Look up an order",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
}
DROP = {**LOOKUP, "name": "drop_order"}
AGENT = """\
---
name: reviewer
description: Reviews orders
tools: ['lookup_order', 'bash']
---
You review.
"""
RESULT = "shellId: [0-9]+ completed"


def task(prompt: str, agent: str, mode: str) -> list[tuple[str, dict[str, Any]]]:
    told = {"name": "kid", "description": f"does {prompt}", "prompt": prompt}
    return [("task", {**told, "agent_type": agent, "mode": mode})]


def bash(command: str) -> list[tuple[str, dict[str, Any]]]:
    return [("bash", {"command": command, "description": "a command"})]


class Watched:
    """A session as `tapui status` tells of it."""

    def __init__(self, home: Home, session_id: str) -> None:
        self.home = home
        self.id = session_id
        self.state: dict[str, Any] = {}

    def look(self) -> None:
        self.state = until(self._told, what="the session in the state")

    def _told(self) -> dict[str, Any] | None:
        state = self.home.state()
        return state if self.id in [one["id"] for one in state.get("sessions", [])] else None

    @property
    def agents(self) -> list[dict[str, Any]]:
        """Its subagents, oldest first."""
        (found,) = [one for one in self.state["sessions"] if one["id"] == self.id]
        return list(found.get("subagents", []))

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps of its newest turn."""
        (found,) = [one for one in self.state.get("turns", []) if one["sessionId"] == self.id]
        return list(found["current"]["steps"])

    def asked(self, about: str) -> dict[str, Any]:
        """Wait until something waits for the person that is about this; return its approval."""

        def waiting() -> dict[str, Any] | None:
            self.look()
            found = [
                one
                for one in self.state.get("approvals", [])
                if one["state"] == "waiting" and about in str(one["detail"])
            ]
            return found[0] if found else None

        return until(waiting, what=lambda: f"{about} to be asked: {self.state}")

    def allow(self, about: str) -> dict[str, Any]:
        """Wait for a request and allow it; return it."""
        approval = self.asked(about)
        done = self.home.run("approve", approval["id"])
        assert done.returncode == 0, done.stderr
        return approval

    def until(self, fits: Callable[[], bool], what: str) -> None:
        """Wait until the session is so."""

        def is_so() -> bool:
            self.look()
            return fits()

        until(is_so, what=lambda: f"{what}; the state was {self.state}")


def test_what_subagents_do_and_ask_is_theirs_and_their_end_is_told(
    home: Home, copilot: Copilot, serve: Callable[..., Gateway], model: ModelServer
) -> None:
    folder = copilot.cwd / ".github" / "agents"
    folder.mkdir(parents=True)
    (folder / "reviewer.agent.md").write_text(AGENT)
    copilot.clear()
    gateway = serve()
    wait_for_tools(gateway.home, copilot)
    shop = {"name": "shop", "tools": [LOOKUP, DROP], "session": copilot.session_id}
    with ProviderProcess(gateway.url, gateway.token, **shop) as provider:
        wait_for_tools(gateway.home, copilot, providers=1)
        watched = Watched(home, copilot.session_id)
        model.script(
            Rule(calls=task("KIDONE", "reviewer", "background"), when="^(?!.*KID).*review it"),
            Rule(calls=[("lookup_order", {"id": "A-17"})], when="KIDONE"),
            Rule(calls=bash("touch proof"), when="kid-data"),
            Rule(text="kid is done", when=RESULT),
            Rule(calls=task("KIDTWO", "general-purpose", "sync"), when="^(?!.*KID).*once more"),
            Rule(calls=bash("touch begun; sleep 60"), when="KIDTWO"),
            Rule(text="so be it", times=ALWAYS),
        )
        # In the background, under its own name, with the tools on its list alone.
        copilot.prompt("review it")
        asked = watched.allow("lookup_order")
        call = provider.expect("tool.call")
        offered = model.wait_for(lambda one: "KIDONE" in one.text).tools
        assert "lookup_order" in offered
        assert "drop_order" not in offered
        provider.send({"type": "tool.result", "id": call["id"], "data": "kid-data"})
        (agent,) = watched.agents
        assert (agent["agent"], agent["state"]) == ("reviewer", "running")
        assert asked["detail"]["agentId"] == agent["id"]
        # It asks after its parent has answered: the request is still its own.
        copilot.screen.wait_for("so be it")
        assert watched.allow("touch proof")["detail"]["agentId"] == agent["id"]
        watched.until(lambda: watched.agents[0]["state"] == "completed", "the subagent's end")
        assert watched.agents[0]["context"]["tokens"] > 0
        until((copilot.cwd / "proof").exists, what="the command")
        (kid,) = [one for one in watched.steps if one["kind"] == "subagent"]
        assert [(one["kind"], one["state"], one.get("tool")) for one in kid["steps"]] == [
            ("call", "done", "lookup_order"),
            ("call", "done", "bash"),
            ("message", "done", None),
        ]
        assert [one.get("decidedBy") for one in kid["steps"]][:2] == [UNCHECKED] * 2
        assert kid["calls"] == 2
        copilot.screen.wait_for("Interactive")
        watched.until(
            lambda: all(one["state"] != "running" for one in watched.steps), "the turn's end"
        )
        # One that is stopped has not completed, though the CLI reports that later.
        copilot.prompt("once more")
        watched.allow("touch begun")
        until((copilot.cwd / "begun").exists, what="the command")
        assert home.run("stop-turn", copilot.session_id).returncode == 0
        watched.until(lambda: watched.agents[1]["state"] == "failed", "the stop")
        copilot.prompt("and now")
        watched.until(lambda: "and now" in str(watched.state.get("turns")), "the next turn")
        assert [one["state"] for one in watched.agents] == ["completed", "failed"]
