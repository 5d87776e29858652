"""What the shell tells of emitters: files, consents, and what becomes of runs."""

from collections.abc import Callable, Sequence

from tapui.core.context import CoreContext
from tapui.core.emitters.emitter import CheckWanted, ConsentWanted, EmittersWanted
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.orders import (
    EmitterOrders,
    KeepWanted,
    TrialWanted,
)
from tapui.core.emitters.plans import (
    EmitterStanding,
    FolderEmitters,
    RunEnd,
    RunLineRead,
    SavedEmitter,
    TriedRules,
)
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.start_requests import StartRequests
from tapui.core.runs.lines import EmitterLines
from tapui.core.runs.runs import Runs
from tapui.wire.emitters import EmitterCounts


class EmitterInputs:
    """All methods take the time `now`, in seconds of the core's clock.

    Of a run that is forgotten, whatever is told is ignored.
    """

    def __init__(
        self,
        context: CoreContext,
        *,
        emitters: Emitters,
        folders: EmitterFolders,
        start_requests: StartRequests,
        runs: Runs,
        lines: EmitterLines,
        orders: EmitterOrders,
    ) -> None:
        self._clock, self._tickets = context.clock, context.tickets
        self._emitters = emitters
        self._folders = folders
        self._start_requests = start_requests
        self._runs = runs
        self._lines = lines
        self._orders = orders
        self.finish: Callable[[], None] = lambda: None
        """Is called at the end of each input."""

    def begin(self, now: float) -> None:
        """The shell can run emitters from now on: files are read, and what is allowed starts."""
        self._clock.now = now
        self._folders.begin()
        self.finish()

    def read(self, ticket: int, found: FolderEmitters, now: float) -> None:
        """A folder's file was read (`ReadEmitters`)."""
        self._clock.now = now
        subject = self._tickets.take(ticket)
        if isinstance(subject, EmittersWanted):
            self._folders.read(subject, found)
        self.finish()

    def folder_changed(self, found: FolderEmitters, now: float) -> None:
        """A folder's file was changed."""
        self._clock.now = now
        self._folders.changed(found)
        self.finish()

    def files_changed(self, folder: str, now: float) -> None:
        """Files that commands of a folder's emitters name may have changed."""
        self._clock.now = now
        self._folders.files_changed(folder)
        self.finish()

    def checked(self, ticket: int, standing: EmitterStanding, now: float) -> None:
        """It is known whether an emitter may start (`CheckEmitter`)."""
        self._clock.now = now
        subject = self._tickets.take(ticket)
        if isinstance(subject, CheckWanted):
            self._runs.checked(subject, standing)
        self.finish()

    def consent_kept(self, ticket: int, fault: str | None, now: float) -> None:
        """A consent is kept (`KeepConsent`); `fault` says why it could not be."""
        self._clock.now = now
        subject = self._tickets.take(ticket)
        if isinstance(subject, ConsentWanted):
            self._start_requests.kept(subject, fault)
        self.finish()

    def saved(self, ticket: int, saved: SavedEmitter, now: float) -> None:
        """An emitter is in its folder's file (`SaveEmitter`), or could not be written."""
        self._clock.now = now
        subject = self._tickets.take(ticket)
        if isinstance(subject, KeepWanted):
            self._orders.saved(subject, saved)
        self.finish()

    def run_started(self, run: str, now: float) -> None:
        """A run's process is there."""
        self._clock.now = now
        self._runs.started(run)
        self.finish()

    def run_lines(self, run: str, lines: Sequence[RunLineRead], now: float) -> None:
        """The filter let lines through, in order."""
        self._clock.now = now
        emitter = self._emitters.by_run.get(run)
        if emitter is not None and emitter.run is not None:
            self._lines.take(emitter, emitter.run.tally, lines)
        self.finish()

    def run_counted(self, run: str, counts: EmitterCounts, now: float) -> None:
        """How far a run is. Of `counts`, the runner knows lines, dropped, truncated, undecided."""
        self._clock.now = now
        self._runs.counted(run, counts)
        self.finish()

    def run_filtered(self, run: str, version: int, error: str | None, now: float) -> None:
        """The lines that follow are filtered by this version, or, with `error`, as before."""
        self._clock.now = now
        self._runs.filtered(run, version, error)
        self.finish()

    def run_ended(self, run: str, end: RunEnd, now: float) -> None:
        """A run is over, after all of its lines; nothing more is told of it."""
        self._clock.now = now
        self._runs.ended(run, end)
        self.finish()

    def runner_lost(self, why: str, now: float) -> None:
        """The runner is gone with all that it ran."""
        self._clock.now = now
        for run in [*self._emitters.ending, *self._emitters.by_run]:
            self._runs.ended(run, RunEnd(error=why, is_lost=True))
        self.finish()

    def filter_tried(self, ticket: int, tried: TriedRules, now: float) -> None:
        """It is known what rules make of lines (`TryFilter`)."""
        self._clock.now = now
        subject = self._tickets.take(ticket)
        if isinstance(subject, TrialWanted):
            self._orders.tried(subject, tried)
        self.finish()
