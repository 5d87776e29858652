"""What was decided about scanners' findings, kept as suppressions in a SARIF file.

A decision is about the finding, as in tapui's own reviews (`tapui review sarif`): `rejected` (it is
none, or will stay) suppresses it; `underReview` asks to; `accepted` (it is real) does not. An
agent rejects with code as evidence, and only for as long as that code stands there.
"""

import os
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from tapui import __version__, times
from tapui.files import private_file
from tapui.files.foreign_file import read_up_to, reason
from tapui.files.locked_folder import locked
from tapui.files.private_file import private_folder
from tapui.projection.fingerprints import normalised
from tapui.projection.sarif import SCHEMA, uri_of
from tapui.shipped.sast.sarif_log import CodeFiles, FindingPlace, ScannerFinding, Suppression
from tapui.text import safe_text

TriageStatus = Literal["accepted", "underReview", "rejected"]
STATUSES: tuple[str, ...] = ("accepted", "underReview", "rejected")
DRIVER = "tapui sast"
"""The tool of logs that tapui writes: nothing of them is a finding."""
FINGERPRINT = "tapui/sast/v1"
MAX_JUSTIFICATION = 2_000
MAX_QUOTE = 2_000
_MAX_DECISIONS = 20_000
_MAX_BYTES = 32 * 1024 * 1024
_SUPPRESSED = {"rejected": "accepted", "underReview": "underReview"}


class TriageFault(Exception):  # noqa: N818 - what is asked for, or the state of the file
    """A decision is not taken, or cannot be kept; the text says why."""


class CodeEvidence(Struct, frozen=True):
    """Code that shows why a finding is none: `quote` is what stands in `path` from `line` on."""

    path: str
    line: int
    quote: str


