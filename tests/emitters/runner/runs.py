"""Runners for tests: what they tell, and real processes."""

import os
from pathlib import Path
from typing import TypeVar

from tapui.core.runs.reports import (
    RunCounted,
    RunEnded,
    RunFiltered,
    RunLine,
    RunLines,
    RunStarted,
)
from tapui.emitters.runner.helper_process import Patience
from tapui.emitters.runner.messages import (
    RunStart,
)
from tapui.emitters.runner.runner import Runner, RunReport
from tapui.runtime.children.supervisor import Backoff
from tapui.wire.provider import FilterRule
from tests.rig.processes import has_ended
from tests.rig.waiting import HUNG, until_async

ENVIRON = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
E = TypeVar("E", RunStarted, RunLines, RunCounted, RunFiltered, RunEnded)


class Told:
    """What a runner told."""

    def __init__(self) -> None:
        self.events: list[RunReport] = []
        self.faults: list[str] = []

    def __call__(self, event: RunReport) -> None:
        self.events.append(event)

    def of(self, run: str, kind: type[E]) -> list[E]:
        return [one for one in self.events if isinstance(one, kind) and one.run == run]

    def lines(self, run: str) -> list[RunLine]:
        return [line for batch in self.of(run, RunLines) for line in batch.lines]

    def texts(self, run: str) -> list[str]:
        return [line.text for line in self.lines(run)]

    async def line(self, run: str, text: str) -> str:
        """Wait for a line that begins with `text`; return the rest of it."""
        found = await until_async(
            lambda: [line for line in self.texts(run) if line.startswith(text)],
            what=lambda: f"{text!r} in {self.events}",
        )
        return found[0].removeprefix(text).strip()

    async def ended(self, run: str, within: float = HUNG) -> RunEnded:
        found = await until_async(
            lambda: self.of(run, RunEnded), within=within, what=lambda: f"the end of {run}: {self}"
        )
        assert len(found) == 1
        assert [one for one in self.events if one.run == run][-1] is found[0]
        return found[0]

    def __repr__(self) -> str:
        return f"{self.events[-20:]} {self.faults}"


class Rig:
    """A runner and what it told."""

    def __init__(self, folder: Path, patience: Patience | None = None) -> None:
        self.told = Told()
        self.folder = folder
        self.runner = Runner(
            self.told,
            self.told.faults.append,
            environ=os.environ,
            backoff=Backoff(first=0.01, longest=0.02),
            patience=patience,
        )

    def start(
        self,
        command: str,
        run: str = "r",
        *rules: tuple[str, str],
        shell: str | None = "sh",
        cwd: str | None = None,
        include_stderr: bool = True,
        version: int = 0,
        args: list[str] | None = None,
        **environ: str,
    ) -> None:
        """Start a command, in `sh`: a login shell takes its time."""
        self.runner.start(
            RunStart(
                run=run,
                command=command,
                cwd=str(self.folder) if cwd is None else cwd,
                env={**ENVIRON, **environ},
                shell=shell,
                args=args,
                include_stderr=include_stderr,
                rules=tuple(FilterRule(*rule) for rule in rules),  # type: ignore[arg-type]
                version=version,
            )
        )

    async def run(self, command: str, *rules: tuple[str, str], **options: object) -> RunEnded:
        """Run a command to its end."""
        self.start(command, "r", *rules, **options)  # type: ignore[arg-type]
        return await self.told.ended("r")


async def until_dead(*pids: int | str) -> None:
    for pid in pids:
        await until_async(lambda pid=pid: has_ended(int(pid)), what=f"{pid} is dead")  # type: ignore[misc]
