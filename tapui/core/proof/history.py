"""The facts of a session as a history: its commands, what the folder was, who wrote files."""

import contextlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tapui.core.proof import facts as fact
from tapui.core.proof.checks import check
from tapui.core.proof.deciding import ShellReading, read
from tapui.core.proof.facts import AnyFact
from tapui.core.proof.file_writers import FileWriters, changed_paths, wrote
from tapui.core.proof.folder_states import FolderState, changed_states, difference
from tapui.core.proof.goal_history import GoalHistory
from tapui.core.proof.summaries import Summary
from tapui.core.proof.surfaces import programs_of
from tapui.projection.change_marks import LiveMarks
from tapui.projection.summary import one_line
from tapui.wire import limits
from tapui.wire.changes import FileWriter, WriterKind
from tapui.wire.reviews import Finding

MOST_COMMANDS = 2_000
"""Commands that are remembered: the newest. What older ones proved is unknown."""

MOST_WAITING = 100
MOST_WRITTEN = 1_000
_MOST_ACTS = 64
_NO_FILES: frozenset[str] = frozenset()
_NO_TESTS: Mapping[str, Summary] = {}
MOST_TURNS = 50
"""Turns of which is remembered how they found the folder."""
_MOST_BASES = 200_000
"""Files that these states name in all."""
MOST_OUTSIDE = 200
"""Looks that are remembered which found changes of others."""


class RecordedCommand:
    """A command that ran, or runs. `began` and `ended` are its places among all facts."""

    __slots__ = (
        "_reading", "after", "at", "before", "began", "by", "call_id", "code", "cwd", "ended",
        "is_lost", "others", "shell", "shell_id", "tests", "text", "turn", "unrun", "written",
    )  # fmt: skip

    def __init__(self, began: int, told: fact.CommandBegan) -> None:
        self.began = began
        self.ended: int | None = None
        self.at = told.at
        self.call_id, self.text, self.cwd = told.call_id, told.text, told.cwd
        self.turn, self.by, self.shell = told.turn, told.by, told.shell
        self.code: int | None = None
        self.shell_id = ""
        """The shell in which it goes on behind its call."""
        self.unrun = ""
        """Why a program in it did not run."""
        self.is_lost = False
        """Whether tapui ended before it did."""
        self.tests: Mapping[str, Summary] = _NO_TESTS
        """What the checks in it report, by their programs."""
        self.before: tuple[FolderState, ...] | None = None
        self.after: tuple[FolderState, ...] | None = None
        self.others: set[str] = set()
        """Calls that wrote, or may have written, while it ran."""
        self.written = _NO_FILES
        """Files that tools other than shells wrote while it ran."""
        self._reading: ShellReading | None = None

    @property
    def reading(self) -> ShellReading:
        """What its text runs. It is read when a verdict first needs it: most commands never are."""
        if self._reading is None:
            self._reading = read(self.text, self.shell)
        return self._reading

    @property
    def may_write(self) -> bool:
        """Whether it may change files that others check: a check's own output is not such a one."""
        return self.reading.writes_after(-1)

    @property
    def only_reads(self) -> bool:
        """Whether it changes no file at all: a check may have outputs."""
        return not self.may_write and not any(check(one.words) for one in self.reading.parts)


class OutsideChange(NamedTuple):
    """What a look found that neither a command nor a tool of this session can have changed."""

    number: int
    paths: frozenset[str]


class FolderBase(NamedTuple):
    """The folder as it was at one moment: what is there now is compared with it. `number` is its
    place among all facts; `is_late`: files may have been changed already, or not all were looked
    at."""

    at: str
    number: int
    states: tuple[FolderState, ...]
    is_late: bool = False


