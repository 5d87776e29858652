"""Stories as rows of a table: `name ¦ steps ¦ what the turn shows`; indented lines go on.

A step is a command, with its exit code unless it is 0 and what is printed (`pytest → exit 1,
pytest 11 1`), `+path` or `+path=content`, an edit, `~path=content`, what the command before it has
written (`~path=`: it is gone), or one of the words of `_STEPS`. What is printed is the text of a
runner with its counts, or else a line; several are joined by ` + `.

What is shown begins with its sign; `✓` says *after the last change* where it says nothing else of
that. `nothing`: no line.
"""

import re
from collections.abc import Callable

from tests.core.proof.endings.steps import (
    Behind,
    Edit,
    Outside,
    Prompt,
    Restarted,
    Shell,
    Step,
    TurnStory,
    cargo_output,
    go_output,
    jest_output,
    pytest_output,
)

_STATES = {"✓": "checked", "○": "unchecked", "✗": "failed"}
_RUNNERS: dict[str, Callable[..., str]] = {
    "cargo": cargo_output,
    "go": go_output,
    "jest": jest_output,
    "pytest": pytest_output,
    "unittest": "Ran {} tests in 0.1s\n\nOK\n".format,
}
_STEPS: dict[str, Callable[[str], Step]] = {
    "@behind": Behind,
    "@outside": lambda text: Outside(dict([text.split("=")])),
    "@prompt": lambda _: Prompt(),
    "@restarted": lambda _: Restarted(),
}
_SINCE = "after the last change"


def stories(table: str, *, rerun: int) -> tuple[TurnStory, ...]:
    """Return the stories of a table; `rerun` is that of those that name none by `@rerun`."""
    rows = table.strip().replace("\n    ", " ").split("\n")
    return tuple(_story(row.split(" ¦ "), rerun) for row in rows if not row.startswith("# "))


def _story(cells: list[str], rerun: int) -> TurnStory:
    name, *told, shown = cells
    steps: list[Step] = []
    named = packages = ()
    for cell in told:
        word, _, rest = cell.partition(" ")
        if word == "@rerun":
            rerun = int(rest)
        elif word == "@named":
            named = (rest,)
        elif word == "@packages":
            packages = tuple(rest.split())
        elif word in _STEPS:
            steps.append(_STEPS[word](rest))
        elif word.startswith("~"):
            path, content = cell[1:].split("=")
            shell = steps[-1]
            assert isinstance(shell, Shell)
            steps[-1] = shell._replace(writes={**shell.writes, path: content})
        elif word.startswith("+"):
            steps.append(Edit(*cell[1:].split("=", 1)))
        else:
            steps.append(_shell(cell))
    return TurnStory(name, tuple(steps), _shown(shown), rerun, named, packages)


def _shell(cell: str) -> Shell:
    text, _, result = cell.partition(" → ")
    code, _, printed = re.fullmatch(r"(?:exit (\d+)(, |$))?(.*)", result).groups()  # type: ignore[union-attr]
    return Shell(text, int(code or 0), "".join(map(_output, filter(None, printed.split(" + ")))))


def _output(printed: str) -> str:
    name, *counts = printed.split(" ")
    if name in _RUNNERS and counts and all(map(str.isdigit, counts)):
        return _RUNNERS[name](*map(int, counts))
    return f"{printed}\n"


def _shown(cell: str) -> str | None:
    if cell == "nothing":
        return None
    sign, text = cell.split(" ", 1)
    since = f", {_SINCE}" if sign == "✓" and _SINCE not in text else ""
    return f"{_STATES[sign]}: {text}{since}"
