"""`tapui rules suggest`: rules that the person's own answers suggest."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from tapui.cli import output
from tapui.cli.context import home, loaded
from tapui.cli.failure import Failure
from tapui.cli.journals import open_index
from tapui.text import safe_text

if TYPE_CHECKING:
    from tapui.policies.suggestions import SuggestedRules

_SHOWN = 5
"""Requests that a preview on a terminal names."""


def run(args: argparse.Namespace) -> int:
    """Print suggestions; on a terminal the person takes or refuses each by a key."""
    from tapui.station.suggestions import suggestions

    path = loaded(args).path
    if not args.json:
        output.heading("From what you answered:")
        output.flush()
    with open_index() as search:
        found = suggestions(search, home().state, path, args.since)
    if args.json:
        for suggestion in found:
            output.say_json(_suggestion_json(suggestion))
        return 0
    if not found:
        output.note("nothing: no request was allowed three times that a rule may answer")
    is_asked = sys.stdin.isatty() and sys.stdout.isatty()
    for suggestion in found:
        output.say("")
        for line in (*suggestion.lines(), *_preview(suggestion)):
            output.say(line)
        if not is_asked:
            output.say(suggestion.as_toml().rstrip("\n"), newlines=True)
        elif not _answered(args, suggestion):
            break
    return 0


def _preview(suggestion: "SuggestedRules") -> list[str]:
    shown = [f"    {times:>4}×  {text}" for text, times in suggestion.requests[:_SHOWN]]
    more = len(suggestion.requests) - _SHOWN
    return [*shown, f"          and {more:,} more"] if more > 0 else shown


def _answered(args: argparse.Namespace, suggestion: "SuggestedRules") -> bool:
    """Ask what becomes of a suggestion, and do it; return whether to go on."""
    from tapui.cli.person import need_person
    from tapui.settings.toml_file import keep_rules
    from tapui.station.suggestions import refuse

    sys.stdout.write("take it? [y]es, [n]ever again, Enter: not now, [q]uit ")
    sys.stdout.flush()
    key = sys.stdin.readline().strip().lower()[:1]
    if key == "y":
        need_person(args, "take it in the tower or in a terminal")
        path = loaded(args).path
        if fault := keep_rules(path, suggestion.as_toml()):
            raise Failure(fault)
        output.say(f"written to {output.path_text(path)}")
    elif key == "n":
        try:
            refuse(home().state, suggestion.key)
        except OSError as error:
            raise Failure(f"it will be shown again: {error}") from None
    return key != "q"


def _suggestion_json(suggestion: "SuggestedRules") -> dict[str, Any]:
    return {
        "rules": list(suggestion.patterns),
        "folders": [output.path_text(folder) for folder in suggestion.folders],
        "allowed": suggestion.allowed,
        "answers": suggestion.answers,
        "lookedAt": suggestion.looked_at,
        "requests": [
            {"text": safe_text(text), "times": times} for text, times in suggestion.requests
        ],
        "toml": suggestion.as_toml(),
    }
