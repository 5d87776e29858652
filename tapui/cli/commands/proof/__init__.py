"""What was recorded of a session: run its check, print what it shows, and what reviewers found."""

from tapui.cli.arguments import CommandParser
from tapui.cli.commands.proof import changes as changed
from tapui.cli.commands.proof import prove as check
from tapui.cli.commands.proof import report
from tapui.cli.commands.proof import review as reviews

COMMANDS = """
95 prove: run the check of a session as your own command, and print what it shows
96 proof: print what was recorded of a session: changes, checks, who allowed what
98 changes: print which files a session changed, and by whom, or a patch of them
99 review: list reviews and their findings, show one, decide about a finding, write SARIF
"""


def arguments(
    prove: CommandParser, proof: CommandParser, changes: CommandParser, review: CommandParser
) -> None:
    check.arguments(prove)
    report.arguments(proof)
    changed.arguments(changes)
    reviews.arguments(review)
