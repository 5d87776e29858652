"""`tapui goal`: what a session is to reach, opened, looked at and changed by the person."""

import argparse
import asyncio
import os
import shlex
import time
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands, add_port, count, deadline
from tapui.cli.context import gateway, id_of, is_within, session_here, session_of
from tapui.cli.failure import FAILED, UNPROVEN, WRONG_USE, Failure
from tapui.cli.overview import GOAL_TITLES, goal_row
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.invocation import command
from tapui.projection.goal_words import (
    OPENER_WORDS,
    SIGNS,
    closer_words,
    criterion_mark,
    open_sessions_goals,
    report_words,
    sent_back_words,
    status_words,
)
from tapui.projection.requests.request_kind import session_name
from tapui.projection.state import State
from tapui.projection.summary import one_line
from tapui.text import revealed
from tapui.tools.goals import criteria_of
from tapui.wire import limits
from tapui.wire.criteria import FileIs
from tapui.wire.errors import WireError
from tapui.wire.goals import (
    CheckStatus,
    CriterionGiven,
    Goal,
    GoalAnswer,
    GoalBudget,
    GoalChange,
    GoalCriterion,
    GoalDrop,
    GoalNote,
    GoalOpen,
    GoalsList,
    GoalsRead,
    GoalStatus,
    GoalVerify,
    SurfaceAllow,
)
from tapui.wire.message import Message
from tapui.wire.subjects import Session

COMMANDS = """
97 goal: open a goal of a session, list goals, verify, note, change or drop one
"""

_ID = "goal"
_LISTING = {"--session": True, "--all": False, "--json": False, "--port": True}
"""Options of a list, and whether a word follows."""
_LISTED = 20
"""Goals that are named where none has the id that was given."""
_STATUS: dict[str, GoalStatus] = {"done": "achieved", "pause": "paused", "resume": "active"}
_SIGNS: dict[CheckStatus, str] = {"pass": "✓", "fail": "✗", "error": "○", "unknown": "○"}
_OPENING = """\
It is achieved when all of its criteria have passed at one moment. Paths are
those of the session's folder. With a title alone only you can call it achieved.
Behind -- a command may have the name of an action."""
_CHANGING = "The criteria that are named are added."
_ALLOWING = "You are shown the change before; exactly this one is allowed."
_VERIFY_CODES = """\
exit codes:
  0 achieved, or all criteria pass now, 1 failed, 2 wrong use, 3 no gateway,
  6 not proven, 130 interrupted"""


def arguments(goal: CommandParser) -> None:
    goal.describe(
        "tapui goal 'pytest -q' opens one in the session of this folder: it is achieved\n"
        "once the command ended with exit code 0 after the last change. Nothing is run\n"
        "for it. Only you may open or change yours; an agent's shell is refused.\n"
        "Checks of files, calls and lines, or your own yes: tapui goal open --help"
    )
    actions = Commands(goal)
    every = {
        name: actions.add(name, text, run, more)
        for name, run, text, more in (
            ("open", _open, "open one of yours (also without the word open)", _OPENING),
            ("list", _list, "list those that are open (also without an action)", ""),
            ("show", _show, "show one: criteria, verdicts, how a check was changed", ""),
            ("verify", _verify, "judge all criteria of one now", ""),
            ("note", _order, "note something at one", ""),
            ("change", _change, "give one other criteria, title, deadline or status", _CHANGING),
            ("pause", _order, "pause one: the agent is not sent back for it", ""),
            ("resume", _order, "go on with one that is paused or blocked", ""),
            ("done", _order, "call one achieved, proven or not", ""),
            ("drop", _order, "give one up", ""),
            ("send-back", _order, "send the agent back at the end of a turn, or only tell", ""),
            ("allow", _allow, "let a check count although what it does was changed", _ALLOWING),
        )
    }
    goal.implied = partial(_with_action, every.keys())
    for name, parser in every.items():
        parser.set_defaults(action=name)
        if name in ("open", "list"):
            here = "its id, or a beginning that fits only one (the one in this folder)"
            text = here if name == "open" else "only those of this session"
            parser.add_argument("--session", metavar="SESSION", help=text)
        else:
            text = "its id, or a beginning that fits only one"
            parser.add_argument("goal", metavar="GOAL", help=text)
    _add_criteria(every["open"], "[OPTION ...]")
    _add_criteria(every["change"], "[OPTION ...] GOAL")
    add = every["open"].add_argument
    add("--send-back", action="store_true", help="send the agent back while it is not proven")
    add("--agent", metavar="NAME", help="about the ends of this subagent, by its name")
    add("--parent", metavar="GOAL", help="the goal that it is a part of")
    add = every["change"].add_argument
    statuses = ("active", "paused", "blocked", "achieved", "failed")
    add("--status", choices=statuses, help="its status")
    text = "take this criterion out, by its id (repeatable)"
    add("--without", metavar="CRITERION", action="append", default=[], help=text)
    every["list"].add_argument("--all", action="store_true", help="closed ones, too")
    every["verify"].epilog = _VERIFY_CODES
    every["note"].add_argument("text", metavar="TEXT", nargs="+", help="what to note")
    every["drop"].add_argument("--reason", metavar="TEXT", default="", help="why")
    text = "off: its turns end all the same"
    every["send-back"].add_argument("switch", choices=("on", "off"), help=text)
    every["allow"].add_argument("criterion", metavar="CRITERION", help="its id, such as c1")
    every["allow"].add_argument("--yes", action="store_true", help="do not ask")
    for name, parser in every.items():
        text = f"print {'a JSON object a line' if name == 'list' else 'it as JSON'}"
        parser.add_argument("--json", action="store_true", help=text)
        add_port(parser, "the gateway's port")


