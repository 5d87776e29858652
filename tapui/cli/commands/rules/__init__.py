"""`tapui rules`: what each rule did, and rules that the person's own answers suggest."""

from tapui.cli.arguments import CommandParser, Commands, moment
from tapui.cli.commands.rules import answered, suggest

COMMANDS = """
238 rules: list what each rule answered; suggest rules from what you answered
"""


def arguments(rules: CommandParser) -> None:
    rules.runs(
        answered.run,
        "Your rules and the administrator's, with how often each answered and when last.\n"
        "Rules of one effect and the same words are counted together.",
    )
    rules.set_defaults(json=False)
    actions = Commands(rules)
    listing = actions.add("list", "list the rules (also without an action)", answered.run)
    suggesting = actions.add(
        "suggest",
        "suggest rules from your answers",
        suggest.run,
        "What you allowed at least three times and never denied, with what the rules\n"
        "would have answered. On a terminal a key takes each, or has it never shown\n"
        "again; into a pipe they are only printed, and nothing is written.",
    )
    suggesting.add_argument(
        "--since", type=moment, default="60d", metavar="TIME", help="only answers since then (60d)"
    )
    for parser in (listing, suggesting):
        parser.add_argument("--json", action="store_true", help="print a JSON object a line")
