"""Two real CLIs that work in repositories of their own, beside a tower that a person sits at."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.test_subagents import AGENT
from tests.rig.copilot import Copilot, find_cli
from tests.rig.gateway import Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.tape import WITHIN, Person, Tape
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess

CONTEXT = 22_500
"""Tokens that fit into the second CLI's context."""
TEST = """\
import unittest
from cart import total

class TotalTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""
IGNORED = "__pycache__/\nbuild/\ntwo-*\nreviewed\nkept\n"
CART = "def total(prices):\n    return 0\n\n\ndef is_empty(prices):\n    return not prices\n"


@dataclass
class Done:
    """A moment: the keys that it took and may take, and its seconds; `fault` is why it is not."""

    name: str
    most: int
    keys: int
    seconds: float
    fault: str = ""

    @property
    def is_fine(self) -> bool:
        return not self.fault and self.keys <= self.most


class Day:
    """Two CLIs, their model and a tower at one size."""

    def __init__(self, stack: ExitStack, size: tuple[int, int], folder: Path) -> None:
        self.size = size
        self.done: list[Done] = []
        root = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="moments-", ignore_cleanup_errors=True)
            )
        )
        self.home = Home(root)
        self.model = stack.enter_context(ModelServer())
        self.tmux = stack.enter_context(Tmux())
        shop, notes = root / "shop", root / "notes"
        _repository(shop, {"cart.py": CART, "test_cart.py": TEST, ".gitignore": IGNORED})
        _repository(notes, {"README.md": "# Notes\n"})
        agents = shop / ".github" / "agents"
        agents.mkdir(parents=True)
        (agents / "reviewer.agent.md").write_text(AGENT)
        self.shop = self._cli(shop, "--allow-tool", "write")
        self.notes = self._cli(notes, env={"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": str(CONTEXT)})
        self.open_tower()
        stack.callback(self._close)
        wait_for_tools(self.home, self.shop)
        wait_for_tools(self.home, self.notes)
        self.person = Person(self.tower.screen, Tape(folder, size))
        self.model.script(Rule(text="I am ready.", times=ALWAYS))
        for copilot, prompt in ((self.shop, "Look after the shop"), (self.notes, "Keep the notes")):
            copilot.prompt(prompt)
            copilot.screen.wait_for("I am ready", within=WITHIN)

    def _cli(self, cwd: Path, *args: str, env: dict[str, str] | None = None) -> Copilot:
        argv: tuple[str | Path, ...] = (find_cli() or "", "--ui-server", *args)
        words = ["env", *(f"{name}={value}" for name, value in (env or {}).items()), *argv]
        return Copilot(
            self.tmux,
            home=self.home.root,
            cache=self.home.root / "cache",
            cwd=cwd,
            model_url=self.model.url,
            argv=tuple(words),
        )

    def open_tower(self, port: int = 0) -> None:
        """Open a tower; with the port of a gateway that goes on, one that joins it."""
        env = {"COLORTERM": "truecolor"}
        self.tower = TowerProcess(
            self.tmux, self.home, "--port", str(port), size=self.size, env=env
        )

    def _close(self) -> None:
        self.tower.end()
        self.home.run("stop")  # a gateway that goes on without a screen

    @contextmanager
    def moment(self, name: str, most: int) -> Iterator[None]:
        """Count the keys and the seconds of a moment, which begins with what the person sees."""
        person = self.person
        person.keys, began = 0, time.monotonic()
        self.done.append(found := Done(name, most, 0, 0.0, "it was not finished"))
        yield
        found.keys, found.seconds, found.fault = person.keys, time.monotonic() - began, ""
        person.tape.picture(person.screen, re.sub(r"\W+", "-", name))

    def do(self, name: str, moment: "Callable[[Day], None]") -> None:
        """Do the moments of one kind; what goes wrong in one does not keep the next from it."""
        began = len(self.done)
        try:
            self.person.rest()
            moment(self)
        except AssertionError as error:
            if len(self.done) == began or not self.done[-1].fault:
                self.done.append(Done(name, 0, 0, 0.0))
            self.done[-1].fault = str(error).partition("\n")[0][:160] or repr(error)
            tape = self.person.tape
            tape.picture(self.person.screen, f"{name}-fault")
            screens = (self.shop.screen.text(), self.notes.screen.text())
            (tape.folder / f"{name}-fault.log").write_text("\n".join([str(error), *screens]))
            self.model.script()
            for copilot in (self.shop, self.notes):
                copilot.screen.keys("Escape", "Escape")
        for one in self.done[began:]:
            mark = "✓" if one.is_fine else "✗"
            took = f"{one.keys} of {one.most} keys  {one.seconds:5.1f} s"
            print(f"  {mark} {one.name:<44} {took}  {one.fault}".rstrip(), flush=True)

    # What the agents do

    def asks_to_run(self, copilot: Copilot, prompt: str, command: str) -> None:
        """Have an agent ask for a command."""
        call = ("bash", {"command": command, "description": prompt})
        self.model.script(
            *(Rule(calls=[call], when=prompt), Rule(text=f"{prompt}: over.", role="tool"))
        )
        copilot.prompt(prompt)

    def over(self, copilot: Copilot, prompt: str) -> None:
        copilot.screen.wait_for(f"{prompt}: over", within=WITHIN)

    def changes_cart(self, prompt: str, old: str, new: str) -> None:
        """Have the agent of the shop change a file, and say that it is done."""
        path = str(self.shop.cwd / "cart.py")
        self.model.script(
            Rule(calls=[("edit", {"path": path, "old_str": old, "new_str": new})], when=prompt),
            Rule(text="Done: all tests pass.", role="tool", when="updated"),
            Rule(text="As you say.", times=ALWAYS),
        )
        self.shop.prompt(prompt)

    def state_of(self, copilot: Copilot) -> dict[str, Any]:
        return next(one for one in self.home.listed("sessions") if one["id"] == copilot.session_id)

    def select(self, copilot: Copilot) -> None:
        """Move the cursor to a session: the line in which it is told something says which it is."""
        person, label = self.person, str(self.state_of(copilot)["label"])
        person.rest()
        for _ in range(6):
            person.moves("t", r"^ tell \S")
            is_it = person.screen.find(rf"^ tell {re.escape(label[:8])}")
            person.screen.keys("Escape")
            person.screen.wait_gone(r"^ tell \S")
            if is_it:
                return
            person.screen.keys("Down")
        raise AssertionError(f"{label} is not in Sessions")


def _repository(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@localhost"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "begin"]):
        subprocess.run([*git, *words], check=True)
