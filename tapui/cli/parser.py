"""The arguments of every command. Nothing but argparse is imported here."""

import argparse
import difflib
import re
import textwrap
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from tapui import __version__
from tapui.text import safe_text

_WIDTH = 78
"""Columns of the help."""

_EXIT_CODES = """\
exit codes:
  0 done, 1 failed, 2 wrong use or no terminal, 3 no gateway, 130 interrupted"""

_ENVIRONMENT = """\
environment:
  TAPUI_HOME      one folder for configuration, state and tokens
  TAPUI_PORT, TAPUI_THEME, TAPUI_ATTACH, ...
                  a setting each (`tapui config` lists them)
  COPILOT_HOME    where Copilot CLI keeps its sessions (~/.copilot)
  NO_COLOR        no colour in any output"""


COMMANDS = (
    "serve",
    "stop",
    "copilot",
    "status",
    "call",
    "tail",
    "token",
    "next",
    "approve",
    "deny",
    "records",
    "search",
    "why",
    "replay",
    "config",
    "doctor",
    "completion",
    "demo",
)
SHELLS = ("bash", "zsh", "fish")
RECORD_ACTIONS = ("purge", "delete")
_NO_COMMAND = re.compile(r"argument (?P<what>COMMAND|ACTION): invalid choice: '(?P<word>[^']*)'")


class _Parser(argparse.ArgumentParser):
    """Errors in the commands' own form: one line, then where the help is."""

    def error(self, message: str) -> NoReturn:
        told = safe_text(_plain(message))
        self.exit(2, f"tapui: {told}\ntry: {self.prog} --help\n")


