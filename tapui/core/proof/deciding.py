"""What a shell text runs, and what its exit code says about each part of it.

For a part, all ways in which the text can have ended are gone through: with which code, and with
the part passed, failed or not run. The exit code leaves some of them; what these agree in is known.
Of lists only the last item is decided so, also under `set -e`: what a person sees as decisive.
"""

import re
from typing import Literal, NamedTuple

from tapui.core.proof.checks import bare, idle
from tapui.core.proof.endings import (
    ANY,
    OTHER,
    ZERO,
    Ending,
    EndingStep,
    endings,
    exit_step,
    interruption,
)
from tapui.core.proof.shell_state import (
    OWN,
    ShellState,
    joined,
    modules_before,
    moved,
    setting,
    settings,
    with_flags,
    with_settings,
)
from tapui.core.proof.statements import (
    UNKNOWN,
    SimpleCommand,
    Statement,
    UnreadTextError,
    statement,
)
from tapui.core.proof.wrappers import InnerProgram, activates, program
from tapui.core.proof.writers import (
    PLACES_OF_PROGRAMS,
    READERS,
    changes_programs,
    is_filter,
    is_scratch,
    may_undo,
    may_write,
    tree_change,
)
from tapui.policies.commands import MAX_COMMAND

_MOST_NESTED = 3
_MOST_PARTS = 60
"""Parts up to which a text is read: the work grows with their square."""
_ALWAYS_SURE = frozenset({"echo", "printf", "true", ":", "tee"})
_SURE = _ALWAYS_SURE | {"tail", "head", "cat", "sort", "uniq"}
"""Programs that fail at most where there is no reader or no room, those of a pipe without files."""
_POWERSHELL = re.compile(
    r"[ \t]*[A-Za-z.\\/~][\w\\./:~-]*"
    r"(?:[ \t]+(?:[\w@%+=:./\\~*?-]+|'[^'\n]*'|\"[^\"$`\n]*\"))*[ \t]*",
    re.ASCII,
)
_POWERSHELL_WORD = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^ \t'\"]+)")


class ShellPart(NamedTuple):
    """One simple command of a text, without quotes, redirections and wrappers."""

    words: tuple[str, ...]
    folder: str = ""
    """Where it runs, relative to the call's folder; "/abs" and "~/x" where it is absolute."""
    filtered_by: str | None = None
    """The last program of its pipe, where only filters of text stand behind it."""
    sets: tuple[str, ...] = ()
    """What it sets beside harmless variables: a part of what is run."""
    files: tuple[str, ...] = ()
    """Files of its folder that are what runs, or can take its name."""

    def is_same(self, wanted: "ShellPart") -> bool:
        """Return whether it is a criterion's command; options that only print may differ.

        A tail is free where the criterion ends in the word `*`. Folders are the caller's to
        compare: those of the two calls may differ.
        """
        if sorted(self.sets) != sorted(wanted.sets):
            return False
        if wanted.words[-1:] == ("*",) and len(wanted.words) > 1:
            words = bare(wanted.words[:-1])
            return bool(words) and bare(self.words)[: len(words)] == words
        return bare(self.words) == bare(wanted.words)


State = Literal["passed", "failed", "one of", "unknown"]


class Outcome(NamedTuple):
    """What an exit code says about a part, and why where the state does not say it."""

    state: State
    reason: str = ""


class _Place(NamedTuple):
    """Where a statement stands."""

    why: str = ""
    """Why the exit code says nothing about it, where it does not."""
    is_lost: bool = False
    filtered_by: str | None = None
    is_last: bool = True
    """Whether nothing of its shell stands behind it."""
    is_tested: bool = False
    """Whether `set -e` does not hold there."""
    nesting: int = 0


class _Seen(NamedTuple):
    """The data of a part apart from the words of its command."""

    doubt: str
    why: str
    is_lost: bool


