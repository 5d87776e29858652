"""`tapui records`: what the journals hold, without a gateway; and its removal."""

import argparse
import difflib
import sqlite3
import time
from typing import get_args

import msgspec

from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands, count, moment
from tapui.cli.context import home, id_of
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.journals import INDEX_SECONDS, folders_of
from tapui.files.locked_folder import FolderHeldError
from tapui.projection.approvals import by, command_line
from tapui.projection.proof import proof_line
from tapui.projection.requests.permissions import by_rule, rule_name
from tapui.projection.reviews import disposition_words
from tapui.projection.stream_words import LEVEL_WORDS
from tapui.projection.summary import summary_of
from tapui.projection.words import alarm_words, order_words
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.records.retention import KeptSession, kept_sessions, remove
from tapui.wire import events as ev
from tapui.wire.builtin import RecordCollection
from tapui.wire.goals import Goal
from tapui.wire.subjects import Approval, Provider, Session, Span

COMMANDS = """
180 records: print what was recorded
"""

LAST = 20
"""Records that are printed when `--last` does not say how many."""
_SHOWN = 160


def arguments(records: CommandParser) -> None:
    records.runs(run, "Reads the files: no gateway needs to run.")
    records.add_argument("--session", metavar="ID", help="only this session's (all sessions)")
    records.add_argument(
        "--collection", metavar="NAME", help="only this collection, such as calls or approvals"
    )
    records.add_argument("--last", type=count, metavar="N", help="only the newest N (20)")
    records.add_argument(
        "--at", metavar="REF", help="only the record of a ref, COLLECTION/RUN/SEQ, and all of it"
    )
    records.add_argument("--json", action="store_true", help="print the records as they are")
    actions = Commands(records, "actions")
    export = actions.add(
        "export",
        "write spans as OpenTelemetry has them, or send them to a collector",
        span_export,
        "Spans have names, ids and times; with --content also what was said in calls, as\n"
        "records have it: without known secrets.",
    )
    export.add_argument(
        "--otlp",
        nargs="?",
        const="-",
        required=True,
        metavar="FILE|URL",
        help="OTLP/JSON: a new file with a document a line, or a collector; without, to stdout",
    )
    export.add_argument("--session", metavar="ID", help="only this session's (all sessions)")
    export.add_argument(
        "--since", type=moment, metavar="TIME", help="only those that ended since: 2h, 2026-11-20"
    )
    export.add_argument(
        "--content", action="store_true", help="with arguments, results and errors of calls"
    )
    question = actions.add(
        "query",
        "ask the records of a collection, as agents ask with tap_query_records",
        record_question,
        "A condition is a path, a comparison (= != < <= > >= ~) and a value, or a word:\n"
        "exists, missing, contains, startsWith, endsWith, in, nin. ~ is a regular\n"
        "expression.\n"
        "  tapui records query calls --where call.tool=bash --where 'call.duration>500'\n"
        "  tapui records query traces --group-by span.tool --agg p95:span.duration",
    )
    question.add_argument(
        "of", metavar="COLLECTION", choices=get_args(RecordCollection), help="such as calls"
    )
    question.add_argument(
        "--where", action="append", default=[], metavar="CONDITION", help="each of these holds"
    )
    question.add_argument("--since", metavar="TIME", help="only those since: 2h, 2026-11-20")
    question.add_argument(
        "--group-by", action="append", default=[], metavar="PATH", help="count by it; at most 3"
    )
    question.add_argument(
        "--agg", action="append", default=[], metavar="OP:PATH",
        help="of each group: count, countDistinct, sum, min, max, avg, p50, p95, first, last …",
    )  # fmt: skip
    question.add_argument("--session", metavar="ID", help="only this session's (all sessions)")
    question.add_argument(
        "--limit", type=count, default=LAST, metavar="N", help=f"the first N ({LAST})"
    )
    question.add_argument(
        "--format", choices=("table", "jsonl", "csv", "md"), default="table", help="(table)"
    )
    purge = actions.add(
        "purge",
        "remove the records of all sessions that have ended",
        run_purge,
        "What is indexed of them goes, too. Sessions that tapui records now stay.",
    )
    purge.add_argument(
        "--before",
        type=moment,
        metavar="TIME",
        help="only those that ended before: 30d, 2026-11-20",
    )
    delete = actions.add(
        "delete",
        "remove the records of one session",
        run_delete,
        "What is indexed of them goes, too.",
    )
    delete.add_argument(
        "session", metavar="SESSION", help="its id, or a beginning that fits only one"
    )
    for parser in (purge, delete):
        parser.add_argument("--yes", action="store_true", help="do not ask")