class TriageDecision(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What was decided, by whom and when (RFC 3339); it ends at `until`."""

    id: str
    status: TriageStatus
    justification: str
    by: Literal["agent", "person"]
    at: str
    until: str | None = None
    session: str = ""
    evidence: list[CodeEvidence] = []
    rule_id: str = ""
    location: FindingPlace = FindingPlace()

    def holds(self, code: CodeFiles, now: float) -> bool:
        """Return whether it still counts: its time is not over, its evidence stands."""
        end = times.epoch(self.until)
        if end is not None and end <= now:
            return False
        return all(stands(one, code) for one in self.evidence)

    @property
    def suppressions(self) -> list[Suppression]:
        status = _SUPPRESSED.get(self.status)
        return [Suppression("external", status, self.justification)] if status else []


class _Kept(Struct, rename="camel"):
    triage: TriageDecision


class _KeptResult(Struct):
    properties: _Kept


class _KeptRun(Struct):
    results: list[_KeptResult] = []


class _KeptLog(Struct):
    runs: list[_KeptRun] = []


_decoder = msgspec.json.Decoder(_KeptLog)


def stands(evidence: CodeEvidence, code: CodeFiles) -> bool:
    """Return whether the quoted lines are in the file there, blanks aside."""
    wanted = [normalised(one) for one in evidence.quote.strip("\n").split("\n")]
    path = os.path.normpath(evidence.path)
    lines = code.lines(FindingPlace(path, is_outside=path.startswith(("/", "../"))))
    found = [normalised(one) for one in lines[evidence.line - 1 :][: len(wanted)]]
    return any(wanted) and evidence.line > 0 and found == wanted


class Triage:
    """The decisions about a folder's findings; the provider and the person's command write by
    turns. `state` is the provider's persistDir. Not on a loop: files are read."""

    def __init__(self, state: Path, folder: str, clock: Callable[[], float] = time.time) -> None:
        digest = sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape")).hexdigest()
        self.path = state / f"triage-{digest[:16]}" / "triage.sarif"
        self._clock = clock
        self._seen: tuple[int, int, int] | None = None
        self._decisions: dict[str, TriageDecision] = {}

    def decisions(self) -> dict[str, TriageDecision]:
        """Return all that was decided, by the findings' ids. Raises `TriageFault`."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._fault(error) from None
        try:
            info = private_file.check_own(fd)
            key = (info.st_mtime_ns, info.st_size, info.st_ino)
            if key != self._seen:
                log = _decoder.decode(read_up_to(fd, _MAX_BYTES))
                kept = [one.properties.triage for run in log.runs for one in run.results]
                self._decisions = {one.id: one for one in kept}
                self._seen = key
        except OSError as error:
            raise self._fault(error) from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise TriageFault(f"{self.path} was damaged: move it away") from None
        finally:
            os.close(fd)
        return dict(self._decisions)

    def decide(
        self,
        finding: ScannerFinding,
        status: TriageStatus,
        justification: str,
        *,
        by: Literal["agent", "person"],
        until: str | None = None,
        session: str = "",
        evidence: Iterable[CodeEvidence] = (),
    ) -> TriageDecision:
        """Keep a decision, and return it. Raises `TriageFault`.

        What the person decided no agent changes.
        """
        text = safe_text(justification.strip(), newlines=True)
        if not text or len(text) > MAX_JUSTIFICATION:
            raise TriageFault(f"justification: takes 1 to {MAX_JUSTIFICATION:,} characters")
        end = times.instant(until) if until is not None else None
        if until is not None and (end is None or end <= self._clock()):
            raise TriageFault("until: takes a time to come, as 2030-01-31T00:00:00Z")
        made = TriageDecision(
            finding.id,
            status,
            text,
            by,
            times.rfc3339(self._clock()),
            until,
            session,
            list(evidence),
            finding.rule_id,
            finding.location,
        )
        try:
            with locked(self._folder()) as fd:
                known = self.decisions()
                before = known.get(finding.id)
                if by == "agent" and before is not None and before.by == "person":
                    raise TriageFault(f"the person decided that it is {before.status}")
                if before is None and len(known) >= _MAX_DECISIONS:
                    raise TriageFault(f"there are {_MAX_DECISIONS:,} decisions already")
                known[finding.id] = made
                log = suppressions_log(known.values())
                private_file.write(
                    fd, self.path.name, msgspec.json.format(msgspec.json.encode(log))
                )
        except OSError as error:
            raise self._fault(error) from None
        return made

    def key(self) -> tuple[int, int, int] | None:
        """Return what is different once something was decided; None for no file."""
        try:
            info = self.path.stat(follow_symlinks=False)
        except OSError:
            return None
        return (info.st_mtime_ns, info.st_size, info.st_ino)

    def keep(self, name: str, data: bytes) -> Path:
        """Keep a file beside the decisions; return it. Raises `TriageFault`."""
        try:
            with locked(self._folder()) as fd:
                private_file.write(fd, name, data, is_lasting=False)
        except OSError as error:
            raise self._fault(error) from None
        return self.path.parent / name

    def _folder(self) -> Path:
        return private_folder(self.path.parent.parent, self.path.parent.name)

    def _fault(self, error: OSError) -> TriageFault:
        return TriageFault(f"{self.path}: {reason(error)}")


def suppressions_log(decisions: Iterable[TriageDecision]) -> dict[str, Any]:
    """Return decisions as a SARIF log, which any viewer reads beside the scanner's own."""
    results = []
    for one in decisions:
        result: dict[str, Any] = {
            "ruleId": one.rule_id or "finding",
            "message": {"text": one.justification},
            "fingerprints": {FINGERPRINT: one.id},
            "suppressions": [told(each) for each in one.suppressions],
            "properties": {"triage": one},
        }
        if one.location.path:
            result["locations"] = [{"physicalLocation": physical(one.location)}]
        results.append(result)
    return sarif_of(results)


def sarif_of(results: list[dict[str, Any]], driver: str = DRIVER) -> dict[str, Any]:
    """Return a log of one run."""
    tool = {"driver": {"name": driver, "semanticVersion": __version__}}
    run = {"tool": tool, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def told(suppression: Suppression) -> dict[str, str]:
    """Return a suppression as SARIF 3.35 has it."""
    kind = suppression.kind if suppression.kind in ("inSource", "external") else "external"
    known = ("accepted", "underReview", "rejected")
    status = suppression.status if suppression.status in known else "underReview"
    made = {"kind": kind, "status": status}
    return made | (
        {"justification": suppression.justification} if suppression.justification else {}
    )


def physical(place: FindingPlace) -> dict[str, Any]:
    """Return a place as SARIF 3.29 has it."""
    uri = ("file://" if place.path.startswith("/") else "") + uri_of(place.path)
    made: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if place.line:
        made["region"] = {"startLine": place.line, "endLine": max(place.end_line, place.line)}
    return made
