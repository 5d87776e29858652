"""`tapui review`: what agents reviewed and found, and what the person decides about it."""

import argparse
import asyncio
import time
from collections.abc import Iterator

import tapui
from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands, add_port, count
from tapui.cli.context import gateway, session_of
from tapui.cli.failure import WRONG_USE, Failure
from tapui.cli.journals import folders_of
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.invocation import command
from tapui.projection.reviews import (
    ReviewLog,
    disposition_words,
    outcome_words,
    place_words,
    precisions,
    range_words,
    standing_words,
    unreviewed_words,
)
from tapui.projection.sarif import sarif
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.reviews import Finding, FindingAnswer, FindingDispose, Review

_ID = "review"
_LAST = 20
_SHOWN = 100
_DISPOSITIONS = ("open", "accepted", "rejected", "deferred", "fixed")
_SESSION_KINDS = (
    b'"session.opened"',
    b'"session.updated"',
    b'"session.replaced"',
    b'"changes.note',
)
"""What the records of sessions have that belongs to findings: folders, and the person's notes."""
_REVIEW_TITLES = ("WHEN", "ID", "MONITOR", "DECISION", "LINES", "FOUND", "OBSERVED")
_FINDING_TITLES = ("ID", "PRIO", "FINDING", "PLACE", "RESTS ON", "DECIDED")
_EXIT_CODES = """\
exit codes:
  0 printed or decided, 1 failed, 2 wrong use, 3 no gateway, 130 interrupted"""


def arguments(review: CommandParser) -> None:
    review.describe(
        "Agents record reviews with tap_record_review, or as text in the stream reviews.\n"
        "A finding without a check is an opinion. What you reject stays rejected where\n"
        "the same is found again. Your notes on changes are findings as well.\n"
        "Only dispose needs a gateway; the others read the records."
    )
    actions = Commands(review)
    every = {
        "list": actions.add("list", "list reviews and open findings", _list, ""),
        "show": actions.add("show", "show a review or a finding in full", _show, ""),
        "dispose": actions.add(
            "dispose",
            "decide about a finding",
            _dispose,
            "Only you may; agents propose. What is open again was not decided.",
        ),
        "sarif": actions.add(
            "sarif",
            "print the findings as SARIF 2.1.0",
            _sarif,
            "One run for each reviewer; what you rejected or deferred is suppressed.",
        ),
    }
    for name in ("list", "sarif"):
        add = every[name].add_argument
        add("--session", metavar="SESSION", help="only those of this session (of all)")
        add("--all", action="store_true", help="findings that were decided about, too")
    add = every["list"].add_argument
    add("--last", type=count, metavar="N", default=_LAST, help=f"the newest N reviews ({_LAST})")
    add("--precision", action="store_true", help="how good each reviewer's findings were")
    every["show"].add_argument(
        "id", metavar="ID", help="of a review or a finding, or its beginning"
    )
    add = every["dispose"].add_argument
    add(
        "finding",
        metavar="FINDING",
        help="its id or fingerprint, or a beginning that fits only one",
    )
    add("disposition", choices=_DISPOSITIONS, help="what you decide")
    add("--reason", metavar="TEXT", default="", help="why")
    for name in ("list", "show", "dispose"):
        text = f"print {'a JSON object a line' if name == 'list' else 'it as JSON'}"
        every[name].add_argument("--json", action="store_true", help=text)
    add_port(every["dispose"], "the gateway's port")
    for parser in every.values():
        parser.epilog = _EXIT_CODES


# What was recorded


def _read(session: str | None) -> ReviewLog:
    """Return the reviews and findings in the records of a session, or of all. What is damaged is
    passed over, and counted."""
    damage, log = Damage(), ReviewLog()
    found: list[Record] = []
    for session_id, folders in folders_of(session):
        for folder in folders:
            for collection, having in (("reviews", ()), ("sessions", _SESSION_KINDS)):
                found += [
                    one
                    for one in reader.scan(folder, collection, damage=damage, having=having)
                    if session_id is None or one.session_id in (None, session_id)
                ]
    for record in reader.in_order(found):
        if record.event is not None:
            log.add(record.event)
    if damage.lines:
        output.note(f"damaged lines passed over: {damage.lines}")
    return log


