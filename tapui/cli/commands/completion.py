"""`tapui completion`: what a shell reads to complete commands and options."""

import argparse
import sys

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


def run(args: argparse.Namespace) -> int:
    """Print the script for a shell. It is complete: no key press starts tapui."""
    import shtab

    from tapui.cli.parser import build

    sys.stdout.write(shtab.complete(build(), shell=args.shell).rstrip("\n") + "\n")
    return 0
