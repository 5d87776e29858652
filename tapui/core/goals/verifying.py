"""Looks at what demands are about, judges them, and puts what came of it into words.

Everything that takes time (files, patterns, what a check does) is looked at by one effect, away
from the loop. What happened meanwhile makes it look again, so that all verdicts are of one moment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.effects import FilesSeen, LookAtFiles, SurfaceRead, TextsTried
from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.registry import Emitters
from tapui.core.goals.judging import (
    NO_MATCH,
    JudgedBy,
    Looks,
    StreamSeen,
    since_of,
    surface_of,
    time_fault,
    verdict_of,
)
from tapui.core.model import OpenSession
from tapui.core.proof.goal_history import GoalMarks
from tapui.core.proof.watching import Proof, SessionProof
from tapui.core.streams.streams import Streams, full_name
from tapui.projection.summary import one_line
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.criteria import (
    AnyDemand,
    Called,
    FileIs,
    PersonSays,
    Pointer,
    Ran,
    StreamHas,
    Verdict,
)
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.goals import (
    CheckCounts,
    CheckResult,
    CheckStatus,
    CommandStated,
    EvidenceCheck,
    EvidenceNamed,
    Goal,
    GoalReport,
)
from tapui.wire.message import BUILTIN_PROVIDER

_TRIES = 3
"""Looks that are begun for one moment, where something happens meanwhile."""
_MEANWHILE = "the session went on while it was looked at"
_NOT_LOOKED_AT = SurfaceRead("", fault="tapui failed at it")
_STATUS: dict[str, CheckStatus] = {"passed": "pass", "failed": "fail"}


class DemandAsked(NamedTuple):
    """A demand to judge. `key` is its criterion's id, or that of a check which is none."""

    key: str
    demand: AnyDemand
    is_criterion: bool = True


