"""`tapui run`: one prompt in a session of its own, without a tower.

Through the running gateway, or with one for as long as the session lasts. Its messages are printed,
and at the end what was denied; with `--until` also whether its goal is proven, and what is missing.
"""

import argparse
import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from tapui import invocation
from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port, count
from tapui.cli.context import options, running_gateway
from tapui.cli.failure import FAILED, NO_GATEWAY, UNTRUSTED, WRONG_USE, Failure
from tapui.cli.progress import JsonPrinting, PlainPrinting, SessionProgress, take
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, GatewayLost, Refused
from tapui.policies.rules import PolicyRule
from tapui.projection.summary import one_line
from tapui.wire import events as ev
from tapui.wire.criteria import Ran
from tapui.wire.goals import CriterionGiven, GoalAnswer, GoalVerify
from tapui.wire.limits import (
    MAX_ATTACHMENTS,
    MAX_CRITERIA,
    MAX_CRITERION,
    MAX_TELL,
    MAX_TRIES,
    TRIES,
)
from tapui.wire.message import Message
from tapui.wire.steering import (
    EFFORTS,
    GivenRule,
    Infinite,
    SessionEnd,
    SessionStart,
    SessionStarted,
    SessionStop,
    StartProblem,
)

COMMANDS = """
110 run: give a prompt to a Copilot session of its own, and print its messages
"""

END_SECONDS = 5.0
"""How long the session may take to end."""
JUDGE_SECONDS = 30.0
"""How long the last look at what `--until` names may take."""
_START_ID, _END_ID, _STOP_ID, _JUDGE_ID = "run", "run-end", "run-stop", "run-judge"
_CODES: dict[StartProblem, int] = {"untrusted": UNTRUSTED, "missing": NO_GATEWAY}
_EXIT_CODES = """\
exit codes:
  0 done, 1 failed, 2 wrong use or a fault in the policy file (nothing was run),
  3 no gateway on --port or no Copilot CLI, 4 the folder is not trusted,
  5 something was denied, 130 interrupted (the turn was stopped);
  with --until: 0 proven, also where something was denied, 6 not proven"""


def arguments(run: CommandParser) -> None:
    run.runs(
        carry_out,
        "Through the running gateway, or with one of its own. You are not asked: what no\n"
        "rule allows is denied at once and listed at the end. The session stays stored.\n"
        "With --until the agent is sent back to work until a run of COMMAND by itself has\n"
        "ended with 0 after the last change. A rule has to allow it, as any command.",
    )
    run.epilog = _EXIT_CODES
    run.add_argument("prompt", metavar="PROMPT", nargs="+", help="what to do")
    run.add_argument("--cwd", metavar="DIR", help="the session's folder (this one)")
    run.add_argument(
        "--policy", metavar="FILE", help="rules for this session alone, as in config.toml"
    )
    run.add_argument(
        "--until",
        metavar="COMMAND",
        action="append",
        default=[],
        help="what has to end with 0 after the last change; may be repeated",
    )
    run.add_argument(
        "--tries", type=count, metavar="N", help=f"times that the agent is sent back ({TRIES})"
    )
    run.add_argument("--model", metavar="M", help="the model")
    run.add_argument("--effort", choices=EFFORTS, help="the model's reasoning effort")
    run.add_argument(
        "--file",
        metavar="PATH",
        action="append",
        default=[],
        help="a file or folder that goes along with the prompt; may be repeated",
    )
    run.add_argument(
        "--compact-at",
        type=_share,
        metavar="SHARE",
        help=f"how full the context is when it is made smaller ({Infinite().background:.2f})",
    )
    run.add_argument(
        "--hold-at",
        type=_share,
        metavar="SHARE",
        help=f"how full it is when the turn waits for that ({Infinite().exhaustion:.2f})",
    )
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


def carry_out(args: argparse.Namespace) -> int:
    """Start the session, print the agent's messages, and return how it went as the exit code."""
    prompt = " ".join(args.prompt)
    if not prompt.strip():
        raise Failure("there is no prompt", WRONG_USE)
    if len(prompt) > MAX_TELL:
        raise Failure(f"a prompt has at most {MAX_TELL:,} characters", WRONG_USE)
    folder = None
    if args.cwd is not None or args.resume is None:
        folder = str(Path(args.cwd or ".").absolute())
    start = SessionStart(
        _START_ID,
        folder=folder,
        prompt=prompt,
        model=args.model,
        mode=args.mode,
        trust_folder=args.trust_folder,
        resume=args.resume,
        unattended=True,
        rules=_policy(args.policy) if args.policy is not None else None,
        until=_criteria(args.until),
        tries=_tries(args),
        effort=args.effort,
        infinite=_infinite(args),
        attachments=_files(args.file),
    )
    chosen = running_gateway(args)
    if chosen is not None:
        return asyncio.run(_follow(chosen, start, as_json=args.json))
    return asyncio.run(_with_own_gateway(args, start))


def _share(text: str) -> float:
    """Read a part of a whole, such as 0.8. Raises `ArgumentTypeError`."""
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:  # also for what is no number
        raise argparse.ArgumentTypeError(f"{text}: write a share, such as 0.8")
    return share


def _infinite(args: argparse.Namespace) -> Infinite | None:
    if args.compact_at is None and args.hold_at is None:
        return None
    usual = Infinite()
    background = usual.background if args.compact_at is None else args.compact_at
    exhaustion = usual.exhaustion if args.hold_at is None else args.hold_at
    if background > exhaustion:
        raise Failure("--compact-at: must not be more than --hold-at", WRONG_USE)
    return Infinite(background, exhaustion)


