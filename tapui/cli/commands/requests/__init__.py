"""What waits for the person: show it, and decide about it."""

from tapui.cli.arguments import CommandParser
from tapui.cli.commands.requests import decisions
from tapui.cli.commands.requests import show as shown

COMMANDS = """
150 next: show only what waits for you, the most urgent first; end when nothing does
155 show: show a request or a turn in full
160 approve: approve a request that waits for you
170 deny: deny a request that waits for you
"""


def arguments(
    following: CommandParser, show: CommandParser, approve: CommandParser, deny: CommandParser
) -> None:
    decisions.arguments(following, approve, deny)
    shown.arguments(show)
