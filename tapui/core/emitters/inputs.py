"""What the shell tells of emitters: files, consents, and what becomes of runs."""

from collections.abc import Callable

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
    SavedEmitter,
)
from tapui.core.emitters.start_requests import StartRequests
from tapui.core.runs.reports import RulesTried, RunReport
from tapui.core.runs.runs import Runs


class EmitterInputs:
    """All methods take the time `now`, in seconds of the core's clock."""

    def __init__(
        self,
        context: CoreContext,
        *,
        folders: EmitterFolders,
        start_requests: StartRequests,
        runs: Runs,
        orders: EmitterOrders,
    ) -> None:
        self._clock, self._tickets = context.clock, context.tickets
        self._folders = folders
        self._start_requests = start_requests
        self._runs = runs
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

    def reported(self, report: RunReport, now: float) -> None:
        """Take a runner's report of a run."""
        self._clock.now = now
        self._runs.reported(report)
        self.finish()

    def filter_tried(self, ticket: int, tried: RulesTried, now: float) -> None:
        """It is known what rules make of lines (`TryFilter`)."""
        self._clock.now = now
        subject = self._tickets.take(ticket)
        if isinstance(subject, TrialWanted):
            self._orders.tried(subject, tried)
        self.finish()
