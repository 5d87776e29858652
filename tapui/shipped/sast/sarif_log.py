"""SARIF 2.1.0 as scanners write it: hostile, bounded, one bad result costs itself alone.

Read are results with their rules, places, fingerprints and suppressions. A finding keeps the place
of its result in the log; what is long (help, code flows) is read again when it is asked for.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Raw, Struct

from tapui.files.foreign_file import open_within, read_up_to
from tapui.projection.fingerprints import normalised
from tapui.text import safe_text

MAX_BYTES = 64 * 1024 * 1024
"""Of a log. Code hosts take 10 MB of gzip, which is about this."""
MAX_RESULTS = 25_000
"""Of a log, as code hosts have it."""
MAX_MESSAGE = 2_000
_MAX_NAME = 200
_MAX_PATH = 500
_MAX_HELP = 4_000
_MAX_STEPS = 20
_MAX_LISTED = 20
_CODE_BYTES = 2 * 1024 * 1024
_CODE_FILES = 64
_DEEPEST = 12
_MOST_LOOKS = 5_000
"""For files of logs that were made elsewhere."""
_CWE = re.compile(r"cwe[-_/ :]*0*(\d{1,5})\b", re.IGNORECASE)
_PLAIN_PRINT = re.compile(r"[\w:+/=.-]{8,200}\Z")
"""What can tell a result from others. Semgrep without an account writes `requires login`."""
_ARGUMENT = re.compile(r"\{(\d{1,2})\}")
_TESTS = re.compile(r"(^|/)(tests?|spec|__tests__|testdata|fixtures|examples?|vendor|third_party)/")

FindingLevel = Literal["error", "warning", "note", "none"]
BaselineState = Literal["new", "unchanged", "updated", "absent"]
LEVELS: tuple[str, ...] = ("error", "warning", "note", "none")
_SEVERITY = {"error": 7.0, "warning": 5.0, "note": 2.0, "none": 0.0}
"""What counts where a rule has no `security-severity`."""
_PRECISION = {"very-high": 3, "high": 2, "medium": 1}


class SarifFault(Exception):  # noqa: N818 - a state of the file
    """A log cannot be read; the text says why."""


class FindingPlace(Struct, omit_defaults=True, rename="camel", frozen=True):
    """Where a finding is. `path` is relative to the folder; one that leads out of it is shown as it
    was written, and never opened (`isOutside`). Lines and columns count from 1; 0: not known."""

    path: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    is_outside: bool = False

    def __str__(self) -> str:
        return f"{self.path or '(no file)'}:{self.line}" if self.line else self.path or "(no file)"


class Suppression(Struct, frozen=True):
    """SARIF's own: without a status it is accepted."""

    kind: str = "external"
    status: str = "accepted"
    justification: str = ""


class ResultPlace(Struct, frozen=True):
    """Where a log has a result."""

    file: str
    run: int
    index: int


class ScannerFinding(Struct, omit_defaults=True, rename="camel"):
    """What a scanner found. Texts are safe to show, and data of the scanner's."""

    id: str
    rule_id: str
    level: FindingLevel
    message: str
    location: FindingPlace
    tool: str
    cwe: list[str] = []
    security_severity: float | None = None
    baseline_state: BaselineState | None = None
    suppressions: list[Suppression] = []
    function: str = ""
    sink: str = ""
    """The last step of its code flow, `path:line`."""
    also_found_by: list[str] = []
    source: ResultPlace | None = None
    snippet: str = ""
    precision: int = 0

    @property
    def severity(self) -> float:
        given = self.security_severity
        return _SEVERITY[self.level] if given is None else given

    @property
    def rank(self) -> tuple[Any, ...]:
        """The worst first: how severe, whether data from outside reaches it, how sure the rule is,
        and code that is delivered before tests."""
        return (
            -self.severity,
            not self.sink,
            -self.precision,
            bool(_TESTS.search(self.location.path)),
            self.location.path,
            self.location.line,
            self.id,
        )


# What is read of a log. Fields that a scanner leaves out have their defaults, others are ignored.


