"""`tapui provider`: write a provider, run it, reload it on save, check it.

Each action imports its own: running a file waits for nothing that a lint needs.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands, add_arguments_of_a_call, add_port
from tapui.cli.failure import FAILED, WRONG_USE, Failure, silence
from tapui.invocation import command
from tapui.shipped import ARGUMENTS, SHIPPED
from tapui.text import few

if TYPE_CHECKING:
    from tapui.authoring.author_file import LoadedFile

LANGUAGES = ("python", "javascript", "browser")
_FILES = {
    "bash": "_shtab_compgen_files",
    "zsh": "_files",
    "fish": "(__fish_complete_path (commandline -ct))",
}
"""As `shtab.FILE`, which takes time to import."""
_OURS = "tapui "
_ELSEWHERE = "# in another terminal"
_NEXT = {
    "python": ("tapui provider dev {module}.py", f"tapui call greet name=Ada   {_ELSEWHERE}"),
    "template": (
        "tapui provider run test_{module}.py",
        "tapui provider dev {module}.py",
    ),
    "javascript": ("npm test", "npm start", f"tapui call greet name=Ada   {_ELSEWHERE}"),
    "browser": (
        "npm test",
        "npm run bundle",
        "npm start",
        "tapui call read_page   # once the page is connected",
    ),
}


def arguments(provider: CommandParser) -> None:
    provider.describe(
        "A provider is a file of yours with tools for live sessions:\n"
        "  tapui provider new greeter      makes a folder with one, and a test\n"
        "  tapui provider dev greeter.py   runs it, and takes over what you save",
    )
    actions = Commands(provider, is_required=True)
    new = actions.add("new", "make a folder with a provider that runs, and its test", run_new)
    new.add_argument("name", metavar="NAME", help="the provider's name, which the folder gets, too")
    new.add_argument(
        "--lang", choices=LANGUAGES, default="python", help="what it is written in (python)"
    )
    new.add_argument(
        "--template",
        metavar="PROVIDER",
        choices=("browser", *SHIPPED),
        help="a copy of a provider that ships (`provider add`), to change; browser: a web page",
    )
    add = actions.add(
        "add",
        "add a provider that ships to this folder's tap.config.json, and allow it",
        run_add,
        "\n".join(f"  {name:<14} {one.about}" for name, one in SHIPPED.items()),
    )
    add.add_argument("name", metavar="PROVIDER", choices=tuple(SHIPPED), help="which one")
    add.add_argument("--folder", metavar="DIR", help="the folder (this one)")
    add.add_argument("--yes", action="store_true", help="do not ask")
    _add_running(actions)
    _add_looking(actions)


def _add_file(parser: CommandParser, text: str = "the Python file with the provider") -> None:
    argument = parser.add_argument("file", metavar="FILE", help=text)
    argument.complete = _FILES  # type: ignore[attr-defined]  # what shtab looks for


def _add_prefix(parser: CommandParser) -> None:
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        default="",
        help="what stands in front of each tool's name, where another provider has the names",
    )


def _add_running(actions: Commands) -> None:
    run = actions.add(
        "run",
        "run a file with tapui's own Python",
        run_file,
        "Its provider is in the session of this folder, else in the one in front, until\n"
        "Ctrl-C. A file that calls `run()` itself, or that is a test, runs unchanged.\n"
        "ARGS are passed on to it, and so are the options, also behind FILE.",
    )
    run.add_argument("--session", metavar="ID", help="the session, by its id or label")
    add_port(run, "the gateway's port")
    _add_prefix(run)
    _add_file(run, "the Python file")
    run.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="passed on to the file")
    dev = actions.add(
        "dev",
        "run a file, and take over each save of it; show calls, errors and output",
        run_dev,
        "Its tools stay in the session meanwhile: a call under way ends in the program\n"
        "that it began in, new calls go to the new one. A file with an error changes\n"
        "nothing.",
    )
    _add_file(dev)
    dev.add_argument(
        "--session",
        metavar="ID",
        help="the session (the one of this folder, else the foreground one)",
    )
    add_port(dev, "the gateway's port")
    _add_prefix(dev)


def _add_looking(actions: Commands) -> None:
    listing = actions.add("list", "list the providers that are connected", run_list)
    add_port(listing, "the gateway's port")
    check = actions.add(
        "check",
        "find what a model would not understand: names, descriptions and schemas of tools",
        run_check,
        "For each: where, what is wrong, what mends it. The exit code is 1 if there is\nanything.",
    )
    _add_file(check)
    check.add_argument("--json", action="store_true", help="print a JSON object a line")
    check.add_argument("--all", action="store_true", help="each fault, however many")
    describe = actions.add("describe", "print what a provider offers, for people", run_describe)
    _add_file(describe)
    form = describe.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print it as a Markdown document")
    form.add_argument("--json", action="store_true", help="print it as JSON")
    describe.add_argument("--all", action="store_true", help="each tool, however many")
    call = actions.add(
        "call",
        "call a tool of a file and print its result as JSON, without a gateway",
        run_call,
    )
    _add_file(call)
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    add_arguments_of_a_call(call)
    mcp = actions.add(
        "mcp",
        "give the tools of a file to an MCP client, on standard input and output",
        run_mcp,
        "MCP clients start it; no gateway needs to run. It needs the extra `tapui[mcp]`.",
    )
    _add_file(mcp)


# The author's file


def _path_of(text: str) -> Path:
    """Return the path of an argument, absolute. Raises `Failure` where no Python file is there."""
    path = Path(text)
    if path.suffix == ".py" and path.is_file():
        return path.resolve()
    if path.is_dir():
        inside = sorted(one.name for one in path.glob("*.py") if not one.name.startswith("test_"))
        hint = f"; did you mean {path / inside[0]}?" if inside else ""
        raise Failure(f"{text} is a folder{hint}", WRONG_USE)
    if not path.exists():
        raise Failure(f"{text} is not there", WRONG_USE)
    raise Failure(f"{text} is no Python file; its name must end with .py", WRONG_USE)


@contextlib.contextmanager
def _load_errors() -> Iterator[None]:
    """Turn what is wrong with the author's file into a failure."""
    from tapui.authoring.author_file import LoadError

    try:
        yield
    except LoadError as error:
        raise Failure(str(error)) from None


