"""The shell of emitters in conversations with the core: files, consent, and runs by hand."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from tapui.core.effects import (
    CheckEmitter,
    KeepConsent,
    KeepGoalConsent,
    LeaveEmitters,
    ReadEmitters,
    SaveEmitter,
    SetRunFilter,
    StartRun,
    StopRun,
    TryFilter,
)
from tapui.core.emitters.plans import (
    CannotStart,
    EmitterEntryRead,
    EmitterPlan,
    EmitterStanding,
    FolderEmitters,
    GoalEntryRead,
    GoalPlan,
    MayStart,
    MustAsk,
    SavedEmitter,
    Schedule,
)
from tapui.core.runs.reports import RunCounted, RunEnded, RunLine, RunLines, RunReport, RunStarted
from tapui.wire.codec import encode
from tapui.wire.criteria import Ran
from tapui.wire.emitters import Emitter, EmitterCounts, FileProblem
from tapui.wire.goals import CriterionGiven
from tapui.wire.message import Level
from tapui.wire.provider import FilterRule

if TYPE_CHECKING:
    from tests.core.harness import Conversation, Peer


def entry(name: str = "watch", **plan: Any) -> EmitterEntryRead:
    """Return an emitter of a file: a command that runs all the time, unless `plan` says else."""
    meta = {
        key: plan.pop(key)
        for key in ("ownership", "lifespan", "description", "line")
        if key in plan
    }
    given: dict[str, Any] = {"stream": name, "cwd": "/repo", **plan}
    kind, every = given.pop("kind", "continuous"), given.pop("every", None)
    if kind == "provider":
        given["kind"] = kind
    else:
        schedule = Schedule(kind, every, given.pop("cron", UNSET))
        given |= {"kind": "emitter", "schedule": schedule}
    if "prompt" not in given:
        given.setdefault("command", f"./{name}")
    return EmitterEntryRead(plan=EmitterPlan(name=name, **given), **meta)


def goal_entry(name: str = "tests", *commands: str, **plan: Any) -> GoalPlan:
    """Return a goal of a file: a command that is to pass, unless `plan` says else."""
    criteria = tuple(CriterionGiven(check=Ran(command=one)) for one in commands or ("pytest",))
    return GoalPlan(name=name, **{"criteria": criteria, **plan})


def digest_of(plan: GoalPlan) -> str:
    return hashlib.sha256(encode(plan)).hexdigest()


def rules(*given: tuple[str, Any]) -> tuple[FilterRule, ...]:
    """Return a filter's rules."""
    return tuple(FilterRule(match, outcome) for match, outcome in given)


def lines(talk: "Conversation", stream: str = "watch@tap") -> list[tuple[str, str]]:
    """Return the lines of a stream so far: level and text."""
    return [
        (one["line"]["level"], one["line"]["event"])
        for one in talk.events("stream.posted")
        if one["stream"] == stream
    ]


def of(talk: "Conversation", name: str = "watch") -> dict[str, Any]:
    """Return the fields of an order that name an emitter."""
    return {"emitterId": talk.runner.shown(name).id}


