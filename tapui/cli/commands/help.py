"""`tapui help`: the pages that users read, in a pager where there is a terminal."""

import argparse
import os
import sys

from tapui import docs
from tapui.cli.arguments import CommandParser

COMMANDS = """
310 help: show a page about a topic; without one, list the topics
"""

_MOST_COLUMNS = 100
"""Longer lines are hard to read."""


def arguments(page: CommandParser) -> None:
    page.runs(
        run,
        "In a terminal the page is shown in $PAGER, or else in `less`; elsewhere its\n"
        "Markdown is printed.",
    )
    page.add_argument(
        "topic",
        metavar="TOPIC",
        nargs="?",
        type=_topic,
        choices=tuple(docs.TOPICS),  # a mapping would be one of commands to shtab
        help="what to read about",
    )


def _topic(word: str) -> str:
    if word not in docs.TOPICS:
        there = ", ".join(docs.TOPICS)
        raise argparse.ArgumentTypeError(f"there is no topic {word}; there are {there}")
    return word


def run(args: argparse.Namespace) -> int:
    if args.topic is None:
        width = max(map(len, docs.TOPICS))
        rows = (f"  {topic:<{width}}  {about}" for topic, about in docs.TOPICS.items())
        sys.stdout.write("\n".join(["tapui help TOPIC", "", *rows, ""]))
        return 0
    text = docs.page(args.topic)
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        _page(_painted(text))
    else:
        sys.stdout.write(text)
    return 0


def _painted(markdown: str) -> str:
    import shutil

    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    columns = min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
    # Rich's own is cyan on black: boxes on a light terminal.
    theme = Theme({"markdown.code": "bold cyan"})
    console = Console(width=columns, force_terminal=True, theme=theme)
    with console.capture() as capture:
        console.print(Markdown(markdown, code_theme="ansi_dark"))
    return capture.get()


def _page(text: str) -> None:
    """Show a text in the person's pager; without one it is printed."""
    import shlex
    import shutil
    import subprocess

    pager = shlex.split(os.environ.get("PAGER", "")) or ["less"]
    if shutil.which(pager[0]) is None:
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    # As git has it: a short text is printed, colours pass, the screen is left as it was.
    env = {**os.environ, "LESS": os.environ.get("LESS", "FRX")}
    subprocess.run(
        pager, input=text, text=True, encoding="utf-8", errors="replace", env=env, check=False
    )
