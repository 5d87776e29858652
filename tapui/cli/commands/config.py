"""`tapui config`: the settings in force and where each comes from."""

import argparse
import os
from pathlib import Path

from tapui.cli import output
from tapui.cli.arguments import CommandParser
from tapui.cli.context import loaded, other_settings
from tapui.cli.failure import Failure
from tapui.policies.rule_reader import RuleFile
from tapui.policies.rules import PolicyRule
from tapui.settings import loading
from tapui.settings.rule_files import RuleFiles
from tapui.text import safe_text
from tapui.tower.themes import theme_files

COMMANDS = """
240 config: print the settings in force and where each comes from
"""


def arguments(config: CommandParser) -> None:
    config.runs(run)
    form = config.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print them as JSON")
    form.add_argument(
        "--example",
        action="store_true",
        help="print a configuration file with every setting, its default and what it does",
    )


def run(args: argparse.Namespace) -> int:
    """Print path, values and origins, or an example with every setting.

    Raises `ConfigError`, and `Failure` for a broken theme.
    """
    if args.example:
        output.say(example_text().rstrip("\n"), newlines=True)
        return 0
    found = loaded(args)
    rules = _rules(found)
    if args.json:
        _print_json(found, rules)
    else:
        _print_table(found, rules)
    for told, line in other_settings(found):
        output.note(f"{told}; apply these with {line}")
    if faults := [*found.faults, *(safe_text(str(one)) for one in rules.faults)]:
        raise Failure("\n".join(faults))
    fault = theme_files.fault(theme_files.folders_of(found.path), found.settings.theme)
    if fault is not None:
        raise Failure(fault)
    return 0


def example_text() -> str:
    from tapui.settings.example import example
    from tapui.tower.keys.key_table import TABLE
    from tapui.tower.keys.names import written_keys

    return example((one.id, written_keys(one.keys), one.does) for one in TABLE)


def _rules(found: loading.Loaded) -> RuleFile:
    """Return the rules in force here, those of this folder's files too, and their faults."""
    files = RuleFiles(found.path)
    read = files.read()
    here = files.folder(str(Path.cwd()))
    return RuleFile([*read.rules, *here.rules], [*read.faults, *files.look().faults])


def _rule_row(rule: PolicyRule) -> list[str]:
    pattern = safe_text(rule.pattern) + (" (exact)" if rule.is_exact else "")
    where = output.path_text(rule.place)
    place = f"{where} (managed)" if rule.source == "managed" else where
    return [rule.effect, rule.kind, pattern, output.path_text(rule.folder or "everywhere"), place]


def _print_json(found: loading.Loaded, rules: RuleFile) -> None:
    settings = [
        {
            "key": setting.name,
            "value": found.values[setting.path],
            "default": setting.default,
            "origin": found.origins[setting.path].kind,
            "where": output.path_text(found.origins[setting.path].detail) or None,
            "overridden": [
                {"origin": one.kind, "where": output.path_text(one.detail)}
                for one in found.overridden.get(setting.path, ())
            ],
            "variable": setting.variable,
        }
        for setting in loading.SETTINGS.values()
    ]
    output.say_json(
        {
            "path": output.path_text(found.path),
            "exists": found.path.exists(),
            "colour": not os.environ.get("NO_COLOR"),
            "settings": settings,
            "faults": list(found.faults),
            "rules": [
                {
                    "effect": one.effect,
                    "kind": one.kind,
                    "pattern": safe_text(one.pattern),
                    "exact": one.is_exact,
                    "folder": output.path_text(one.folder or "") or None,
                    "source": one.source,
                    "where": output.path_text(one.place),
                }
                for one in rules.rules
            ],
            "ruleFaults": [safe_text(str(one)) for one in rules.faults],
            "themes": theme_files.names(theme_files.folders_of(found.path)),
        },
        indent=2,
    )


def _print_table(found: loading.Loaded, rules: RuleFile) -> None:
    output.say(
        f"{output.path_text(found.path)}{'' if found.path.exists() else '  (does not exist)'}"
    )
    output.say("")
    rows = [
        [setting.name, output.json_text(found.values[setting.path]), _where(found, setting)]
        for setting in loading.SETTINGS.values()
    ]
    for name, key in found.settings.keys.items():
        rows.append([f"keys.{name}", output.json_text(key), found.path.name])
    if os.environ.get("NO_COLOR"):
        rows.append(["colour", "false", "NO_COLOR"])
    output.table(["SETTING", "VALUE", "FROM"], rows)
    names = theme_files.names(theme_files.folders_of(found.path))
    if rules.rules:
        output.say("")
        titles = ["RULE", "KIND", "PATTERN", "IN", "FROM"]
        output.table(titles, [_rule_row(one) for one in rules.rules])
    output.say("")
    output.say(f"themes: {', '.join(names) or 'none'}")


def _where(found: loading.Loaded, setting: loading.Setting) -> str:
    place = _place(found, found.origins[setting.path])
    others = [_place(found, one) for one in reversed(found.overridden.get(setting.path, []))]
    return f"{place}, before {' and '.join(others)}" if others else place


def _place(found: loading.Loaded, origin: loading.Origin) -> str:
    if origin.kind == "file":
        return f"{found.path.name}:{origin.detail.rpartition(':')[2]}"
    if origin.kind == "managed":
        return f"{origin.detail} (managed)"
    return origin.detail or origin.kind
