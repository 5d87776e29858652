"""Every command that a document prints is one: the parser takes it as it stands."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapui.cli import parser
from tapui.cli.arguments import CommandParser

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "tapui").rglob("*.md"))]
PLACEHOLDERS = {
    "COLLECTION": "calls",
    "N": "1",
    "PORT": "9400",
    "PROVIDER": "memory",
    "SHELL": "bash",
    "TOPIC": "rules",
}
"""What a word in capitals stands for, where it is no text."""


def printed(text: str) -> set[str]:
    """Return the command lines of a document: of its blocks, and within its sentences."""
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    sentences = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines += re.findall(r"(?<!`)`(tapui [^`\n]+)`", sentences)
    return {line for line in lines if line.startswith("tapui ") and not re.search(r"[\[|…]", line)}


def named(below: CommandParser, before: str) -> Iterator[str]:
    """Yield the names of all commands below one: a sentence may name one without arguments."""
    for action in below._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"{before} {name}"
                yield from named(command, f"{before} {name}")


COMMANDS = sorted(
    {line for document in DOCUMENTS for line in printed(document.read_text())}
    - set(named(parser.build(), "tapui"))
)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_printed_command_is_one(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [PLACEHOLDERS.get(word, word) for word in shlex.split(line, comments=True)[1:]]
    try:
        parser.parse(words)
    except SystemExit as end:
        assert end.code == 0, capsys.readouterr().err  # noqa: PT017 - argparse ends so


def test_the_documents_print_many() -> None:
    assert len(COMMANDS) > 70
