"""`tapui config`: the settings in force and where each comes from."""

import argparse
import os

from tapui.cli import config, output
from tapui.cli.failure import Failure
from tapui.cli.starting import loaded
from tapui.tower import theme_files


def run(args: argparse.Namespace) -> int:
    """Print path, values and origins; raises `ConfigError`, and `Failure` for a broken theme."""
    found = loaded(args)
    if args.json:
        _print_json(found)
    else:
        _print_table(found)
    fault = theme_files.fault(theme_files.folders_of(found.path), found.settings.theme)
    if fault is not None:
        raise Failure(fault)
    return 0


def _print_json(found: config.Loaded) -> None:
    settings = [
        {
            "key": key.name,
            "value": found.values[key.path],
            "default": key.default,
            "origin": found.origins[key.path].kind,
            "where": output.path_text(found.origins[key.path].detail) or None,
            "variable": key.variable,
        }
        for key in config.KEYS.values()
    ]
    output.say_json(
        {
            "path": output.path_text(found.path),
            "exists": found.path.exists(),
            "colour": not os.environ.get("NO_COLOR"),
            "settings": settings,
        },
        indent=2,
    )


def _print_table(found: config.Loaded) -> None:
    output.say(
        f"{output.path_text(found.path)}{'' if found.path.exists() else '  (does not exist)'}"
    )
    output.say("")
    rows = [
        [key.name, output.json_text(found.values[key.path]), _where(found, key)]
        for key in config.KEYS.values()
    ]
    if os.environ.get("NO_COLOR"):
        rows.append(["colour", "false", "NO_COLOR"])
    output.table(["SETTING", "VALUE", "FROM"], rows)


def _where(found: config.Loaded, key: config.Key) -> str:
    origin = found.origins[key.path]
    if origin.kind == "default":
        return "default"
    if origin.kind == "file":
        return f"{found.path.name}:{origin.detail.rpartition(':')[2]}"
    return origin.detail
