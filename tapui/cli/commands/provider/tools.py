"""`tapui tools`: the tool files of a folder's `tools/`. Each action imports its own."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands, add_arguments_of_a_call, add_port
from tapui.cli.failure import FAILED, WRONG_USE, Failure, silence

if TYPE_CHECKING:
    from tapui.consents.consents import Proposal
    from tapui.core.emitters.plans import EmitterPlan
    from tapui.folder_tools.reading import DeclaredTools

_FOLDER = "tools"
_MOST_CALLS = 3


def arguments(tools: CommandParser) -> None:
    tools.runs(
        run_list,
        "tapui tools [DIR] ACTION: DIR is the folder that holds tools/, or tools/ itself;\n"
        "without it, this folder. Each file there with a SCHEMA and an execute function\n"
        "is a tool of the folder's sessions, once you allowed the files. A change is\n"
        "asked about again, and the tools of before go on meanwhile.",
    )
    tools.set_defaults(folder=None, json=False)
    actions = Commands(tools)
    every = {
        "list": actions.add("list", "list the tools (also without an action)", run_list),
        "check": actions.add(
            "check",
            "find what is wrong with the files; 1 where a file is left out",
            run_check,
            "Files that you have allowed are imported as well, others only read.",
        ),
        "call": actions.add(
            "call", "call a tool and print its result, without a gateway", run_call
        ),
        "run": actions.add("run", "serve the tools in a session until Ctrl-C", run_serve),
        "dev": actions.add(
            "dev",
            "serve them, and take over each save; show calls, errors and output",
            run_dev,
            "A call under way ends in the program that it began in. A save during a call of\n"
            "an agent's own tools in this folder is asked about first.",
        ),
    }
    tools.implied = partial(_with_folder, every.keys())
    for name, parser in every.items():
        parser.add_argument("--folder", metavar="DIR", help="the folder (this one)")
        if name in ("list", "check"):
            parser.add_argument("--json", action="store_true", help="print a JSON object a line")
        else:
            parser.add_argument("--yes", action="store_true", help="allow the files unasked")
        if name in ("run", "dev"):
            which = "the session (the one of this folder, else the foreground one)"
            parser.add_argument("--session", metavar="ID", help=which)
            add_port(parser, "the gateway's port")
            text = "what stands in front of each tool's name"
            parser.add_argument("--prefix", metavar="TEXT", default="", help=text)
    every["call"].add_argument("tool", metavar="NAME", help="the tool's name")
    add_arguments_of_a_call(every["call"])


def _with_folder(actions: Iterable[str], words: list[str]) -> list[str]:
    """Put a folder that stands before the action behind it."""
    if not words or words[0].startswith("-") or words[0] in actions:
        return words
    folder, *rest = words
    action = rest[:1] if rest and rest[0] in actions else ["list"]
    others = rest[1:] if action == rest[:1] else rest
    return [*action, "--folder", folder, *others]


def _folder(args: argparse.Namespace) -> str:
    """Return the folder that holds `tools/`, without links. Raises `Failure`."""
    given = Path(args.folder or ".").resolve()
    if not (given / _FOLDER).is_dir() and given.name == _FOLDER and given.is_dir():
        given = given.parent
    if not (given / _FOLDER).is_dir():
        raise Failure(f"{given} has no folder {_FOLDER}/", WRONG_USE)
    return str(given)


# Reading


def _read(folder: str) -> "DeclaredTools":
    from tapui.folder_tools.reading import DeclaredTools, read_folder

    return read_folder(folder) or DeclaredTools()


def run_list(args: argparse.Namespace) -> int:
    """Print the tools, and whether they are allowed."""
    folder = _folder(args)
    found = _read(folder)
    waits = _proposal(folder) is not None if found.tools else False
    for one in found.tools:
        about = str((one.schema or {}).get("description") or "known once it is imported")
        if args.json:
            output.say_json(
                {"name": one.name, "file": one.path, "line": one.line, "schema": one.schema}
                | {"isAllowed": not waits}
            )
        else:
            output.say(f"{one.name}  {about.partition(chr(10))[0]}{_hint(one.schema)}")
    bad = [fault for fault in found.faults if fault.is_error]
    for fault in bad:
        output.note(str(fault))
    if waits:
        output.note("not allowed yet: tapui emitters allow tools, or in the tower")
    if not found.tools and not bad:
        output.note(f"no file of {folder}/{_FOLDER} has a SCHEMA and an execute function")
    return 0


def _hint(schema: dict[str, Any] | None) -> str:
    """Return what a file says of itself, and tapui does not check."""
    annotations = (schema or {}).get("annotations")
    is_reader = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
    return "  (says that it only reads)" if is_reader else ""


def run_check(args: argparse.Namespace) -> int:
    """Print what is wrong; 1 where a file is left out."""
    folder = _folder(args)
    read = _read(folder)
    found = list(read.faults)
    if read.tools and _proposal(folder) is None:
        from tapui.shipped.tools import load

        with contextlib.redirect_stdout(sys.stderr):
            known = set(found)
            found += [one for one in load(folder).faults if one not in known]
    for one in found:
        if args.json:
            output.say_json({"file": one.path, "line": one.line, "text": one.text}
                | {"isError": one.is_error})  # fmt: skip
        else:
            output.say(f"{one}" if one.is_error else f"{one} (a hint)")
    if not found and not args.json:
        count = len(read.tools)
        output.say(f"{count} {'tool' if count == 1 else 'tools'}, all fine")
    return FAILED if any(one.is_error for one in found) else 0


# Consent


def _proposal(folder: str) -> "Proposal[EmitterPlan] | None":
    """Return what is to be allowed of a folder's tools; None where they are. Raises `Failure`."""
    from tapui.cli.context import home
    from tapui.consents.consents import Consented
    from tapui.consents.emitters import EmitterConsents
    from tapui.core.emitters.plans import FOLDER_TOOLS
    from tapui.emitters.config.reading import read
    from tapui.files.foreign_file import reason

    configuration = read(folder)
    entry = configuration.provider(FOLDER_TOOLS)
    if entry is None or not entry.is_folder_tools:
        told = [str(one) for one in configuration.problems if one.is_error]
        text = f"{folder}/{_FOLDER} has no tools"
        raise Failure("\n".join([text, *told[:5]]))
    try:
        standing = EmitterConsents(home().state).standing(configuration, entry)
    except OSError as error:
        raise Failure(reason(error)) from None
    return None if isinstance(standing, Consented) else standing