def _chosen(log: ReviewLog, *, with_decided: bool) -> list[Finding]:
    """Return the findings to list: each once, as it was found last; open ones first."""
    newest = {one.fingerprint: one for one in log.findings.values()}
    found = [one for one in newest.values() if with_decided or one.disposition == "open"]
    return sorted(found, key=lambda one: (one.disposition != "open", one.priority or "P9"))


def _list(args: argparse.Namespace) -> int:
    log = _read(args.session)
    if args.precision:
        return _list_precision(args, log)
    reviews = list(log.reviews.values())[-args.last :]
    findings = _chosen(log, with_decided=args.all)
    if args.json:
        for review in reviews:
            output.say_json({"review": output.all_fields(review)})
        for finding in findings:
            output.say_json({"finding": output.all_fields(finding)})
        return 0
    if reviews:
        now = time.time()
        output.table(_REVIEW_TITLES, [_review_row(one, now) for one in reviews])
    else:
        output.note("no review is recorded")
    if findings:
        output.say("")
        output.table(_FINDING_TITLES, [_finding_row(one) for one in findings])
    return 0


def _review_row(review: Review, now: float) -> list[str]:
    lines = ", ".join(filter(None, (range_words(review), unreviewed_words(review.unreviewed))))
    return [
        times.when(review.at, now),
        review.id,
        cut(review.monitor, limits.MAX_NAME),
        review.decision,
        lines.removeprefix("lines "),
        str(len(review.findings) or ""),
        cut(" ".join(review.observed.split()), _SHOWN),
    ]


def _finding_row(finding: Finding) -> list[str]:
    return [
        finding.id,
        finding.priority or "",
        cut(finding.title, _SHOWN),
        place_words(finding),
        standing_words(finding),
        disposition_words(finding),
    ]


def _list_precision(args: argparse.Namespace, log: ReviewLog) -> int:
    rows = precisions(log.findings.values())
    if args.json:
        for row in rows:
            output.say_json(
                {
                    "reviewer": row.reviewer,
                    "findings": row.findings,
                    "accepted": row.accepted,
                    "rejected": row.rejected,
                    "opinions": row.opinions,
                    "precision": row.value,
                }
            )
    elif rows:
        titles = ("REVIEWER", "FINDINGS", "ACCEPTED", "REJECTED", "OPINIONS", "PRECISION")
        cells = [
            [
                row.reviewer,
                *map(str, (row.findings, row.accepted, row.rejected, row.opinions)),
                "not known" if row.value is None else f"{row.value:.0%}",
            ]
            for row in rows
        ]
        output.table(titles, cells, numbers=(1, 2, 3, 4, 5))
    else:
        output.note("no reviewer has found anything")
    return 0


def _show(args: argparse.Namespace) -> int:
    log = _read(None)
    reviews = [one for one in log.reviews.values() if one.id.startswith(args.id)]
    found = log.named(args.id)
    every: list[Review | Finding] = [*reviews, *found]
    exact = [one for one in every if one.id == args.id] or [*reviews, *found[-1:]]
    if not exact:
        raise Failure(f"there is no review and no finding {args.id}; `{command('review list')}`")
    if len(exact) > 1:
        raise Failure(f"{args.id} fits several: {', '.join(one.id for one in exact[:_LAST])}")
    (one,) = exact
    if args.json:
        output.say_json(output.all_fields(one), indent=2)
    else:
        lines = _review_lines(one) if isinstance(one, Review) else _finding_lines(one)
        for line in lines:
            output.say(line)
    return 0


