"""`tapui proof`: what was recorded of a session, for a pull request or a script."""

import argparse
import asyncio

from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port, moment
from tapui.cli.commands.proof import past
from tapui.cli.context import gateway, home, session_here, session_of
from tapui.cli.failure import UNPROVEN, WRONG_USE, Failure
from tapui.cli.journals import folders_of
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, NoGateway
from tapui.core.proof import ledger
from tapui.core.proof.ledger import LedgerAccount
from tapui.projection.fold import fold
from tapui.projection.proof import newest_record, record_of
from tapui.projection.proof_report import (
    FROM_LEDGER,
    FROM_RECORDS,
    LIVE,
    ProofReport,
    ReportSource,
    as_markdown,
    report,
)
from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.records.ledger_files import content_of
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.tower import TurnsList, TurnsRead

_EXIT_CODES = """\
exit codes:
  0 all that turns changed is checked, by the newest runs of its checks,
  1 failed, 2 wrong use, 3 no gateway and no SESSION named, 6 not proven,
  also where no turn changed a file or one goes on, 130 interrupted"""


def arguments(proof: CommandParser) -> None:
    proof.runs(
        run,
        "Of an open session it is what tapui recorded itself. Of one that has ended the\n"
        "checks are read from tapui's ledger; its records, which lie where its agent can\n"
        "write, tell the rest. Without a ledger nothing is proven.\n"
        "With --past: what Copilot's own files tell; its exit code says nothing of them.",
    )
    proof.epilog = _EXIT_CODES
    proof.add_argument(
        "session",
        metavar="SESSION",
        nargs="?",
        help="its id, or a beginning that fits only one (the one in this folder)",
    )
    proof.add_argument(
        "--past",
        type=moment,
        metavar="TIME",
        help="instead: turns since then (30d, 2026-11-20) of all sessions that Copilot stored",
    )
    form = proof.add_mutually_exclusive_group()
    form.add_argument("--md", action="store_true", help="Markdown of at most 30 lines (as without)")
    form.add_argument("--json", action="store_true", help="print a JSON object")
    add_port(proof, "the gateway's port")


def run(args: argparse.Namespace) -> int:
    """Print the report; 0 only if everything in it is proven."""
    if args.past is not None:
        if args.session is not None or args.md:
            raise Failure("--past is about all sessions: without SESSION and --md", WRONG_USE)
        return past.run(args.past, as_json=args.json)
    told = _live(args) or _from_records(args.session)
    if args.json:
        output.say_json(told, indent=2)
    else:
        for line in as_markdown(told, times.date_and_time):
            output.say(safe_text(line))
    return 0 if told.is_proven else UNPROVEN


def _live(args: argparse.Namespace) -> ProofReport | None:
    """Report a session that is open; None where a name fits none, or no gateway runs."""
    try:
        chosen = gateway(args)
    except NoGateway:
        if args.session is None:
            raise
        return None
    return asyncio.run(_asked(chosen, args.session))


async def _asked(chosen: FoundGateway, name: str | None) -> ProofReport | None:
    async with await GatewayConnection.open(
        chosen, name="tapui proof", on_waits=output.note
    ) as connection:
        state = State.of(connection.snapshot.state)
        sessions = list(state.sessions.values())
        try:
            session = session_of(sessions, name) if name else session_here(sessions)
        except Failure:
            if name is None:
                raise
            return None
        wanted = TurnsRead("proof", session.id, last=limits.TURNS)
        found = await connection.ask(
            wanted, lambda came: isinstance(came, TurnsList) and came.id == wanted.id
        )
        turns = found.turns if isinstance(found, TurnsList) else []
        source = ReportSource(session.label or session.id, session.cwd or "", LIVE)
        known = state.turns.get(session.id)
        standing = known.standing if known is not None else None
        record = record_of(state, session)
        return report(source, turns, record, standing, times.date_and_time)


def _from_records(name: str) -> ProofReport:
    """Report a session that has ended: by its ledger, and of what that does not have by its
    records. Raises `Failure` where it has none of these."""
    from tapui.replay.timeline import Recorded

    none = f"no session is called {name}: none that is open, and none that has records"
    ((session_id, folders),) = folders_of(name, otherwise=none)
    state = State()
    try:
        for placed in Recorded(folders).read({}):
            entry = placed.record.entry() if placed.record is not None else None
            if entry is not None:
                fold(state, entry.event, entry.ts)
    except OSError as error:
        raise Failure(f"the records of {session_id} cannot be read: {error.strerror}") from None
    known = state.turns.get(session_id or "") or LiveTurns(session_id or "")
    kept = _kept(session_id or "")
    if kept is not None:
        known.standing = kept.standing
        for turn in known.turns:
            turn.proof = kept.lines.get(turn.started_at)
    session = state.sessions.get(session_id or "")
    label = session.label if session is not None else None
    folder = session.cwd if session is not None else None
    words = FROM_RECORDS if kept is None else FROM_LEDGER
    source = ReportSource(label or str(session_id), folder or "", words)
    turns = [turn.told() for turn in known.turns]
    if kept is None:
        return report(source, turns, None, None, times.date_and_time)
    return report(source, turns, newest_record(known), known.standing, times.date_and_time)


def _kept(session_id: str) -> LedgerAccount | None:
    """Return what the ledger of a session shows; None where there is none that is believed."""
    try:
        data = content_of(home().state, session_id)
    except OSError:
        return None
    found = ledger.read(session_id, data)
    return None if found.fault or not found.facts else ledger.account(found.facts)