class ShellReading:
    """A text as it was read: its parts, and what an exit code says about each."""

    def __init__(self, text: str, shell: str) -> None:
        self.parts: list[ShellPart] = []
        self.doubt = ""
        """Why the text was not read."""
        self.changes_tree = ""
        """What of the text changes the files of the repository, such as `git stash`."""
        self._seen: list[_Seen] = []
        self._writers: list[int] = []
        self._undoers: list[tuple[int, str]] = []
        """What may put any content into a file: before or behind which part, and its name."""
        self._ends: dict[int, frozenset[Ending]] = {}
        self._root = EndingStep("fixed")
        try:
            self._root = self._read(text, shell)
        except UnreadTextError as error:
            self.parts.clear()
            self._seen.clear()
            self.doubt = str(error)

    def _read(self, text: str, shell: str) -> EndingStep:
        if shell.lower() in ("powershell", "pwsh"):
            words = _powershell_words(text)
            step, _, _ = self._command(Statement("command", command=words), ShellState(), _Place())
            return step
        if shell not in ("bash", "sh"):
            raise UnreadTextError(f"tapui does not read {shell}")
        return self._build(statement(text), ShellState(), _Place())[0]

    # Answers

    def outcome(self, at: int, code: int | None) -> Outcome:
        """Return what an exit code of the whole text says about a part."""
        if not 0 <= at < len(self.parts):
            return Outcome("unknown", self.doubt or "the text has no such part")
        seen = self._seen[at]
        if seen.doubt or seen.is_lost:
            return Outcome("unknown", seen.doubt or seen.why)
        if code is None:
            return Outcome("unknown", "its exit code is not known")
        if ended := interruption(code):
            return Outcome("unknown", ended)
        endings = self._endings(at)
        if code == 0:
            ways = {one.ran for one in endings if one.code == "zero"}
            if ways == {"passed"}:
                return Outcome("passed")
            return Outcome("unknown", seen.why or "the exit code does not tell about it")
        failed = [one for one in endings if one.code != "zero"]
        if failed and all(one.ran == "failed" for one in failed):
            return Outcome("failed")
        if not any(one.code == "own" for one in failed):
            return Outcome("unknown", seen.why or "the exit code does not tell about it")
        causes = self._causes()
        names = [_name_of(self.parts[one].words) for one in causes]
        if any(one.code == "foreign" and one.ran == "passed" for one in failed):
            return Outcome("one of", f"failed: {', '.join(names)}, or what stands beside")
        if causes == [at]:
            return Outcome("failed")
        if causes[0] == at:
            return Outcome("failed", f"exit {code} of it or of {', '.join(names[1:])}")
        return Outcome("one of", f"failed: one of {', '.join(names)}")

    def code_of(self, at: int, code: int | None) -> int | None:
        """Return a part's own exit code where that of the whole text tells it, else None."""
        if code == 0 or code is None:
            return 0 if self.outcome(at, code).state == "passed" else None
        if self.outcome(at, code).state != "failed":
            return None
        endings = [one for one in self._endings(at) if one.code != "zero"]
        return code if all(one.code == "own" for one in endings) else None

    def doubt_of(self, at: int) -> str:
        """Say why a part was not understood; "" where it was."""
        return self._seen[at].doubt

    def writes_after(self, at: int) -> bool:
        """Return whether anything else may write files when a part has ended, or beside it."""
        return bool(self.doubt) or any(one > at for one in self._writers)

    def writes_before(self, at: int) -> bool:
        """Return whether anything may write files before a part has ended, itself included."""
        return bool(self.doubt) or any(one <= at for one in self._writers)

    def undoes(self, at: int) -> str:
        """Say what may undo, behind a part, that files were changed for it; "" where nothing may.

        Then the folder may have been another one while the part ran than before and behind it.
        """
        before = [name for one, name in self._undoers if one <= at]
        behind = [name for one, name in self._undoers if one > at]
        if not before or not behind or {*before, *behind} == {"rm"}:
            return ""
        return f"{behind[0]} may undo what was changed before it"

    def _endings(self, at: int) -> frozenset[Ending]:
        if at not in self._ends:
            self._ends[at] = endings(self._root, at)
        return self._ends[at]

    def _causes(self) -> list[int]:
        """Return the parts of which the exit code may be, where it is not 0."""
        return [
            at
            for at in range(len(self.parts))
            if any(one.code == "own" for one in self._endings(at))
        ]

    # The shell's state, from statement to statement

    def _build(
        self, one: Statement, flow: ShellState, place: _Place
    ) -> tuple[EndingStep, ShellState | None, ShellState | None]:
        """Take a statement; return its step, and the state after its success and failure.

        A state is None where the shell does not go on.
        """
        match one.kind:
            case "command":
                made = self._command(one, flow, place)
            case "list":
                made = self._list(one, flow, place)
            case "and" | "or":
                made = self._chain(one, flow, place)
            case "pipe":
                made = self._pipe(one, flow, place)
            case "subshell":
                inner = place._replace(is_last=True)
                step, _, _ = self._build(one.within[0], flow, inner)
                made = EndingStep("list", (step,), is_shell=True), flow, flow
            case "braces":
                made = self._build(one.within[0], flow, place)
            case "background":
                lost = place._replace(why=one.why, is_lost=True, filtered_by=None)
                first = len(self.parts)
                self._build(one.within[0], flow, lost)
                if any(may_write(part.words) for part in self.parts[first:]):
                    self._writers.append(_MOST_PARTS + 1)
                    beside = [name for begin, name in self._undoers if begin >= first]
                    self._undoers += [(0, name) for name in beside]
                    self._undoers += [(_MOST_PARTS, name) for name in beside]
                made = EndingStep("fixed", endings=frozenset({ZERO})), flow, flow
            case "function":
                self._lose(one.below, flow, place, one.why)
                tainted = flow._replace(doubt=flow.doubt or "it defines a function")
                made = EndingStep("fixed", endings=frozenset({ZERO})), tainted, tainted
            case _:
                made = self._opaque(one, flow, place)
        self._note_writes(one.writes)
        if any(map(PLACES_OF_PROGRAMS.search, one.writes)):
            after = [way and way._replace(doubt="it writes a program") for way in made[1:]]
            made = made[0], after[0], after[1]
        return made

    def _note_writes(self, files: tuple[str, ...]) -> None:
        if any(UNKNOWN in one or not is_scratch(one) for one in files):
            self._writers.append(len(self.parts))
            # It is opened before its command begins.
            self._undoers.append((len(self.parts) - 1, "a redirection"))

    def _list(
        self, one: Statement, flow: ShellState, place: _Place
    ) -> tuple[EndingStep, ShellState | None, ShellState | None]:
        steps: list[EndingStep] = []
        may_leave = False
        ok: ShellState | None = flow
        failed: ShellState | None = None
        last = one.within[-1] if one.within else None
        for item in one.within:
            begin = joined(ok, failed) if steps else flow
            is_last = item is last
            inner = place._replace(is_last=place.is_last and is_last)
            if not is_last and not place.is_lost:
                inner = inner._replace(why=_decided_by(last), is_lost=True)
            if begin is None:  # behind `exit`
                begin = flow
                inner = inner._replace(why="it stands behind an exit", is_lost=True)
            may_leave = may_leave or begin.errexit is not False
            step, ok, failed = self._build(item, begin, inner)
            steps.append(step)
            if begin.errexit and not place.is_tested and item.kind == "command" and not is_last:
                failed = None
        return EndingStep("list", tuple(steps), leaves=may_leave), ok, failed

    def _chain(
        self, one: Statement, flow: ShellState, place: _Place
    ) -> tuple[EndingStep, ShellState | None, ShellState | None]:
        left, right = one.within
        is_and = one.kind == "and"
        inner = place._replace(is_last=False, is_tested=True)
        if not is_and and not place.is_lost:
            inner = inner._replace(
                why="|| hides its exit code", is_lost=place.is_lost or not place.is_last
            )
        first, ok, failed = self._build(left, flow, inner)
        begin = ok if is_and else failed
        after = place
        if begin is None:
            begin, after = flow, place._replace(why="it does not run", is_lost=True)
        elif not is_and and not place.is_lost:
            after = place._replace(why="it runs only where what stands before || failed")
        second, then_ok, then_failed = self._build(right, begin, after)
        step = EndingStep("all" if is_and else "any", (first, second))
        if is_and:
            return step, then_ok, joined(failed, then_failed)
        return step, joined(ok, then_ok), then_failed

    def _pipe(
        self, one: Statement, flow: ShellState, place: _Place
    ) -> tuple[EndingStep, ShellState | None, ShellState | None]:
        steps: list[EndingStep] = []
        before = len(self._writers)
        last = _program_of(one.within[-1])
        name = last.words[0] if last.words else "the last program"
        for number, stage in enumerate(one.within):
            inner = place._replace(is_last=True)
            behind = one.within[number + 1 :]
            if flow.pipefail is None:
                inner = inner._replace(why="pipefail may be set or not", is_lost=True)
            if not behind and len(self._writers) > before:
                self._writers.append(_MOST_PARTS + 1)  # beside the last stage
            if behind and flow.pipefail is False:
                is_filtered = all(map(is_filter, behind))
                why = place.why if place.is_lost else f"the exit code is {name}'s"
                inner = inner._replace(
                    why=why, is_lost=True, filtered_by=name if is_filtered else None
                )
            step, _, _ = self._build(stage, flow, inner)
            steps.append(EndingStep("list", (step,), is_shell=True))
        if not flow.pipefail:
            lost = [EndingStep("lost", (step,)) for step in steps[:-1]]
            steps = [*lost, steps[-1]]
        return EndingStep("pipe", tuple(steps)), flow, flow

    def _opaque(
        self, one: Statement, flow: ShellState, place: _Place
    ) -> tuple[EndingStep, ShellState | None, ShellState | None]:
        """Take conditions, loops and `!`: what runs in them is listed, and not decided."""
        if one.within:
            lost = place._replace(is_last=False, is_tested=True, filtered_by=None)
            if not place.is_lost:
                lost = lost._replace(why=one.why, is_lost=True)
            step, ok, failed = self._build(one.within[0], flow, lost)
            after = joined(ok, failed)
            return EndingStep("lost", (step,)), after, after
        self._lose(one.below, flow, place, one.why)
        doubt, can_leave = flow.doubt, flow.errexit is not False
        for command in _flat(one.below):
            can_leave = can_leave or command.words[:1] == ("exit",)
            doubt = doubt or _effect(command)
        for name, value in one.command.sets:
            doubt = doubt or setting(name, value)[1] * bool(setting(name, "")[1])
        after = flow._replace(doubt=doubt)
        endings = ANY | {Ending("zero", True, "not"), Ending("foreign", True, "not")}
        return EndingStep("fixed", endings=endings if can_leave else ANY), after, after

    def _lose(
        self, below: tuple[SimpleCommand, ...], flow: ShellState, place: _Place, why: str
    ) -> None:
        """List commands about which the exit code says nothing."""
        for command in _flat(below):
            if command.words:
                lost = place._replace(why=place.why if place.is_lost else why, is_lost=True)
                self._part(program(command.words), command, flow, lost)

    # Commands

    def _command(
        self, one: Statement, flow: ShellState, place: _Place
    ) -> tuple[EndingStep, ShellState | None, ShellState | None]:
        command = one.command
        before = len(self._writers)
        self._lose((*command.below, *one.below), flow, place, "$( ) keeps its exit code")
        if len(self._writers) > before:
            self._writers.append(len(self.parts) + 1)  # in `> >(…)` beside the command
        can_leave = bool(command.doubt) or any(UNKNOWN in value for _, value in command.sets)
        unset = frozenset({Ending("foreign", True, "not")}) if can_leave else frozenset()
        if not command.words:
            after = with_settings(flow, command.sets)
            endings = ANY if can_leave or one.writes or command.below else frozenset({ZERO})
            return EndingStep("fixed", endings=endings | unset), after, after
        made = program(command.words)
        name = made.words[0] if made.words else ""
        is_own = name in OWN or (name == "printf" and made.words[1:2] == ("-v",))
        if is_own and made.is_process:
            # `env cd web` and `/usr/bin/cd web` leave the shell where it is.
            made = made._replace(doubt=f"{name} is a command of the shell")
        elif is_own:
            return self._own(made, command, flow, place)
        step = self._part(made, command, flow, place, one.writes)
        if unset:
            step = EndingStep("any", (EndingStep("fixed", endings=unset | {OTHER}), step))
        after = flow
        if UNKNOWN in command.words[0] or (made.words and UNKNOWN in made.words[0]):
            after = flow._replace(doubt=flow.doubt or "a program is not known before it runs")
        elif changes_programs(made.words):
            after = flow._replace(doubt=flow.doubt or "it writes a program")
        return step, after, after

    def _part(
        self,
        made: InnerProgram,
        command: SimpleCommand,
        flow: ShellState,
        place: _Place,
        writes: tuple[str, ...] = (),
    ) -> EndingStep:
        """Add a part, or those of a text that a shell is given."""
        sets, doubt = settings(command.sets)
        doubt = flow.doubt or doubt or made.doubt
        begin = flow._replace(
            sets=tuple(dict.fromkeys([*flow.sets, *sets, *made.sets])),
            files=(*flow.files, *made.files, *modules_before(command.sets)),
        )
        for folder in made.folders:
            begin = begin._replace(folder=moved(begin.folder, folder, is_physical=True))
        if made.script is not None and not doubt and place.nesting < _MOST_NESTED:
            begin = begin._replace(
                pipefail="pipefail" in made.options, errexit="errexit" in made.options
            )
            inner = place._replace(is_last=True, is_tested=False, nesting=place.nesting + 1)
            try:
                step = self._build(statement(made.script), begin, inner)[0]
            except UnreadTextError as error:
                doubt = str(error)
            else:
                return EndingStep("list", (step,), is_shell=True)
        at = len(self.parts)
        if at >= _MOST_PARTS:
            raise UnreadTextError("it has too many parts")
        if not doubt and any(UNKNOWN in word for word in made.words):
            doubt = command.doubt or "a word of it is not known before it runs"
        if begin.folder is None:
            doubt = doubt or "its folder is not known: join cd with &&"
        if made.words[:1] == ("bash",) and made.script is not None:
            doubt = doubt or "it has too many shells in shells"
        doubt = doubt or idle(made.words)
        words = tuple(word.replace(UNKNOWN, "") for word in made.words)
        part = ShellPart(words, begin.folder or "", place.filtered_by, begin.sets, begin.files)
        self.parts.append(part)
        self._seen.append(_Seen(doubt, place.why, place.is_lost))
        if may_write(words):
            self._writers.append(at)
        if may_undo(words):
            self._undoers.append((at, words[0]))
        self.changes_tree = self.changes_tree or tree_change(words)
        if words[:1] and words[0] in _SURE and not writes and not made.is_process:
            from_pipe = all(re.fullmatch(r"-.*|\d+", word) for word in words[1:])
            if doubt or not (from_pipe or words[0] in _ALWAYS_SURE):
                return EndingStep("part", at=at)
            return EndingStep("part", at=at, endings=frozenset({ZERO}))
        return EndingStep("part", at=at)

    def _own(
        self, made: InnerProgram, command: SimpleCommand, flow: ShellState, place: _Place
    ) -> tuple[EndingStep, ShellState | None, ShellState | None]:
        """Take a command that changes the shell."""
        name, *rest = made.words
        zero = EndingStep("fixed", endings=frozenset({ZERO}))
        either = EndingStep("fixed")
        if command.sets:
            flow = with_settings(flow, command.sets)
        match name:
            case "cd" | "pushd" if (len(rest) == 1 and rest[0][:1] not in ("+", "-")) or (
                name == "cd" and not rest
            ):
                folder = moved(flow.folder, rest[0] if rest else "~")
                return either, flow._replace(folder=folder), flow
            case "set":
                after = with_flags(flow, rest)
                return zero, after, after
            case "export" | "declare" | "typeset" if rest[:1] != ["-f"]:
                given = [one for one in rest if one != "-x"]
                pairs = [one.partition("=") for one in given]
                if all(not one.startswith("-") for one in given):
                    values = tuple((one, value) for one, sign, value in pairs if sign)
                    bare_ = tuple((one, "") for one, sign, _ in pairs if not sign)
                    after = with_settings(flow, values)
                    doubt = settings(bare_)[1]
                    after = after._replace(doubt=after.doubt or doubt)
                    is_sure = not any(UNKNOWN in one for one in rest)
                    return (zero if is_sure else either), after, after
            case "unset" if rest and rest[0] != "-f":
                names = tuple((one, "") for one in rest if one != "-v")
                after = with_settings(flow, names)
                return either, after, after
            case "exit":
                return exit_step(rest), None, None
            case "source" | "." if len(rest) == 1 and activates(rest[0]):
                after = flow._replace(files=(*flow.files, rest[0]))
                return either, after, flow
            case "exec" if not rest:
                return either, flow, flow
            case "read" | "mapfile" | "readarray":
                names = tuple((one, "") for one in rest if not one.startswith("-"))
                doubt = settings(names)[1]
                after = flow._replace(doubt=flow.doubt or doubt)
                return either, after, after
        doubt = flow.doubt or f"{name} changes what the shell does"
        step = self._part(made._replace(doubt=doubt), command, flow, place)
        after = flow._replace(doubt=doubt)
        can_leave = ANY | {Ending("zero", True, "not"), Ending("foreign", True, "not")}
        return EndingStep("list", (step, EndingStep("fixed", endings=can_leave))), after, after