class FactHistory:
    """Folds facts. What it answers rests on facts up to now, never on later ones."""

    def __init__(self) -> None:
        self.count = 0
        self.turn = 0
        self.turn_began = 0
        self.commands: deque[RecordedCommand] = deque(maxlen=MOST_COMMANDS)
        self.states: tuple[FolderState, ...] | None = None
        """The newest look; None before the first since the gateway began to watch."""
        self.news = 0
        """How many looks found something else than the one before."""
        self.turn_states: tuple[FolderState, ...] | None = None
        """The folder as the newest turn found it."""
        self.first: dict[str, FolderState] = {}
        """The first look at each root, against the same tree as the newest."""
        self.programs: dict[str, int] = {}
        """Programs that tools wrote, such as `.venv/bin/pytest`, by name; when, first."""
        self.doubt = ""
        """Why what happened earlier does not count; "" where nothing was lost."""
        self.goals = GoalHistory()
        self.tools_off: dict[str, list[str]] = {}
        """What the person has switched off, by provider (`fact.ToolsStood`)."""
        self.marks = LiveMarks()
        self.findings: dict[str, Finding] = {}
        """Those about which something was decided or proposed, by id, oldest first."""
        self.acts = 0
        """How many facts there were that may have changed files."""
        self.written: list[str] = []
        """Files that tools other than shells wrote since the newest look."""
        self.turn_written: list[str] = []
        """Files that tools other than shells wrote in the newest turn, the first `MOST_WRITTEN`."""
        self.is_turn_late = False
        """Whether files may have been changed in the newest turn before it was first looked at."""
        self.has_changed = False
        """Whether a look found changed files that count and may be this session's work."""
        self.outside: list[OutsideChange] = []
        """The newest `MOST_OUTSIDE`."""
        self.began: FolderBase | None = None
        """The folder at the session's first look, with roots that came later as they were found."""
        self._began_acts = 0
        self.turns: dict[str, FolderBase] = {}
        """The folder as turns found it, by their beginning: the newest `MOST_TURNS`."""
        self.writers = FileWriters()
        self._wrote: list[fact.FilesWritten] = []
        """What tools other than shells wrote since the newest look."""
        self._turn_at = ""
        self._running: dict[str, RecordedCommand] = {}
        self._before: dict[str, tuple[FolderState, ...]] = {}
        """Looks for commands that have not begun, by their calls: the newest `MOST_WAITING`."""
        self._newest_acts: deque[RecordedCommand | list[str]] = deque(maxlen=_MOST_ACTS)
        """The newest acts: commands that began or ended, or the files that a tool wrote."""
        self._seen_acts = 0
        """`acts` at the newest look."""
        self._turn_acts: int | None = 0
        """`acts` up to which the newest turn can have changed no file; None once it may have."""

    def add(self, told: AnyFact) -> None:
        """Take the next fact."""
        self.count += 1
        match told:
            case fact.CommandBegan():
                self._begin(told)
            case fact.CommandEnded():
                self._end(told)
            case fact.FolderSeen():
                self._seen(told, self.states if told.is_same else tuple(told.states))
            case fact.FolderChangeSeen(changes=changes):
                before = self.states
                self._seen(told, None if before is None else changed_states(before, changes))
            case fact.WatchBegan(why=why):
                self._watch(why)
            case fact.TurnBegan(at=at, turn=turn):
                self.turn, self.turn_began, self._turn_at = turn, self.count, at
                self.turn_states = self.states if self.is_seen else None
                self.turn_written = []
                self._turn_acts = self.acts
                self._keep_turn()
            case fact.FilesWritten(call_id=call_id, paths=paths, by=by):
                self._act(paths)
                self.written += paths
                self._wrote.append(told)
                if by == "agent":
                    self.turn_written += paths
                    del self.turn_written[MOST_WRITTEN:]
                self._note_programs(paths)
                for running in self._running.values():
                    running.others.add(call_id)
                    if len(running.written) < MOST_WRITTEN:
                        running.written |= frozenset(paths)
            case fact.GoalStood() | fact.PersonAnswered() | fact.ToolEnded() | fact.SurfaceSeen():
                self.goals.add(told, self.count, self.states if self.is_seen else None)
            case fact.ToolsStood(off=off):
                self.tools_off = off
            case fact.SeenByPerson(root=root, path=path, state_id=state_id):
                self.marks.see(root, path, state_id)
            case fact.NoteStood(note=note):
                self.marks.keep(note)
            case fact.NoteLeft(note_id=note_id):
                self.marks.drop(note_id)
            case fact.FindingStood(finding=finding):
                self.findings[finding.id] = finding
                if len(self.findings) > limits.MAX_FINDINGS:
                    del self.findings[next(iter(self.findings))]

    def _act(self, act: RecordedCommand | list[str]) -> None:
        self.acts += 1
        self._newest_acts.append(act)

    @property
    def newest_turn(self) -> FolderBase | None:
        """The folder as the newest turn found it; None while that is not known, also where it is of
        an earlier one."""
        return self.turns.get(self._turn_at)

    def is_quiet_since(self, acts: int) -> bool:
        """Return whether what happened since there were so many acts can have changed no file."""
        return acts == self.acts or not any(
            isinstance(act, list) or act.may_write for act in self._acts_since(acts)
        )

    def _is_turn_quiet(self) -> bool:
        """Return whether the newest turn can have changed no file so far. What it did is judged
        once: to read a command takes 0.1 ms, a fact 2 µs."""
        if self._turn_acts is not None:
            self._turn_acts = self.acts if self.is_quiet_since(self._turn_acts) else None
        return self._turn_acts is not None

    def _acts_since(self, acts: int) -> list[RecordedCommand | list[str]]:
        """Return what happened since there were so many acts; [] stands for what is not known."""
        count = self.acts - acts
        known = self._newest_acts
        return [
            known[-at] if at <= len(known) else []
            for at in range(1, min(count, _MOST_ACTS + 1) + 1)
        ]

    def _note_programs(self, paths: list[str]) -> None:
        for name in (name for path in paths for name in programs_of(path)):
            self.programs.setdefault(name, self.count)
            if len(self.programs) > MOST_WAITING:
                del self.programs[next(iter(self.programs))]

    def _watch(self, why: str) -> None:
        for command in self._running.values():
            command.is_lost = True
        self._running.clear()
        self._before.clear()
        self.states, self.turn_states = None, None
        self.written.clear()
        self._wrote.clear()
        if why:
            self.doubt = why
            self.began = None
            self.turns.clear()
            self.commands.clear()
            self.outside.clear()
            self.goals.doubt()

    def _begin(self, told: fact.CommandBegan) -> None:
        command = RecordedCommand(self.count, told)
        for running in self._running.values():
            if command.may_write:
                running.others.add(command.call_id)
            if running.may_write:
                command.others.add(running.call_id)
        seen = self.states if self.is_seen else None
        self._act(command)
        command.before = self._before.pop(command.call_id, seen)
        self._running[command.call_id] = command
        self.commands.append(command)

    def _end(self, told: fact.CommandEnded) -> None:
        command = self._running.get(told.call_id)
        if command is None:
            return
        self._act(command)
        command.shell_id = told.shell_id
        command.cwd = told.cwd or command.cwd
        if told.is_behind:
            return
        del self._running[told.call_id]
        if told.is_denied:
            self._forget(command)
            return
        command.ended, command.code, command.tests = self.count, told.code, told.tests
        command.unrun = told.unrun

    def _forget(self, command: RecordedCommand) -> None:
        """Nothing of a command ran: it is no run of a check, and changed nothing beside others."""
        with contextlib.suppress(ValueError):  # so many began since that it is kept no longer
            self.commands.remove(command)
        for other in self.commands:
            other.others.discard(command.call_id)

    def _seen(
        self,
        told: fact.FolderSeen | fact.FolderChangeSeen,
        states: tuple[FolderState, ...] | None,
    ) -> None:
        before = self.states
        if states is None:
            return
        self.states = states
        if states is not before:
            self.news += 1
            self._keep_began(told.at, states)
            self._compare(told, before, states)
        self._seen_acts = self.acts
        if self.turn_states is not states or self.is_turn_late:
            is_late = told.is_beside or not self._is_turn_quiet()
            if self.turn_states is None and is_late and before is not None:
                self.turn_states, self.is_turn_late = before, False
            elif self.turn_states is None or not is_late:
                self.turn_states, self.is_turn_late = states, is_late
            self._keep_turn()
        self.written.clear()
        self._wrote.clear()
        if told.is_before:
            self._before[told.call_id] = states
            if len(self._before) > MOST_WAITING:
                del self._before[next(iter(self._before))]
        elif told.call_id:
            command = self.command(told.call_id)
            if command is not None:
                command.after = states
                if told.is_beside:  # what it shows may be that call's work
                    command.others.add("")

    def _compare(
        self,
        told: fact.FolderSeen | fact.FolderChangeSeen,
        before: tuple[FolderState, ...] | None,
        states: tuple[FolderState, ...],
    ) -> None:
        for state in states:
            kept = self.first.get(state.root)
            if kept is None or kept.head != state.head:
                self.first[state.root] = state
        if before is None or states == before:
            return
        self._note_writers(told, before, states)
        changed = difference(before, states).changed.values()
        paths = frozenset(path for places in changed for path in places)
        acts = [*self._acts_since(self._seen_acts), *self._running.values()]
        is_alone = all(isinstance(act, RecordedCommand) and act.only_reads for act in acts)
        if is_alone and not told.is_beside:
            self.outside.append(OutsideChange(self.count, paths))
            del self.outside[:-MOST_OUTSIDE]
        else:
            self.has_changed = self.has_changed or bool(paths)

    def _keep_began(self, at: str, states: tuple[FolderState, ...]) -> None:
        """Remember the first look at each root; one that was not whole gives way to the next, while
        nothing can have been changed."""
        known = self.began
        is_partial = known is not None and not all(state.is_whole for state in known.states)
        if known is None or (is_partial and self.is_quiet_since(self._began_acts)):
            is_late = not all(state.is_whole for state in states) or not self.is_quiet_since(0)
            self.began = FolderBase(at, self.count, states, is_late)
            self._began_acts = self.acts if known is None else self._began_acts
            return
        roots = {state.root for state in known.states if state.head}
        new = [state for state in states if state.root not in roots]
        if new:
            kept = [state for state in known.states if state.root in roots]
            self.began = known._replace(states=(*kept, *new))

    def _keep_turn(self) -> None:
        """Remember how the newest turn found the folder."""
        states = self.turn_states
        if states is None or not self._turn_at:
            return
        known = self.turns.get(self._turn_at)
        if known is not None and known.states is states and known.is_late == self.is_turn_late:
            return  # nearly always: this runs for each look
        found = FolderBase(self._turn_at, self.turn_began, states, self.is_turn_late)
        self.turns[self._turn_at] = found
        while len(self.turns) > 1 and (
            len(self.turns) > MOST_TURNS
            or sum(len(one.files) for base in self.turns.values() for one in base.states)
            > _MOST_BASES
        ):
            del self.turns[next(iter(self.turns))]

    def _note_writers(
        self,
        told: fact.FolderSeen | fact.FolderChangeSeen,
        before: tuple[FolderState, ...],
        states: tuple[FolderState, ...],
    ) -> None:
        """Note by whom the files were changed that a look found to be others."""
        acts = [*self._acts_since(self._seen_acts), *self._running.values()]
        found = [act for act in acts if isinstance(act, RecordedCommand) and not act.only_reads]
        commands = list({one.call_id: one for one in found}.values())
        commands.sort(key=lambda one: (one.call_id == told.call_id, one.began))
        is_blind = told.is_beside or [] in acts
        at = told.at
        writer = FileWriter("unknown", at)
        if commands:
            one = commands[-1]
            kind: WriterKind = "person" if one.by == "person" else "shell"
            is_probable = is_blind or len(commands) > 1
            writer = FileWriter(kind, at, one_line(one.text), one.call_id, one.turn, is_probable)
        elif is_blind:
            blind = next((one for one in self._wrote if not one.paths), None)
            tool, id_ = (blind.tool, blind.call_id) if blind is not None else ("", None)
            writer = FileWriter("tool", at, tool, id_, self.turn, is_probable=True)
        old = {state.root: state for state in before}
        for state in states:
            for path, is_known in changed_paths(old.get(state.root), state):
                given = wrote(self._wrote, state.root, path)
                if given is not None:
                    kind = "person" if given.by == "person" else "tool"
                    by = FileWriter(kind, at, given.tool, given.call_id or None, self.turn)
                    self.writers.add(self.count, state.root, path, by)
                elif is_known:
                    self.writers.add(self.count, state.root, path, writer)

    @property
    def has_running(self) -> bool:
        """Whether a command is under way."""
        return bool(self._running)

    @property
    def is_seen(self) -> bool:
        """Whether nothing happened since the newest look that may have changed files."""
        return self.states is not None and not self.written and self.is_quiet_since(self._seen_acts)

    @property
    def unseen(self) -> str:
        """What happened since the newest look and may have changed files; "" for nothing."""
        for act in self._acts_since(self._seen_acts):
            if isinstance(act, RecordedCommand):
                if act.may_write:
                    return one_line(act.text) or "a command"
            elif not act:
                return "a tool"
        return ""

    def newest(self) -> Iterator[RecordedCommand]:
        """Return the commands, the newest first."""
        return reversed(self.commands)

    def command(self, call_id: str) -> RecordedCommand | None:
        """Return the newest command of a call."""
        for one in reversed(self.commands):  # nearly always the first
            if one.call_id == call_id:
                return one
        return None

    def outside_since(self, number: int) -> frozenset[str]:
        """Return the files that others have changed since the fact of this number."""
        later = (one.paths for one in self.outside if one.number > number)
        return frozenset(path for paths in later for path in paths)