class DemandJudged(NamedTuple):
    """What came of a demand, and of the files it was about."""

    asked: DemandAsked
    verdict: Verdict
    is_error: bool = False
    actual: str = ""
    surface: str = ""
    """The digest of what its check does."""
    files: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The files that say it, with their texts."""


Judged = Callable[[list[DemandJudged]], None]


class _Look(NamedTuple):
    session: OpenSession
    goal: Goal | None
    asked: Sequence[DemandAsked]
    then: Judged
    tries: int = 0


@dataclass(eq=False, repr=False)
class Verifying(CorePart):
    """Judges demands of a session, now."""

    proof: Proof
    streams: Streams
    emitters: Emitters

    def __post_init__(self) -> None:
        super().__post_init__()
        self._counts: dict[str, dict[str, dict[str, int]]] = {}
        """How many lines each stream had when a goal was opened, or a turn began, by session."""
        self.proof.turn_began = self.note_streams
        self._out.watch(self._happened)

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.SessionReplaced(session=session, replaces=former) if former in self._counts:
                counts = self._counts.pop(former) | self._counts.get(session.id, {})
                self._counts[session.id] = counts
            case ev.GoalClosed(session_id=id_, goal=goal):
                self._counts.get(id_, {}).pop(goal.id, None)
            case ev.SessionClosed(session_id=id_):
                self._counts.pop(id_, None)

    def note_streams(self, session_id: str, then: str) -> None:
        """Remember how many lines the streams have when a goal is opened, or a turn begins: `then`
        is the goal's id or the turn's beginning."""
        counts = self._counts.setdefault(session_id, {})
        counts[then] = {name: log.count for name, log in self.streams.of(session_id).items()}
        while len(counts) > 2 * limits.MAX_GOALS:
            del counts[next(iter(counts))]

    def judge(
        self, session: OpenSession, goal: Goal | None, asked: Sequence[DemandAsked], then: Judged
    ) -> None:
        """Call `then` with the verdicts, in the order of what was asked."""
        self._begin(_Look(session, goal, asked, then))

    def surfaces(
        self,
        session: OpenSession,
        asked: Sequence[DemandAsked],
        on_read: Callable[[str, SurfaceRead], None],
        then: Callable[[], None],
    ) -> None:
        """Read at once what checks do, and call `on_read` with each key and what was found, then
        `then`: a look that waits for the agent to rest would find what it has changed since."""
        wanted = [
            (one.key, surface)
            for one in asked
            if (surface := surface_of(one.demand, "")) is not None
        ]
        if not wanted or not session.view.cwd:
            then()
            return

        def seen(found: FilesSeen) -> None:
            for at, (key, _) in enumerate(wanted):
                on_read(key, found.surfaces[at] if at < len(found.surfaces) else _NOT_LOOKED_AT)
            then()

        ticket = self._tickets.keep(seen)
        surfaces = tuple(surface for _, surface in wanted)
        self._out.effects.append(LookAtFiles(ticket, session.view.cwd, surfaces=surfaces))

    def _begin(self, look: _Look) -> None:
        watched = self.proof.of(look.session.id)
        if watched is None:
            self._look(look)
        else:
            self.proof.looked(watched, lambda: self._look(look))

    def _look(self, look: _Look) -> None:
        folder = look.session.view.cwd
        watched = self.proof.of(look.session.id)
        by = self._by(look, watched)
        looks = Looks(why="" if folder else "the session has no folder")
        files, surfaces, texts = [], [], []
        for at, one in enumerate(look.asked):
            match one.demand:
                case FileIs() if folder:
                    since = since_of(one.demand.modified_since, by)
                    files.append((at, replace(one.demand, modified_since=since)))
                case Ran() if folder:
                    surface = surface_of(one.demand, "")
                    if surface is not None:
                        surfaces.append((at, surface))
                case StreamHas(stream=name, matches=pattern):
                    seen = looks.lines[at] = self._stream(look.session, name)
                    if pattern is not None and seen.lines:
                        lines = tuple(line.event for line in seen.lines)
                        texts.append((at, TextsTried(pattern, lines)))
        if not (files or surfaces or texts):
            self._judge(look, looks, watched)
            return
        acts = watched.history.acts if watched is not None else 0

        def seen_all(found: FilesSeen) -> None:
            for (at, _), file in zip(files, found.files, strict=False):
                looks.files[at] = file
            for (at, _), read in zip(surfaces, found.surfaces, strict=False):
                looks.surfaces[at] = read
            for (at, _), matched in zip(texts, found.matched, strict=False):
                looks.matched[at] = matched
            is_late = watched is not None and watched.history.acts != acts
            if is_late and look.tries < _TRIES:
                self._begin(look._replace(tries=look.tries + 1))
                return
            if is_late:
                looks.files.clear()
                looks.why = _MEANWHILE
            self._judge(look, looks, watched)

        self._out.effects.append(
            LookAtFiles(
                self._tickets.keep(seen_all),
                folder,
                tuple(one for _, one in files),
                tuple(one for _, one in surfaces),
                tuple(one for _, one in texts),
            )
        )

    def _judge(self, look: _Look, looks: Looks, watched: SessionProof | None) -> None:
        by = self._by(look, watched)
        found = []
        for at, one in enumerate(look.asked):
            key = one.key if one.is_criterion else ""
            verdict = verdict_of(one.demand, at, looks, by, key)
            file, surface = looks.files.get(at), looks.surfaces.get(at)
            found.append(
                DemandJudged(
                    one,
                    verdict,
                    is_error=file is not None and file.status == "error",
                    actual=file.actual if file is not None else "",
                    surface=surface.digest if surface is not None else "",
                    files=surface.files if surface is not None else {},
                )
            )
        look.then(found)

    def _by(self, look: _Look, watched: SessionProof | None) -> JudgedBy:
        turns = self._out.state.turns.get(look.session.id)
        latest = turns.latest if turns is not None else None
        turn_at = latest.started_at if latest is not None else ""
        moments = {"goal": look.goal.id if look.goal is not None else "", "turn": turn_at}
        noted = self._counts.get(look.session.id, {})
        counts = {since: noted[then] for since, then in moments.items() if then in noted}
        marks: GoalMarks | None = None
        if watched is not None and look.goal is not None:
            marks = watched.history.goals.by_id.get(look.goal.id)
        return JudgedBy(
            watched,
            self.proof.setting.ignore,
            look.goal,
            marks,
            turn_at,
            self._clock.until,
            counts,
        )

    def _stream(self, session: OpenSession, name: str) -> StreamSeen:
        """Return a stream's lines; of tapui's own, those of commands that the person allowed."""
        log = self.streams.of(session.id).get(name)
        if log is None:
            return StreamSeen(why="there is no such stream")
        lines = tuple(line for line in log.lines if line.seq not in log.by_agent)
        seen = StreamSeen(lines, log.lines[0].seq if log.lines else log.count + 1)
        if name.endswith(f"@{BUILTIN_PROVIDER}"):
            posting = [
                one
                for one in self.emitters.by_id.values()
                if one.session is session and full_name(one.stream, BUILTIN_PROVIDER) == name
            ]
            if not posting or any(map(_is_agents, posting)):
                seen.why = "what agents and prompts post does not count"
        return seen

    # Evidence

    def check_times(self, check: AnyDemand | CommandStated | EvidenceNamed, field: str) -> None:
        """Check that what is to be a time is one. Raises `INVALID_JSON` naming `field`."""
        if isinstance(check, CommandStated | EvidenceNamed):
            return
        if fault := time_fault(check, self._clock.until):
            raise WireError(ErrorCode.INVALID_JSON, f"{field}.{fault}")

    def check(
        self,
        session: OpenSession,
        goal: Goal | None,
        given: Sequence[EvidenceCheck],
        then: Callable[[list[CheckResult]], None],
        *,
        allows_stated: bool = False,
    ) -> None:
        """Call `then` with what came of an agent's checks, in their order."""
        tried = [
            (at, TextsTried(one.of.expect.matches, (_output(one.of),)))
            for at, one in enumerate(given)
            if allows_stated
            and isinstance(one.of, CommandStated)
            and one.of.expect.matches is not None
        ]
        fits: dict[int, bool | None] = {}
        asked = [
            DemandAsked(str(at), demand, is_criterion=False)
            for at, one in enumerate(given)
            if (demand := _demand_in(one)) is not None
        ]

        def judged(found: list[DemandJudged]) -> None:
            by_key = {one.asked.key: one for one in found}
            results = []
            for at, one in enumerate(given):
                id_ = one.id or f"check-{at + 1}"
                if (judged := by_key.get(str(at))) is not None:
                    results.append(result_of(id_, judged))
                elif isinstance(one.of, CommandStated):
                    output = _output_result(one.of, fits.get(at)) if allows_stated else None
                    results.append(replace(self._stated(session, goal, one.of, output), id=id_))
                else:
                    results.append(self._named(session, one.of, id_))
            then(results)

        def matched(found: FilesSeen) -> None:
            for (at, _), (one, *_) in zip(tried, found.matched, strict=False):
                fits[at] = one
            self.judge(session, goal, asked, judged)

        if tried:
            ticket = self._tickets.keep(matched)
            texts = tuple(text for _, text in tried)
            self._out.effects.append(LookAtFiles(ticket, session.view.cwd, texts=texts))
        else:
            self.judge(session, goal, asked, judged)

    def _stated(
        self,
        session: OpenSession,
        goal: Goal | None,
        told: CommandStated,
        output: tuple[CheckStatus, str] | None,
    ) -> CheckResult:
        """Hold a command that a caller says it ran against the record of it. `output` is what came
        of its output, which is never recorded; None: what is only stated does not count."""
        expected = f"exit {told.expect.exit_code}: {one_line(told.command)}"
        watched = self.proof.of(session.id)
        marks = watched.history.goals.by_id.get(goal.id) if watched and goal else None
        since = marks.began if marks is not None else 0
        for command in watched.history.newest() if watched is not None else ():
            if told.tool_call_id is not None:
                is_it = command.call_id == told.tool_call_id and command.text == told.command
            else:
                is_it = command.text == told.command and command.began >= since
            if not is_it or command.ended is None:
                continue
            pointer = Pointer("command", f"call:{command.call_id}", "recorded", command.at)
            actual = f"exit {command.code}" if command.code is not None else "no exit code"
            if command.code is None:
                return _stated_result("unknown", expected, actual, "its exit code is not known",
                                      pointer)  # fmt: skip
            if told.exit_code is not None and command.code != told.exit_code:
                return _stated_result("fail", expected, actual, f"the record says {actual}",
                                      pointer)  # fmt: skip
            if command.code != told.expect.exit_code:
                return _stated_result("fail", expected, actual, "", pointer)
            if output is None and _is_about_output(told):
                return _stated_result("unknown", expected, actual,
                                      "its output is stated, not recorded", pointer)  # fmt: skip
            status, why = output or ("pass", "")
            return _stated_result(status, expected, actual, why, pointer)
        pointer = Pointer("command", one_line(told.command), "stated")
        said = f"exit {told.exit_code}, as stated"
        if told.exit_code is None:
            return _stated_result("unknown", expected, "", "no such call is recorded", pointer)
        if told.exit_code != told.expect.exit_code:
            return _stated_result("fail", expected, said, "", pointer)
        if output is not None:
            status, why = output
            return _stated_result(status, expected, said, why or "stated, not recorded", pointer)
        return _stated_result("unknown", expected, said, "no such call is recorded", pointer)

    def _named(
        self, session: OpenSession, named: EvidenceNamed | AnyDemand, id_: str
    ) -> CheckResult:
        """Look a pointer up: of a call of the session's own shell its exit code counts."""
        uri = named.uri if isinstance(named, EvidenceNamed) else ""
        expected = one_line(f"{uri} is recorded")
        watched = self.proof.of(session.id)
        stream, _, number = uri.rpartition("#")
        why = "it is no pointer: name call:ID, STREAM@PROVIDER#NUMBER, or a file of the folder"
        if uri.startswith("call:"):
            command = None
            if watched is not None:
                command = watched.history.command(uri.removeprefix("call:"))
            if command is None:
                why = "no command of the session's own shells has this id in the ledger"
            elif command.ended is None or command.code is None:
                why = "its exit code is not known" if command.ended is not None else "it still runs"
            else:
                pointer = Pointer("command", uri, "recorded", command.at)
                status: CheckStatus = "pass" if command.code == 0 else "fail"
                return CheckResult(id_, "command", status, expected, f"exit {command.code}",
                                   evidence=pointer)  # fmt: skip
        elif uri.startswith("records:"):
            why = (
                "records prove nothing, as the session's agent can write to them: name the call, as"
                " call:ID, or the line, as STREAM@PROVIDER#NUMBER"
            )
        elif "@" in stream and number.isascii() and number.isdigit():
            seen = self._stream(session, stream)
            for line in seen.lines:
                if str(line.seq) == number:
                    pointer = Pointer("stream", uri, "stated", line.ts, seq=line.seq)
                    return CheckResult(id_, "stream", "pass", expected, one_line(line.event),
                                       evidence=pointer)  # fmt: skip
            why = seen.why or "the stream has no such line, or not in memory any more"
        return CheckResult(id_, "record", "unknown", expected, reason=why)

    def report(self, results: list[CheckResult], goal_id: str | None) -> GoalReport:
        """Sum up: verified where all pass, failed where one fails."""
        counts = CheckCounts(
            passed=sum(one.status == "pass" for one in results),
            failed=sum(one.status == "fail" for one in results),
            error=sum(one.status == "error" for one in results),
            unknown=sum(one.status == "unknown" for one in results),
        )
        is_all = bool(results) and counts.passed == len(results)
        verdict = "verified" if is_all else "failed" if counts.failed else "unverifiable"
        now = self._clock.timestamp()
        return GoalReport(
            verdict,  # type: ignore[arg-type]
            results,
            counts,
            self._ids.id("ev"),
            now,
            goal_id,
        )


