"""`tapui prove`: a session's check as the person's own command, its output and its verdict."""

import argparse
import asyncio
import contextlib
import shlex
from collections.abc import Sequence

from msgspec.structs import replace

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, session_here, session_of
from tapui.cli.failure import UNPROVEN, WRONG_USE, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, GatewayLost
from tapui.projection.words import outcome_words, plan_lines
from tapui.wire.events import Entry
from tapui.wire.limits import MAX_CRITERION
from tapui.wire.message import Message
from tapui.wire.proving import (
    ProofBegan,
    ProofEnded,
    ProofLines,
    ProofPlan,
    ProofRun,
    ProofStop,
)

STOP_SECONDS = 10.0
"""How long the end of a check that was interrupted is waited for."""
_ID = "prove"
_EXIT_CODES = """\
exit codes:
  0 proven, 1 failed to run it, 2 wrong use, 3 no gateway, 6 not proven (the
  check failed, or what it showed is unknown), 130 interrupted: it was stopped"""


def arguments(prove: CommandParser) -> None:
    prove.runs(
        run,
        "The check is the newest one that ran in the session, tests before others; or\n"
        "the command behind --, run by a shell in the session's folder. You are shown it\n"
        "before it runs with your rights; the same over the same files runs at once.",
    )
    prove.epilog = _EXIT_CODES
    prove.usage = "%(prog)s [-h] [--yes] [--port PORT] [SESSION] [-- COMMAND ...]"
    prove.foreign = _command_at
    prove.add_argument(
        "session",
        metavar="SESSION",
        nargs="?",
        help="its id, or a beginning that fits only one (the one in this folder)",
    )
    prove.add_argument("--yes", action="store_true", help="run it without being asked")
    add_port(prove, "the gateway's port")


def _command_at(words: list[str]) -> int:
    return words.index("--") if "--" in words else len(words)


def run(args: argparse.Namespace) -> int:
    """Show what would run, run it once it is agreed to, and return what came of it."""
    given: Sequence[str] = args.foreign
    command = (given[0] if len(given) == 1 else shlex.join(given)) if given else None
    if command is not None and not command.strip():
        raise Failure("there is no command", WRONG_USE)
    if command is not None and len(command) > MAX_CRITERION:
        raise Failure(f"a command has at most {MAX_CRITERION:,} characters", WRONG_USE)
    chosen, name, seen = gateway(args), args.session, None
    while True:
        # The gateway is left while the person reads: an answer may take its time.
        found = asyncio.run(_prove(chosen, name, ProofRun(_ID, "", command, seen)))
        if not isinstance(found, ProofPlan):
            return found
        for line in plan_lines(found):
            output.note(line)
        if not (args.yes or output.is_agreed("run it?")):
            return UNPROVEN
        name, seen = found.session_id, found.digest


async def _prove(chosen: FoundGateway, name: str | None, order: ProofRun) -> ProofPlan | int:
    """Order the check and see it through; return the exit code, or what is to be agreed to."""
    async with await GatewayConnection.open(
        chosen, name="tapui prove", on_waits=output.note
    ) as connection:
        sessions = connection.snapshot.state.sessions
        session = session_of(sessions, name) if name else session_here(sessions)
        answer = await connection.ask(replace(order, session_id=session.id), _is_answer)
        if isinstance(answer, ProofPlan):
            return answer
        try:
            return await _follow(connection)
        except GatewayLost:
            output.say(outcome_words("unknown", "the gateway has ended, and the check with it"))
            return UNPROVEN
        except asyncio.CancelledError:
            with contextlib.suppress(GatewayError, TimeoutError):  # it ends all the same
                async with asyncio.timeout(STOP_SECONDS):
                    await connection.send(ProofStop(session.id))
                    await _follow(connection)
            raise


def _is_answer(came: Message | Entry) -> bool:
    return isinstance(came, ProofPlan | ProofBegan) and came.id == _ID


async def _follow(connection: GatewayConnection) -> int:
    """Print the output as it comes, and then the verdict; return the exit code."""
    seen = 0
    while True:
        match await connection.receive():
            case ProofLines(first=first, lines=lines):
                if seen and first > seen + 1:
                    output.note(f"… {first - seen - 1:,} lines came too fast to be shown")
                for line in lines:
                    output.say(line)
                output.flush()
                seen = first + len(lines) - 1
            case ProofEnded(outcome=outcome, text=text):
                output.say(outcome_words(outcome, text))
                return 0 if outcome == "passed" else UNPROVEN
