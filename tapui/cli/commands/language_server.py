"""`tapui language-server`: a conversation with Copilot's language server, as a session.

The host runs in a process of its own. With `agent PROMPT` the prompt is given to it, through the
running gateway or one of its own, and its messages are printed; without it prompts come from the
tower until the command is interrupted.
"""

import argparse
import asyncio
import contextlib
import os
import re
from pathlib import Path
from typing import Any

import msgspec

from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands, add_port
from tapui.cli.context import loaded, options, running_gateway
from tapui.cli.failure import FAILED, NO_GATEWAY, WRONG_USE, Failure
from tapui.cli.progress import JsonPrinting, PlainPrinting, Printing, SessionProgress, take
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayLost, Refused
from tapui.runtime.children.child import Child, Command, Source
from tapui.runtime.children.supervisor import own_program
from tapui.wire import events as ev
from tapui.wire.limits import MAX_ID, MAX_TELL
from tapui.wire.message import Message
from tapui.wire.steering import SessionOrdered, SessionTell

COMMANDS = """
112 language-server: hold a conversation with Copilot's language server, as a session
"""

HOST = "tapui.hosts.language_server"
END_SECONDS = 12.0
"""How long the host may take to end its server and its session."""
SIGN_IN_SECONDS = 900.0
"""How long the person may take to sign in."""
_TELL_ID = "language-server"
_LOG_LINE = re.compile(r"(?:INFO|WARNING|ERROR|CRITICAL) [\w.]+: (.*)")
_EXIT_CODES = """\
exit codes:
  0 done, 1 failed, 2 wrong use, 3 no gateway or no language server,
  5 something was denied, 130 interrupted"""


def arguments(language_server: CommandParser) -> None:
    language_server.runs(
        converse,
        "Prompts come from the tower, until Ctrl-C. Files that the agent writes and\n"
        "commands that it runs are requests with the whole difference or text.",
    )
    language_server.epilog = _EXIT_CODES
    language_server.add_argument("-w", metavar="DIR", dest="folder", help="its folder (this one)")
    language_server.add_argument("--model", metavar="M", help="the model, as ID or PROVIDER/ID")
    language_server.add_argument(
        "--program",
        metavar="PATH",
        help="the server (the setting language-server.program, else that on the PATH)",
    )
    language_server.add_argument(
        "--json", action="store_true", help="print a JSON object for each event"
    )
    add_port(language_server, "the gateway's port")
    actions = Commands(language_server)
    agent = actions.add(
        "agent",
        "give it one prompt, and print its messages",
        converse,
        "Through the running gateway, where you are asked in the tower; without one,\n"
        "with a gateway of its own: what no rule allows is denied there at once, and\n"
        "listed at the end.",
    )
    agent.epilog = _EXIT_CODES
    agent.add_argument("prompt", metavar="PROMPT", nargs="+", help="what to do")
    actions.add("sign-in", "sign in to GitHub with the language server", sign_in)


def converse(args: argparse.Namespace) -> int:
    """Hold the conversation; return how it went as the exit code."""
    prompt = " ".join(getattr(args, "prompt", []))
    if hasattr(args, "prompt") and not prompt.strip():
        raise Failure("there is no prompt", WRONG_USE)
    if len(prompt) > MAX_TELL:
        raise Failure(f"a prompt has at most {MAX_TELL:,} characters", WRONG_USE)
    if len(args.model or "") > MAX_ID:
        raise Failure(f"a model's name has at most {MAX_ID} characters", WRONG_USE)
    folder, program = _folder(args), _program(args)
    chosen = running_gateway(args)
    if chosen is not None:
        return asyncio.run(_hold(args, chosen, folder, program, prompt))
    if not prompt:
        raise Failure("no gateway runs, whose tower would give prompts: start tapui", NO_GATEWAY)
    return asyncio.run(_with_own_gateway(args, folder, program, prompt))


def _folder(args: argparse.Namespace) -> Path:
    folder = Path(args.folder or ".").absolute()
    if not folder.is_dir():
        raise Failure(f"there is no folder {folder}", WRONG_USE)
    return folder


def _program(args: argparse.Namespace) -> str:
    """Return the server's program. Raises `Failure`."""
    from tapui.hosts.language_server.installation import NoProgramError, found_program

    named = args.program or loaded(args).settings.language_server.program
    try:
        return found_program(named, os.environ, _folder(args))
    except NoProgramError as error:
        raise Failure(str(error), NO_GATEWAY) from None


async def _with_own_gateway(
    args: argparse.Namespace, folder: Path, program: str, prompt: str
) -> int:
    from tapui.station.headless import private_gateway

    async with private_gateway(options(args)) as own:
        return await _hold(args, own, folder, program, prompt, is_unattended=True)


