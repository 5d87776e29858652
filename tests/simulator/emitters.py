"""The shell of emitters, late as the dice say: files that change, consents, runs that fail."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tapui.core.effects import (
    CheckEmitter,
    EmitterEffect,
    KeepConsent,
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
    MayStart,
    MustAsk,
    SavedEmitter,
    Schedule,
)
from tapui.core.runs.reports import (
    RulesTried,
    RunCounted,
    RunEnded,
    RunFiltered,
    RunLine,
    RunLines,
    RunReport,
    RunStarted,
    TriedLine,
)
from tapui.wire.emitters import EmitterCounts

if TYPE_CHECKING:
    from tests.simulator.world import World

FOLDERS = ("/", "/two")
LEVELS = ("keep", "keep", "surface", "inject", "inject")
_ENDS: tuple[dict[str, Any], ...] = (
    {"code": 0},
    {"code": 0},
    {"code": 1},
    {"signal": "SIGKILL"},
    {"error": "it could not be started"},
)


class EmitterShell:
    """Answers the core's effects about emitters, and keeps what may run."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._dice = world.dice
        self._files: dict[str, tuple[EmitterEntryRead, ...]] = {}
        self._used: set[str] = set()
        """Folders that the core reads and has not left."""
        self._allowed: dict[tuple[str, str, bool], EmitterPlan] = {}
        self._shown: dict[str, EmitterPlan] = {}
        """What the person was shown, by its digest."""
        self._changed: set[str] = set()
        """Emitters a file of which is not as it was allowed."""
        self.commands: set[str] = set()
        """Commands of agents that the person approved."""
        self.prompts: set[str] = set()
        """Prompts that may be sent: allowed in a file, or asked for by an agent."""
        self.running: dict[str, StartRun] = {}
        self.stopping: set[str] = set()
        self._lines: dict[str, int] = {}
        """How many lines were told of each run."""
        self.started = 0

    def begin(self) -> None:
        """Emitters can be run from now on."""
        for folder in FOLDERS:
            self._write(folder)
            for one in self._files[folder] if self._dice.random() < 0.5 else ():
                self._allow(folder, one.plan)
        self._tell(self._world.gateway.emitter_folders.begin)
        self._world.later(1.0, self._wake)

    def over(self) -> None:
        """The story is over: files have nothing any more, and what runs ends."""
        for folder in FOLDERS:
            self._files[folder] = ()
            self._tell_of(folder)
        for run in list(self.running):
            self._at(lambda run=run: self._end(run))  # type: ignore[misc]

    def _tell(self, step: Callable[..., None], *args: Any) -> None:
        self._world.is_touched = True
        self._world.tell(step, *args)

    def _at(self, what: Callable[[], None], seconds: float = 0.0) -> None:
        self._world.at(self._world.now + seconds + self._world.latency(), what)

    # What the core asks

    def carry_out(self, effect: EmitterEffect) -> None:
        """Carry an effect out, some time later."""
        self._world.note("   %s", repr(effect))
        match effect:
            case StartRun():
                self._start(effect)
            case StopRun(run):
                assert run not in self.stopping, "a run is stopped twice"
                self.stopping.add(run)
                self._at(lambda: self._end(run, signal="SIGTERM"))
            case LeaveEmitters(folder):
                self._used.discard(folder)
            case SetRunFilter(run, version):
                fault = "it is slow" if self._dice.random() < 0.2 else None
                self._at(lambda: self._report(RunFiltered(run, version, fault)))
            case _:
                self._at(lambda: self._answer(effect))

    def _report(self, report: RunReport) -> None:
        self._tell(self._world.gateway.runs.reported, report)

    def _answer(self, effect: EmitterEffect) -> None:
        match effect:
            case ReadEmitters(ticket, cwd):
                self._used.add(cwd)
                found = self._found(cwd)
                self._world.answer(ticket, found)
            case CheckEmitter(ticket, folder, name, is_provider):
                standing = self._standing(folder, name, is_provider)
                self._world.answer(ticket, standing)
            case KeepConsent(ticket, folder, name, digest):
                fault = "the disk is full" if self._dice.random() < 0.1 else None
                if fault is None:
                    self._changed.discard(name)
                    self._allow(folder, self._shown[digest])
                self._world.answer(ticket, fault)
            case SaveEmitter(ticket=ticket):
                saved = self._save(effect)
                self._world.answer(ticket, saved)
            case TryFilter(ticket, _, lines):
                tried = RulesTried(0, [TriedLine("keep", None, False) for _ in lines])
                self._world.answer(ticket, tried)

    def _found(self, folder: str) -> FolderEmitters:
        is_readable = self._dice.random() < 0.95
        return FolderEmitters(folder, folder, self._files.get(folder, ()), is_readable)

    def _plan(self, folder: str, name: str, is_provider: bool) -> EmitterPlan | None:
        return next(
            (
                one.plan
                for one in self._files.get(folder, ())
                if one.plan.name == name and (one.plan.is_provider) == is_provider
            ),
            None,
        )

    def _standing(self, folder: str, name: str, is_provider: bool) -> EmitterStanding:
        plan = self._plan(folder, name, is_provider)
        if plan is None:
            return CannotStart("the file does not have it")
        if self._allowed.get((folder, name, is_provider)) == plan and name not in self._changed:
            return MayStart(plan)
        digest = f"digest of {plan!r}"
        self._shown[digest] = plan
        return MustAsk(digest, {"command": plan.command, "prompt": plan.prompt})

    def _allow(self, folder: str, plan: EmitterPlan) -> None:
        self._allowed[folder, plan.name, plan.is_provider] = plan
        if plan.prompt is not None:
            self.prompts.add(plan.prompt)

    def _save(self, effect: SaveEmitter) -> SavedEmitter:
        folder, entry = effect.folder, effect.entry
        if self._world.is_over or self._dice.random() < 0.2:
            return SavedEmitter(fault="the file cannot be written")
        plan = replace(entry.plan, rules=effect.rules or entry.plan.rules)
        others = tuple(one for one in self._files.get(folder, ()) if one.plan.name != plan.name)
        if effect.is_new and len(others) < len(self._files.get(folder, ())):
            return SavedEmitter(fault="there is one of this name")
        self._files[folder] = (*others, replace(entry, plan=plan, lifespan="persistent"))
        self._allow(folder, plan)
        found = FolderEmitters(folder, folder, self._files[folder])
        return SavedEmitter(found, f"{folder}/tap.config.json", frozenset({plan.name}))

    # Files

    def _write(self, folder: str) -> None:
        kinds = self._dice.sample(("watch", "poll", "once", "look", "rest", "serve"), 3)
        entries = [self._entry(folder, kind) for kind in kinds]
        self._files[folder] = tuple(entries[: self._dice.randint(0, 3)])

    def _entry(self, folder: str, kind: str) -> EmitterEntryRead:
        dice, number = self._dice, self._world.number()
        plans: dict[str, tuple[Schedule | None, dict[str, Any]]] = {
            "watch": (Schedule("continuous"), {"command": f"./watch {dice.randrange(2)}"}),
            "poll": (Schedule("timed", dice.choice((2, 30))), {"command": "./poll"}),
            "once": (Schedule("oneTime"), {"prompt": f"Once {number}."}),
            "look": (Schedule("timed", 20), {"prompt": f"Look {number}.", "max_runs": 3}),
            "rest": (
                Schedule("idle"),
                {"prompt": f"Rest {number}.", "max_runs": dice.choice((3, None))},
            ),
            "serve": (None, {"command": "./serve"}),
        }
        schedule, more = plans[kind]
        return EmitterEntryRead(
            plan=EmitterPlan(
                name=f"{kind}{FOLDERS.index(folder)}",
                stream=dice.choice((kind, "shared")),
                kind="provider" if schedule is None else "emitter",
                schedule=schedule,
                cwd=folder,
                injector=dice.choice(("unset", "unset", "enabled", "disabled")),
                delivery=dice.choice(("surface", "important", "all")),
                **more,
            ),
            ownership=dice.choice(("userOwned", "modelOwned")),
        )

    def _wake(self) -> None:
        """Let a file change, or the runner be lost."""
        self._world.later(self._dice.random() * 6, self._wake)
        folder, kind = self._dice.choice(FOLDERS), self._dice.randrange(8)
        if kind < 2:
            self._write(folder)
            self._tell_of(folder)
        elif kind < 4 and self._files[folder] and folder in self._used:
            self._changed.add(self._dice.choice(self._files[folder]).plan.name)
            self._tell(self._world.gateway.emitter_folders.files_changed, folder)
        elif kind == 4:
            self._world.note("!! the runner is lost")
            lost = [*self.running]
            self.running.clear()
            self.stopping.clear()
            for run in lost:
                self._report(RunEnded(run, error="it was killed", is_lost=True))

    def _tell_of(self, folder: str) -> None:
        if folder in self._used:
            found = FolderEmitters(folder, folder, self._files[folder])
            self._tell(self._world.gateway.emitter_folders.changed, found)

    # Runs

    def _start(self, effect: StartRun) -> None:
        plan = effect.plan
        self._check_allowed(plan)
        others = [one.plan for one in self.running.values()]
        if not plan.is_provider:  # of those, each session has its own
            assert plan not in others or plan.name.startswith("agent"), "a run beside itself"
        self.started += 1
        run = effect.run
        self.running[run] = effect
        self._lines[run] = 0
        self._at(lambda: self._go_on(run, is_first=True))

    def _check_allowed(self, plan: EmitterPlan) -> None:
        if plan in self._allowed.values():
            return
        assert plan.command in self.commands, f"{plan.name} starts, and nobody has allowed it"

    def _go_on(self, run: str, *, is_first: bool = False) -> None:
        """Let a run begin, and say something; it ends some time, or when it is stopped."""
        effect = self.running.get(run)
        if effect is None:
            return
        if is_first:
            self._report(RunStarted(run, 1))
        lines = [
            RunLine(f"line {self._world.number()}", self._dice.choice(LEVELS))  # type: ignore[arg-type]
            for _ in range(self._dice.randrange(4))
        ]
        self._lines[run] += len(lines)
        self._report(RunLines(run, lines))
        counts = EmitterCounts(lines=self._lines[run])
        self._report(RunCounted(run, counts))
        if self._world.is_over or effect.plan.runs == "timed" or self._dice.random() < 0.2:
            end = self._dice.choice(_ENDS)
            self._at(lambda: self._end(run, **end))
        else:
            self._at(lambda: self._go_on(run), self._dice.random() * 5)

    def _end(self, run: str, **end: Any) -> None:
        if self.running.pop(run, None) is None:
            return  # it has ended before
        self.stopping.discard(run)
        dropped = self._dice.randrange(3)
        counts = EmitterCounts(lines=self._lines.pop(run) + dropped, dropped=dropped)
        self._report(RunEnded(run, counts, **end))