def _add_criteria(parser: CommandParser, before: str) -> None:
    parser.usage = f"%(prog)s {before} [COMMAND]\n       %(prog)s {before} -- COMMAND ..."
    parser.foreign = _command_at
    add = parser.add_argument
    add("command", metavar="COMMAND", nargs="?", help="the agent ran it, with exit code 0")
    for option, metavar, text in (
        ("--and", "COMMAND", "a further command"),
        ("--file", "PATH[=TEXT]", "this file is there, and has the text in it"),
        ("--tool", "NAME", "a call of this tool ended well"),
        ("--line", "STREAM[=TEXT]", "a line of this stream has the text in it"),
        ("--ask-me", "TEXT", "you say that this is so; you are asked in the tower"),
        ("--criterion", "JSON", "{text, check} as tap_create_goal takes it"),
    ):
        add(option, metavar=metavar, action="append", default=[], help=f"{text} (repeatable)")
    add("--title", metavar="TEXT", help="its title (the command)")
    until = "until then: 2h, 18:30, 2026-11-20T18:30"
    add("--deadline", type=deadline, metavar="TIME", help=until)
    add("--turns", type=count, metavar="N", help="send back in N turns at most")
    add("--tokens", type=count, metavar="N", help="send back for N tokens at most")


def _command_at(words: list[str]) -> int:
    return words.index("--") if "--" in words else len(words)


def _with_action(actions: Container[str], words: list[str]) -> list[str]:
    """Return the words with their action first: `list` where there are only options of a list,
    `open` where something else stands before an action."""
    at = 0
    while at < len(words):
        word = words[at]
        if word in actions:
            return [word, *words[:at], *words[at + 1 :]]
        option = word.partition("=")[0]
        if option not in _LISTING:
            return words if word in ("-h", "--help") else ["open", *words]
        at += 2 if word == option and _LISTING[option] else 1
    return ["list", *words]


# Criteria


def _criteria(args: argparse.Namespace) -> list[CriterionGiven]:
    """Return the criteria that the arguments name. Raises `Failure`."""
    checks: list[dict[str, Any]] = [
        {"kind": "ran", "command": _text(one, "command")} for one in _commands(args)
    ]
    checks += [{"kind": "call", "tool": _text(one, "tool", limits.MAX_ID)} for one in args.tool]
    given: list[dict[str, Any]] = [{"check": one} for one in checks]
    for kind, field, named, there in (
        ("file", "path", args.file, "is there"),
        ("stream", "stream", args.line, "has a line"),
    ):
        for one in named:
            where, _, text = one.partition("=")
            check = {"kind": kind, field: _text(where, field)}
            check |= {"contains": text} if text else {}
            words = f"{where} contains “{text}”" if text else f"{where} {there}"
            given.append({"text": words, "check": check})
    for one in args.ask_me:
        check = {"kind": "person", "text": _text(one, "text")}
        given.append({"text": one, "check": check})
    try:
        return criteria_of([*given, *map(msgspec.json.decode, args.criterion)], "criteria")
    except WireError as error:
        raise Failure(error.text, WRONG_USE) from None
    except (ValueError, RecursionError) as error:
        raise Failure(str(error), WRONG_USE) from None