class _Host:
    """The host's process: the session that it opens, and the last line of its log."""

    def __init__(self) -> None:
        self.session: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.last_line = ""

    def take(self, source: Source, text: str) -> None:
        if source == "stdout":
            with contextlib.suppress(msgspec.MsgspecError):  # it is not the host's own line
                named = msgspec.json.decode(text, type=dict[str, str]).get("session")
                if named is not None and not self.session.done():
                    self.session.set_result(named)
            return
        line = _LOG_LINE.fullmatch(text)
        self.last_line = line[1] if line else text
        output.note(self.last_line)


async def _hold(
    args: argparse.Namespace,
    chosen: FoundGateway,
    folder: Path,
    program: str,
    prompt: str,
    *,
    is_unattended: bool = False,
) -> int:
    """Start the host at a gateway, and follow its session; return the exit code."""
    host = _Host()
    command = own_program(
        HOST,
        *(chosen.url, str(chosen.token_file)),
        *(() if chosen.socket is None else ("--socket", str(chosen.socket))),
        *("--program", program, "--folder", str(folder)),
        *(("--model", args.model) if args.model else ()),
        *(("--unattended",) if is_unattended else ()),
        environ=os.environ,
        is_whole=True,
    )
    # It is connected before the session is there: a prompt of the tower may come at once.
    connection = await GatewayConnection.open(
        chosen, name="tapui language-server", on_waits=output.note
    )
    try:
        return await _follow_host(command, connection, host, args, prompt)
    finally:
        await connection.close()


async def _follow_host(
    command: Command,
    connection: GatewayConnection,
    host: _Host,
    args: argparse.Namespace,
    prompt: str,
) -> int:
    child = await Child.start(command, host.take)
    try:
        ending = asyncio.ensure_future(child.wait())
        waits: set[asyncio.Future[Any]] = {ending, host.session}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not host.session.done():
            raise Failure("the conversation was not begun", FAILED)
        printing = JsonPrinting() if args.json else PlainPrinting()
        followed = SessionProgress(host.session.result())
        following = asyncio.ensure_future(_follow(connection, followed, printing, prompt))
        waits = {ending, following}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not following.done():
            following.cancel()
            # The host's reason goes before the connection's.
            await asyncio.gather(following, return_exceptions=True)
            followed.fault = followed.fault or host.last_line or "the conversation has ended"
        else:
            following.result()
    finally:
        ended = await child.stop(END_SECONDS)
    if not prompt and ended.code == 0:
        followed.fault = ""  # its end was wanted
    return printing.finish(followed, f"session {followed.session_id}")


async def _follow(
    connection: GatewayConnection, followed: SessionProgress, printing: Printing, prompt: str
) -> None:
    """Give the prompt and print what comes of it; without a prompt, until the session ends."""
    if prompt:
        try:
            told = SessionTell(_TELL_ID, followed.session_id, prompt)
            await connection.answer(told, SessionOrdered)
        except Refused as error:
            raise Failure(f"the prompt was not taken: {error.text}") from None
    try:
        async for came in connection:
            take(followed, came, printing, _TELL_ID)
            if _is_end(came, followed) or (prompt and followed.is_over):
                return
            if not prompt:  # another one may come
                followed.is_over, followed.begun, followed.fault = False, False, ""
    except GatewayLost:
        followed.fault = "the gateway has ended, and the session with it"


def _is_end(came: Message | ev.Entry, followed: SessionProgress) -> bool:
    event = came.event if isinstance(came, ev.Entry) else None
    return isinstance(event, ev.SessionClosed) and event.session_id == followed.session_id


def sign_in(args: argparse.Namespace) -> int:
    """Sign in: print the code that is to be entered on GitHub's page, and wait until it was."""
    return asyncio.run(_sign_in(_folder(args), _program(args)))


async def _sign_in(folder: Path, program: str) -> int:
    from tapui.hosts.language_server.server import LanguageServer, ServerError

    server = LanguageServer(
        program,
        folder,
        environ=os.environ,
        requests={},
        notifications={},
        report=lambda text, _: output.note(text),
    )
    try:
        await server.start()
        if (user := server.user) is not None:
            output.say(f"signed in as {user}")
            return 0
        asked = await server.ask("signIn", {}, SIGN_IN_SECONDS)
        given = asked if isinstance(asked, dict) else {}
        code, command = given.get("userCode"), given.get("command")
        if isinstance(code, str) and isinstance(command, dict):
            page = given.get("verificationUri") or "https://github.com/login/device"
            output.say(f"enter the code {code} at {page}")
            output.flush()
            finishing = {key: command.get(key) for key in ("command", "arguments")}
            await server.ask("workspace/executeCommand", finishing, SIGN_IN_SECONDS)
        user = await server.look_who_is_signed_in()
    except ServerError as error:
        raise Failure(f"signing in failed: {error}") from None
    finally:
        await server.stop()
    if user is None:
        raise Failure("you are not signed in: the server has no account")
    output.say(f"signed in as {user}")
    return 0