def span_export(args: argparse.Namespace) -> int:
    """Export spans: only this imports what posts them."""
    from tapui.cli.span_export import run as run_export

    return run_export(args)


def record_question(args: argparse.Namespace) -> int:
    """Answer a question: only this imports what reads conditions."""
    from tapui.cli.record_question import run as run_question

    return run_question(args)


def run(args: argparse.Namespace) -> int:
    """Print the newest records, oldest first; or one."""
    if args.at is not None:
        return _run_at(args)
    collection = _collection(args.collection)
    last = args.last or LAST
    damage = Damage()
    found: list[Record] = []
    for session_id, folders in folders_of(args.session):
        for folder in folders:
            found += reader.tail(folder, collection, last, session_id=session_id, damage=damage)
    records = reader.in_order(found)[-last:]
    for record in records:
        if args.json:
            output.say_json_bytes(record.line)
        else:
            session = record.session_id or "-"
            output.say(
                f"{times.date_and_time(record.ts)}  {record.kind:<21}  {session[:12]:<12}  "
                f"{_masked(record)}{_summary(record)[:_SHOWN]}"
            )
    if not records:
        output.note("there are no records")
    if masked := sum(record.masked for record in records):
        output.note(f"secrets that were masked in them: {masked}")
    if damage.lines:
        output.note(f"damaged lines passed over: {damage.lines}")
    if damage.torn:
        output.note(f"unfinished last lines passed over: {damage.torn}")
    return 0


def _run_at(args: argparse.Namespace) -> int:
    from tapui.index.asking import QuestionRefused, ref_of
    from tapui.index.search import record_of_ref

    try:
        ref = ref_of(args.at)
    except QuestionRefused as error:
        raise Failure(str(error), WRONG_USE) from None
    _collection(ref.collection or None)
    folders = (folder for _, found in folders_of(None) for folder in found)
    record = record_of_ref(folders, ref)
    if record is None:
        raise Failure(f"there is no record {args.at}: it may have been removed")
    if args.json:
        output.say_json_bytes(record.line)
    else:
        output.say_json(msgspec.Raw(record.line), indent=2)
    return 0


def _collection(name: str | None) -> str | None:
    if name is None or name in reader.ALL_COLLECTIONS:
        return name
    near = difflib.get_close_matches(name, reader.ALL_COLLECTIONS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(reader.ALL_COLLECTIONS)}"
    raise Failure(f"there is no collection {name}; {hint}", WRONG_USE)


def _masked(record: Record) -> str:
    return f"({record.masked} masked) " if record.masked else ""


def _summary(record: Record) -> str:
    """Return in a few words what a record tells; of an unknown one its line."""
    match record.event:
        case ev.CallStarted(call=call):
            return f"{call.tool} of {call.provider}  {summary_of(call)}"
        case ev.CallProgress(call=call):
            return f"{call.tool} of {call.provider}: {call.progress or ''}"
        case ev.CallCancelling(call=call) | ev.CallFinished(call=call):
            took = "" if call.duration is None else f" after {call.duration:.0f} ms"
            why = "" if call.error is None else f": {call.error_code or ''} {call.error}"
            return f"{call.tool} of {call.provider} {call.state}{took}{why}"
        case ev.CallExited(call=call):
            return f"{call.tool} of {call.provider} exited in the background: {call.exit_code}"
        case ev.StreamPosted(stream=stream, line=line):
            return f"{stream}  {LEVEL_WORDS[line.level]}  {line.event}"
        case ev.StreamMoved() as moved:
            return f"{moved.stream} goes on in session {moved.session_id}"
        case ev.AlarmRaised(alarm=alarm):
            return f"{alarm.id} {alarm_words(alarm)}"
        case ev.AlarmCleared(alarm=alarm):
            return f"{alarm.id} {alarm.kind} is over"
        case ev.ModeChanged() as mode:
            asked = f", asked by {mode.asker} ({mode.policy})" if mode.asker else ""
            why = f": {mode.error}" if mode.error else ""
            return f"{mode.source or '?'} to {mode.mode} {mode.state} by {mode.by}{asked}{why}"
        case ev.OrderGiven(order=order):
            return f"{order_words(order)} by {order.by}"
        case ev.OrderChanged() as change:
            why = f": {change.error}" if change.error else ""
            return f"{change.order_id} {change.state}{why}"
        case ev.TurnProved(started_at=began, proof=proof):
            clock = times.date_and_time
            shows = "nothing is recorded" if proof is None else proof_line(proof, clock)
            return f"turn of {clock(began)}  {shows}"
        case ev.SessionStood(standing=standing):
            if standing is None:
                return "no check is known"
            return proof_line(standing.proof, times.date_and_time)
        case ev.SessionHappened(event=name):
            return name
        case ev.InjectPaused(provider=name) | ev.InjectResumed(provider=name):
            return name
        case ev.EmitterChanged(emitter=emitter):
            return f"{emitter.name} {emitter.state}"
        case ev.EmitterCounted(counts=counts):
            return f"{counts.lines:,} lines, {counts.lines - counts.dropped:,} let through"
        case ev.EmitterGone(name=name, reason=why) | ev.McpServerGone(name=name, reason=why):
            return f"{name} gone: {why}"
        case ev.FolderProblemsChanged(folder=folder, problems=problems):
            return "; ".join(map(str, problems)) or f"nothing is wrong any more in {folder}"
        case ev.McpServerChanged(server=server):
            return f"{server.name} {server.state}" + (f": {server.why}" if server.why else "")
        case ev.ErrorSent() as error:
            return f"{error.code}: {error.message}"
        case ev.CommandAsked() as asked:
            return command_line(asked)
        case ev.ReviewRecorded(review=review):
            return f"{review.id} {review.decision} by {review.monitor}: {review.observed}"
        case ev.FindingDisposed(finding=finding):
            return f"{finding.id} {disposition_words(finding)}: {finding.title}"
        case ev.SpanEnded(span=span):
            return _span(span)
        case ev.SpansExported(export=export):
            why = f": {export.error}" if export.error else ""
            return f"{export.endpoint}  {export.sent:,} sent, {export.dropped:,} dropped{why}"
        case ev.EventLost() as lost:
            return f"{lost.lost} lost: {lost.error}"
    # The other events of a session, a provider, an approval and a goal have the whole of it.
    match getattr(record.event, record.kind.partition(".")[0], None):
        case Session(label=name, state=state) | Provider(name=name, state=state):
            return f"{name} {state}"
        case Approval() as approval:
            return _approval(approval)
        case Goal(id=id_, status=status, title=title):
            return f"{id_} {status}: {title}"
    return record.line[:_SHOWN].decode("utf-8", "replace")


