"""`tapui emitters allow`: what waits, in full, and the person's word for each."""

import argparse
import asyncio
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tapui.cli import output
from tapui.cli.agreeing import is_agreed
from tapui.cli.approvals import decide, whole
from tapui.cli.commands.emitters.files import entry_of, tell_problems
from tapui.cli.commands.emitters.table import folder_of
from tapui.cli.commands.steering import session_of
from tapui.cli.context import gateway, home
from tapui.cli.failure import FAILED, Failure
from tapui.cli.person import need_person
from tapui.client.connection import GatewayConnection
from tapui.client.errors import NoGateway
from tapui.client.gateways import FoundGateway
from tapui.emitters.config.reading import read
from tapui.emitters.consent.consents import Consented, EmitterConsents
from tapui.emitters.shell.plans import asking, folder_emitters
from tapui.files.folder_file import reason
from tapui.projection.asking import RIGHTS, detail_of, emitter_text
from tapui.projection.state import is_waiting
from tapui.text import revealed, safe_text
from tapui.wire.subjects import Approval

_PROMPT = "Is sent into the session as a prompt, without asking again."


def run(args: argparse.Namespace) -> int:
    """Ask about each, and allow what the person says yes to."""
    try:
        found = gateway(args)
    except NoGateway:
        if args.session:
            raise
        return _allow_file(args)
    return _allow_running(found, args)


class _Allowed:
    """Counts, and prints, what was allowed."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self.asked = self.allowed = 0

    def agrees(self, name: str, detail: Mapping[str, Any]) -> bool:
        """Show one, and return whether it is to be allowed."""
        self.asked += 1
        for line in shown(name, detail):
            output.note(line)
        return bool(self._args.yes) or is_agreed(f"allow {safe_text(name)}?")

    def say(self, name: str, folder: str) -> None:
        self.allowed += 1
        if self._args.json:
            output.say_json({"name": name, "folder": folder, "allowed": True})
        else:
            output.say(f"allowed {name} in {folder}")

    def end(self) -> int:
        if not self.asked:
            what = f"{self._args.name} does not wait" if self._args.name else "nothing waits"
            output.note(f"{what} to be allowed")
        return 0 if self.allowed == self.asked and (self.asked or not self._args.name) else FAILED


def shown(name: str, detail: Mapping[str, Any]) -> list[str]:
    """Return what is to be allowed, in full, a line each.

    What would run is set off from what is said of it; everything else is in one line.
    """
    lines = [f"{name}: {detail.get('schedule') or ''}".rstrip(": ")]
    lines += [f"  │ {line}" for line in revealed(emitter_text(detail), newlines=True).split("\n")]
    lines += [f"  {revealed(line)}" for line in _facts(detail)]
    return [*lines, f"  {_PROMPT if detail.get('prompt') else RIGHTS}"]


def _facts(detail: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is said of it. Nothing is made safe."""
    for key, label in (("cwd", "runs in"), ("shell", "shell"), ("maxRuns", "runs at most")):
        if detail.get(key):
            yield f"{label}: {detail[key]}"
    if detail.get("isOutside"):
        yield "that is outside of the session's folder"
    env = detail.get("env")
    for variable, value in env.items() if isinstance(env, dict) else ():
        yield f"with {variable}={value}"
    for rule in detail.get("rules") or ():
        yield f"lines with {rule[0]}: {rule[1]}"
    if detail.get("delivery") == "all" or detail.get("injector") not in (None, "unset"):
        yield f"injector: {detail.get('injector')}, delivery: {detail.get('delivery')}"
    yield from covered(detail)
    if detail.get("changed"):
        yield f"since it was allowed: {detail['changed']}"


def covered(detail: Mapping[str, Any]) -> Iterator[str]:
    """Yield what files are allowed with it, and what is not covered. Nothing is made safe."""
    if listed := detail.get("files"):
        yield f"with the files: {', '.join(str(one) for one in listed)}"
    yield from (f"not covered: {one}" for one in detail.get("uncovered") or ())
    if listed := detail.get("doubts"):
        yield f"it may run more than it names: {', '.join(str(one) for one in listed)}"


# Through the gateway