def _commands(args: argparse.Namespace) -> list[str]:
    given: Sequence[str] = args.foreign
    behind = [given[0] if len(given) == 1 else shlex.join(given)] if given else []
    return [*([] if args.command is None else [args.command]), *behind, *vars(args)["and"]]


def _text(given: str, what: str, most: int = limits.MAX_CRITERION) -> str:
    if not given.strip():
        raise Failure(f"there is no {what}", WRONG_USE)
    if len(given) > most:
        raise Failure(f"a {what} has at most {most:,} characters", WRONG_USE)
    try:
        given.encode()
    except UnicodeEncodeError:
        raise Failure(f"the {what} is not valid UTF-8", WRONG_USE) from None
    return given


def _check_files(criteria: Sequence[CriterionGiven], session: Session) -> None:
    """Refuse a file that would never be looked at. The gateway looks only at what the folder has,
    each time anew."""
    for one in criteria:
        if isinstance(one.check, FileIs) and session.cwd:
            path = one.check.path
            target = "" if "\0" in path else os.path.realpath(Path(session.cwd, path))
            if not is_within(target, session.cwd):
                raise Failure(f"{path} is not in the session's folder, {session.cwd}", WRONG_USE)


def _title(args: argparse.Namespace) -> str | None:
    if args.title is not None:
        return _text(args.title, "title", limits.MAX_SUMMARY)
    return None


def _budget(args: argparse.Namespace, former: GoalBudget | None = None) -> GoalBudget | None:
    if args.turns is None and args.tokens is None:
        return None
    kept = former or GoalBudget()
    return GoalBudget(args.turns or kept.turns, args.tokens or kept.tokens)


# Orders


def _open(args: argparse.Namespace) -> int:
    criteria, title = _criteria(args), _title(args)
    if not criteria and title is None:
        text = "name what is to be so: a command, --file, --tool, --line, --ask-me or a --title"
        raise Failure(text, WRONG_USE)
    commands = _commands(args)
    message = GoalOpen(
        _ID,
        "",
        title or (one_line(commands[0]) if commands else ""),
        criteria,
        "send back" if args.send_back else "tell",
        args.agent,
        deadline=args.deadline,
        budget=_budget(args),
    )
    goal = asyncio.run(_opened(gateway(args), args, message))
    _say(args, goal)
    if not args.json:
        for one in goal.criteria:
            output.say(f"  {one.id}  {one.text}")
    return 0


async def _opened(found: FoundGateway, args: argparse.Namespace, message: GoalOpen) -> Goal:
    async with await _connected(found, args) as connection:
        sessions = connection.snapshot.state.sessions
        session = session_of(sessions, args.session) if args.session else session_here(sessions)
        _check_files(message.criteria, session)
        parent = _named(connection, args.parent).id if args.parent else None
        message = replace(message, session_id=session.id, parent=parent)
        return (await connection.answer(message, GoalAnswer)).goal


def _change(args: argparse.Namespace) -> int:
    criteria, title = _criteria(args), _title(args)

    def message(connection: GatewayConnection, goal: Goal) -> Message:
        _check_files(criteria, session_of(connection.snapshot.state.sessions, goal.session_id))
        return GoalChange(
            _ID,
            goal.id,
            title,
            args.status,
            add_criteria=criteria,
            drop_criteria=args.without,
            deadline=args.deadline,
            budget=_budget(args, goal.budget),
        )

    _say(args, asyncio.run(_answered(gateway(args), args, message)).goal)
    return 0


def _order(args: argparse.Namespace) -> int:
    """Note something, drop a goal, or switch what it is."""
    order = _ordered(args)

    def message(_connection: GatewayConnection, goal: Goal) -> Message:
        return replace(order, goal_id=goal.id)

    goal = asyncio.run(_answered(gateway(args), args, message)).goal
    _say(args, goal, "noted" if isinstance(order, GoalNote) else "")
    return 0


