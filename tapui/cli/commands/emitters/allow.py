"""`tapui emitters allow` and `revoke`: the person's consent to what a folder's file would run, and
to its goals."""

import argparse
import asyncio
import os
from collections.abc import Iterator
from typing import Any

from tapui.cli import output
from tapui.cli.approvals import whole
from tapui.cli.commands.emitters.table import note_problems
from tapui.cli.consents import ConsentRun, Detail, covered
from tapui.cli.context import folder_of, gateway, home, session_of
from tapui.cli.failure import FAILED, Failure
from tapui.cli.person import need_person
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, NoGateway
from tapui.consents.consents import Consented
from tapui.consents.emitters import EmitterConsents
from tapui.consents.file_goals import GoalConsents
from tapui.core.goals.file_goals import goal_detail
from tapui.emitters.config.entries import Configuration
from tapui.emitters.config.reading import read
from tapui.emitters.shell.plans import asking, folder_emitters, goals_read
from tapui.files.foreign_file import reason
from tapui.projection.requests.emitter_start import RIGHTS, emitter_text
from tapui.projection.requests.goals import OPENED, criteria_of, criterion_lines
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.state import is_waiting
from tapui.projection.stream_words import OUTCOME_WORDS
from tapui.text import revealed
from tapui.wire.subjects import Approval

_BY = "tapui emitters allow"
_PROMPT = "Is sent into the session as a prompt, without asking again."


def run(args: argparse.Namespace) -> int:
    """Ask about each, and allow what the person agrees to."""
    consents = ConsentRun(args, shown=shown, said=_said, nothing="nothing waits to be allowed")
    try:
        found = gateway(args)
    except NoGateway:
        if args.session:
            raise
        return _allow_file(consents)
    waiting = asyncio.run(_waiting(found, args))
    if waiting is None:
        return _allow_file(consents)
    consents.decide(found, waiting, _BY)
    return consents.end()


def _is_goal(detail: Detail) -> bool:
    return "criteria" in detail


def _said(detail: Detail) -> tuple[dict[str, Any], str]:
    name, folder = detail["name"], detail["folder"]
    return {"name": name, "folder": folder, "allowed": True}, f"allowed {name} in {folder}"


def shown(detail: Detail) -> list[str]:
    """Return what is to be allowed, in full, a line each.

    What would run is set off from the facts about it, which are a line each.
    """
    if _is_goal(detail):
        return _goal_shown(detail)
    lines = [f"{detail.get('name')}: {detail.get('schedule') or ''}".rstrip(": ")]
    lines += [f"  │ {line}" for line in revealed(emitter_text(detail), newlines=True).split("\n")]
    lines += [f"  {revealed(line)}" for line in _facts(detail)]
    return [*lines, f"  {_PROMPT if detail.get('prompt') else RIGHTS}"]


def _goal_shown(detail: Detail) -> list[str]:
    lines = [revealed(f"goal {detail.get('name')}:")]
    for one in criteria_of(detail):
        first, *more = (revealed(line) for line in criterion_lines(one))
        lines += [f"  │ {first}", *(f"  │   {line}" for line in more)]
    for key, label in (
        ("agent", "agent"),
        ("deadline", "deadline"),
        ("changed", "since it was allowed"),
    ):
        if detail.get(key):
            lines.append(f"  {revealed(f'{label}: {detail[key]}')}")
    return [*lines, f"  {OPENED}"]


def _facts(detail: Detail) -> Iterator[str]:
    """Yield the facts about it. Nothing is made safe."""
    for key, label in (("cwd", "runs in"), ("shell", "shell"), ("maxRuns", "runs at most")):
        if detail.get(key):
            yield f"{label}: {detail[key]}"
    if detail.get("isOutside"):
        yield "that is outside of the session's folder"
    env = detail.get("env")
    for variable, value in env.items() if isinstance(env, dict) else ():
        yield f"with {variable}={value}"
    for rule in detail.get("rules") or ():
        yield f"lines with {rule[0]}: {OUTCOME_WORDS.get(rule[1], rule[1])}"
    if detail.get("delivery") == "all" or detail.get("injector") not in (None, "unset"):
        yield f"injector: {detail.get('injector')}, delivery: {detail.get('delivery')}"
    yield from covered(detail)
    if detail.get("changed"):
        yield f"since it was allowed: {detail['changed']}"


