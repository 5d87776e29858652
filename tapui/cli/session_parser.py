"""The arguments of the commands for sessions: steering one, the stored ones, one of its own."""

from typing import TYPE_CHECKING

from tapui.cli.arguments import RUN_EXIT_CODES, CommandParser, add_command, add_port, count

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands


def add_steering(commands: "Commands") -> None:
    """Add `send` and `stop-turn`."""
    send = add_command(
        commands,
        "send",
        "commands.send",
        "say something to a session, as a prompt of yours",
        "Without an option it waits for the end of the turn under way. It is sent as it\n"
        "is: a text that begins with / is never run as a command.",
    )
    stop = add_command(
        commands,
        "stop-turn",
        "commands.stop_turn",
        "stop what a session does, and wait until it rests",
        "Commands that go on in the background are named.",
    )
    for parser in (send, stop):
        parser.add_argument(
            "session", metavar="SESSION", help="its id, or a beginning that fits only one"
        )
    send.add_argument("text", metavar="TEXT", nargs="+", help="what to say")
    way = send.add_mutually_exclusive_group()
    way.add_argument(
        "--now",
        action="store_true",
        help="into the turn under way; a command that runs goes on in the background",
    )
    way.add_argument("--stop-first", action="store_true", help="stop the turn, then send")
    for parser in (send, stop):
        parser.add_argument("--json", action="store_true", help="print the order as JSON")
        add_port(parser, "the gateway's port")


def add_sessions(commands: "Commands") -> None:
    """Add `sessions` with its actions."""
    sessions = add_command(
        commands,
        "sessions",
        "commands.sessions",
        "list the sessions that Copilot has stored; resume, go to or delete one",
        "Reads Copilot's files: no gateway and no CLI needs to run.",
    )
    sessions.set_defaults(action="list", text=[], last=None, json=False)
    actions = sessions.add_subparsers(title="actions", metavar="ACTION", parser_class=CommandParser)
    listing = add_command(
        actions,
        "list",
        "commands.sessions",
        "list them, the one used last first (also without an action)",
    )
    listing.add_argument(
        "text", metavar="TEXT", nargs="*", help="words of a title, folder, branch or id"
    )
    listing.add_argument("--last", type=count, metavar="N", help="only the newest N (20)")
    listing.add_argument("--json", action="store_true", help="print a JSON object a line")
    resume = add_command(
        actions,
        "resume",
        "commands.sessions",
        "open one again, so that tapui can attach to it",
        "Inside tmux or zellij in a new pane, else the line that does it is printed.",
    )
    resume.add_argument("--print", action="store_true", help="print the line in any case")
    go = add_command(
        actions, "go", "commands.sessions", "go to the pane of tmux in which one is open"
    )
    delete = add_command(
        actions, "delete", "commands.sessions", "delete one for good, after a question"
    )
    delete.add_argument("--yes", action="store_true", help="do not ask")
    for name, parser in (("list", listing), ("resume", resume), ("go", go), ("delete", delete)):
        parser.set_defaults(action=name)
        if parser is not listing:
            parser.add_argument(
                "session", metavar="SESSION", help="its id, or a beginning that fits only one"
            )


def add_run(commands: "Commands") -> None:
    """Add `run`."""
    run = add_command(
        commands,
        "run",
        "commands.run",
        "give a prompt to a Copilot session of its own, and print what it says",
        "Through the running gateway, or with one of its own. Nobody is asked: what no\n"
        "rule allows is denied at once and listed at the end. The session stays stored.",
    )
    run.epilog = RUN_EXIT_CODES
    run.add_argument("prompt", metavar="PROMPT", nargs="+", help="what to do")
    run.add_argument("--cwd", metavar="DIR", help="the session's folder (this one)")
    run.add_argument(
        "--policy", metavar="FILE", help="rules for this session alone, as in config.toml"
    )
    run.add_argument("--model", metavar="M", help="the model")
    run.add_argument(
        "--mode", choices=("interactive", "plan", "autopilot"), help="the session's mode"
    )
    run.add_argument("--json", action="store_true", help="print a JSON object for each event")
    run.add_argument("--resume", metavar="ID", help="go on with a stored session")
    run.add_argument(
        "--trust-folder",
        action="store_true",
        help="trust the folder for this session: its hooks, servers and instructions",
    )
    add_port(run, "the gateway's port")
