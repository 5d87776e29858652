"""The arguments of every command. Nothing but argparse is imported here."""

import argparse
import difflib
from typing import TYPE_CHECKING

from tapui import __version__
from tapui.cli.arguments import (
    EXIT_CODES,
    CommandParser,
    add_arguments_of_a_call,
    add_attach,
    add_command,
    add_port,
)
from tapui.cli.commands.help import add_help
from tapui.cli.door_parser import add_doors
from tapui.cli.emitters_parser import add_emitters
from tapui.cli.mcp_parser import BEHIND, add_mcp, server_command
from tapui.cli.provider_parser import add_provider
from tapui.cli.records_parser import add_finding, add_records, add_replay
from tapui.cli.session_parser import add_run, add_sessions, add_steering

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands

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
    "send",
    "stop-turn",
    "sessions",
    "run",
    "emitters",
    "provider",
    "mcp",
    "next",
    "approve",
    "deny",
    "records",
    "search",
    "why",
    "why-allowed",
    "usage",
    "replay",
    "config",
    "install",
    "uninstall",
    "mcp-door",
    "doctor",
    "completion",
    "demo",
    "help",
)
SHELLS = ("bash", "zsh", "fish")


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse a command line; `command` is the name of the command's module.

    Ends the process for `--help`, and for wrong use.
    """
    argv, behind = server_command(argv)
    args, unknown = build().parse_known_args(argv)
    setattr(args, BEHIND, behind)
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


def build() -> CommandParser:
    """Return the parser of the whole command line."""
    parser = CommandParser(
        prog="tapui",
        description="The control tower for GitHub Copilot sessions.\n\n"
        "Without a command: the tower on this terminal, with the gateway in it, or as a\n"
        "second tower on the gateway that already runs.",
        epilog=f"{_ENVIRONMENT}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tapui {__version__}")
    add_attach(parser)
    add_port(parser, "the gateway's port (9400); 0 takes a free one")
    parser.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the tower's theme"
    )
    parser.set_defaults(command="tower", parser=parser)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=CommandParser
    )
    _add_gateway_commands(commands)
    _add_client_commands(commands)
    add_steering(commands)
    add_sessions(commands)
    add_run(commands)
    add_emitters(commands)
    add_provider(commands)
    add_mcp(commands)
    _add_decisions(commands)
    add_records(commands)
    add_finding(commands)
    add_replay(commands)
    _add_local_commands(commands)
    add_help(commands)
    return parser


def _add_gateway_commands(commands: "Commands") -> None:
    serve = add_command(
        commands,
        "serve",
        "commands.serve",
        "run the gateway without a screen",
        "It stays until `tapui stop`, SIGTERM or Ctrl-C. With --json it prints one line\n"
        "when it is ready:\n"
        '  {"event":"ready","url":...,"pid":...,"tokenFile":...,"internalTokenFile":...}',
    )
    add_attach(serve)
    add_port(serve, "the gateway's port (9400); 0 takes a free one")
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
    stop = add_command(commands, "stop", "commands.stop", "end the running gateway")
    add_port(stop, "the port of the gateway to end")
    stop.add_argument("--yes", action="store_true", help="do not ask, whatever ends with it")
    copilot = add_command(
        commands,
        "copilot",
        "commands.copilot",
        "start Copilot CLI so that tapui can attach to it",
        "Runs `copilot ARGS...` in this terminal where tapui's extension is installed\n"
        "(`tapui install extension`), else `copilot --ui-server ARGS...`. That port of\n"
        "Copilot CLI has no password: you are asked once where others have accounts.\n"
        "`tapui copilot -- --help` shows Copilot's own help.",
    )
    copilot.add_argument("args", nargs="*", metavar="ARGS", help="passed on to copilot")


def _add_client_commands(commands: "Commands") -> None:
    status = add_command(
        commands,
        "status",
        "commands.status",
        "show what waits for you, sessions, providers, calls and streams",
        "--line prints nothing for nothing to tell, and for no gateway (exit code 3).\n"
        "For tmux:  set -g status-right '#(tapui status --line)'",
    )
    add_port(status, "the gateway's port")
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
    call = add_command(
        commands,
        "call",
        "commands.call",
        "call a tool and print its result as JSON",
        "The arguments are read by the tool's schema: `tapui call greet name=Ada`.\n"
        "Progress goes to stderr. Ctrl-C cancels the call.",
    )
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    add_arguments_of_a_call(call)
    call.add_argument("--session", metavar="ID", help="the session (the foreground one)")
    add_port(call, "the gateway's port")
    tail = add_command(
        commands,
        "tail",
        "commands.tail",
        "print the last lines of an event stream",
        "The tower and `tapui status` list the streams.",
    )
    tail.add_argument(
        "stream", metavar="STREAM", help="stream@provider, or the stream's name alone"
    )
    tail.add_argument("--session", metavar="ID", help="the session, if several have the stream")
    tail.add_argument("--follow", action="store_true", help="go on with every line that is posted")
    tail.add_argument("--json", action="store_true", help="print a JSON object a line")
    add_port(tail, "the gateway's port")

    token = add_command(
        commands,
        "token",
        "commands.token",
        "make a provider token that is good for one session",
        "For a process that others start, in its environment as TAP_PROVIDER_TOKEN.",
    )
    token.add_argument("--session", metavar="ID", required=True, help="the session")
    token.add_argument("--json", action="store_true", help="print session and token as JSON")
    add_port(token, "the gateway's port")


def _add_decisions(commands: "Commands") -> None:
    following = add_command(
        commands,
        "next",
        "commands.next",
        "show only what waits for you, the most urgent first; end when nothing does",
        "For a tmux popup:  bind a display-popup -E 'tapui next'",
    )
    add_port(following, "the gateway's port")
    approve = add_command(
        commands,
        "approve",
        "commands.approve",
        "approve a request that waits for you",
        "Approving a pairing prints the code to enter on the web page.",
    )
    deny = add_command(commands, "deny", "commands.deny", "deny a request that waits for you")
    for parser in (approve, deny):
        parser.add_argument(
            "id", metavar="ID", help="the approval's id, or a beginning of it that fits only one"
        )
        add_port(parser, "the gateway's port")


def _add_local_commands(commands: "Commands") -> None:
    config = add_command(
        commands,
        "config",
        "commands.config",
        "print the settings in force and where each comes from",
    )
    shown = config.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print them as JSON")
    shown.add_argument(
        "--example",
        action="store_true",
        help="print a configuration file with every setting, its default and what it does",
    )
    add_doors(commands)
    doctor = add_command(
        commands,
        "doctor",
        "commands.doctor",
        "show what is wrong and what mends it; versions, folders, gateways, sessions",
        "No gateway needs to run; nothing is changed.",
    )
    doctor.add_argument("--json", action="store_true", help="print them as JSON")
    completion = add_command(
        commands,
        "completion",
        "commands.completion",
        "print what lets a shell complete commands and options",
        'bash:  eval "$(tapui completion bash)"      in ~/.bashrc\n'
        'zsh:   eval "$(tapui completion zsh)"       in ~/.zshrc, after compinit\n'
        "fish:  tapui completion fish | source       in ~/.config/fish/config.fish",
    )
    completion.add_argument("shell", choices=SHELLS, help="the shell")
    demo = add_command(
        commands,
        "demo",
        "commands.demo",
        "show the tower with three scripted sessions, which work, wait and fail",
        "It has a gateway, a folder and a port of its own, and attaches to nothing. Its\n"
        "stream “welcome” says how the other commands reach it.",
    )
    demo.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the tower's theme"
    )
