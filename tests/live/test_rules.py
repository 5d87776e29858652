"""Rules in the real session: what they allow, what they forbid also in allow-all, exactly this."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until

ASKS_BASH = "Do you want to run this command"
RULES = """\
[[rules]]
allow = ["touch allowed*", "mkdir allowed", "touch docs/*"]

[[rules]]
deny = "touch forbidden"
reason = "not on my machine"

[[rules]]
ask = "touch asked"
"""


def runs(prompt: str, command: str) -> tuple[Rule, Rule]:
    call = ("bash", {"command": command, "description": "a command"})
    return Rule(calls=[call], when=prompt), Rule(text=f"{prompt} is over")


@pytest.fixture
def tower(copilot: Copilot, home: Home, start_tower: Callable[..., TowerProcess]) -> TowerProcess:
    """A tower with rules that has found the CLI's session."""
    home.tapui.mkdir(exist_ok=True)
    (home.tapui / "config.toml").write_text(RULES)
    found = start_tower()
    wait_for_tools(home, copilot)
    return found


def decided(copilot: Copilot) -> list[dict[str, Any]]:
    """Return the approvals that were decided, as recorded."""
    path = copilot.workspace / "files" / "tap" / "approvals.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    events = [json.loads(line) for line in lines]
    return [one["approval"] for one in events if one["kind"] == "approval.decided"]


def test_rules_allow_forbid_in_allow_all_and_keep_exactly_this(
    copilot: Copilot, model: ModelServer, tower: TowerProcess
) -> None:
    allowed = "mkdir allowed && (touch allowed/a; touch allowed/b) 2>&1 | touch allowed/c"
    model.script(*runs("allow it", allowed))
    copilot.prompt("allow it")
    copilot.screen.wait_for("allow it is over")
    assert not copilot.screen.find(ASKS_BASH)
    assert (copilot.cwd / "allowed" / "b").exists(), copilot.screen.text()
    (answer,) = until(lambda: decided(copilot), what="the decision recorded")
    assert (answer["decidedBy"], answer["rule"]["pattern"]) == ("rule", "touch allowed*")

    model.script(*runs("keep it", "touch kept"))
    copilot.prompt("keep it")
    tower.screen.wait_for("run +touch kept")
    tower.keep("touch kept")
    copilot.screen.wait_for("keep it is over")
    model.script(*runs("again", "touch kept"))
    copilot.prompt("again")
    copilot.screen.wait_for("again is over")
    model.script(*runs("another", "touch kept other"))
    copilot.prompt("another")
    copilot.screen.wait_for(ASKS_BASH)
    copilot.choose_first(ASKS_BASH)
    copilot.screen.wait_for("another is over")
    by = [(one["decidedBy"], (one.get("rule") or {}).get("source")) for one in decided(copilot)]
    assert by == [("rule", "person"), ("you", None), ("rule", "session")]

    copilot.allow_all()
    tower.screen.wait_for("1 unsupervised")
    model.script(*runs("free it", "touch free"), *runs("forbid it", "sudo touch forbidden"))
    copilot.prompt("free it")
    copilot.screen.wait_for("free it is over")
    assert (copilot.cwd / "free").exists()
    copilot.prompt("forbid it")
    told = model.wait_for(lambda one: "not on my machine" in one.text)
    assert told.role == "tool"
    copilot.screen.wait_for("forbid it is over")
    assert not (copilot.cwd / "forbidden").exists()
    model.script(*runs("ask it", "touch asked"))
    copilot.prompt("ask it")
    copilot.screen.wait_for("Do you want to allow this tool call")
    assert not (copilot.cwd / "asked").exists()
    tower.approve("touch asked")
    copilot.screen.wait_for("ask it is over")
    assert (copilot.cwd / "asked").exists()

    copilot.screen.press("BTab", lambda: copilot.mode == "Plan")
    copilot.screen.press("BTab", lambda: copilot.mode == "Autopilot")
    model.script(*runs("ask there", "touch asked there"))
    copilot.prompt("ask there")
    tower.approve("touch asked there")
    copilot.screen.wait_for("ask there is over")
    assert (copilot.cwd / "there").exists()


def test_a_rule_is_not_led_out_of_its_folder(
    copilot: Copilot, model: ModelServer, tower: TowerProcess
) -> None:
    docs = copilot.cwd / "docs"
    docs.mkdir()
    (docs / "lnk").symlink_to("..")
    model.script(*runs("count it", "touch docs/a docs/b"))
    copilot.prompt("count it")
    copilot.screen.wait_for("count it is over")
    assert not copilot.screen.find(ASKS_BASH)
    for prompt, command in (("linked", "touch docs/lnk/x"), ("another", "touch docs/a c")):
        model.script(*runs(prompt, command))
        copilot.prompt(prompt)
        copilot.screen.wait_for(ASKS_BASH)
        copilot.choose_first(ASKS_BASH)
        copilot.screen.wait_for(f"{prompt} is over")
    assert [one["decidedBy"] for one in decided(copilot)] == ["rule"]
    assert (docs / "b").exists()
