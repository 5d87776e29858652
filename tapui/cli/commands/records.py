"""`tapui records`: what the journals hold, without a gateway."""

import argparse
import difflib
from pathlib import Path

from tapui import times
from tapui.cli import output
from tapui.cli.context import home
from tapui.cli.failure import WRONG_USE, Failure
from tapui.cli.meant import session_meant
from tapui.projection import alarms, orders
from tapui.projection.asking import by_rule, by_whom, command_line, rule_name
from tapui.projection.summary import summary_of
from tapui.records import reader, register
from tapui.records.reader import Damage, Record
from tapui.wire import events as ev

LAST = 20
"""Records that are printed when `--last` does not say how many."""
_SHOWN = 160


def run(args: argparse.Namespace) -> int:
    """Print the newest records, oldest first."""
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


def _collection(name: str | None) -> str | None:
    if name is None or name in reader.ALL_COLLECTIONS:
        return name
    near = difflib.get_close_matches(name, reader.ALL_COLLECTIONS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(reader.ALL_COLLECTIONS)}"
    raise Failure(f"there is no collection {name}; {hint}", WRONG_USE)


def folders_of(wanted: str | None) -> list[tuple[str | None, list[Path]]]:
    """Return the folders to read, each group with the session to keep of it (None: all)."""
    state = home().state
    known = register.sessions(state)
    if wanted is None:
        # A session's folder may hold records of the session that it replaced: keep all, once.
        every = dict.fromkeys(folder for folders in known.values() for folder in folders)
        every |= dict.fromkeys(register.gateway_folders(state))
        return [(None, list(every))]
    if folders := register.folders(state, wanted):
        return [(wanted, folders)]
    listed = ", ".join(known) if known else "none"
    none = f"there are no records of session {wanted}; sessions with records: {listed}"
    meant = session_meant(known, wanted, otherwise=none)
    return [(meant, known[meant])]


def _masked(record: Record) -> str:
    return f"({record.masked} masked) " if record.masked else ""


def _summary(record: Record) -> str:
    """Say in a few words what a record tells; an unknown one is shown as it is."""
    match record.event:
        case ev.CallStarted(call=call):
            return f"{call.tool} of {call.provider}  {summary_of(call)}"
        case ev.CallProgress(call=call):
            return f"{call.tool} of {call.provider}: {call.progress or ''}"
        case ev.CallCancelling(call=call) | ev.CallFinished(call=call):
            took = "" if call.duration is None else f" after {call.duration:.0f} ms"
            why = "" if call.error is None else f": {call.error_code or ''} {call.error}"
            return f"{call.tool} of {call.provider} {call.state}{took}{why}"
        case ev.StreamPosted(stream=stream, line=line):
            return f"{stream}  {line.level}  {line.event}"
        case ev.StreamMoved() as moved:
            return f"{moved.stream} goes on in session {moved.session_id}"
        case (
            ev.ApprovalRequested(approval=approval)
            | ev.ApprovalDeciding(approval=approval)
            | ev.ApprovalRevealed(approval=approval)
            | ev.ApprovalDecided(approval=approval)
            | ev.ApprovalWithdrawn(approval=approval)
            | ev.ApprovalExpired(approval=approval)
        ):
            who = rule_name(approval.rule) if by_rule(approval) else ""
            who = who or (by_whom(approval.decided_by) if approval.decided_by else "")
            by = f" by {who}" if who else ""
            return f"{approval.kind} {approval.id} {approval.state}{by}"
        case ev.AlarmRaised(alarm=alarm):
            return f"{alarm.id} {alarms.about(alarm)}"
        case ev.AlarmCleared(alarm=alarm):
            return f"{alarm.id} {alarm.kind} is over"
        case ev.ModeChanged() as mode:
            return f"{mode.source or '?'} to {mode.mode} {mode.state} by {mode.by}"
        case ev.OrderGiven(order=order):
            return f"{orders.wanted(order)} by {order.by}"
        case ev.OrderChanged() as change:
            why = f": {change.error}" if change.error else ""
            return f"{change.order_id} {change.state}{why}"
        case ev.SessionHappened(event=name):
            return name
        case (
            ev.SessionOpened(session=session)
            | ev.SessionUpdated(session=session)
            | ev.SessionReplaced(session=session)
            | ev.SessionClosed(session=session)
        ):
            return f"{session.label} {session.state}"
        case (
            ev.ProviderConnected(provider=provider)
            | ev.ProviderBound(provider=provider)
            | ev.ProviderUpdated(provider=provider)
            | ev.ProviderMoved(provider=provider)
            | ev.ProviderUnbound(provider=provider)
            | ev.ProviderDisconnected(provider=provider)
        ):
            return f"{provider.name} {provider.state}"
        case ev.InjectPaused(provider=name) | ev.InjectResumed(provider=name):
            return name
        case ev.EmitterChanged(emitter=emitter):
            return f"{emitter.name} {emitter.state}"
        case ev.EmitterCounted(counts=counts):
            return f"{counts.lines:,} lines, {counts.lines - counts.dropped:,} let through"
        case ev.EmitterGone() as gone:
            return f"{gone.name} gone: {gone.reason}"
        case ev.FolderProblemsChanged(folder=folder, problems=problems):
            return "; ".join(map(str, problems)) or f"nothing is wrong any more in {folder}"
        case ev.McpServerChanged(server=server):
            return f"{server.name} {server.state}" + (f": {server.why}" if server.why else "")
        case ev.McpServerGone() as ended:
            return f"{ended.name} gone: {ended.reason}"
        case ev.ErrorSent() as error:
            return f"{error.code}: {error.message}"
        case ev.CommandAsked() as asked:
            return command_line(asked)
        case ev.SpanEnded(span=span):
            about = span.tool or span.emitter or ""
            if span.turn is not None:
                about = f"turn {span.turn}"
            where = f" at {span.provider}" if span.provider else ""
            return (
                f"{span.name:<8}  {span.duration:.0f} ms  {span.status}  {about}{where}  "
                f"trace {span.trace_id}"
            )
        case ev.EventLost() as lost:
            return f"{lost.lost} lost: {lost.error}"
        case _:
            return record.line[:_SHOWN].decode("utf-8", "replace")