class _Base(Struct, rename="camel"):
    pass


class _Text(_Base):
    text: str = ""
    id: str = ""
    arguments: list[str] = []


class _Uri(_Base):
    uri: str = ""
    uri_base_id: str = ""
    index: int = -1


class _Region(_Base):
    start_line: int = 0
    start_column: int = 0
    end_line: int = 0
    snippet: _Text | None = None


class _Physical(_Base):
    artifact_location: _Uri | None = None
    region: _Region | None = None


class _Logical(_Base):
    name: str = ""
    fully_qualified_name: str = ""


class _Location(_Base):
    physical_location: _Physical | None = None
    logical_locations: list[_Logical] = []
    message: _Text | None = None


class _Step(_Base):
    location: _Location | None = None


class _Thread(_Base):
    locations: list[_Step] = []


class _Flow(_Base):
    thread_flows: list[_Thread] = []


class _Part(_Base):
    name: str = ""
    index: int = -1


class _Reference(_Base):
    id: str = ""
    index: int = -1
    tool_component: _Part | None = None


class _Properties(_Base):
    tags: list[str] = []
    precision: str = ""
    security_severity: str | float | None = msgspec.field(name="security-severity", default=None)
    cwe: str | list[str] | None = None


class _Relation(_Base):
    target: _Reference | None = None


class _Default(_Base):
    level: str = "warning"


class _Rule(_Base):
    id: str = ""
    short_description: _Text | None = None
    full_description: _Text | None = None
    help: _Text | None = None
    help_uri: str = ""
    default_configuration: _Default | None = None
    properties: _Properties | None = None
    message_strings: dict[str, _Text] = {}
    relationships: list[_Relation] = []


class _Suppressed(_Base):
    kind: str = "external"
    status: str | None = None
    justification: str | None = None


class _Result(_Base):
    rule_id: str = ""
    rule_index: int = -1
    rule: _Reference | None = None
    level: str | None = None
    kind: str = "fail"
    message: _Text | None = None
    locations: list[_Location] = []
    fingerprints: dict[str, str] = {}
    partial_fingerprints: dict[str, str] = {}
    code_flows: list[_Flow] | None = None
    suppressions: list[_Suppressed] | None = None
    taxa: list[_Reference] | None = None
    baseline_state: str | None = None
    properties: _Properties | None = None


class _Component(_Base):
    name: str = ""
    rules: list[Raw] | None = None


class _Tool(_Base):
    driver: _Component
    extensions: list[_Component] | None = None


class _Artifact(_Base):
    location: _Uri | None = None


class _Run(_Base):
    tool: _Tool
    results: list[Raw] | None = None
    artifacts: list[Raw] | None = None
    original_uri_base_ids: dict[str, _Uri] | None = None


class _Log(_Base):
    version: str = ""
    runs: list[Raw] | None = None


_log = msgspec.json.Decoder(_Log)
_run = msgspec.json.Decoder(_Run)
_result = msgspec.json.Decoder(_Result)
_rule = msgspec.json.Decoder(_Rule)
_artifact = msgspec.json.Decoder(_Artifact)


class CodeFiles:
    """Source files of a folder, a few of them kept; what leads out of it is not opened."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self._lines: dict[str, list[str]] = {}
        self._moved: dict[str, str] = {}
        self._looks = _MOST_LOOKS

    def lines(self, place: FindingPlace) -> list[str]:
        """Return a file's lines, none where it cannot be read."""
        if place.is_outside or not place.path:
            return []
        found = self._lines.get(place.path)
        if found is None:
            if len(self._lines) >= _CODE_FILES:
                del self._lines[next(iter(self._lines))]
            found = self._lines[place.path] = self._read(place.path)
        return found

    def _read(self, path: str) -> list[str]:
        try:
            fd, _ = open_within(self.folder, path)
        except (OSError, ValueError):
            return []
        try:
            return read_up_to(fd, _CODE_BYTES).decode("utf-8", "replace").split("\n")
        except OSError:
            return []
        finally:
            os.close(fd)

    def within(self, path: str) -> str | None:
        """Return an absolute path as one of the folder: below it, or the longest end of it that is
        a file there, as of a log that was made elsewhere; else None."""
        base = self.folder.rstrip("/")
        if path.startswith(f"{base}/"):
            return path[len(base) + 1 :]
        head, _, name = path.rpartition("/")
        if head in self._moved:
            return f"{self._moved[head]}/{name}"
        parts = head.strip("/").split("/")[-_DEEPEST:]
        for at in range(len(parts)):
            end = "/".join(parts[at:])
            self._looks -= 1
            if self._looks > 0 and os.path.isfile(f"{base}/{end}/{name}"):  # noqa: PTH113 - text
                self._moved[head] = end
                return f"{end}/{name}"
        return None


