"""A tool of one's own, as a new user makes it by the page `tools`: from an empty folder to its
answer in a live session of the real CLI, with the keys and the seconds.

    python -m tests.live.first_tool [--size 140x45] [--into FOLDER]

Two terminals: in one a shell, and then Copilot; in the other tapui. Commands and the prompt are
typed at the pace of a person (`TYPING`), the tool's file is pasted from the page. Not counted is
the time in which the page is read. FOLDER gets the tape (asciicast 2: both terminals, as they were
looked at) and pictures. It fails where a step does not come to its end, or all of them take more
than three minutes.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.folder_tools.test_page import TOOL
from tests.rig.copilot import find_cli
from tests.rig.gateway import Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.tape import Person, Tape
from tests.rig.tmux import Tmux

MOST = 180.0
"""Seconds that it may take."""
TYPING = 0.2
"""Seconds of a character that is typed: of a person who looks for the keys."""
LOOKING = 2.0
"""Seconds between what a person reads for the first time and their answer."""
PROMPT = "Count the words of tools/word_count.py"
_SHELL = r"^\$ *$"
_BEGIN = 60.0
"""Seconds that a program may take until it takes keys."""


class Trial:
    """What is typed, and how long each step takes."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, float]] = []
        self.typed = 0
        """Characters."""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.steps.append((name, time.monotonic() - began))
        print(f"  {name:<50} {self.steps[-1][1]:5.1f} s", flush=True)

    def types(self, person: Person, text: str, then: str, within: float = 30.0) -> None:
        """Type a line, send it, and look for what follows."""
        for character in text:
            person.screen.type(character)
            time.sleep(TYPING)
        self.typed += len(text)
        person.tape.key(text)
        person.looks(re.escape(text[-8:]))
        self.presses(person, "Enter", then, within=within)

    def presses(
        self, person: Person, key: str, then: str, picture: str = "", within: float = _BEGIN
    ) -> None:
        person.keys += 1
        person.tape.key(key)
        person.screen.keys(key)
        person.looks(then, picture, within)


def trial(home: Home, size: tuple[int, int], into: Path) -> Trial:
    found, tape, work = Trial(), Tape(into, size), home.root / "words"
    work.mkdir()
    cli = find_cli()
    assert cli is not None, "run `npm ci` in tests/live"
    cli_env = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_MODEL": "scripted",
        "COPILOT_AUTO_UPDATE": "false",
        "TAPUI_PORT": "0",  # others may use the usual one here
        "PS1": "$ ",
    }
    env = {**home.env(**cli_env), "PATH": f"{cli.parent}:{home.env()['PATH']}"}
    with ModelServer() as model, Tmux() as tmux:
        model.script(
            Rule(
                calls=[("word_count", {"path": "tools/word_count.py"})],
                when="Count the words",
                needs="word_count",
            ),
            Rule(text="Counted: so many.", role="tool", when=r"\d+ words"),
            Rule(text="I see no such tool.", times=ALWAYS),
        )
        env["COPILOT_PROVIDER_BASE_URL"] = model.url
        shell = ["bash", "--norc", "--noprofile", "-i"]
        first, second = (
            Person(tmux.start(shell, env=env, cwd=work, size=size), tape) for _ in range(2)
        )
        for person in (first, second):
            person.looks(_SHELL)
        with found.step("the file, pasted into an editor"):
            found.types(first, "mkdir tools && cat > tools/word_count.py", "word_count.py\n")
            first.screen.type(TOOL)
            first.looks(r"words\"\}\]")
            found.presses(first, "C-d", _SHELL, "file")
        with found.step("tapui tools check"):
            found.types(first, "tapui tools check", r"1 tool, all fine|left out|:\d+:")
        with found.step("tapui copilot, and its folder trusted"):
            found.types(first, "tapui copilot", "Do you trust the files", _BEGIN)
            time.sleep(LOOKING)
            found.presses(first, "Enter", r"^─{20,}\n. ?\n", "copilot")
        with found.step("tapui, until it asks about the tools"):
            found.types(second, "tapui", r"tools.*(waits|left)", _BEGIN)
            tape.picture(second.screen, "asks")
        with found.step("the request read, and allowed"):
            time.sleep(LOOKING)
            second.presses("a", r"tools/word_count\.py(.|\n)*d  deny", "request")
            time.sleep(LOOKING)
            second.answers("y", "Enter allows", r"Nothing waits|nothing waits", "allowed")
        with found.step("its provider is in the session"):
            found.presses(second, "4", r"● tools\b", "provider")
        with found.step("the agent calls it, and that is allowed"):
            found.types(first, PROMPT, r"Run extension tool|word_count(.|\n)*1\. ", _BEGIN)
            tape.picture(first.screen, "call")
            time.sleep(LOOKING)
            found.presses(first, "Enter", "Counted: so many", "answer")
        keys = first.keys + second.keys
        total = sum(seconds for _, seconds in found.steps)
        print(f"  {keys} keys besides {found.typed} characters, {total:.0f} s of {MOST:.0f}")
    home.run("stop")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="140x45", metavar="COLUMNSxLINES")
    parser.add_argument("--into", type=Path, default=Path("first-tool"), metavar="FOLDER")
    options = parser.parse_args()
    columns, _, lines = options.size.partition("x")
    with tempfile.TemporaryDirectory(prefix="first-tool-", ignore_cleanup_errors=True) as root:
        done = trial(Home(Path(root)), (int(columns), int(lines)), options.into)
    return int(sum(seconds for _, seconds in done.steps) > MOST)


if __name__ == "__main__":
    sys.exit(main())