def _ordered(args: argparse.Namespace) -> GoalNote | GoalDrop | GoalChange:
    match args.action:
        case "note":
            return GoalNote(_ID, "", _text(" ".join(args.text), "text"))
        case "drop":
            return GoalDrop(_ID, "", _text(args.reason, "reason") if args.reason else "")
        case "send-back":
            return GoalChange(_ID, "", unproven="send back" if args.switch == "on" else "tell")
    return GoalChange(_ID, "", status=_STATUS[args.action])  # type: ignore[arg-type]


def _verify(args: argparse.Namespace) -> int:
    answer = asyncio.run(
        _answered(gateway(args), args, lambda _connection, goal: GoalVerify(_ID, goal.id))
    )
    goal, report = answer.goal, answer.report
    assert report is not None, "it answers a goal.verify"
    if args.json:
        output.say_json({"goal": goal, "report": report})
    else:
        texts = {one.id: one.text for one in goal.criteria}
        for check in report.checks:
            said = ": ".join(filter(None, (texts.get(check.id, check.expected), check.reason)))
            output.say(f"{_SIGNS[check.status]} {check.id}  {said}")
        output.say(report_words(goal, report))
    return 0 if goal.status == "achieved" or report.verdict == "verified" else UNPROVEN


def _allow(args: argparse.Namespace) -> int:
    found = gateway(args)
    # The gateway is left while the person reads: an answer may take its time.
    criterion = _criterion(asyncio.run(_read(found, args))[1], args)
    if not criterion.changed:
        again = command(f"goal verify {args.goal}")
        raise Failure(f"no change of its check is known; `{again}` looks at it now")
    output.note(f"{criterion.id}  {revealed(criterion.text)}")
    for line in _changes(criterion):
        output.note(line)
    if not (args.yes or output.is_agreed("let it count with exactly this change?")):
        return FAILED
    goal = asyncio.run(
        _answered(
            found,
            args,
            lambda _connection, goal: SurfaceAllow(_ID, goal.id, criterion.id, criterion.surface),
        )
    ).goal
    if _criterion(goal, args).changed:
        raise Failure(f"{criterion.id} was changed once more meanwhile: nothing was allowed")
    _say(args, goal, "allowed")
    return 0


def _criterion(goal: Goal, args: argparse.Namespace) -> GoalCriterion:
    for one in goal.criteria:
        if one.id == args.criterion:
            return one
    ids = ", ".join(one.id for one in goal.criteria) or "none"
    raise Failure(f"there is no criterion {args.criterion} in {goal.id}; there are {ids}")


async def _connected(found: FoundGateway, args: argparse.Namespace) -> GatewayConnection:
    name = f"tapui goal {args.action}"
    return await GatewayConnection.open(found, name=name, on_waits=output.note)


async def _answered(
    found: FoundGateway,
    args: argparse.Namespace,
    message: Callable[[GatewayConnection, Goal], Message],
) -> GoalAnswer:
    """Send a message about the goal that the arguments name; return its answer."""
    async with await _connected(found, args) as connection:
        goal = _named(connection, args.goal)
        return await connection.answer(message(connection, goal), GoalAnswer)


def _named(connection: GatewayConnection, name: str) -> Goal:
    """Return the goal with this id, or whose id alone begins so. Raises `Failure`."""
    there = {one.id: one for one in open_sessions_goals(State.of(connection.snapshot.state))}
    listed = [f"{one.id} ({one.title})" for one in there.values() if one.is_open]
    none = f"there is no goal {name}; open are: {', '.join(listed[:_LISTED]) or 'none'}"
    return there[id_of(there, name, otherwise=none, what="goals")]


def _say(args: argparse.Namespace, goal: Goal, what: str = "") -> None:
    if args.json:
        output.say_json(output.all_fields(goal))
    else:
        what = what or status_words(goal, partial(times.when, now=time.time()))
        output.say(f"{goal.id}  {what}: {goal.title}")


# What is there


async def _whole(connection: GatewayConnection, goal: Goal) -> Goal:
    """Return all of a goal, of which a snapshot may hold the beginning only."""
    if not goal.is_cut:
        return goal
    wanted = GoalsRead(_ID, goal.session_id, last=limits.MAX_GOALS)
    known = (await connection.answer(wanted, GoalsList)).goals
    return next((one for one in known if one.id == goal.id), goal)