class SarifLog:
    """A log that was read. `damaged` counts results that are none, `left_out` those too many."""

    def __init__(self, data: bytes, file: str, code: CodeFiles) -> None:
        """Read the bytes of `file`. Raises `SarifFault`."""
        if len(data) > MAX_BYTES:
            raise SarifFault(f"it is larger than {MAX_BYTES // 2**20} MiB")
        try:
            if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as a shell on Windows redirects
                data = data.decode("utf-16").encode()
            log = _log.decode(data.removeprefix(b"\xef\xbb\xbf"))
            self._runs = [_run.decode(one) for one in log.runs or ()]
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise SarifFault(f"it is no SARIF: {safe_text(str(error), limit=100)}") from None
        if log.version != "2.1.0":
            raise SarifFault(f"it is SARIF {safe_text(log.version, limit=20) or '?'}, not 2.1.0")
        self.file = file
        self.damaged = self.left_out = 0
        self._code = code
        self._rules: dict[tuple[int, int], list[_Rule]] = {}

    @property
    def tools(self) -> list[str]:
        return [_name(run.tool.driver.name) for run in self._runs]

    def findings(self) -> list[ScannerFinding]:
        """Return the findings, each result that is there twice once."""
        made: list[tuple[str, ScannerFinding]] = []
        for number, run in enumerate(self._runs):
            results = run.results or []
            room = max(MAX_RESULTS - len(made), 0)
            self.left_out += max(len(results) - room, 0)
            for index, data in enumerate(results[:room]):
                try:
                    result = _result.decode(data)
                except (msgspec.MsgspecError, RecursionError):
                    self.damaged += 1
                    continue
                if result.kind in ("fail", "open", "review"):
                    made.append(self._finding(run, number, index, result))
        return _identified(made)

    def detail(self, source: ResultPlace) -> dict[str, Any]:
        """Return what is long of a result: help of its rule, code flows. Raises `SarifFault`."""
        try:
            run = self._runs[source.run]
            result = _result.decode((run.results or [])[source.index])
        except (IndexError, msgspec.MsgspecError, RecursionError):
            raise SarifFault("it has changed since") from None
        rule = self._rule(run, source.run, result)
        texts = (rule.help, rule.full_description, rule.short_description)
        told = next((one.text for one in texts if one is not None and one.text), "")
        return {
            "help": safe_text(told, limit=_MAX_HELP, newlines=True),
            "helpUri": safe_text(rule.help_uri, limit=_MAX_PATH),
            "codeFlow": [
                {
                    "at": str(self._place(run, step.location)),
                    "note": _shown(step.location.message.text, _MAX_NAME)
                    if step.location.message
                    else "",
                }
                for step in _steps(result)[:_MAX_STEPS]
                if step.location is not None
            ],
        }

    def _finding(
        self, run: _Run, number: int, index: int, result: _Result
    ) -> tuple[str, ScannerFinding]:
        rule = self._rule(run, number, result)
        about = rule.properties or _Properties()
        location = result.locations[0] if result.locations else None
        place = self._place(run, location)
        rule_id = _name(result.rule_id or rule.id or (result.rule.id if result.rule else ""))
        level = result.level or (rule.default_configuration or _Default()).level
        snippet = self._snippet(location, place)
        flow = [one.location for one in _steps(result) if one.location is not None]
        logical = location.logical_locations if location else []
        finding = ScannerFinding(
            id="",
            rule_id=rule_id or "(no rule)",
            level=level if level in LEVELS else "warning",  # type: ignore[arg-type]
            message=_shown(_message(result, rule), MAX_MESSAGE),
            location=place,
            tool=_name(run.tool.driver.name) or "scanner",
            cwe=_weaknesses(rule, result),
            security_severity=_severity(result.properties, about),
            baseline_state=_baseline(result.baseline_state),
            suppressions=[
                Suppression(
                    _name(one.kind),
                    _name(one.status or "accepted"),
                    _shown(one.justification or "", _MAX_NAME),
                )
                for one in (result.suppressions or [])[:_MAX_LISTED]
            ],
            function=_name(logical[0].fully_qualified_name or logical[0].name) if logical else "",
            sink=str(self._place(run, flow[-1])) if flow else "",
            source=ResultPlace(self.file, number, index),
            snippet=safe_text(snippet, limit=_MAX_NAME, newlines=True),
            precision=_PRECISION.get(about.precision, 0),
        )
        return _print_of(result, finding, snippet), finding

    def _rule(self, run: _Run, number: int, result: _Result) -> _Rule:
        """Return a result's rule: by its number where that fits its name, else by name."""
        given = result.rule or _Reference()
        part = given.tool_component.index if given.tool_component else -1
        rules = self._rules.get((number, part))
        if rules is None:
            extensions = run.tool.extensions or []
            component = extensions[part] if 0 <= part < len(extensions) else run.tool.driver
            rules = self._rules[number, part] = [
                _decoded_rule(one) for one in component.rules or ()
            ]
        name = result.rule_id or given.id
        at = given.index if given.index >= 0 else result.rule_index
        if 0 <= at < len(rules) and (not name or _is_named(name, rules[at].id)):
            return rules[at]
        return next((one for one in rules if name and _is_named(name, one.id)), _Rule())

    def _place(self, run: _Run, location: _Location | None) -> FindingPlace:
        physical = location.physical_location if location is not None else None
        if physical is None:
            return FindingPlace()
        region = physical.region or _Region()
        path, is_inside = self._path(run, physical.artifact_location or _Uri())
        first = max(region.start_line, 0)
        return FindingPlace(
            safe_text(path, limit=_MAX_PATH),
            first,
            max(region.start_column, 0),
            max(region.end_line, first),
            is_outside=not is_inside,
        )

    def _path(self, run: _Run, given: _Uri) -> tuple[str, bool]:
        """Return a file's path, and whether it stays in the folder by its letters."""
        artifacts = run.artifacts or []
        if not given.uri and 0 <= given.index < len(artifacts):
            try:
                given = _artifact.decode(artifacts[given.index]).location or given
            except (msgspec.MsgspecError, RecursionError):
                return "", True
        uri, base_id = given.uri, given.uri_base_id
        bases = run.original_uri_base_ids or {}
        for _ in range(5):  # bases may be relative to others
            base = bases.get(base_id)
            if base is None or _scheme(uri) or uri.startswith("/"):
                break
            uri, base_id = base.uri.rstrip("/") + "/" + uri if base.uri else uri, base.uri_base_id
        scheme = _scheme(uri)
        if scheme not in ("", "file"):
            return uri, False
        try:
            path = unquote(urlsplit(uri).path if scheme else uri).replace("\\", "/")
        except ValueError:
            return uri, False
        if "\0" in path:
            return path, False
        if path.startswith("/") or scheme:
            found = self._code.within(os.path.normpath(path))
            if found is None and not given.uri.startswith("/") and not _scheme(given.uri):
                found = unquote(given.uri)  # the base was a folder of another machine
            if found is None:
                return path, False
            path = found
        path = os.path.normpath(path) if path else ""
        return path, not path.startswith(("/", "../")) and path != ".."

    def _snippet(self, location: _Location | None, place: FindingPlace) -> str:
        physical = location.physical_location if location is not None else None
        region = physical.region if physical is not None else None
        if region is not None and region.snippet is not None and region.snippet.text.strip():
            return region.snippet.text
        lines = self._code.lines(place)
        return lines[place.line - 1] if 0 < place.line <= len(lines) else ""


