"""The tables of `tapui/docs/*.md`, made from the key table, the parsers, the settings, the
forms of secrets and the stories of endings."""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import tapui
from tapui.cli.arguments import CommandParser
from tapui.cli.parser import build
from tapui.records.masking import FORMS
from tapui.settings.example import docs as docstrings
from tapui.settings.loading import SETTINGS, allowed
from tapui.settings.settings import Settings
from tapui.tower.keys.key_table import AREAS, TABLE, KeyAction
from tapui.tower.keys.names import key_names
from tests.core.proof.endings import judges

PAGES = Path(tapui.__file__).parent / "docs"


def tables() -> dict[str, tuple[Path, Callable[[], str]]]:
    """Return what makes each table, with its document, by the name in its markers."""
    return {
        "keys": (PAGES / "keys.md", _keys),
        "list of commands": (PAGES / "commands.md", _list_of_commands),
        "commands": (PAGES / "commands.md", _commands),
        "settings": (PAGES / "settings.md", _settings),
        "endings": (PAGES / "proof.md", judges.table),
        "masked": (PAGES / "records.md", _masked),
    }


def _keys() -> str:
    parts = []
    for area, title in AREAS.items():
        rows = [
            f"| {_keys_of(one)} | {_cell(one.does)} | `{one.id}` |"
            for one in TABLE
            if one.area == area
        ]
        parts.append(
            "\n".join([f"## {title}", "", "| key | does | name |", "|---|---|---|", *rows])
        )
    return "\n\n".join(parts)


def _masked() -> str:
    shown: dict[str, list[str]] = {}
    for kind, form, *_ in FORMS:
        shown.setdefault(kind, []).append(form)
    rows = [f"| {kind} | {', '.join(forms)} |" for kind, forms in shown.items()]
    return "\n".join(["| of | forms |", "|---|---|", *rows])


def _keys_of(action: KeyAction) -> str:
    return " ".join(_code(name) for name in key_names(action.keys).split())


def _list_of_commands() -> str:
    rows = [f"| `tapui {name}` | {_cell(about)} |" for name, about, _ in _commands_of(build())]
    return "\n".join(["| command | does |", "|---|---|", *rows])


def _commands() -> str:
    return "\n\n".join(
        part
        for name, _, parser in _commands_of(build())
        for part in _command(f"tapui {name}", parser)
    )


def _command(name: str, parser: CommandParser, level: int = 2) -> Iterator[str]:
    """Yield the parts of a command: heading, description, arguments; then its actions."""
    words = [name, *(_argument(one) for one in parser._actions if _is_positional(one))]
    yield f"{'#' * level} `{' '.join(words)}`"
    about, _, more = (parser.description or "").partition("\n\n")
    yield " ".join(about.split())
    if more:
        yield f"```text\n{more.rstrip()}\n```"
    rows = [
        f"| {_code(_option(one))} | {_cell(one.help or '')} |"
        for one in parser._actions
        if not isinstance(one, (argparse._HelpAction, argparse._SubParsersAction))
    ]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows])
    for action, _, below in _commands_of(parser):
        yield from _command(f"{name} {action}", below, level + 1)


def _commands_of(parser: CommandParser) -> Iterator[tuple[str, str, CommandParser]]:
    """Yield each command of a parser: its name, its line in the list, its own parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {one.dest: one.help or "" for one in action._choices_actions}
            for name, below in action.choices.items():
                yield name, about[name], below


def _is_positional(action: argparse.Action) -> bool:
    return not action.option_strings and not isinstance(action, argparse._SubParsersAction)


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _argument(action: argparse.Action) -> str:
    value = _value(action)
    return {"?": f"[{value}]", "*": f"[{value}…]", "+": f"{value}…"}.get(str(action.nargs), value)


def _option(action: argparse.Action) -> str:
    """Return an argument as it is typed."""
    if not action.option_strings:
        return _argument(action)
    name = action.option_strings[-1]
    return name if action.nargs == 0 else f"{name} {_argument(action)}"


def _settings() -> str:
    about = docstrings(Settings)
    rows = [
        f"| `{key.name}` | {_cell(json.dumps(key.default))} "
        f"| {_cell(f'{about[key.path]} {allowed(key)}'.strip())} |"
        for key in SETTINGS.values()
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