def _load(text: str) -> "LoadedFile":
    """Load the file of an argument. Raises `Failure`."""
    from tapui.authoring.author_file import load

    path = _path_of(text)
    with _load_errors():
        return load(path)


# Actions


def run_new(args: argparse.Namespace) -> int:
    """Write the project, and print what to do next."""
    from tapui.authoring import projects

    try:
        if args.template == "browser":
            args.lang, args.template = "browser", None
        if args.template is not None and args.lang != "python":
            raise Failure("--template: providers that ship are written in Python", WRONG_USE)
        files = projects.make(args.name, args.template or args.lang, Path())
    except projects.ProjectError as error:
        raise Failure(str(error), WRONG_USE) from None
    for file in files:
        output.say(f"wrote {file}")
    module = projects.module_name(args.name)
    output.say("")
    output.say("next:")
    output.say(f"  cd {shlex.quote(args.name)}")
    for line in _NEXT["template" if args.template is not None else args.lang]:
        line = line.format(module=module)  # noqa: PLW2901 - filled in
        is_ours = line.startswith(_OURS)
        output.say(f"  {command(line.removeprefix(_OURS)) if is_ours else line}")
    return 0


def run_add(args: argparse.Namespace) -> int:
    """Write the entry, and keep the person's consent to exactly that."""
    from tapui.cli.context import folder_of, home
    from tapui.cli.person import need_person
    from tapui.consents.consents import Consented
    from tapui.consents.emitters import EmitterConsents
    from tapui.emitters.config.entries import ProviderEntry
    from tapui.emitters.config.reading import read
    from tapui.emitters.config.saving import SaveError, save_provider
    from tapui.files.foreign_file import reason

    folder, name = folder_of(args), args.name
    need_person(args, "add it in a terminal")
    if read(folder).provider(name) is not None:
        raise Failure(f"the file of {folder} has a provider {name} already")
    entry = ProviderEntry(name=name, command=sys.executable, args=(*ARGUMENTS, name))
    output.note(f"{name}: {SHIPPED[name].about}")
    output.note(f"  {shlex.join([entry.command, *entry.args])}")
    if not args.yes and not output.is_agreed(f"add it to tap.config.json in {folder}?"):
        return FAILED
    try:
        saved = save_provider(folder, entry)
        consents = EmitterConsents(home().state)
        written = saved.provider(name)
        assert written is not None, "it was saved"
        standing = consents.standing(saved, written)
        if not isinstance(standing, Consented):
            consents.allow(standing)
    except SaveError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"it is written, but not allowed: {reason(error)}") from None
    output.say(f"added {name} to {saved.path}: each session of the folder has it from now on")
    return 0