def _identified(made: Iterable[tuple[str, ScannerFinding]]) -> list[ScannerFinding]:
    """Give findings their ids. Results of one print and one place are one; of others, a scanner
    could hide one behind another, so each further place has an id of its own."""
    by_print: dict[str, dict[FindingPlace, ScannerFinding]] = {}
    for print_, finding in made:
        by_print.setdefault(print_, {}).setdefault(finding.location, finding)
    found = []
    for print_, places in by_print.items():
        order = sorted(places.values(), key=lambda one: (one.location.line, one.location.column))
        for number, finding in enumerate(order):
            finding.id = f"s-{_digest(print_, *([str(number)] if number else []))}"
            found.append(finding)
    return found


def _print_of(result: _Result, finding: ScannerFinding, snippet: str) -> str:
    """Return by what a finding is known again, also when its line has moved."""
    for prints in (result.fingerprints, result.partial_fingerprints):
        good = sorted(f"{key}={one}" for key, one in prints.items() if _PLAIN_PRINT.match(one))
        if good:
            return "\0".join((finding.rule_id, *good))
    text = normalised(snippet) or str(finding.location.line)
    return "\0".join((finding.rule_id, finding.location.path, text))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _decoded_rule(data: Raw) -> _Rule:
    try:
        return _rule.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return _Rule()  # it keeps its number