def _is_agents(emitter: LiveEmitter) -> bool:
    return emitter.is_prompt or emitter.entry.ownership == "modelOwned"


def _demand_in(check: EvidenceCheck) -> AnyDemand | None:
    """Return a check's demand; of a pointer to a file, that it is there."""
    if isinstance(check.of, CommandStated):
        return None
    if not isinstance(check.of, EvidenceNamed):
        return check.of
    uri = check.of.uri
    is_path = "#" not in uri and not uri.startswith(("call:", "records:", "goal:"))
    return FileIs(path=uri) if is_path else None


def _stated_result(
    status: CheckStatus, expected: str, actual: str, reason: str, pointer: Pointer
) -> CheckResult:
    return CheckResult("", "command", status, expected, actual, reason, pointer)


def _is_about_output(told: CommandStated) -> bool:
    expect = told.expect
    return any(one is not None for one in (expect.contains, expect.not_contains, expect.matches))


def _output(told: CommandStated) -> str:
    """Return the stated output that is to be so."""
    outputs = {"stdout": told.stdout, "stderr": told.stderr}
    return outputs.get(told.expect.where, f"{told.stdout}\n{told.stderr}")


def _output_result(told: CommandStated, fits: bool | None) -> tuple[CheckStatus, str]:
    """Hold stated output against what is expected of it. `fits`: whether it matches the pattern;
    None: that took too long."""
    expect, text = told.expect, _output(told)
    if expect.contains is not None and expect.contains not in text:
        return "fail", f"its output does not have: {one_line(expect.contains)}"
    if expect.not_contains is not None and expect.not_contains in text:
        return "fail", f"its output has: {one_line(expect.not_contains)}"
    if expect.matches is None or fits:
        return "pass", ""
    if fits is None:
        return "unknown", NO_MATCH
    return "fail", "nothing in its output matches"