async def _waiting(
    found: FoundGateway, args: argparse.Namespace
) -> list[tuple[Approval, Detail]] | None:
    """Return what waits of a folder, or a session; None where no session uses the folder."""
    async with await GatewayConnection.open(found, name=_BY, on_waits=output.note) as connection:
        state = connection.snapshot.state
        here = None if args.session else folder_of(args)
        session = session_of(state.sessions, args.session).id if args.session else None
        folders = {one.id: one.folder for one in state.emitters}
        of_sessions = {one.id: _real(one.cwd) for one in state.sessions}
        waiting = []
        for approval in state.approvals:
            if approval.kind not in ("emitter", "fileGoal") or not is_waiting(approval):
                continue
            detail = detail_of(approval)
            of_session = of_sessions.get(approval.session_id or "", "")
            folder = folders.get(str(detail.get("emitterId")), detail.get("folder") or of_session)
            if here in (None, folder) and session in (None, approval.session_id):
                entire = await whole(connection, approval)
                waiting.append((entire, {**detail_of(entire), "folder": folder}))
        in_use = {*folders.values(), *of_sessions.values()}
        if here is not None and not waiting and here not in in_use:
            return None
        return [one for one in waiting if args.name in (None, one[1].get("name"))]


def _real(folder: str) -> str:
    return os.path.realpath(folder)


def _allow_file(run: ConsentRun) -> int:
    args = run.args
    need_person(args)
    configuration = read(folder_of(args))
    note_problems(configuration)
    consents = EmitterConsents(home().state)
    for plan in (one.plan for one in folder_emitters("", configuration).entries):
        if args.name not in (None, plan.name):
            continue
        entry = configuration.entry(plan.name, is_provider=plan.is_provider)
        assert entry is not None, "it was read from this configuration"
        try:
            standing = consents.standing(configuration, entry)
            if isinstance(standing, Consented):
                continue
            asked = asking(standing, entry, configuration.path)
            about = {"name": plan.name, "folder": configuration.folder, "changed": asked.why}
            if run.agrees(detail := {**asked.detail, **about}):
                consents.allow(standing, later_versions=args.later_versions)
                run.count(detail)
        except OSError as error:
            raise Failure(f"{plan.name} cannot be allowed: {reason(error)}") from None
    damages = (consents.damage, _allow_goals(run, configuration))
    for damage in filter(None, damages):
        output.note(damage)
    return run.end()


def _allow_goals(run: ConsentRun, configuration: Configuration) -> str:
    """Ask about the goals of a file; return why consents to them cannot be read."""
    consents, folder = GoalConsents(home().state), configuration.folder
    for one in goals_read(configuration, consents):
        name = one.plan.name
        if one.is_allowed or run.args.name not in (None, name):
            continue
        if run.agrees(detail := goal_detail(folder, one)):
            try:
                consents.allow_plan(folder, one.plan)
            except OSError as error:
                raise Failure(f"{name} cannot be allowed: {reason(error)}") from None
            run.count(detail)
    return consents.damage


def revoke(args: argparse.Namespace) -> int:
    """Forget the consents to a folder's file. A gateway that runs notices it by itself."""
    folder = folder_of(args)
    try:
        count = EmitterConsents(home().state).revoke(folder, name=args.name)
        count += GoalConsents(home().state).revoke(folder, name=args.name)
    except OSError as error:
        raise Failure(f"what was allowed cannot be forgotten: {reason(error)}") from None
    if args.json:
        output.say_json({"folder": folder, "name": args.name, "revoked": count})
    else:
        output.say(f"{count} that were allowed in {folder} are not any more")
    return 0 if count or not args.name else FAILED
