"""What happens in the stories: commands, edits, prompts, what others do, and what is printed."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Files = Mapping[str, str | None]
"""Contents of files by path; `GONE` where there is none, `None` for the one of the last commit."""
GONE = ""


class Shell(NamedTuple):
    """The agent runs a command in its CLI's own shell. `writes`: what has another content then."""

    text: str
    code: int | None = 0
    output: str = ""
    cwd: str = ""
    """Below the folder, or absolute."""
    writes: Files = MappingProxyType({})
    shell: str = "bash"
    meanwhile: tuple["Step", ...] = ()
    by_person: bool = False
    """Whether the person has tapui run it."""


class Behind(NamedTuple):
    """A command that goes on in the background. Its end is told when it is asked for, if ever."""

    text: str


class Ended(NamedTuple):
    """The newest command in the background has ended, and its shell told how."""

    code: int | None = 0
    output: str = ""


class Edit(NamedTuple):
    """A tool that is no shell writes a file."""

    path: str
    content: str = "new"


class Outside(NamedTuple):
    """An editor, another session or a build that watches changes files."""

    files: Files


class Stated(NamedTuple):
    """A tool of a provider or an MCP server says that it ran a command."""

    tool: str
    text: str
    output: str


class Prompt(NamedTuple):
    """The turn ends, and the person sends the next prompt."""


class Restarted(NamedTuple):
    """Tapui ends and starts again, and finds the session still there."""


Step = Shell | Behind | Ended | Edit | Outside | Stated | Prompt | Restarted


class TurnStory(NamedTuple):
    """A story up to the end of a turn."""

    name: str
    steps: tuple[Step, ...]
    shown: str | None
    """What the turn shows: its state and text; None for no line."""
    rerun: int
    """The exit code that the folder's one command gives when it is run at the end once more, in
    the folder as the agent left it."""
    named: tuple[str, ...] = ()
    """The checks that the person named."""
    packages: tuple[str, ...] = ()


# What programs print


def pytest_output(passed: int, failed: int = 0, *, noise: str = "") -> str:
    counts = [f"{failed} failed"] * bool(failed) + [f"{passed} passed"] * bool(passed)
    return f"{noise}===== {', '.join(counts) or 'no tests ran'} in 1.23s =====\n"


def jest_output(passed: int, failed: int = 0) -> str:
    counts = [f"{failed} failed"] * bool(failed) + [f"{passed} passed"] * bool(passed)
    total = passed + failed
    suites = "1 failed, 1 total" if failed else "1 passed, 1 total"
    return f"Test Suites: {suites}\nTests:       {', '.join(counts)}, {total} total\nTime: 1 s\n"


def go_output(passed: int, failed: int = 0, note: str = "0.012s") -> str:
    lines = [f"ok  \texample.org/shop/p{number}\t{note}" for number in range(passed)]
    lines += [f"FAIL\texample.org/shop/f{number}\t0.013s" for number in range(failed)]
    return "\n".join(lines) + "\n"


def cargo_output(passed: int, failed: int = 0) -> str:
    result = f"{'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed"
    return (
        f"running {passed + failed} tests\n\ntest result: {result}; 0 ignored; 0 measured;"
        " 0 filtered out; finished in 0.02s\n"
    )