def _plain(message: str) -> str:
    """Return argparse's message; for a command that does not exist, one that names the nearest."""
    found = _NO_COMMAND.match(message)
    if found is None:
        return message
    known = COMMANDS if found["what"] == "COMMAND" else RECORD_ACTIONS
    near = difflib.get_close_matches(found["word"], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"there is no {found['what'].lower()} {found['word']}; {hint}"


if TYPE_CHECKING:
    _Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001 - has no other name


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port number, got {text!r}")
    return port


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got {text!r}")
    return count


def _moment(text: str) -> float:
    from tapui.cli.since import moment

    return moment(text)


def _add_port(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--port", type=_port, metavar="N", default=argparse.SUPPRESS, help=text)


def _add_attach(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--attach",
        type=_port,
        nargs="?",
        const=0,
        metavar="PORT",
        default=argparse.SUPPRESS,
        help="attach to the Copilot CLI on PORT; without PORT, to every session that is found",
    )
    choice.add_argument(
        "--no-attach",
        action="store_true",
        default=argparse.SUPPRESS,
        help="do not look for Copilot sessions",
    )


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse a command line; `command` is the name of the command's module.

    Ends the process for `--help`, and for wrong use.
    """
    args, unknown = build().parse_known_args(argv)
    if unknown:
        # Told by the command's own parser, as its help is the one to read.
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(args, unknown)}")
    return args


def _meant(args: argparse.Namespace, unknown: list[str]) -> str:
    """Name the option of the same command that an unknown one comes nearest to."""
    known = [option for action in args.parser._actions for option in action.option_strings]  # noqa: SLF001
    for word in unknown:
        option = word.partition("=")[0]
        if option.startswith("--") and (near := difflib.get_close_matches(option, known, n=1)):
            return f"; did you mean {near[0]}?"
    return ""


def build() -> _Parser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="tapui",
        description="The control tower for GitHub Copilot sessions.\n\n"
        "Without a command: the tower on this terminal, with the gateway in it, or as a\n"
        "second tower on the gateway that already runs.",
        epilog=f"{_ENVIRONMENT}\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tapui {__version__}")
    _add_attach(parser)
    _add_port(parser, "the gateway's port (9400); 0 takes a free one")
    parser.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the tower's theme"
    )
    parser.set_defaults(command="tower", parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_gateway_commands(commands)
    _add_client_commands(commands)
    _add_decisions(commands)
    _add_replay(commands)
    _add_local_commands(commands)
    return parser


def _add(commands: "_Commands", name: str, module: str, text: str, more: str = "") -> _Parser:
    described = textwrap.fill(text[0].upper() + text[1:] + ".", _WIDTH)
    parser = commands.add_parser(
        name,
        help=text,
        description=described + (f"\n\n{more}" if more else ""),
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=module, parser=parser)
    return parser


def _add_gateway_commands(commands: "_Commands") -> None:
    serve = _add(
        commands,
        "serve",
        "serve",
        "run the gateway without a screen",
        "It stays until `tapui stop`, SIGTERM or Ctrl-C. With --json it prints one line\n"
        "when it is ready:\n"
        '  {"event":"ready","url":...,"pid":...,"tokenFile":...,"internalTokenFile":...}',
    )
    _add_attach(serve)
    _add_port(serve, "the gateway's port (9400); 0 takes a free one")
    serve.add_argument("--json", action="store_true", help="print one line of JSON when ready")
    serve.add_argument(
        "--detach",
        action="store_true",
        help="run in the background; returns when the gateway is ready",
    )
    serve.add_argument(
        "--exit-when-idle",
        action="store_true",
        help="end 30 s after the last session ended",
    )
    stop = _add(commands, "stop", "stop", "end the running gateway")
    _add_port(stop, "the port of the gateway to end")
    copilot = _add(
        commands,
        "copilot",
        "copilot",
        "start Copilot CLI so that tapui can attach to it",
        "Runs `copilot --ui-server ARGS...` in this terminal. That port of Copilot CLI\n"
        "has no password: other users of this machine can reach it.\n"
        "`tapui copilot -- --help` shows Copilot's own help.",
    )
    copilot.add_argument("args", nargs="*", metavar="ARGS", help="passed on to copilot")


def _add_client_commands(commands: "_Commands") -> None:
    status = _add(
        commands,
        "status",
        "status",
        "show what waits for you, sessions, providers, calls and streams",
        "--line prints nothing for nothing to tell, and for no gateway (exit code 3).\n"
        "For tmux:  set -g status-right '#(tapui status --line)'",
    )
    _add_port(status, "the gateway's port")
    form = status.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the whole state as JSON")
    form.add_argument(
        "--line",
        action="store_true",
        help="print how many requests wait and calls failed, such as !2 ✗1; nothing for none",
    )
    form.add_argument(
        "--watch",
        action="store_true",
        help="go on, and print a plain line for each change (for pipes and screen readers)",
    )
    call = _add(
        commands,
        "call",
        "call",
        "call a tool and print its result as JSON",
        "Progress goes to stderr. Ctrl-C cancels the call.",
    )
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    call.add_argument("--session", metavar="ID", help="the session (the foreground one)")
    call.add_argument("--args", metavar="JSON", default="{}", help="the arguments, an object ({})")
    _add_port(call, "the gateway's port")
    tail = _add(
        commands,
        "tail",
        "tail",
        "print the last lines of an event stream",
        "The tower and `tapui status` list the streams.",
    )
    tail.add_argument(
        "stream", metavar="STREAM", help="stream@provider, or the stream's name alone"
    )
    tail.add_argument("--session", metavar="ID", help="the session, if several have the stream")
    tail.add_argument("--follow", action="store_true", help="go on with every line that is posted")
    tail.add_argument("--json", action="store_true", help="print a JSON object a line")
    _add_port(tail, "the gateway's port")

    token = _add(
        commands,
        "token",
        "token",
        "make a provider token that is good for one session",
        "For a process that others start, in its environment as TAP_PROVIDER_TOKEN.",
    )
    token.add_argument("--session", metavar="ID", required=True, help="the session")
    token.add_argument("--json", action="store_true", help="print session and token as JSON")
    _add_port(token, "the gateway's port")


def _add_decisions(commands: "_Commands") -> None:
    following = _add(
        commands,
        "next",
        "next",
        "show only what waits for you, the most urgent first; end when nothing does",
        "For a tmux popup:  bind a display-popup -E 'tapui next'",
    )
    _add_port(following, "the gateway's port")
    approve = _add(
        commands,
        "approve",
        "approve",
        "approve a request that waits for you",
        "Approving a pairing prints the code to enter on the web page.",
    )
    deny = _add(commands, "deny", "deny", "deny a request that waits for you")
    for parser in (approve, deny):
        parser.add_argument(
            "id", metavar="ID", help="the approval's id, or a beginning of it that fits only one"
        )
        _add_port(parser, "the gateway's port")


def _add_finding(commands: "_Commands") -> None:
    search = _add(
        commands,
        "search",
        "search",
        "find words in everything that was recorded",
        "Prompts, messages, calls with arguments and results, lines of streams,\n"
        "approvals, errors. All words must be there:\n"
        '  word  beginning*  "one after the other"  changed:FILE\n'
        "No gateway needs to run; what is not indexed yet is indexed first.",
    )
    search.add_argument("text", metavar="TEXT", nargs="+", help="what to look for")
    search.add_argument("--session", metavar="ID", help="only this session (all sessions)")
    search.add_argument("--last", type=_count, metavar="N", help="only the newest N (20)")
    why = _add(
        commands,
        "why",
        "why",
        "show which turn, prompt and diff changed a file, or a line of it",
        "With a line: the last change that touches it. Changes by commands are marked\n*probably*.",
    )
    why.add_argument("file", metavar="FILE[:LINE]", help="the file, as it is now")
    why.add_argument("--last", type=_count, metavar="N", help="only the newest N changes (5)")
    for parser in (search, why):
        parser.add_argument(
            "--since", type=_moment, metavar="TIME", help="only since then: 2h, 3d, 2026-11-20"
        )
        parser.add_argument("--json", action="store_true", help="print a JSON object a line")


def _add_replay(commands: "_Commands") -> None:
    replay = _add(
        commands,
        "replay",
        "replay",
        "go through what a session did, on the tower's screens",
        "Reads the files: no gateway needs to run, and nothing can be changed.\n"
        "Keys: < > an event, { } a turn, p plays, ( ) slower, faster, w goes to a time.",
    )
    replay.add_argument(
        "session",
        metavar="SESSION|DIR",
        nargs="?",
        help="the session, or a folder with records (the session that was recorded last)",
    )


def _add_local_commands(commands: "_Commands") -> None:
    records = _add(
        commands,
        "records",
        "records",
        "print what was recorded",
        "Reads the files: no gateway needs to run.",
    )
    records.add_argument("--session", metavar="ID", help="only this session's (all sessions)")
    records.add_argument(
        "--collection", metavar="NAME", help="only this collection, such as calls or approvals"
    )
    records.add_argument("--last", type=_count, metavar="N", help="only the newest N (20)")
    records.add_argument("--json", action="store_true", help="print the records as they are")
    actions = records.add_subparsers(title="removing", metavar="ACTION", parser_class=_Parser)
    purge = _add(
        actions,
        "purge",
        "records_removal",
        "remove the records of all sessions that have ended",
        "What is indexed of them goes, too. Sessions that tapui records now stay.",
    )
    purge.add_argument(
        "--before",
        type=_moment,
        metavar="TIME",
        help="only those that ended before: 30d, 2026-11-20",
    )
    delete = _add(
        actions,
        "delete",
        "records_removal",
        "remove the records of one session",
        "What is indexed of them goes, too.",
    )
    delete.add_argument(
        "session", metavar="SESSION", help="its id, or a beginning that fits only one"
    )
    for name, parser in (("purge", purge), ("delete", delete)):
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.set_defaults(action=name)
    _add_finding(commands)
    config = _add(
        commands,
        "config",
        "config_command",
        "print the settings in force and where each comes from",
    )
    shown = config.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print them as JSON")
    shown.add_argument(
        "--example",
        action="store_true",
        help="print a configuration file with every setting, its default and what it does",
    )
    doctor = _add(
        commands,
        "doctor",
        "doctor",
        "show versions, folders, logs, gateways and Copilot sessions",
        "No gateway needs to run; nothing is changed.",
    )
    doctor.add_argument("--json", action="store_true", help="print them as JSON")
    completion = _add(
        commands,
        "completion",
        "completion",
        "print what lets a shell complete commands and options",
        'bash:  eval "$(tapui completion bash)"      in ~/.bashrc\n'
        'zsh:   eval "$(tapui completion zsh)"       in ~/.zshrc, after compinit\n'
        "fish:  tapui completion fish | source       in ~/.config/fish/config.fish",
    )
    completion.add_argument("shell", choices=SHELLS, help="the shell")
    demo = _add(
        commands,
        "demo",
        "demo.command",
        "show the tower with three scripted sessions, which work, wait and fail",
        "It has a gateway, a folder and a port of its own, and attaches to nothing. Its\n"
        "stream “welcome” says how the other commands reach it.",
    )
    demo.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the tower's theme"
    )