def _review_lines(review: Review) -> Iterator[str]:
    clock = times.date_and_time
    yield f"{review.id}  {review.decision}  {review.monitor}"
    run = review.emitter
    facts = {
        "recorded": f"{clock(review.at)} by {review.reviewer or review.monitor}",
        "session": review.session_id,
        "turn": str(review.turn) if review.turn is not None else "",
        "model": review.model,
        "emitter": f"{run.name}, run {run.run}" if run is not None else "",
        "stream": " ".join(filter(None, (review.stream, range_words(review)))),
        "": unreviewed_words(review.unreviewed),
        "lines": outcome_words(review),
        "observed": " ".join(review.observed.split()),
        "reason": " ".join(review.reason.split()),
        "sure": f"{review.confidence:.0%}" if review.confidence is not None else "",
        "next": review.next.check if review.next is not None else "",
        "trace": review.trace_id,
    }
    for name, text in facts.items():
        if text:
            yield f"  {name:<9}  {text}"
    for uri in review.evidence:
        yield f"  evidence   {uri}"
    for action in review.actions:
        yield f"  action     {' '.join(action.what.split())}"
    for rule in review.next.change if review.next is not None else ():
        yield f"  proposed   {rule.outcome}: {rule.match}"
    for finding in review.findings:
        yield "  ".join(("finding", *filter(None, _finding_row(finding))))


def _finding_lines(finding: Finding) -> Iterator[str]:
    clock = times.date_and_time
    yield f"{finding.id}  {finding.title}"
    decided, proposed, verdict = finding.disposed, finding.proposed, finding.verdict
    facts = {
        "reviewer": finding.reviewer,
        "review": finding.review_id,
        "priority": finding.priority,
        "sure": f"{finding.confidence:.0%}" if finding.confidence is not None else "",
        "place": place_words(finding),
        "rule": finding.rule,
        "rests on": standing_words(finding),
        "check": output.json_text(finding.check) if finding.check is not None else "",
        "then": verdict.reason if verdict is not None else "",
        "decided": f"{decided.disposition} by {decided.by}, {clock(decided.at)}" if decided else "",
        "why": decided.reason if decided is not None else "",
        "proposed": f"{proposed.disposition} by {proposed.by}: {proposed.reason}"
        if proposed is not None
        else "",
        "known by": finding.fingerprint,
    }
    for name, text in facts.items():
        if text:
            yield f"  {name:<9}  {text}"
    for line in finding.body.splitlines():
        yield f"  {line}"
    for line in finding.quote.splitlines():
        yield f"  │ {line}"


def _sarif(args: argparse.Namespace) -> int:
    findings = _chosen(_read(args.session), with_decided=args.all)
    output.say_json(sarif(findings, tapui.__version__), indent=2)
    return 0


# What is decided


def _dispose(args: argparse.Namespace) -> int:
    if len(args.reason) > limits.MAX_CRITERION:
        text = f"--reason: at most {limits.MAX_CRITERION:,} characters"
        raise Failure(text, WRONG_USE)
    finding = asyncio.run(_disposed(gateway(args), args))
    if args.json:
        output.say_json(output.all_fields(finding))
    else:
        output.say(f"{finding.id}  {disposition_words(finding)}: {finding.title}")
    return 0


async def _disposed(found: FoundGateway, args: argparse.Namespace) -> Finding:
    log = _read(None)
    named = log.named(args.finding)
    ids = {one.fingerprint for one in named}
    if not named:
        raise Failure(f"there is no finding {args.finding}; `{command('review list')}` has them")
    if len(ids) > 1 and all(one.id != args.finding for one in named):
        raise Failure(f"{args.finding} fits several: {', '.join(sorted(ids)[:_LAST])}")
    finding = named[-1]
    name = "tapui review dispose"
    async with await GatewayConnection.open(found, name=name, on_waits=output.note) as connection:
        session_id = log.session_of[finding.id]
        session = session_of(connection.snapshot.state.sessions, session_id)
        message = FindingDispose(_ID, session.id, finding.id, args.disposition, args.reason)
        return (await connection.answer(message, FindingAnswer)).finding
