"""`tapui run`: through the running gateway, or with one of its own for as long as it lasts."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from tapui.cli.context import gateway, home, options
from tapui.cli.failure import WRONG_USE, Failure
from tapui.cli.following import follow
from tapui.client.errors import NoGateway
from tapui.client.gateways import FoundGateway
from tapui.home.run_folder import gateways
from tapui.policies.rules import PolicyRule
from tapui.wire.limits import MAX_TELL
from tapui.wire.starting import GivenRule, SessionStart

START_ID = "run"


def run(args: argparse.Namespace) -> int:
    """Start the session, print what its agent says, and return how it went as the exit code."""
    prompt = " ".join(args.prompt)
    if not prompt.strip():
        raise Failure("there is no prompt", WRONG_USE)
    if len(prompt) > MAX_TELL:
        raise Failure(f"a prompt has at most {MAX_TELL:,} characters", WRONG_USE)
    folder = None
    if args.cwd is not None or args.resume is None:
        folder = str(Path(args.cwd or ".").absolute())
    start = SessionStart(
        START_ID,
        folder=folder,
        prompt=prompt,
        model=args.model,
        mode=args.mode,
        trust_folder=args.trust_folder,
        resume=args.resume,
        unattended=True,
        rules=_policy(args.policy) if args.policy is not None else None,
    )
    chosen = _running(args)
    if chosen is not None:
        return asyncio.run(follow(chosen, start, as_json=args.json))
    return asyncio.run(_with_own_gateway(args, start))


def _running(args: argparse.Namespace) -> FoundGateway | None:
    """Return the gateway that the arguments mean; None where none runs and none was named."""
    try:
        return gateway(args)
    except NoGateway:
        if hasattr(args, "port") or gateways(home()):
            raise
        return None


async def _with_own_gateway(args: argparse.Namespace, start: SessionStart) -> int:
    from tapui.station.headless import private_gateway

    async with private_gateway(options(args)) as own:
        return await follow(own, start, as_json=args.json)


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
