"""`tapui completion`: what a shell reads to complete commands and options."""

import argparse
import sys
from pathlib import Path

from tapui.cli.arguments import CommandParser

COMMANDS = """
290 completion: print what lets a shell complete commands and options
"""

SHELLS = ("bash", "zsh", "fish")


def arguments(completion: CommandParser) -> None:
    completion.runs(
        run,
        'bash:  eval "$(tapui completion bash)"      in ~/.bashrc\n'
        'zsh:   eval "$(tapui completion zsh)"       in ~/.zshrc, after compinit\n'
        "fish:  tapui completion fish | source       in ~/.config/fish/config.fish",
    )
    completion.add_argument("shell", choices=SHELLS, help="the shell")


def script_file(shell: str) -> Path:
    """Return the file with the script for a shell. `python -m tests.documents` makes it from the
    parsers: making it here would import every command, in each shell that starts."""
    return Path(__file__).parent.parent / "completion" / f"tapui.{shell}"


def run(args: argparse.Namespace) -> int:
    """Print the script for a shell. It is complete: no key press starts tapui."""
    sys.stdout.write(script_file(args.shell).read_text(encoding="utf-8"))
    return 0