def _approval(approval: Approval) -> str:
    how = by(approval.decided_by) if approval.decided_by else ""
    how = f"by {rule_name(approval.rule)}" if by_rule(approval) else how
    return f"{approval.kind} {approval.id} {approval.state} {how}".rstrip()


def _span(span: Span) -> str:
    about = span.tool or span.emitter or ""
    if span.turn is not None:
        about = f"turn {span.turn}"
    where = f" at {span.provider}" if span.provider else ""
    return (
        f"{span.name:<8}  {span.duration:.0f} ms  {span.status}  {about}{where}  "
        f"trace {span.trace_id}"
    )


# Removing


def run_purge(args: argparse.Namespace) -> int:
    before = time.time() if args.before is None else args.before
    ended = [one for one in kept_sessions(home().state) if one.written < before]
    return _remove(args, ended, f"the records of {len(ended)} ended sessions", is_named=False)


def run_delete(args: argparse.Namespace) -> int:
    by_id = {one.session_id: one for one in kept_sessions(home().state)}
    none = f"there are no records of session {args.session}"
    session = by_id[id_of(by_id, args.session, otherwise=none)]
    return _remove(args, [session], f"the records of session {session.session_id}", is_named=True)


def _remove(
    args: argparse.Namespace, chosen: list[KeptSession], what: str, *, is_named: bool
) -> int:
    """Ask, then remove; 1 when the answer is no or something could not be removed."""
    if not chosen:
        output.note("there are no such records")
        return 0
    size = sum(one.bytes for one in chosen)
    if not args.yes and not output.is_agreed(f"remove {what} ({size:,} bytes)?"):
        output.note("nothing was removed")
        return FAILED
    outcomes = [_is_removed(one, is_named=is_named) for one in chosen]
    _unindex()
    return 0 if all(outcomes) else FAILED


def _is_removed(session: KeptSession, *, is_named: bool) -> bool:
    """Remove a session's records. One that is still written to is a failure only where
    it was named."""
    try:
        remove(session.folders)
    except FolderHeldError as error:
        if is_named:
            raise Failure(
                f"session {session.session_id} is recorded now ({error.strerror}); "
                "end it first, or tapui"
            ) from None
        return True
    except OSError as error:
        where = error.filename or session.folders[0]
        output.note(f"tapui: {where}: {error.strerror}")
        return False
    output.note(f"removed {session.session_id} ({session.bytes:,} bytes)")
    return True


def _unindex() -> None:
    """Take what was removed out of the index. A running tapui does so itself within a minute."""
    from tapui.index.update import bring_up_to_date

    try:
        bring_up_to_date(home().state, INDEX_SECONDS)
    except (OSError, sqlite3.Error) as error:
        output.note(f"the index could not be brought up to date: {error}")