def _files(paths: Sequence[str]) -> list[str]:
    """Return absolute paths. Raises `Failure` for what is not there."""
    if len(paths) > MAX_ATTACHMENTS:
        raise Failure(f"--file: at most {MAX_ATTACHMENTS}", WRONG_USE)
    for path in paths:
        if not Path(path).exists():
            raise Failure(f"--file {one_line(path)}: it is not there", WRONG_USE)
    return [str(Path(path).absolute()) for path in paths]


async def _with_own_gateway(args: argparse.Namespace, start: SessionStart) -> int:
    from tapui.station.headless import private_gateway

    async with private_gateway(options(args)) as own:
        return await _follow(own, start, as_json=args.json)


def _policy(path: str) -> list[GivenRule]:
    """Read the rules for this session. Raises `Failure` where the file has a fault."""
    from tapui.settings.rule_files import read_rules

    read = read_rules(Path(path))
    if read.faults:
        raise Failure("\n".join(str(fault) for fault in read.faults), WRONG_USE)
    return _given(read.rules)


def _given(rules: Sequence[PolicyRule]) -> list[GivenRule]:
    return [
        GivenRule(
            one.effect,
            one.kind,
            one.pattern,
            one.place,
            one.folder,
            one.is_exact,
            one.reason,
            list(one.targets) or None,
        )
        for one in rules
    ]


def _criteria(commands: Sequence[str]) -> list[CriterionGiven]:
    """Return what is to be proven. Raises `Failure` for what no run of a command can prove."""
    if not commands:
        return []
    from tapui.core.proof.verdicts import command_fault

    if len(commands) > MAX_CRITERIA:
        raise Failure(f"--until: at most {MAX_CRITERIA} commands", WRONG_USE)
    for command in commands:
        fault = command_fault(command)
        if len(command) > MAX_CRITERION:
            fault = f"a command has at most {MAX_CRITERION:,} characters"
        if fault:
            raise Failure(f"--until {one_line(command)}: {fault}", WRONG_USE)
    return [CriterionGiven(text=one, check=Ran(command=one)) for one in dict.fromkeys(commands)]


def _tries(args: argparse.Namespace) -> int:
    if args.tries is None:
        return TRIES
    if not args.until:
        raise Failure("--tries: of what? Name a command with --until", WRONG_USE)
    if args.tries > MAX_TRIES:
        raise Failure(f"--tries: at most {MAX_TRIES}", WRONG_USE)
    tries: int = args.tries
    return tries


# Seeing it through


async def _follow(chosen: FoundGateway, start: SessionStart, *, as_json: bool) -> int:
    """Start a session at a gateway and follow it to its end; return the exit code.

    When this is cancelled, the session's turn is stopped.
    """
    async with await GatewayConnection.open(
        chosen, name="tapui run", on_waits=output.note
    ) as connection:
        started = await _started(connection, start)
        followed = SessionProgress(started.session_id or "", started.goal_id)
        printing = JsonPrinting() if as_json else PlainPrinting()
        try:
            async for came in connection:
                take(followed, came, printing, start.id)
                if followed.is_over:
                    break
            await _judge(connection, followed)
        except GatewayLost:
            followed.fault = "the gateway has ended, and the session with it"
        except asyncio.CancelledError:
            with contextlib.suppress(GatewayError, TimeoutError):  # the connection's end ends it
                await _end(connection, followed, stop=True)
            raise
        else:
            with contextlib.suppress(GatewayError, TimeoutError):  # see above
                await _end(connection, followed)
    resume = invocation.command(f"run --resume {followed.session_id}")
    return printing.finish(
        followed, f"session {followed.session_id}; `{resume} PROMPT` goes on with it"
    )


async def _started(connection: GatewayConnection, start: SessionStart) -> SessionStarted:
    """Return what names the session; raises `Failure` where there is none."""
    answer = await connection.answer(start, SessionStarted)
    if answer.session_id is not None:
        if start.until and answer.goal_id is None:  # the session ends with this connection
            text = f"this gateway is tapui {connection.gateway.version}, which knows no --until"
            raise Failure(f"{text}: restart it")
        return answer
    text = answer.error or "the session was not started"
    if answer.problem == "untrusted":
        text = f"{text} (--trust-folder)"
    raise Failure(text, _CODES.get(answer.problem or "failed", FAILED))


async def _judge(connection: GatewayConnection, followed: SessionProgress) -> None:
    """Have the goal judged once more: what proved it may have been changed since. Where it is not,
    because its session has ended or the gateway is busy, the last events tell how it stands."""
    if followed.goal_id is None:
        return
    with contextlib.suppress(Refused, TimeoutError):  # see above
        async with asyncio.timeout(JUDGE_SECONDS):
            asked = GoalVerify(_JUDGE_ID, followed.goal_id)
            answer = await connection.answer(asked, GoalAnswer)
            followed.goal, followed.report = answer.goal, answer.report


async def _end(
    connection: GatewayConnection, followed: SessionProgress, *, stop: bool = False
) -> None:
    if followed.fault and not stop and followed.is_over is False:
        return
    async with asyncio.timeout(END_SECONDS):
        if stop:
            await connection.send(SessionStop(_STOP_ID, followed.session_id))

        why = "its run was stopped" if stop else "its run has finished"

        def is_ended(came: Message | ev.Entry) -> bool:
            closed = isinstance(came, ev.Entry) and isinstance(came.event, ev.SessionClosed)
            return closed and came.event.session_id == followed.session_id  # type: ignore[union-attr]

        await connection.ask(SessionEnd(_END_ID, followed.session_id, why), is_ended)
