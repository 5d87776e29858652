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


def session_of(home: Home, copilot: Copilot) -> dict[str, Any]:
    """Return what is told of the CLI's session."""
    (session,) = [one for one in home.listed("sessions") if one["id"] == copilot.session_id]
    return session


def context_of(home: Home, copilot: Copilot) -> dict[str, int] | None:
    """Return how full the context is, once it is known when it is compacted."""
    context = session_of(home, copilot).get("context", {})
    return context if "compactsAt" in context else None


def test_what_the_session_used_is_told_with_what_it_used_before_tapui_came(
    copilot: Copilot, model: ModelServer, home: Home, start_tower: Callable[..., TowerProcess]
) -> None:
    model.script(Rule(text="early is over", when="early"))
    copilot.prompt("early")
    copilot.screen.wait_for("early is over")
    start_tower()
    wait_for_tools(home, copilot)
    runs = ("bash", {"command": "echo seen", "description": "a command"})
    model.script(Rule(calls=[runs], when="late"), Rule(text="late is over"))
    copilot.prompt("late")
    copilot.screen.wait_for("late is over")

    # An answer of the scripted model is 100 tokens in and 20 out.
    whole = until(
        lambda: found if (found := used(home)).get("usage", {}).get("calls") == 3 else None,
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

    # Without an account, and with models of a provider of one's own.
    account = until(lambda: session_of(home, copilot).get("account"), what="the account")
    assert account["signedIn"] is False
    told = json.loads(home.run("doctor", "--json").stdout)["findings"]
    (found,) = [one for one in told if one["id"] == "account"]
    assert found["state"] == "ok"
    assert "not signed in" in found["text"]


def answer(tower: TowerProcess, key: str, brings: str) -> None:
    """Answer the question that waits: by a key that brings up what Enter then does."""
    tower.screen.wait_for("budget +The budget is used up")
    tower.screen.press("a", lambda: tower.screen.find("A letter, then Enter") is not None)
    tower.screen.wait_for("go on once")
    tower.screen.press(key, lambda: tower.screen.find(brings) is not None)
    tower.screen.press("Enter", lambda: tower.screen.find("Nothing waits") is not None)


def tell(tower: TowerProcess, text: str) -> None:
    """Say something to the session from the tower."""
    tower.screen.press("t", lambda: tower.screen.find("once the session rests") is not None)
    tower.screen.type(text)
    tower.screen.keys("Enter")


BUDGET = "[budget]\ntokens = 100\n"
SAID_NO = r"budget of this session is used up \(.* tokens\), and you said no in tapui"


def test_once_the_budget_is_used_up_the_next_prompt_is_asked_of_the_person(
    copilot: Copilot, model: ModelServer, home: Home, start_tower: Callable[..., TowerProcess]
) -> None:
    home.tapui.mkdir(exist_ok=True)
    (home.tapui / "config.toml").write_text(BUDGET)
    tower = start_tower()
    wait_for_tools(home, copilot)
    model.script(Rule(text="first is over", when="first"), Rule(text="third is over", when="third"))
    copilot.prompt("first")
    copilot.screen.wait_for("first is over")

    copilot.prompt("second")
    answer(tower, "d", "Enter denies")
    copilot.screen.wait_for(SAID_NO)

    # What tapui sends waits in the same way.
    tell(tower, "third")
    answer(tower, "Enter", "Enter sends this answer")  # of the choice under the cursor
    copilot.screen.wait_for("third is over")
    assert [one.text for one in model.requests if "second" in one.text] == []


def test_a_session_that_its_model_refuses_says_so_and_what_it_wants_to_do(
    copilot: Copilot, model: ModelServer, home: Home, start_tower: Callable[..., TowerProcess]
) -> None:
    start_tower()
    wait_for_tools(home, copilot)
    insert = (
        "INSERT INTO todos (id, title, status) VALUES "
        "('a', 'Write the notes', 'in_progress'), ('b', 'Fix links', 'pending')"
    )
    model.script(
        Rule(calls=[("sql", {"query": insert, "description": "todos"})], when="go on"),
        Rule(text="Rate limit reached", status=429, role="tool"),
        Rule(text="I am back", role="tool"),
    )
    copilot.prompt("go on")
    waits = until(lambda: session_of(home, copilot).get("modelWait"), what="that it waits")
    assert (waits["status"], waits["times"]) == (429, 1)
    copilot.screen.wait_for("I am back")
    until(lambda: "modelWait" not in session_of(home, copilot), what="that it goes on")
    until(lambda: len(session_of(home, copilot).get("todos", [])) == 2, what="the todos")
    assert session_of(home, copilot)["todos"] == [
        {"title": "Write the notes", "state": "inProgress"},
        {"title": "Fix links"},
    ]
    filled = {"system", "tools", "conversation"}
    until(
        lambda: filled <= session_of(home, copilot).get("context", {}).keys(), what="what fills it"
    )
