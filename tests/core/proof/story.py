"""Stories of a session: commands, edits and looks at its folder, in their order."""

from collections.abc import Callable

from tapui.core.proof.checks import check
from tapui.core.proof.facts import (
    AnyFact,
    CommandBegan,
    CommandEnded,
    FilesWritten,
    FolderSeen,
    TurnBegan,
    WatchBegan,
)
from tapui.core.proof.folder_states import FolderState
from tapui.core.proof.history import FactHistory
from tapui.core.proof.summaries import Summary
from tapui.core.proof.verdicts import Judge
from tapui.wire.criteria import Ran, Verdict

ROOT = "/code/shop"


class Story:
    """What happens in one session, told step by step. `files` are the dirty ones, by path."""

    def __init__(self, *packages: str) -> None:
        self.history = FactHistory()
        self.facts: list[AnyFact] = []
        self.files: dict[str, str] = {}
        self.packages = packages
        self.is_whole = True
        self._calls = 0
        self.add(WatchBegan(at="t", run="r1"))
        self.turn()

    def add(self, fact: AnyFact) -> None:
        self.facts.append(fact)
        self.history.add(fact)

    def turn(self) -> None:
        self.add(TurnBegan(at="t", turn=self.history.turn + 1))
        self.look()

    def look(self, call_id: str = "", *, is_before: bool = False) -> None:
        state = FolderState(
            ROOT,
            "tree",
            dict(self.files),
            self.is_whole,
            "" if self.is_whole else "it has too many files",
            self.packages,
        )
        self.add(FolderSeen(at="t", states=[state], call_id=call_id, is_before=is_before))

    def edit(self, path: str, content: str = "new") -> None:
        """A tool that is no shell writes a file."""
        self._calls += 1
        self.files[path] = content
        self.add(FilesWritten(at="t", call_id=f"e{self._calls}", paths=[f"{ROOT}/{path}"]))

    def begin(self, text: str, cwd: str = ROOT) -> str:
        self._calls += 1
        call_id = f"c{self._calls}"
        self.look(call_id, is_before=True)
        turn = self.history.turn
        self.add(CommandBegan(at="t", call_id=call_id, text=text, cwd=cwd, turn=turn))
        return call_id

    def end(
        self,
        call_id: str,
        code: int | None = 0,
        tests: Summary | None = None,
        *,
        unrun: str = "",
    ) -> None:
        command = self.history.command(call_id)
        assert command is not None
        checks = filter(None, (check(part.words) for part in command.reading.parts))
        names = [one.program for one in checks]
        reported = {} if tests is None else dict.fromkeys([*names, tests.program], tests)
        self.add(CommandEnded(at="t", call_id=call_id, code=code, tests=reported, unrun=unrun))
        self.look(call_id)

    def run(
        self,
        text: str,
        code: int | None = 0,
        tests: Summary | None = None,
        cwd: str = ROOT,
        meanwhile: Callable[[], None] | None = None,
    ) -> str:
        call_id = self.begin(text, cwd)
        if meanwhile is not None:
            meanwhile()
        self.end(call_id, code, tests)
        return call_id

    def verdict(self, command: str = "pytest", **wanted: object) -> Verdict:
        return Judge(self.history, ROOT).verdict(Ran(command=command, **wanted))  # type: ignore[arg-type]

    def told(self, command: str = "pytest", **wanted: object) -> str:
        """Return the verdict's state and reason as one text."""
        found = self.verdict(command, **wanted)
        return f"{found.state}: {found.reason}" if found.reason else found.state