def _list(args: argparse.Namespace) -> int:
    state, goals = asyncio.run(_listed(gateway(args), args))
    if args.json:
        for goal in goals:
            output.say_json(output.all_fields(goal))
    elif goals:
        output.table(GOAL_TITLES, [goal_row(state, goal) for goal in goals])
    if not goals:
        output.note("there are no goals" if args.all else "no goal is open")
    return 0


async def _listed(found: FoundGateway, args: argparse.Namespace) -> tuple[State, list[Goal]]:
    async with await _connected(found, args) as connection:
        state = State.of(connection.snapshot.state)
        goals = [one for one in open_sessions_goals(state) if args.all or one.is_open]
        if args.session:
            session = session_of(connection.snapshot.state.sessions, args.session)
            goals = [one for one in goals if one.session_id == session.id]
        if args.json:
            goals = [await _whole(connection, one) for one in goals]
        return state, goals


def _show(args: argparse.Namespace) -> int:
    state, goal = asyncio.run(_read(gateway(args), args))
    if args.json:
        output.say_json(output.all_fields(goal), indent=2)
    else:
        for line in (*_facts(state, goal), *_standing(goal)):
            output.say(line)
    return 0


async def _read(found: FoundGateway, args: argparse.Namespace) -> tuple[State, Goal]:
    async with await _connected(found, args) as connection:
        goal = await _whole(connection, _named(connection, args.goal))
        return State.of(connection.snapshot.state), goal


def _facts(state: State, goal: Goal) -> Iterator[str]:
    clock, back, budget = times.date_and_time, goal.sent_back, goal.budget or GoalBudget()
    name = session_name(state, goal.session_id)
    opened = f"by {OPENER_WORDS[goal.opened_by]}, {clock(goal.opened_at)}"
    used = f"turns so far: {back.turns}, tokens: {back.tokens:,}"
    most = (("turns", budget.turns), ("tokens", budget.tokens))
    noted = f" (by {OPENER_WORDS[goal.note_by]})" if goal.note_by is not None else ""
    facts = {
        "status": status_words(goal, clock),
        "closed": closer_words(goal),
        "session": name if name == goal.session_id else f"{name} ({goal.session_id})",
        "opened": opened if goal.turn is None else f"{opened}, in turn {goal.turn}",
        "agent": goal.agent,
        "part of": goal.parent,
        "deadline": clock(goal.deadline) if goal.deadline is not None else None,
        "sent back": f"{sent_back_words(goal)} in the last turn ({used})" if back.turns else None,
        "at most": ", ".join(f"{count:,} {what}" for what, count in most if count is not None),
        "note": f"{' '.join(goal.note.split())}{noted}" if goal.note else None,
    }
    yield f"{goal.id}  {goal.title}"
    for name, fact in facts.items():
        if fact:
            yield f"  {name:<9}  {fact}"


def _standing(goal: Goal) -> Iterator[str]:
    """Yield the criteria, with what each verdict rests on."""
    for one in goal.criteria:
        mark = criterion_mark(one)
        by = "" if one.by == goal.opened_by else f" (by {OPENER_WORDS[one.by]})"
        yield f"{SIGNS[mark]} {mark:<7}  {one.id}  {revealed(one.text)}{by}"
        if one.check is not None:
            yield f"    {output.json_text(one.check)}"
        if one.verdict is not None and one.verdict.reason:
            yield f"    {one.verdict.reason}"
        for pointer in one.verdict.pointers if one.verdict is not None else ():
            at = f", {times.date_and_time(pointer.ts)}" if pointer.ts is not None else ""
            yield f"    {pointer.provenance}: {pointer.uri}{at}"
        for line in _changes(one):
            yield f"    {line}"


def _changes(criterion: GoalCriterion) -> Iterator[str]:
    """Yield how what its check does was changed, as a diff; safe to decide on."""
    for change in criterion.changed:
        if not change.diff:
            yield f"{revealed(change.path)} was changed; its lines are not shown"
        for line in change.diff.split("\n") if change.diff else ():
            yield revealed(line)
