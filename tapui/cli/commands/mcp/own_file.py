"""`tapui mcp add` and `remove`: the person's `mcp.json`."""

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

from tapui.cli import output
from tapui.cli.commands.mcp.table import note_package
from tapui.cli.context import folder_of, home
from tapui.cli.failure import WRONG_USE, Failure
from tapui.cli.person import need_person
from tapui.consents.mcp_servers import ServerConsents
from tapui.consents.unpinned import unpinned
from tapui.emitters.runner.environment import deciding
from tapui.invocation import command
from tapui.mcp_servers.config.entries import TemplateError, template
from tapui.mcp_servers.config.reading import (
    OwnFileError,
    add_server,
    is_name,
    is_secret,
    own_file,
    read_own,
    remove_server,
)
from tapui.mcp_servers.pins import forget_pins
from tapui.text import safe_text


def add(args: argparse.Namespace) -> int:
    """Add a server: from then on it starts with sessions, so only the person may."""
    need_person(args, "add it in a terminal")
    entry = _entry(args)
    folders = home()
    try:
        path = add_server(folders, args.name, entry)
    except OwnFileError as error:
        raise Failure(f"{output.path_text(own_file(folders))}: {error}") from None
    if args.json:
        output.say_json({"name": args.name, "file": output.path_text(path)})
    else:
        output.say(f"added {args.name} to {output.path_text(path)}")
    if package := unpinned(entry.get("command", ""), entry.get("args", [])):
        output.note(
            f"{package} is fetched without a fixed version: name one, so that it stays the same"
        )
    if fault := _no_program(entry):
        output.note(fault)
    for line in deciding(entry.get("env", {})):
        output.note(line)
    note_package()
    output.note(
        "it starts with every session of Copilot, and with the built-in session local while there"
        f" is no other; try it: {command(f'mcp test {args.name}')}"
    )
    return 0


def _no_program(entry: dict[str, Any]) -> str | None:
    """Return that a program is not there, as far as that can be seen now."""
    program = entry.get("command")
    if program is None or not template(program).is_literal:
        return None
    env = entry.get("env", {})
    where = env.get("PATH", os.environ.get("PATH"))
    base = Path(entry.get("cwd") or Path.home())
    if "/" in program:
        is_there = os.access(base / Path(program).expanduser(), os.X_OK)
    else:
        is_there = not template(where or "").is_literal or bool(shutil.which(program, path=where))
    if is_there:
        return None
    return (
        f"there is no program {safe_text(program)} here: the server cannot start before it is"
        " installed; write its whole path if it is not on PATH"
    )


def _entry(args: argparse.Namespace) -> dict[str, Any]:
    """Return the entry that is written. Raises `Failure`."""
    if not is_name(args.name):
        raise Failure("a name has letters, digits, '.', '_' and '-'", WRONG_USE)
    words = args.foreign
    if bool(words) == bool(args.url):
        raise Failure("name a program behind --, or an address with --url", WRONG_USE)
    if args.url and (args.env or args.cwd):
        raise Failure("--env and --cwd are of a program, not of an address", WRONG_USE)
    if words and args.header:
        raise Failure("--header is of an address, not of a program", WRONG_USE)
    entry: dict[str, Any]
    if args.url:
        if not args.url.lower().startswith(("http://", "https://")):
            raise Failure("--url begins with http:// or https://", WRONG_USE)
        entry = {"type": "http", "url": args.url}
    else:
        entry = {"command": words[0], "args": words[1:]}
    for option, key, given in (("--env", "env", args.env), ("--header", "headers", args.header)):
        if given:
            entry[key] = dict(_pair(option, one) for one in given)
    if args.cwd:
        entry["cwd"] = str(Path(args.cwd).absolute())
    else:
        _check_places(words)
    for text in (args.url or "", *words):
        _is_literal(text)  # raises for a wrong place
    return entry


def _pair(option: str, given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise Failure(f"{option} is NAME=VALUE", WRONG_USE)
    if _is_literal(value) and is_secret(name) and value:
        raise Failure(
            f"{option} {name} holds a secret, which is not written in clear: put it into a "
            f"variable and write '{name}=${{env:NAME}}', or into a file and write "
            f"'{name}=${{file:PATH}}'",
            WRONG_USE,
        )
    return name, value


def _check_places(words: list[str]) -> None:
    """Refuse a file of this folder that the program would look for in the person's home."""
    for word in words:
        here = Path(word)
        if not here.is_absolute() and here.is_file() and not (Path.home() / here).exists():
            text = safe_text(word)
            raise Failure(
                f"the program runs in your home, where there is no {text}: write the whole path of "
                f"{text}, or add --cwd .",
                WRONG_USE,
            )


def _is_literal(text: str) -> bool:
    """Return whether a value has no places. Raises `Failure` for a place that is wrong."""
    try:
        return template(text).is_literal
    except TemplateError as error:
        raise Failure(str(error), WRONG_USE) from None


def remove(args: argparse.Namespace) -> int:
    folders = home()
    if any(one.name == args.name for one in read_own(folders).entries):
        try:
            path = remove_server(folders, args.name)
        except OwnFileError as error:
            raise Failure(f"{output.path_text(own_file(folders))}: {error}") from None
        forget_pins(folders.state, args.name, None)
        return _said(args, f"removed {args.name} from {output.path_text(path)}")
    folder = folder_of(args)
    forget_pins(folders.state, args.name, folder)
    if ServerConsents(folders.state).revoke(folder, args.name):
        return _said(args, f"{args.name} in {output.path_text(folder)} is not allowed any more")
    raise Failure(f"there is no server {args.name} of yours, and none that is allowed in {folder}")


def _said(args: argparse.Namespace, text: str) -> int:
    if args.json:
        output.say_json({"name": args.name, "removed": True})
    else:
        output.say(text)
    return 0