def read(text: str, shell: str = "bash") -> ShellReading:
    """Read a shell text. It is never an error: what is not understood is unknown."""
    return ShellReading(text, shell)


# What commands do beside their codes


def _flat(commands: tuple[SimpleCommand, ...]) -> list[SimpleCommand]:
    return [one for command in commands for one in (command, *_flat(command.below))]


def _effect(command: SimpleCommand) -> str:
    """Say what a command in a condition or a loop does to the shell; "" where nothing."""
    doubts = [setting(name, "")[1] for name, _ in command.sets]
    if not command.words:
        return next(filter(None, doubts), "")
    made = program(command.words)
    if UNKNOWN in command.words[0] or not made.words or UNKNOWN in made.words[0]:
        return "a program is not known before it runs"
    name = made.words[0]
    if name == "exit" or name not in OWN or made.is_process:
        return ""
    if name in ("read", "mapfile"):
        names = [(one, "") for one in made.words[1:] if not one.startswith("-")]
        return settings(names)[1]
    return f"{name} stands in a condition or a loop"


def _program_of(one: Statement) -> InnerProgram:
    """Return the last program of a statement."""
    while one.within:
        one = one.within[-1]
    return program(one.command.words) if one.command.words else InnerProgram(())


def _name_of(words: tuple[str, ...]) -> str:
    """Name a command by its first words; the end of a condition is one of them."""
    name = " ".join(words[:3])
    return f"{name} {words[-1]}" if words[0] in ("[", "[[") and len(words) > 3 else name


def _decided_by(last: Statement | None) -> str:
    if last is not None and last.kind == "background":
        return "the last command runs in the background"
    words = _program_of(last).words if last is not None else ()
    if words[:1] == ("exit",):
        return "exit sets the exit code"
    name = " ".join(words[:2]) if words and UNKNOWN not in words[0] else ""
    name = words[0] if words and words[0] in READERS else name.replace(UNKNOWN, "")
    return f"the exit code is {name}'s" if name else "the exit code is that of the last command"


def _powershell_words(text: str) -> SimpleCommand:
    """Return the words of one simple command."""
    if len(text) > MAX_COMMAND or not _POWERSHELL.fullmatch(text):
        raise UnreadTextError("of PowerShell only one simple command is read")
    words = ["".join(one) for one in _POWERSHELL_WORD.findall(text)]
    first = re.sub(r"\.(?:cmd|exe|ps1|bat)\Z", "", words[0].replace("\\", "/"), flags=re.IGNORECASE)
    if first.lower() in OWN or any(one.startswith("@") or "," in one for one in words):
        raise UnreadTextError("of PowerShell only one simple command is read")
    return SimpleCommand((first, *words[1:]))