class _Waiting(NamedTuple):
    """An approval that waits, whole, and the folder that it is about."""

    approval: Approval
    folder: str


def _allow_running(found: FoundGateway, args: argparse.Namespace) -> int:
    waiting = asyncio.run(_waiting(found, args))
    if waiting is None:
        return _allow_file(args)
    allowed = _Allowed(args)
    agreed = []
    for one in waiting:  # the gateway is left meanwhile: an answer may take its time
        detail = detail_of(one.approval)
        if allowed.agrees(str(detail.get("name")), detail):
            agreed.append(one)
    if agreed:
        asyncio.run(_decide(found, agreed, allowed, later_versions=args.later_versions))
    return allowed.end()


async def _waiting(found: FoundGateway, args: argparse.Namespace) -> list[_Waiting] | None:
    """Return what waits of a folder, or a session; None where no session uses the folder."""
    async with await GatewayConnection.open(
        found, name="tapui emitters allow", on_waits=output.note
    ) as connection:
        state = connection.snapshot.state
        here = None if args.session else folder_of(args)
        session = session_of(state.sessions, args.session).id if args.session else None
        folders = {one.id: one.folder for one in state.emitters}
        of_sessions = {one.id: _real(one.cwd) for one in state.sessions}
        waiting = []
        for approval in state.approvals:
            if approval.kind != "emitter" or not is_waiting(approval):
                continue
            detail = detail_of(approval)
            of_session = of_sessions.get(approval.session_id or "", "")
            folder = folders.get(str(detail.get("emitterId")), of_session)
            if here in (None, folder) and session in (None, approval.session_id):
                waiting.append(_Waiting(await whole(connection, approval), folder))
        in_use = {*folders.values(), *of_sessions.values()}
        if here is not None and not waiting and here not in in_use:
            return None
        return [one for one in waiting if args.name in (None, _name(one))]


def _name(waiting: _Waiting) -> str:
    return str(detail_of(waiting.approval).get("name"))


def _real(folder: str) -> str:
    return os.path.realpath(folder)


async def _decide(
    found: FoundGateway, agreed: list[_Waiting], allowed: _Allowed, *, later_versions: bool
) -> None:
    answer = {"laterVersions": True} if later_versions else None
    async with await GatewayConnection.open(
        found, name="tapui emitters allow", on_waits=output.note
    ) as connection:
        for one in agreed:
            await decide(connection, one.approval, "approve", answer, is_said=False)
            allowed.say(_name(one), one.folder)


# Without one


def _allow_file(args: argparse.Namespace) -> int:
    """Keep consents to what a folder's file says."""
    need_person(args)
    configuration = read(folder_of(args))
    tell_problems(configuration)
    consents = EmitterConsents(home().state)
    allowed = _Allowed(args)
    for plan in (one.plan for one in folder_emitters("", configuration).entries):
        if args.name not in (None, plan.name):
            continue
        entry = entry_of(configuration, plan.name, is_provider=plan.kind == "provider")
        assert entry is not None, "it was read from this configuration"
        try:
            standing = consents.standing(configuration, entry)
            if isinstance(standing, Consented):
                continue
            asked = asking(standing, entry, configuration.path)
            if allowed.agrees(plan.name, {**asked.detail, "changed": asked.why}):
                consents.allow(standing.proposal, later_versions=args.later_versions)
                allowed.say(plan.name, configuration.folder)
        except OSError as error:
            raise Failure(f"{plan.name} cannot be allowed: {reason(error)}") from None
    if consents.damage:
        output.note(consents.damage)
    return allowed.end()


def revoke(args: argparse.Namespace) -> int:
    """Forget the consents to a folder's file. A gateway that runs notices it by itself."""
    folder = folder_of(args)
    try:
        count = EmitterConsents(home().state).revoke(folder, name=args.name)
    except OSError as error:
        raise Failure(f"what was allowed cannot be forgotten: {reason(error)}") from None
    if args.json:
        output.say_json({"folder": folder, "name": args.name, "revoked": count})
    else:
        output.say(f"{count} that were allowed in {folder} are not any more")
    return 0 if count or not args.name else FAILED