def _need_consent(args: argparse.Namespace, folder: str) -> None:
    """Ask the person whether the files may run, unless they have allowed them. Raises `Failure`."""
    waits = _proposal(folder)
    if waits is None:
        return
    from tapui.cli.context import home
    from tapui.cli.person import need_person
    from tapui.consents.emitters import EmitterConsents
    from tapui.files.foreign_file import reason

    need_person(args)
    for name, _ in waits.files:
        output.note(f"  {name}")
    for text in waits.uncovered:
        output.note(f"  not covered: {text}")
    if waits.why:
        output.note(f"  since they were allowed: {waits.why}")
    if not args.yes and not output.is_agreed(f"allow the files of {folder}/{_FOLDER} to run?"):
        raise Failure("nothing was run")
    try:
        EmitterConsents(home().state).allow(waits)
    except OSError as error:
        raise Failure(f"the consent cannot be kept: {reason(error)}") from None


# Running


def run_call(args: argparse.Namespace) -> int:
    """Call the tool; its result goes to stdout as JSON, all else to stderr."""
    from tapui.cli.context import home
    from tapui.cli.tool_call import GivenArguments, call_here, object_of
    from tapui.shipped.tools import ConsentedFiles, load

    given = GivenArguments(object_of(args.args), tuple(args.values))
    folder = _folder(args)
    _need_consent(args, folder)
    os.chdir(folder)
    with contextlib.redirect_stdout(sys.stderr):
        provider = load(folder, ConsentedFiles(home().state)).provider
    return call_here(provider, args.tool, given)


def run_serve(args: argparse.Namespace) -> int:
    """Serve the tools until Ctrl-C, as the provider that a session of the folder has."""
    from tapui.shipped import tools

    folder = _folder(args)
    _need_consent(args, folder)
    os.chdir(folder)
    sys.argv[0] = "tapui tools run"  # it is no file that a session could start
    words = ["--session", args.session] if args.session else []
    if (port := getattr(args, "port", None)) is not None:
        words += ["--port", str(port)]
    return tools.run([*words, "--prefix", args.prefix] if args.prefix else words)


def run_dev(args: argparse.Namespace) -> int:
    """Serve the tools until Ctrl-C, and take over each save."""
    from tapui.authoring.dev.loop import DevLoop
    from tapui.authoring.dev.printer import Printer
    from tapui.cli.person import need_person
    from tapui.provider.gateway_finder import SESSION_VARIABLE, GatewayFinder

    folder = _folder(args)
    need_person(args, "serve them in a terminal")
    _need_consent(args, folder)
    os.chdir(folder)  # their session is the one of this folder
    finder = GatewayFinder(os.environ, getattr(args, "port", None))
    loop = DevLoop(
        Path(folder, _FOLDER),
        dial=finder.dial,
        token=finder.token,
        printer=Printer(f"{_FOLDER}/", _print_now, lambda: finder.port),
        prefix=args.prefix,
        session=args.session or os.environ.get(SESSION_VARIABLE),
        may_take=partial(_may_take, args, Path(folder, _FOLDER)),
    )

    async def until_interrupted() -> None:
        work = asyncio.ensure_future(loop.run())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        with contextlib.suppress(asyncio.CancelledError):  # the way in which it ends
            await work

    output.note(f"serving {folder}/{_FOLDER}; each save is taken over. Ctrl-C ends it")
    asyncio.run(until_interrupted())
    return 0


async def _may_take(args: argparse.Namespace, folder: Path) -> bool:
    """Ask the person about a save that an agent may have made."""
    from tapui.authoring.dev.agent_saves import agents_calls
    from tapui.cli.context import gateway

    try:
        calls = await agents_calls(partial(gateway, args), folder)
    except Failure as error:  # which gateway it is does not show
        calls = [str(error)]
    if not calls:
        return True
    for text in calls[:_MOST_CALLS]:
        output.note(f"held: saved during a call of an agent's: {text}")
    try:
        return await asyncio.to_thread(output.is_agreed, "serve what was saved?")
    except Failure:
        output.note("the tools of before go on; save once more to be asked again")
        return False


def _print_now(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)  # its reader has gone; the provider goes on