def _is_named(name: str, rule: str) -> bool:
    """A result may name a part of a rule: `CA1000/1` (SARIF 3.27.5)."""
    return bool(rule) and (name == rule or name.startswith(f"{rule}/"))


def _steps(result: _Result) -> list[_Step]:
    flows = result.code_flows or []
    threads = flows[0].thread_flows if flows else []
    return threads[0].locations if threads else []


def _message(result: _Result, rule: _Rule) -> str:
    given = result.message or _Text()
    text = given.text
    if not text and given.id in rule.message_strings:
        text = rule.message_strings[given.id].text
    values = given.arguments[:_MAX_LISTED]

    def value(found: re.Match[str]) -> str:
        at = int(found[1])
        return values[at] if at < len(values) else found[0]

    return _ARGUMENT.sub(value, text[: 2 * MAX_MESSAGE]) if values else text


def _weaknesses(rule: _Rule, result: _Result) -> list[str]:
    """Return the CWEs that a result, its rule and their taxa name: `CWE-78`."""
    texts: list[str] = []
    for about in (rule.properties, result.properties):
        if about is not None:
            texts += about.tags
            texts += [about.cwe] if isinstance(about.cwe, str) else about.cwe or []
    targets = [one.target for one in rule.relationships] + (result.taxa or [])
    for target in targets:
        if target is not None and target.tool_component is not None:
            name = target.tool_component.name
            texts += [f"{name}-{target.id}" if target.id.isdigit() else target.id]
    found = (_CWE.search(text[:_MAX_NAME]) for text in texts[:200])
    return list(dict.fromkeys(f"CWE-{one[1]}" for one in found if one is not None))[:_MAX_LISTED]


def _severity(*every: _Properties | None) -> float | None:
    for about in every:
        if about is not None and about.security_severity is not None:
            try:
                value = float(about.security_severity)
            except ValueError:
                continue  # it is no number
            if 0 < value <= 10:  # others are none; NaN is neither
                return value
    return None


def _baseline(state: str | None) -> BaselineState | None:
    return state if state in ("new", "unchanged", "updated", "absent") else None  # type: ignore[return-value]


def _scheme(uri: str) -> str:
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", uri)
    return found[1].lower() if found else ""


def _name(text: str) -> str:
    return safe_text(text, limit=_MAX_NAME)


def _shown(text: str, most: int) -> str:
    return safe_text(text[: 2 * most], limit=most, newlines=True)
