"""A day of real sessions at one gateway, and what is asked of it afterwards: each answer has the
numbers that were scripted."""

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live.test_headless import CHECK, TEST, Runs, edits, session_of
from tests.live.test_subagents import bash, task
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer, Rule

INPUT, OUTPUT = 100, 20
"""What each answer of the scripted model says that it used (`tests/rig/model_server.py`)."""
FLIP = "sh flip"
"""Fails the first time, and passes from then on; no file of the folder is changed."""
FLIPS = 'mkdir "$HOME/flipped" 2>/dev/null && exit 1; exit 0\n'
NOWHERE = "ls nowhere"
PUBLISH = "npm publish"


def rules(folder: Path) -> str:
    allowed = "".join(f'[[rules]]\nallow = "{one}"\n' for one in (CHECK, FLIP, NOWHERE))
    denied = f'[[rules]]\ndeny = "{PUBLISH}"\nreason = "CI publishes"\n'
    return f'{allowed}{denied}[[rules]]\nkind = "write"\nallow = "{folder}/**"\n'


@dataclass
class Day:
    """The sessions by what they did, and how many answers each had of the model."""

    home: Home
    folder: Path
    mended: str
    published: str
    delegated: str
    stopped: str
    answers: dict[str, int]

    def ask(self, name: str, **given: str) -> list[dict[str, Any]]:
        words = [f"{key}={value}" for key, value in given.items()]
        done = self.home.run("query", name, *words, "--json", "--timeout", "60")
        assert (done.returncode, done.stderr) == (0, "")
        return list(json.loads(done.stdout))


@pytest.fixture
def run(home: Home, cli: Path, cli_cache: Path, model: ModelServer) -> Runs:
    return Runs(home, cli_cache, cli, model)


@pytest.fixture
def day(run: Runs, model: ModelServer, serve: Callable[..., Gateway]) -> Day:
    """Four sessions, one after the other, and the gateway ended."""
    files = {"cart.py": "def total(a):\n    return 0\n", "test_cart.py": TEST, "flip": FLIPS}
    for name, text in {**files, "notes.md": "old\n"}.items():
        (run.folder / name).write_text(text)
    run.home.settle(rules(run.folder))
    gateway = serve(env=run.env)
    answers = {}

    def session(prompt: str, *scripted: Rule) -> str:
        before = len(model.requests)
        model.script(*scripted)
        done = run(prompt)
        assert done.returncode in (0, 5), done.stderr
        assert len(model.requests) - before == len(scripted)
        answers[session_of(done)] = len(scripted)
        return session_of(done)

    notes = {"path": str(run.folder / "notes.md"), "old_str": "old", "new_str": "new\nnewer"}
    mended = session(
        "mend the cart",
        Rule(calls=bash(CHECK), when="mend the cart"),
        Rule(calls=[edits(run, "0", "sum(a)")], role="tool", when="FAILED"),
        Rule(calls=bash(CHECK), role="tool", when="updated"),
        Rule(text="All tests pass.", role="tool", when="OK"),
    )
    published = session(
        "publish it",
        Rule(calls=bash(PUBLISH), when="publish it"),
        Rule(calls=bash(FLIP), role="tool", when="CI publishes"),
        Rule(calls=bash(FLIP), role="tool"),
        Rule(calls=[("edit", notes)], role="tool"),
        Rule(text="It is published.", role="tool", when="updated"),
    )
    delegated = session(
        "ask around",
        Rule(calls=task("KIDONE", "general-purpose", "sync"), when="^(?!.*KID).*ask around"),
        Rule(calls=bash(NOWHERE), when="KIDONE"),
        Rule(calls=bash(NOWHERE), role="tool"),
        Rule(text="It is not there.", role="tool"),
        Rule(text="It is nowhere.", role="tool", when="not there"),
    )
    held = threading.Event()
    model.script(Rule(text="late", until=held))
    running, stopped = run.busy(gateway)
    model.wait_for(lambda one: "wait" in one.text)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    held.set()
    assert running.returncode == 130
    answers[stopped] = 0
    assert gateway.stop() == 0
    return Day(run.home, run.folder, mended, published, delegated, stopped, answers)


def test_ten_questions_to_a_day_have_the_answers_that_were_scripted(day: Day) -> None:
    failed = day.ask("failures-by-tool")
    assert [(one["tool"], one["exit_code"], one["failed"]) for one in failed] == [
        ("bash", 2, 2),  # ls, twice
        ("bash", 1, 2),  # the check, and what passes from the second time on
    ]
    slowest = day.ask("slowest-calls", session=day.delegated)
    assert [one["tool"] for one in slowest] == ["task", "bash", "bash"]
    assert slowest[0]["duration"] > slowest[1]["duration"] + slowest[2]["duration"]

    used = {one["session"]: one for one in day.ask("cost-by-session")}
    wanted = {id_: (count * INPUT, count * OUTPUT) for id_, count in day.answers.items()}
    assert {id_: (one["input"], one["output"]) for id_, one in used.items()} == wanted
    by_day = day.ask("cost-by-day")
    assert {one["model"] for one in by_day} == {"scripted"}
    for name in ("input", "output", "calls"):
        assert sum(one[name] for one in by_day) == sum(one[name] for one in used.values())

    allowed = Counter(one["rule"] for one in day.ask("allowed-by-rule"))
    assert allowed == {CHECK: 2, FLIP: 2, NOWHERE: 2, f"{day.folder}/**": 2}
    (denied,) = day.ask("denied")
    assert (denied["session"], denied["tool"]) == (day.published, "bash")
    assert (denied["decided_by"], denied["rule"]) == ("rule", PUBLISH)
    assert denied["reason"] == "CI publishes"

    touched = {Path(one["path"]).name: one for one in day.ask("files-touched")}
    changes = {
        name: (one["changes"], one["added"], one["removed"]) for name, one in touched.items()
    }
    assert changes == {"cart.py": (1, 1, 1), "notes.md": (1, 2, 1)}
    (unproven,) = day.ask("unproven")
    assert (unproven["session"], unproven["files"]) == (day.published, 1)

    (flaky,) = day.ask("flaky-commands")
    assert (flaky["summary"], flaky["session"], flaky["changes"]) == (FLIP, day.published, 1)
    again = {one["summary"]: one for one in day.ask("retries")}
    tries = {name: (one["tries"], one["failed"]) for name, one in again.items()}
    assert tries == {CHECK: (2, 1), FLIP: (2, 1), NOWHERE: (2, 2)}

    asked = {one["session"]: one for one in day.ask("prompts")}
    told = {one["prompt"]: one["state"] for one in asked.values()}
    assert told == {
        "mend the cart": "done",
        "publish it": "done",
        "ask around": "done",
        "wait": "stopped",
    }
    assert asked[day.mended]["proof"] == "checked"
    (edit,) = [one for one in day.ask("slowest-calls", session=day.mended) if one["tool"] == "edit"]
    (after,) = day.ask("what-ran-after", ref=edit["ref"])
    assert (after["summary"], after["exit_code"], after["session"]) == (CHECK, 0, day.mended)
