"""`tapui config`: the settings in force and where each comes from."""

import argparse
import os

from tapui.cli import config, output
from tapui.cli.failure import Failure
from tapui.cli.starting import loaded
from tapui.tower import theme_files


def run(args: argparse.Namespace) -> int:
    """Print path, values and origins, or an example with every setting.

    Raises `ConfigError`, and `Failure` for a broken theme.
    """
    if args.example:
        from tapui.cli.config_example import example

        output.say(example().rstrip("\n"), newlines=True)
        return 0
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
            "overridden": [
                {"origin": one.kind, "where": output.path_text(one.detail)}
                for one in found.overridden.get(key.path, ())
            ],
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
            "themes": theme_files.names(theme_files.folders_of(found.path)),
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
    for name, key in found.settings.keys.items():
        rows.append([f"keys.{name}", output.json_text(key), found.path.name])
    if os.environ.get("NO_COLOR"):
        rows.append(["colour", "false", "NO_COLOR"])
    output.table(["SETTING", "VALUE", "FROM"], rows)
    names = theme_files.names(theme_files.folders_of(found.path))
    output.say("")
    output.say(f"themes: {', '.join(names) or 'none'}")


def _where(found: config.Loaded, key: config.Key) -> str:
    place = _place(found, found.origins[key.path])
    others = [_place(found, one) for one in reversed(found.overridden.get(key.path, []))]
    return f"{place}, before {' and '.join(others)}" if others else place


def _place(found: config.Loaded, origin: config.Origin) -> str:
    if origin.kind == "file":
        return f"{found.path.name}:{origin.detail.rpartition(':')[2]}"
    return origin.detail or origin.kind