def run_list(args: argparse.Namespace) -> int:
    """Print the providers that are connected."""
    from tapui.cli import overview
    from tapui.cli.context import gateway
    from tapui.client.glance import glance

    rows = overview.provider_rows(glance(gateway(args), name="tapui provider list").state)
    if rows:
        output.table(overview.PROVIDER_TITLES, rows, margin="", is_cut=True)
    else:
        output.note("no provider is connected")
    return 0


def run_file(args: argparse.Namespace) -> int:
    from tapui.authoring.author_file import run

    path = _path_of(args.file)
    options = {
        "--session": args.session,
        "--port": getattr(args, "port", None),
        "--prefix": args.prefix or None,
    }
    given = [f"{name}={value}" for name, value in options.items() if value is not None]
    with _load_errors():
        # A `--` in front of the arguments is not one of them.
        run(path, [*given, *args.args[args.args[:1] == ["--"] :]])
    return 0


def run_dev(args: argparse.Namespace) -> int:
    """Serve the file until Ctrl-C, and take over each save."""
    from tapui.authoring.dev.loop import DevLoop
    from tapui.authoring.dev.printer import Printer
    from tapui.provider.gateway_finder import SESSION_VARIABLE, GatewayFinder

    path = _path_of(args.file)
    finder = GatewayFinder(os.environ, getattr(args, "port", None))
    loop = DevLoop(
        path,
        dial=finder.dial,
        token=finder.token,
        printer=Printer(path.name, _print_now, lambda: finder.port),
        prefix=args.prefix,
        session=args.session or os.environ.get(SESSION_VARIABLE),
    )

    async def until_interrupted() -> None:
        work = asyncio.ensure_future(loop.run())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        with contextlib.suppress(asyncio.CancelledError):  # the way in which it ends
            await work

    output.note(f"serving {args.file}; each save is taken over. Ctrl-C ends it")
    asyncio.run(until_interrupted())
    return 0


def _print_now(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)  # its reader has gone; the provider goes on


def run_check(args: argparse.Namespace) -> int:
    """Print what there is to mend; 1 if there is any."""
    from tapui.authoring.lint import LintFinding, findings
    from tapui.cli.context import loaded

    file = _load(args.file)
    most = loaded(args).settings.provider_tools
    found = asyncio.run(findings(file.provider.tools, most))
    if file.runs_at_import:
        problem = "it runs when it is imported, also by its tests"
        fix = 'put run() below: if __name__ == "__main__":'
        found.insert(0, LintFinding(file.path.name, problem, fix))
    shown, rest = (found, []) if args.json or args.all else few(found)
    for one in shown:
        if args.json:
            output.say_json(one._asdict())
        else:
            output.say(f"{one.path}: {one.problem}")
            output.say(f"    {one.fix}")
    for more in rest:
        output.say(f"{more}: --all")
    if not args.json and not found:
        count = len(file.provider.tools)
        output.say(f"{file.provider.name}: {count} {'tool' if count == 1 else 'tools'}, all fine")
    return FAILED if found else 0


def run_describe(args: argparse.Namespace) -> int:
    from tapui.authoring import description

    provider = _load(args.file).provider
    if args.json:
        output.say_json({"name": provider.name, "tools": provider.tools}, indent=2)
        return 0
    if args.markdown:
        lines = description.as_markdown(provider.name, provider.tools)
    else:
        lines = description.as_text(provider.name, provider.tools, is_all=args.all)
    for line in lines:
        output.say(line)
    return 0


def run_call(args: argparse.Namespace) -> int:
    """Call the tool; its result goes to stdout as JSON, all else to stderr."""
    from tapui.cli.tool_call import GivenArguments, call_here, object_of

    given = GivenArguments(object_of(args.args), tuple(args.values))
    provider = _load(args.file).provider
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    return call_here(provider, args.tool, given)


def run_mcp(args: argparse.Namespace) -> int:
    """Serve the client on standard input and output until it closes them."""
    from tapui.hosts.mcp import package

    if (fault := package.fault()) is not None:
        raise Failure(f"{fault}: {package.install_line()}")
    path = _path_of(args.file)
    from tapui.authoring import mcp_server

    if sys.stdin.isatty():
        output.note("this is a server for MCP clients, which start it themselves; Ctrl-C ends it")
    with _load_errors():
        mcp_server.run(path)
    return 0
