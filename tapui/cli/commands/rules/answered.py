"""`tapui rules list`: the rules, and what each answered."""

import argparse
import time
from typing import TYPE_CHECKING, Any

from tapui.cli import output
from tapui.cli.context import loaded
from tapui.cli.failure import Failure
from tapui.cli.journals import open_index
from tapui.text import safe_text

if TYPE_CHECKING:
    from tapui.policies.rules import PolicyRule


def run(args: argparse.Namespace) -> int:
    """Print the rules, what they answered, and what speaks against them."""
    from tapui.index.search import rule_answers
    from tapui.policies.suggestions import is_written_wider
    from tapui.settings.rule_files import RuleFiles
    from tapui.station.suggestions import DAY, DAYS

    rules = RuleFiles(loaded(args).path).read()
    with open_index() as search:
        answers = rule_answers(search)
    idle = time.time() - DAYS * DAY
    rows = []
    for rule in rules.rules:
        count, last = answers.get((rule.effect, rule.pattern), (0, 0.0))
        notes = [] if last >= idle else [f"nothing in {DAYS} days"]
        if is_written_wider(rule):
            notes.append("r would write it exactly today: what follows it is not known harmless")
        rows.append((rule, count, last, "; ".join(notes)))
    if args.json:
        for rule, count, last, note in rows:
            output.say_json(
                _as_json(rule) | {"answered": count, "last": last or None, "note": note}
            )
    elif rows:
        titles = ("RULE", "KIND", "PATTERN", "IN", "ANSWERED", "LAST", "")
        table = [
            (*_cells(rule), f"{count:,}", _day(last), note) for rule, count, last, note in rows
        ]
        output.table(titles, table, margin="", numbers=(4,))
    else:
        output.note("there are no rules: r in a request makes one, and so does tapui rules suggest")
    if rules.faults:
        raise Failure("\n".join(safe_text(str(fault)) for fault in rules.faults))
    return 0


def _cells(rule: "PolicyRule") -> tuple[str, str, str, str]:
    pattern = rule.pattern + (" (exact)" if rule.is_exact else "")
    return rule.effect, rule.kind, pattern, output.path_text(rule.folder or "everywhere")


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds)) if seconds else "never"


def _as_json(rule: "PolicyRule") -> dict[str, Any]:
    return {
        "effect": rule.effect,
        "kind": rule.kind,
        "pattern": safe_text(rule.pattern),
        "exact": rule.is_exact,
        "folder": output.path_text(rule.folder or "") or None,
        "source": rule.source,
        "where": output.path_text(rule.place),
    }
