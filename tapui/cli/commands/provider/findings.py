"""`tapui findings`: what security scanners found in a folder, and what the person decides."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands
from tapui.cli.failure import WRONG_USE, Failure

if TYPE_CHECKING:
    from tapui.shipped.sast.findings import FolderFindings, TriagedFinding

_TITLES = ("ID", "LEVEL", "SEVERITY", "STATUS", "RULE", "PLACE", "MESSAGE")
_SHOWN = 80
_STATUSES = ("open", "accepted", "underReview", "rejected", "suppressed", "all")
_DECISIONS = ("accepted", "underReview", "rejected")


def arguments(findings: CommandParser) -> None:
    findings.describe(
        "What is in the SARIF files of a folder; agents have it by the provider `sast`\n"
        "(tapui provider add sast). An agent rejects a finding with code as evidence;\n"
        "without, it asks, and you decide here. No gateway needs to run."
    )
    actions = Commands(findings, is_required=True)
    listing = actions.add("list", "list findings, the worst first", run_list)
    listing.add_argument(
        "--status",
        metavar="STATUS",
        choices=_STATUSES,
        help=f"only these: {', '.join(_STATUSES)} (open and accepted)",
    )
    listing.add_argument("--level", choices=("error", "warning", "note", "none"), help="only these")
    showing = actions.add("show", "show one in full", run_show)
    deciding = actions.add(
        "triage",
        "decide about one",
        run_triage,
        "accepted: it is real; underReview: not decided; rejected: it is none, or will\n"
        "stay. What you decide no agent changes.",
    )
    for parser in (showing, deciding):
        parser.add_argument("id", metavar="ID", help="its id, or a beginning that fits only one")
    deciding.add_argument("status", choices=_DECISIONS, help="what you decide")
    deciding.add_argument("--reason", metavar="TEXT", required=True, help="why")
    deciding.add_argument("--until", metavar="TIME", help="when it ends: 2030-01-31T00:00:00Z")
    adding = actions.add(
        "add",
        "keep a SARIF log from standard input",
        run_add,
        "As: semgrep scan --sarif | tapui findings add semgrep",
    )
    adding.add_argument("name", metavar="NAME", help="its name; one of the same name is replaced")
    exporting = actions.add("export", "print all, with what was decided", run_export)
    exporting.add_argument(
        "--format", choices=("sarif", "md"), default="sarif", help="SARIF 2.1.0, or Markdown"
    )
    for parser in (listing, showing):
        parser.add_argument("--json", action="store_true", help="print a JSON object for each")
    for parser in (listing, showing, deciding, adding, exporting):
        parser.add_argument("--folder", metavar="DIR", help="the folder (this one)")


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    from tapui.files.foreign_file import reason
    from tapui.shipped.sast.sarif_log import SarifFault
    from tapui.shipped.sast.triage import TriageFault

    try:
        yield
    except (SarifFault, TriageFault) as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"the state cannot be used: {reason(error)}") from None


def _findings(args: argparse.Namespace) -> "FolderFindings":
    from tapui.cli.context import folder_of, home
    from tapui.emitters.config.reading import read
    from tapui.home.paths import persist_dir
    from tapui.shipped.sast.finding_tools import NAME, patterns
    from tapui.shipped.sast.findings import FolderFindings, faults_words

    folder = folder_of(args)
    entry = read(folder).provider(NAME)
    environ = os.environ if entry is None else {**os.environ, **entry.env}
    found = FolderFindings(folder, persist_dir(home(), NAME), patterns(environ))
    found.look()
    if found.faults:
        output.note(f"cannot be read whole: {faults_words(found.faults)}")
    return found


def _named(found: "FolderFindings", beginning: str) -> "TriagedFinding":
    from tapui.cli.context import id_of

    known = found.get(beginning)
    if known is None:
        ids = [one.finding.id for one in found.all()]
        otherwise = "tapui findings list --status all has them"
        known = found.get(id_of(ids, beginning, otherwise=otherwise, what="findings"))
    assert known is not None, "its id was found"
    return known


def run_list(args: argparse.Namespace) -> int:
    """Print the findings."""
    from tapui.shipped.sast.finding_tools import told
    from tapui.shipped.sast.findings import filtered

    with _faults():
        findings = _findings(args)
        found = filtered(findings.all(), status=args.status, level=args.level)
    if args.json:
        for one in found:
            output.say_json(told(one))
    elif found:
        output.table(_TITLES, [_row(one) for one in found], numbers=(2,))
    elif findings.logs:
        output.note("no such findings")
    else:
        output.note("no SARIF file is there: run a scanner first")
    return 0


def _row(one: "TriagedFinding") -> list[str]:
    from tapui.text import cut

    finding = one.finding
    severity = finding.security_severity
    return [
        finding.id,
        finding.level,
        "" if severity is None else f"{severity:.1f}",
        one.state,
        cut(finding.rule_id, _SHOWN),
        cut(str(finding.location), _SHOWN),
        cut(" ".join(finding.message.split()), _SHOWN),
    ]


def run_show(args: argparse.Namespace) -> int:
    """Print one finding."""
    from tapui.shipped.sast.finding_tools import full

    with _faults():
        findings = _findings(args)
        answer = full(findings, _named(findings, args.id))
    if args.json:
        output.say_json(answer, indent=2)
        return 0
    finding = answer["finding"]
    output.say(f"{finding['id']}  {finding['level']}  {finding['status']}")
    output.say(f"  rule   {finding['ruleId']} ({finding['tool']})")
    output.say(f"  place  {answer['place']}")
    for name, texts in (("cwe", finding.get("cwe", [])), ("also", finding.get("alsoFoundBy", []))):
        if texts:
            output.say(f"  {name:<5}  {', '.join(texts)}")
    for one in finding["suppressions"]:
        output.say(f"  {one['kind']} {one['status']}: {one['justification']}")
    output.say(f"\n{finding['message']}\n", newlines=True)
    for line in answer["code"]:
        output.say(line.replace("\t", "  ", 1))
    for step in answer.get("codeFlow", []):
        output.say(f"  → {step['at']} {step['note']}")
    return 0


def run_triage(args: argparse.Namespace) -> int:
    """Keep the person's decision."""
    from tapui.cli.person import need_person

    need_person(args, "decide in a terminal")
    with _faults():
        findings = _findings(args)
        one = _named(findings, args.id)
        findings.triage.decide(one.finding, args.status, args.reason, by="person", until=args.until)
    output.note(f"{one.finding.id}: {args.status}")
    return 0


def run_add(args: argparse.Namespace) -> int:
    """Keep what comes on standard input."""
    from tapui.shipped.sast.findings import is_name
    from tapui.shipped.sast.sarif_log import MAX_BYTES

    if not is_name(args.name):
        raise Failure("NAME: takes letters, digits, _ and -, at most 64", WRONG_USE)
    if sys.stdin.isatty():
        raise Failure("a SARIF log is read from standard input: pipe a scanner into it", WRONG_USE)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    with _faults():
        count = _findings(args).keep(args.name, data)
    output.note(f"kept {args.name}: {count:,} {'finding' if count == 1 else 'findings'}")
    return 0


def run_export(args: argparse.Namespace) -> int:
    """Print all findings as a file."""
    from tapui.shipped.sast.export import as_markdown, as_sarif

    with _faults():
        found = _findings(args).all()
    data = as_sarif(found) if args.format == "sarif" else as_markdown(found)
    output.say_exactly(f"{data.decode()}\n")
    return 0