class EmitterShell:
    """Files by folder, what the person has allowed, and the runs under way.

    `real` has folders without links by what sessions call them. What is asked by effects in `holds`
    waits for `answer()`.
    """

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk
        self.files: dict[str, tuple[EmitterEntryRead, ...]] = {}
        self.real: dict[str, str] = {}
        self.goals: dict[str, tuple[GoalPlan, ...]] = {}
        self.allowed_goals: set[tuple[str, str]] = set()
        """What the person has allowed, by folder and digest."""
        self.is_readable = True
        self.problems: tuple[FileProblem, ...] = ()
        """What is wrong in every folder's file."""
        self.allowed: dict[tuple[str, str], EmitterPlan] = {}
        self.proposed: dict[str, EmitterPlan] = {}
        """What the person was shown, by its digest."""
        self.changed_files: set[str] = set()
        """Emitters a file of which is not as it was allowed."""
        self.changes = 0
        """How often files that commands name were changed."""
        self.faults: dict[str, str] = {}
        """Why emitters cannot start, by name."""
        self.consent_fault: str | None = None
        self.later_versions: list[bool] = []
        self.left: list[str] = []
        self.started: list[StartRun] = []
        self.was_allowed: dict[str, EmitterPlan | None] = {}
        """What the person had allowed when a run was started, by its id."""
        self.running: dict[str, StartRun] = {}
        self.stopping: list[str] = []
        self.filters: list[SetRunFilter] = []
        self.trials: list[TryFilter] = []
        self.saves: list[SaveEmitter] = []
        self.holds: tuple[type, ...] = ()
        self.held: list[Any] = []
        self.checks = 0

    # The core's effects

    def carry_out(self, effect: Any) -> None:
        """Carry out what the core asks."""
        if isinstance(effect, self.holds):
            self.held.append(effect)
            return
        match effect:
            case ReadEmitters(ticket, cwd):
                self._answer(ticket, self.found(cwd))
            case LeaveEmitters(folder):
                self.left.append(folder)
            case CheckEmitter(ticket, folder, name, is_provider):
                self.checks += 1
                standing = self._standing(folder, name, is_provider=is_provider)
                self._answer(ticket, standing)
            case KeepConsent(ticket, folder, name, digest, later_versions):
                if self.consent_fault is None:
                    self.allowed[folder, name] = self.proposed[digest]
                    self.changed_files.discard(name)
                    self.later_versions.append(later_versions)
                self._answer(ticket, self.consent_fault)
            case KeepGoalConsent(ticket, folder, plan):
                if self.consent_fault is None:
                    self.allowed_goals.add((folder, digest_of(plan)))
                self._answer(ticket, self.consent_fault)
            case SaveEmitter():
                self.saves.append(effect)
            case StartRun(run):
                assert run not in {one.run for one in self.started}, "an id that was used"
                self.started.append(effect)
                allowed = [one for one in self.allowed.values() if one.name == effect.plan.name]
                is_allowed = effect.plan.name not in self.changed_files
                self.was_allowed[run] = allowed[0] if allowed and is_allowed else None
                self.running[run] = effect
            case StopRun(run):
                self.stopping.append(run)
            case SetRunFilter():
                self.filters.append(effect)
            case TryFilter():
                self.trials.append(effect)

    def _answer(self, ticket: int, answer: object) -> None:
        gateway = self._talk.gateway
        gateway.tell(self._talk.now, gateway.answered, ticket, answer)

    def answer(self) -> None:
        """Answer what was asked meanwhile."""
        self.holds = ()
        held, self.held = self.held, []
        for effect in held:
            self.carry_out(effect)
        self._talk.turn()

    def found(self, cwd: str) -> FolderEmitters:
        """Return what the file of a folder says."""
        folder = self.real.get(cwd, cwd)
        entries = self.files.get(folder, ())
        goals = tuple(self._goal(folder, one) for one in self.goals.get(folder, ()))
        return FolderEmitters(cwd, folder, entries, self.is_readable, self.problems, goals)

    def _goal(self, folder: str, plan: GoalPlan) -> GoalEntryRead:
        digest = digest_of(plan)
        is_allowed = (folder, digest) in self.allowed_goals
        return GoalEntryRead(
            plan=plan, digest=digest, is_allowed=is_allowed, file=f"{folder}/tap.config.json"
        )

    def _plan(self, folder: str, name: str, *, is_provider: bool) -> EmitterPlan | None:
        plans = [one.plan for one in self.files.get(folder, ()) if one.plan.name == name]
        return next((one for one in plans if (one.kind == "provider") is is_provider), None)

    def _standing(self, folder: str, name: str, *, is_provider: bool) -> EmitterStanding:
        plan = self._plan(folder, name, is_provider=is_provider)
        if plan is None:
            return CannotStart("the file does not have it")
        if name in self.faults:
            return CannotStart(self.faults[name])
        known = self.allowed.get((folder, name))
        if known == plan and name not in self.changed_files:
            return MayStart(plan)
        why = "" if known is None else "another command" if known != plan else "a file changed"
        detail = {"command": plan.command, "prompt": plan.prompt, "cwd": plan.cwd}
        digest = f"digest of {plan!r} with files {self.changes}"
        self.proposed[digest] = plan
        return MustAsk(digest, detail, why)

    # What the test does

    def begin(self) -> None:
        """The shell can run emitters from now on."""
        self._talk.tell(self._talk.gateway.emitter_folders.begin)
        self._talk.turn()

    def write(self, folder: str, *entries: EmitterEntryRead, allows: bool = False) -> None:
        """Write a folder's file; with `allows` the person has allowed all of it before."""
        self.files[folder] = entries
        for one in entries if allows else ():
            self.allowed[folder, one.plan.name] = one.plan
        self.read_again(folder)

    def opens(self, host: "Peer", *entries: EmitterEntryRead) -> None:
        """The person has allowed these before, and session `s1` is opened in their folder."""
        self.write("/repo", *entries, allows=True)
        host.open("s1", cwd="/repo")

    def write_goals(self, folder: str, *goals: GoalPlan, allows: bool = False) -> None:
        """Write the goals of a folder's file; with `allows` the person has allowed them before."""
        self.goals[folder] = goals
        if allows:
            self.allowed_goals.update((folder, digest_of(one)) for one in goals)
        self.read_again(folder)

    def read_again(self, folder: str) -> None:
        """The file of a folder has changed, or consent to something of it."""
        self._talk.tell(self._talk.gateway.emitter_folders.changed, self.found(folder))
        self._talk.turn()

    def saved(self, folder: str, *entries: EmitterEntryRead, own: str = "watch") -> None:
        """Answer the last order to save: the file has these entries now, and they are allowed."""
        self.files[folder] = entries
        for one in entries:
            self.allowed[folder, one.plan.name] = one.plan
        saved = SavedEmitter(self.found(folder), f"{folder}/tap.config.json", frozenset({own}))
        self._talk.gateway.tell(
            self._talk.now, self._talk.gateway.answered, self.saves[-1].ticket, saved
        )
        self._talk.turn()

    def touch(self, folder: str, *names: str) -> None:
        """Change files that emitters' commands name."""
        self.changed_files.update(names)
        self.changes += bool(names)
        self._talk.tell(self._talk.gateway.emitter_folders.files_changed, folder)
        self._talk.turn()

    def run_of(self, name: str = "watch") -> str:
        """Return the id of the one run of an emitter that is under way."""
        (run,) = [id_ for id_, one in self.running.items() if one.plan.name == name]
        return run

    def runs(self, name: str = "watch") -> int:
        """Return how often an emitter's command was started."""
        return sum(one.plan.name == name for one in self.started)

    def report(self, report: RunReport) -> None:
        """Report something of a run."""
        self._talk.tell(self._talk.gateway.runs.reported, report)
        self._talk.turn()

    def starts(self, name: str = "watch") -> str:
        """Report that the process of a run is there; return the run's id."""
        run = self.run_of(name)
        self.report(RunStarted(run, 1))
        return run

    def says(
        self, *texts: str, name: str = "watch", outcome: Level = "keep", source: Any = "stdout"
    ) -> None:
        """Report lines that the filter let through."""
        lines = [RunLine(text, outcome, source) for text in texts]
        self.report(RunLines(self.run_of(name), lines))

    def lines_of_run(self, run: str, outcomes: Iterable[Level]) -> None:
        """Report lines of any run, one of each outcome."""
        lines = [RunLine(f"a line to {outcome}", outcome) for outcome in outcomes]
        self.report(RunLines(run, lines))

    def end_of_run(self, run: str, code: int, **counts: int) -> None:
        """Report the end of any run."""
        del self.running[run]
        self.report(RunEnded(run, EmitterCounts(**counts), code=code))

    def counts(self, name: str = "watch", **counts: int) -> None:
        """Report how far a run is."""
        self.report(RunCounted(self.run_of(name), EmitterCounts(**counts)))

    def ends(self, name: str = "watch", **end: Any) -> None:
        """Report the end of a run: with code 0 unless `end` says else."""
        run = self.run_of(name)
        del self.running[run]
        if not end.keys() & {"code", "signal", "error"}:
            end["code"] = 0
        self.report(RunEnded(run, **end))

    def lost(self, why: str = "the runner ended") -> None:
        """Report that the runner is gone."""
        lost = [*self.running]
        self.running.clear()
        for run in lost:
            self.report(RunEnded(run, error=why, is_lost=True))

    # What is shown

    def shown(self, name: str = "watch") -> Emitter:
        """Return the one emitter of a name, as towers see it."""
        found = [one for one in self._talk.gateway.state.emitters.values() if one.name == name]
        assert len(found) == 1, (name, found)
        return found[0]

    def all_shown(self) -> list[Emitter]:
        """Return all emitters, as towers see them."""
        return list(self._talk.gateway.state.emitters.values())

    def is_there(self, name: str = "watch") -> bool:
        """Return whether towers see an emitter of this name."""
        return any(one.name == name for one in self._talk.gateway.state.emitters.values())