def result_of(id_: str, judged: DemandJudged) -> CheckResult:
    """Put a verdict into the words of a report: `stale` is unknown there, with its reason."""
    verdict = judged.verdict
    status: CheckStatus = _STATUS.get(verdict.state, "unknown")
    if judged.is_error:
        status = "error"
    reason = f"stale: {verdict.reason}" if verdict.state == "stale" else verdict.reason
    return CheckResult(
        id_,
        _kind(judged.asked.demand),
        status,
        expected(judged.asked.demand),
        judged.actual[: limits.MAX_CHECK_ACTUAL],
        reason,
        verdict.pointers[0] if verdict.pointers else None,
    )


def _kind(demand: AnyDemand) -> str:
    return str(demand.__struct_config__.tag)


def expected(demand: AnyDemand) -> str:
    """Say on one line what is demanded."""
    match demand:
        case Ran(command=command, exit_code=code):
            return one_line(f"{command} ends with exit {code}")
        case Called(tool=tool, ok=ok):
            return f"{tool} {'ends well' if ok else 'fails'}"
        case FileIs(path=path, exists=exists):
            return one_line(f"{path} {'is as demanded' if exists else 'is not there'}")
        case StreamHas(stream=stream):
            return one_line(f"{stream} has the lines")
        case PersonSays(text=text):
            return one_line(f"the person says: {text}")
