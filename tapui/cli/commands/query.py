"""`tapui query`: questions to the records: a stock question by its name, or SQL over the views."""

import argparse
import sys
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.arguments import CommandParser, moment
from tapui.cli.context import home
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.journals import open_index
from tapui.text import safe_text

if TYPE_CHECKING:
    from tapui.index.asking import AnswerTable, PastRows, StockQuestion

COMMANDS = """
185 query: ask the records: stock questions, or SQL of your own
"""

_PAST_SECONDS = 10.0
"""How long an answer may take where the rows of stored sessions are in it: a union has no order
that an index gives."""


class _OrSql(tuple[str, ...]):
    """The names of stock questions, for shells to complete; any other text may be SQL."""

    __slots__ = ()

    def __contains__(self, _text: object) -> bool:
        return True


def arguments(query: CommandParser) -> None:
    from tapui.index.asking import MOST_SECONDS, SECONDS, stock_names

    query.runs(
        run,
        "Without a question it lists the stock questions and your own, with what they\n"
        "take.\n"
        "  tapui query slowest-calls since=2h limit=5\n"
        "  tapui query 'SELECT tool, count(*) FROM calls GROUP BY tool'\n"
        "Your own questions are files NAME.sql in the folder questions of the\n"
        "configuration folder. No gateway needs to run. A row leads to its record:\n"
        "  tapui records --at REF",
    )
    query.add_argument(
        "question",
        metavar="QUESTION",
        nargs="?",
        choices=_OrSql(stock_names()),
        help="the name of a question, or SQL that begins with SELECT or WITH",
    )
    query.add_argument("values", metavar="KEY=VALUE", nargs="*", default=[], help="what it takes")
    query.add_argument(
        "--schema", action="store_true", help="print the views: columns, types, an example each"
    )
    query.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help=f"end it after so long ({SECONDS:g}, with --past {_PAST_SECONDS:g};"
        f" at most {MOST_SECONDS:g})",
    )
    query.add_argument(
        "--past",
        type=moment,
        metavar="TIME",
        help="also of the sessions that Copilot stored and that were used since then (30d)",
    )
    form = query.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one array of objects")
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    form.add_argument("--md", action="store_true", help="print a table in Markdown")


def run(args: argparse.Namespace) -> int:
    """Print an answer; 1 where there is none, 2 where the question is wrong."""
    if args.schema:
        _print_schema(is_json=args.json)
        return 0
    if args.question is None:
        if args.past is not None:
            raise Failure("--past needs a question", WRONG_USE)
        _list()
        return 0
    from tapui.cli.past_rows import past_rows
    from tapui.index.asking import SECONDS, QuestionRefused, ask, given_by
    from tapui.index.store import IndexUnusable

    def answer(past: "PastRows | None", seconds: float) -> "AnswerTable":
        state, config = home().state, home().config
        return ask(state, config, args.question, given, seconds=seconds, past=past)

    def on_first(past: "PastRows", how_far: str) -> None:
        try:
            table = answer(past, min(seconds, SECONDS))
        except QuestionRefused as error:
            if error.is_wrong:
                raise
            return  # it takes long: the whole answer has more time
        if table.rows:
            _print(args, table)
            output.flush()
        output.note(f"{'so far' if table.rows else 'nothing yet'}: {how_far}; reading on …")

    longest = SECONDS if args.past is None else _PAST_SECONDS
    seconds = longest if args.timeout is None else args.timeout
    is_person = sys.stdout.isatty() and not (args.json or args.csv or args.md)
    try:
        given = given_by(args.values)
        with open_index(), past_rows(args, on_first if is_person else None) as past:
            table = answer(past, seconds)
    except QuestionRefused as error:
        raise Failure(str(error), WRONG_USE if error.is_wrong else FAILED) from None
    except IndexUnusable as error:
        raise Failure(f"the index cannot be read: {error}") from None
    _print(args, table)
    if table.is_truncated:
        output.note(f"there are more rows than these {len(table.rows):,}; ask for fewer")
    return 0


def _list() -> None:
    from tapui.index.asking import questions

    known = questions(home().config)
    width = max(map(len, known))
    for one in known.values():
        own = " (your own)" if one.is_own else ""
        output.say(f"{one.name:<{width}}  {one.about}{own}")
        for takes in _takes(one):
            output.say(f"{'':<{width}}  {takes}")


def _takes(question: "StockQuestion") -> list[str]:
    return [f"  {one.name}={one.default}  {one.about}" for one in question.parameters]


def _print_schema(*, is_json: bool) -> None:
    from tapui.index.views import VIEWS

    if is_json:
        told = [
            {
                "view": view.name,
                "about": view.about,
                "columns": [
                    {"name": one.name, "type": one.type, "about": one.about}
                    for one in view.all_columns
                ],
                "example": view.example,
            }
            for view in VIEWS
        ]
        output.say_json(told, indent=2)
        return
    for view in VIEWS:
        output.heading(f"{view.name}: {view.about}")
        output.table(
            ["COLUMN", "TYPE", "MEANING"],
            [[one.name, one.type, one.about] for one in view.all_columns],
        )
        output.say(f"  {view.example}")
        output.say("")


# The forms of an answer


def _print(args: argparse.Namespace, table: "AnswerTable") -> None:
    from tapui.index import answer_forms as forms

    if args.json:
        output.say_json(forms.objects(table), indent=2)
    elif args.csv:
        output.say_exactly(forms.as_csv(table))
    elif args.md:
        output.say(forms.as_markdown(table), newlines=True)
    elif sys.stdout.isatty():
        _paint(table)
    elif table.rows:
        output.table(table.columns, forms.texts(table), numbers=forms.number_columns(table))
    if not table.rows and not (args.json or args.csv or args.md):
        output.note("there are no such records")


def _paint(table: "AnswerTable") -> None:
    """Print a table as wide as the terminal; nothing in a cell is markup."""
    if not table.rows:
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from tapui.index.answer_forms import number_columns, texts

    painted = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    numbers = number_columns(table)
    for at, column in enumerate(table.columns):
        painted.add_column(
            Text(safe_text(column)),
            justify="right" if at in numbers else "left",
            overflow="fold",
        )
    for row in texts(table):
        painted.add_row(*(Text(safe_text(cell)) for cell in row))
    Console(highlight=False, no_color=not output.has_colour(sys.stdout)).print(painted)
